//! The SIMD microkernels of girih's CPU backend, for every instruction set and value type.
//!
//! [`KernelScalar::kernels`] returns the table of kernels that are compiled for a value type and an instruction set.
//! They are `unsafe` functions: a [block](RowBlock) of A, [B](Input) and [C](Output) are addresses, and kernels check
//! nothing. They decide nothing either: what they read, prefetch and store is in their arguments.
//!
//! `girih-backend-cpu` makes the arguments, after it has checked them, and calls kernels on threads. The two are
//! apart because kernels take minutes to compile, and change seldom.
//!
//! Every tuned number on which kernels and that backend's decisions depend stands in [`thresholds`].

// Kernels take minutes to compile, and tests of girih-backend-cpu run them. Unit tests are of what needs none.
#![cfg_attr(test, expect(dead_code, reason = "the table of kernels is left out"))]

#[expect(clippy::needless_range_loop, reason = "indices of lanes, constant once unrolled")]
mod isa;
#[expect(clippy::needless_range_loop, reason = "indices of registers, constant once unrolled")]
mod kernels;
pub mod operands;
mod recorder;
pub mod thresholds;

pub use isa::{Isa, fence};
#[cfg(not(test))]
pub use isa::{KernelScalar, KernelTable};
pub use kernels::aggregate::Total;
pub use kernels::complex::store_complex;
pub use kernels::patterns::{PATTERNS, PatternBlock, TILE_ROWS, Tile};
pub use kernels::prefetch::{PREFETCH_AHEAD, Prefetch, tiles_prefetch};
pub use kernels::probe::{Chains, Work};
pub use kernels::rows::RowBlock;
pub use kernels::runs::Runs;
pub use kernels::sampled::{SampledEntries, SampledRows};
pub use kernels::sorted::{Run, SortedBlock};
pub use kernels::strip::Strip;
pub use operands::{
    BiasPart, Finish, GROUP_VECTORS, Input, Output, RowMap, Source, Store, VECTOR_BYTES, lanes,
    leaves_caches,
};
pub use recorder::{Recorder, Trace};
