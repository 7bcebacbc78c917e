//! A kernel as the machine executes it.

use std::sync::Arc;

use super::registers::{Predicate, Slot};
use super::statistics::Opcodes;
use crate::ast::Attributes;
use crate::asynch::fragments::Touched;
use crate::isa::Op;
use crate::program::Preset;

/// Where an instruction comes from, for reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// Line of the PTX, from 1.
    pub(crate) line: u32,
    /// The instruction as written.
    pub(crate) text: String,
    /// `.loc`: path, line, column.
    pub(crate) source: Option<(Arc<str>, u32, u32)>,
}

/// One instruction.
#[derive(Debug)]
pub(crate) struct Code {
    /// The predicate, and whether lanes execute where it is false.
    pub(crate) guard: Option<(Predicate, bool)>,
    /// What to do.
    pub(crate) op: Op,
    /// Where it comes from.
    pub(crate) location: Location,
    /// What it does to registers that a `wgmma` of the kernel uses, if anything.
    pub(crate) fragments: Option<Box<Touched>>,
}

/// A parameter of a kernel, laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// Its name.
    pub(crate) name: String,
    /// Offset in parameter space, in bytes.
    pub(crate) offset: u32,
    /// In bytes.
    pub(crate) bytes: u32,
    /// In bytes.
    pub(crate) align: u32,
}

/// A variable of module scope in global or constant space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleVariable {
    /// Its name.
    pub(crate) name: String,
    /// In bytes.
    pub(crate) size: u64,
    /// Its value at start; zeros follow up to its size.
    pub(crate) bytes: Vec<u8>,
    /// Addresses that the launch writes into it once they are known.
    pub(crate) relocations: Vec<Relocation>,
    /// Alignment in bytes.
    pub(crate) align: u32,
    /// Whether kernels may write it (`.global`, not `.const`).
    pub(crate) writable: bool,
    /// Declared `.extern` and defined nowhere: there is nothing to read.
    pub(crate) external: bool,
}

/// The address of a variable within the value of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relocation {
    /// Where it is written, in bytes from the start of the value.
    pub(crate) at: u64,
    /// How many bytes are written.
    pub(crate) bytes: u32,
    /// Whose address it is, by the index of [`Preset::Variable`].
    pub(crate) variable: u32,
    /// Added to the address.
    pub(crate) addend: i64,
    /// The sum is shifted right by this many bits: `mask()` writes single bytes.
    pub(crate) shift: u32,
}

/// A kernel, decoded and laid out: all functions that it calls are part of its code, and every
/// function's registers have rows of their own.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// Name of the entry.
    pub(crate) name: String,
    /// Its instructions; the entry starts at 0. Every path ends in `ret`, `exit` or `trap`.
    pub(crate) code: Vec<Code>,
    /// The opcodes of these, for statistics.
    pub(crate) opcodes: Opcodes,
    /// Rows of registers of a warp.
    pub(crate) n_rows: u32,
    /// Predicates of a warp.
    pub(crate) n_predicates: u32,
    /// What the launch writes into rows before a warp starts.
    pub(crate) presets: Vec<(Slot, Preset)>,
    /// Names of the registers by row, for reports.
    pub(crate) register_names: Vec<String>,
    /// Its parameters, by offset.
    pub(crate) params: Vec<Parameter>,
    /// Bytes of parameter space.
    pub(crate) param_bytes: u32,
    /// Bytes of local memory of a thread, parameters of device functions included.
    pub(crate) local_bytes: u32,
    /// The first shared address that it may access.
    pub(crate) shared_start: u32,
    /// End of the static shared variables, which start at
    /// [`memory::SHARED_START`](crate::memory::SHARED_START).
    pub(crate) shared_end: u32,
    /// Alignment of dynamic shared memory. `extern` arrays start at `shared_end` rounded up to it.
    pub(crate) dynamic_shared_align: u32,
    /// Variables of its module in global and constant space, in the order of [`Preset::Variable`]'s
    /// index; all kernels of the module share them.
    pub(crate) variables: Arc<[ModuleVariable]>,
    /// Launch bounds and the like.
    pub(crate) attributes: Attributes,
}
