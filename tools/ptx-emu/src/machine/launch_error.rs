//! Why a launch failed.

use thiserror::Error;

use crate::report::Fault;

/// Why a kernel did not run, or did not run to its end.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The kernel did something wrong.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The module has no such kernel.
    #[error("no kernel {name} in the module; it has {known}")]
    UnknownKernel {
        /// The name asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// Too few or too many arguments.
    #[error("kernel {kernel} takes {expected} arguments, not {found}")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// How many it takes.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// An argument of another size than its parameter.
    #[error("parameter {name} of {kernel} has {expected} bytes, its argument {found}")]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// The parameter.
        name: String,
        /// Its size.
        expected: u32,
        /// The size of the argument.
        found: usize,
    },
    /// A grid or a CTA of an impossible shape.
    #[error("{what} is {found:?}: {limit}")]
    Shape {
        /// Of what.
        what: &'static str,
        /// As launched.
        found: [u32; 3],
        /// What it has to be.
        limit: String,
    },
    /// More shared memory than a CTA can have.
    #[error(
        "{static_bytes} bytes of static and {dynamic} of dynamic shared memory are more than the \
         {limit} that {whose}"
    )]
    SharedMemory {
        /// Static, the system's first KiB aside.
        static_bytes: u32,
        /// Dynamic.
        dynamic: u32,
        /// The limit on them together.
        limit: u32,
        /// Who sets it.
        whose: &'static str,
    },
    /// More registers than a CTA can have.
    #[error(
        "{registers} registers for each of {threads} threads are more than the {limit} of a CTA"
    )]
    Registers {
        /// Of a thread.
        registers: u32,
        /// Of a CTA.
        threads: u32,
        /// Of a CTA.
        limit: u32,
    },
    /// A variable that is declared but defined nowhere.
    #[error("variable {name} is declared .extern and no module defines it")]
    ExternVariable {
        /// Its name.
        name: String,
    },
}
