//! Kernels of `girih-simd`, behind safe functions, and what the backend keeps for each value type.

mod b_panel;
mod table;

use std::cell::Cell;
use std::thread::LocalKey;

use girih_planner::file::AttachedElement;
use girih_simd::KernelScalar;
use half::{bf16, f16};

use crate::exec::scratch::ThreadScratch;

pub(crate) use b_panel::BPanel;
pub(crate) use table::{Kernels, store_products};

/// A value type that kernels multiply: the four real ones. Complex values are two of them each.
pub(crate) trait CpuScalar: KernelScalar<Acc: AttachedElement + KernelScalar> {
    /// Scratch for packed rows of B and for sums, which each thread keeps.
    fn thread_scratch() -> &'static LocalKey<Cell<ThreadScratch<Self>>>;
}

macro_rules! cpu_scalar {
    ($($t:ty)*) => {$(
        impl CpuScalar for $t {
            fn thread_scratch() -> &'static LocalKey<Cell<ThreadScratch<Self>>> {
                thread_local!(static SCRATCH: Cell<ThreadScratch<$t>> = const { Cell::new(ThreadScratch::new()) });
                &SCRATCH
            }
        }
    )*};
}

cpu_scalar!(f16 bf16 f32 f64);
