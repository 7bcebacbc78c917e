//! The CPU backend of girih: rayon tasks and SIMD kernels, from every format and value type.
//!
//! [`CpuBackend`] multiplies directly from a plan's tiles; nothing is converted back to CSR and no
//! tile is copied when a plan is prepared. Values of f16 and bf16 are widened in registers or in
//! small buffers on the stack and summed in f32. Preparing allocates one bit per row of CSR, and
//! room for the sums of windows that the schedule splits.
//!
//! # What runs
//! The tasks of the plan's schedule, on the rayon pool that `execute` is called in. Small products
//! run on the calling thread alone. A window that the schedule splits has its parts' sums written to
//! scratch, which `prepare` allocates, and added up in task order.
//!
//! # Reproducibility
//! An element of C is the same, bit for bit, on any number of threads, for any strides of B and C,
//! and on every instruction set that fuses multiply and add ([`Isa`]): all kernels add in an order
//! that depends on the plan and on n alone. [`Isa::Portable`] on x86-64 does not fuse, and is
//! reproducible only within itself.
//!
//! # Operands
//! B with unit column stride (row-major) is read in whole vectors; with any other strides its
//! elements are gathered one by one, which costs more the wider the product. C with other strides
//! than row-major is written element by element.
//!
//! ```
//! use girih_backend::SpmmBackend;
//! use girih_backend_cpu::CpuBackend;
//! use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
//! use girih_planner::Plan;
//! use ndarray::array;
//!
//! // [ 1 0 2 ]
//! // [ 0 3 0 ]
//! let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0f32, 2.0, 3.0])?;
//! let plan = Plan::from_tiling(Tiling::from_csr(&a, FormatSpec::Csr, RowLayout::natural(2, 1)?)?);
//! let prepared = CpuBackend::new().prepare(&plan)?;
//! let b = array![[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0]];
//! let mut c = array![[f32::NAN, f32::NAN], [f32::NAN, f32::NAN]];
//! prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into())?;
//! assert_eq!(c, array![[3.0, 2.0], [0.0, 3.0]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

mod backend;
mod formats;
#[expect(unsafe_code, reason = "SIMD")]
mod isa;
#[expect(unsafe_code, reason = "SIMD")]
#[expect(clippy::needless_range_loop, reason = "indices of registers, constant once unrolled")]
mod kernels;
#[expect(unsafe_code, reason = "threads write disjoint rows of one array")]
mod operands;
mod packing;
mod prepared;
pub mod roofline;
mod split;

pub use backend::{CpuBackend, NAME};
pub use isa::Isa;
