//! The problems.

use std::fmt;

use thiserror::Error;

use super::{Place, ThreadName};
use crate::asynch::mbarrier::MbarrierError;
use crate::tensor_core::descriptor::DescriptorError;

/// What is done to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic operation or a reduction: ordered against its like.
    Atomic,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic operation",
        })
    }
}

/// A warp that cannot go on, in a deadlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Where its lanes stand.
    pub place: Place,
    /// Which lanes, by bit.
    pub lanes: u32,
    /// What they wait for.
    pub what: String,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (lanes {:08x}) waits for {}", self.place, self.lanes, self.what)
    }
}

struct Lines<'a>(&'a [Waiting]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for waiting in self.0 {
            write!(f, "\n    {waiting}")?;
        }
        Ok(())
    }
}

/// What is wrong with a kernel's execution.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Problem {
    /// Every warp waits, and nothing is pending that could wake one.
    #[error("deadlock: every warp waits{}", Lines(.waiting))]
    Deadlock {
        /// What each waits for.
        waiting: Vec<Waiting>,
    },
    /// Two accesses, at least one of them a write, that nothing orders.
    #[error(
        "race: this {access} of {memory} and an earlier {other} by {by} (line {other_line}) are \
         not ordered by any synchronization"
    )]
    Race {
        /// The access that found it.
        access: AccessKind,
        /// The bytes.
        memory: String,
        /// The earlier access.
        other: AccessKind,
        /// Who made it.
        by: String,
        /// PTX line of the earlier access.
        other_line: u32,
    },
    /// An access to bytes that an asynchronous operation in flight reads or writes.
    #[error(
        "race: this {access} of {memory} while an asynchronous operation that may {other} it is \
         pending: {operation}"
    )]
    Pending {
        /// The access that found it.
        access: AccessKind,
        /// The bytes.
        memory: String,
        /// What the operation does to them.
        other: AccessKind,
        /// The operation and where it was issued.
        operation: String,
    },
    /// The async proxy reads what the generic proxy wrote, without a proxy fence between.
    #[error(
        "the async proxy accesses {memory}, written by an ordinary store of {by} (line \
         {other_line}) without fence.proxy.async after it"
    )]
    ProxyFence {
        /// The bytes.
        memory: String,
        /// Who wrote them.
        by: String,
        /// PTX line of the write.
        other_line: u32,
    },
    /// A register that a `wgmma` in flight owns.
    #[error(
        "register {register} belongs to the wgmma issued at line {issued} until its wait_group: \
         it may not be {access} before"
    )]
    InFlightRegister {
        /// Its name, or its row where the name is not known.
        register: String,
        /// PTX line of the `wgmma`.
        issued: u32,
        /// `read` or `written`.
        access: &'static str,
    },
    /// A register of metadata that dies before the `wgmma` is waited for.
    #[error(
        "register {register} holds metadata, which this wgmma may read until the wait_group at line \
         {wait_line}, but on a way there nothing reads it any more: the assembler takes the register for \
         free, and may put there what is computed before the wait. A use after the wait keeps it"
    )]
    DeadMetadata {
        /// Its name.
        register: String,
        /// PTX line of the wait.
        wait_line: u32,
    },
    /// A register that was written, and used by a `wgmma` with no `wgmma.fence` between.
    #[error(
        "register {register} was written at line {other_line}: a wgmma.fence must stand between \
         that and its use by wgmma"
    )]
    WgmmaFence {
        /// Its name.
        register: String,
        /// PTX line of the write.
        other_line: u32,
    },
    /// Warps of a warpgroup that execute different `wgmma`.
    #[error(
        "the warps of a warpgroup must execute the same wgmma with the same operands; another warp \
         executes that at line {line} here"
    )]
    Warpgroup {
        /// PTX line of the other warp's.
        line: u32,
    },
    /// A matrix descriptor that describes no operand.
    #[error("descriptor of {operand}: {error}")]
    Descriptor {
        /// `A` or `B`.
        operand: &'static str,
        /// Why.
        error: DescriptorError,
    },
    /// A read of bytes that nobody wrote.
    #[error("read of uninitialized {memory}")]
    Poison {
        /// The bytes.
        memory: String,
    },
    /// An address outside of every allocation.
    #[error("{access} out of bounds: {memory}")]
    OutOfBounds {
        /// The access.
        access: AccessKind,
        /// Where, and what is near.
        memory: String,
    },
    /// An address that is not a multiple of what it must be.
    #[error("{access} of {memory} must be aligned to {align} bytes")]
    Misaligned {
        /// The access.
        access: AccessKind,
        /// Where.
        memory: String,
        /// In bytes.
        align: u32,
    },
    /// Lanes of a warp that should execute an instruction together, and cannot.
    #[error(
        "divergence: lanes {here:08x} execute an instruction that lanes {needed:08x} must execute \
         together; {others}"
    )]
    Divergence {
        /// Lanes that are here.
        here: u32,
        /// Lanes that must be.
        needed: u32,
        /// What keeps the others.
        others: String,
    },
    /// A barrier used against its rules.
    #[error("barrier {barrier}: {what}")]
    Barrier {
        /// Its number.
        barrier: u32,
        /// The rule.
        what: String,
    },
    /// An mbarrier used against its rules.
    #[error("mbarrier, {memory}: {error}")]
    Mbarrier {
        /// Where it is.
        memory: String,
        /// The rule.
        error: MbarrierError,
    },
    /// An asynchronous operation that ends in a later phase of its mbarrier than it began in: the
    /// phase was over before all its bytes had come.
    #[error(
        "mbarrier, {memory}: {bytes} bytes of a copy issued in phase {issued} arrive in phase \
         {completed}: the phase expected too few bytes"
    )]
    LateTransaction {
        /// Where it is.
        memory: String,
        /// The bytes of the operation.
        bytes: u32,
        /// The phase in which it was issued.
        issued: u64,
        /// The phase in which it completed.
        completed: u64,
    },
    /// An access of an mbarrier by an instruction that is not about mbarriers.
    #[error("{access} of a live mbarrier, {memory}")]
    MbarrierTouched {
        /// The access.
        access: AccessKind,
        /// Where it is.
        memory: String,
    },
    /// A `setmaxnreg` against its rules.
    #[error("{what}")]
    Registers {
        /// The rule.
        what: String,
    },
    /// An operand outside of what the instruction takes.
    #[error("{what}")]
    Operand {
        /// The rule and the value.
        what: String,
    },
    /// An `assert()` that does not hold.
    #[error("assertion `{message}` failed in {function}, {file}:{line}")]
    Assertion {
        /// What was asserted.
        message: String,
        /// The source.
        file: String,
        /// Its line.
        line: u32,
        /// The function.
        function: String,
    },
    /// `trap`.
    #[error("the kernel executed trap")]
    Trap,
    /// More instructions than the launch allows.
    #[error("step limit: {limit} instructions of a warp, and the cluster has not finished")]
    StepLimit {
        /// The limit.
        limit: u64,
    },
    /// Something left behind at exit.
    #[error("left behind at exit: {what}")]
    Leak {
        /// What.
        what: String,
    },
    /// An access of the shared memory of a CTA of the cluster that may not have started.
    #[error(
        "the shared memory of {who} is accessed, and nothing orders that after the CTA's start: a \
         barrier.cluster has to come before"
    )]
    NotStarted {
        /// The CTA.
        who: ThreadName,
    },
    /// A thread exited while others of its kind wait for it.
    #[error("{what}, and {who} has exited")]
    Exited {
        /// What waits.
        what: String,
        /// Who exited.
        who: ThreadName,
    },
}
