//! The CPU backend of girih: rayon tasks and SIMD kernels for every format and real value type, and for CSR and BCSR of
//! complex values.
//!
//! [`CpuBackend`] multiplies directly from a plan's tiles; nothing is converted back to CSR. Values of f16
//! and bf16 are widened in registers or in small buffers on the stack, and summed in f32.
//!
//! # One way through
//! ```text
//! prepare, once per plan                            execute(α, B, β, C), often
//!  │                                                 │
//!  ├─ analyze    numbers of the matrix               ├─ lowering::product   what n decides
//!  ├─ lowering   decisions, each with its reason     ├─ exec::product       B in place or packed
//!  │             (machine, thresholds)                   ├─ exec::tasks         tasks on threads
//!  └─ layout     copies of CSR ◄──► a plan's file    └─ exec::formats       tiles to kernels
//!                                                       └─ girih-simd       registers
//! ```
//! Policy stands apart from mechanism: `lowering` knows no kernel, and what comes after it decides nothing. A
//! lowering is a value. Products read it and nothing else, and
//! [`PreparedSpmm::lowering`](girih_backend::PreparedSpmm::lowering) returns it for any number of columns.
//! [`CpuBackend`]'s `lower` decides without copies. Every tuned number stands in [`thresholds`]; where they
//! come from stands in `docs/2026-11-tuning.md`.
//!
//! # What preparing does
//! No tiling but CSR is copied. CSR is copied if that is profitable for the n of the plan, in O(nnz) and in
//! parallel:
//!
//! - **Tiles** of four neighbouring rows, from n = 2 on, for rows that share columns. A row of B is loaded
//!   once for all rows of the tile (Wilkinson et al., PLDI 2023). Tiles may go through one **slab** of
//!   columns after the other, whose rows of B the first caches hold.
//! - **Rows sorted by length**, for narrow products, and wherever rows of B are packed or prefetched.
//!
//! Otherwise rows are multiplied as stored; so are products whose n the copy is not for. A copy has the
//! columns and the widened values of A once more.
//!
//! Scratch is allocated for **packed panels** of B, if a cache would otherwise fetch rows of B often: one
//! panel, or one for each thread if [the last-level cache](caches()) holds all of them. Scratch is allocated
//! for the sums of windows that the schedule splits.
//!
//! A plan can keep the numbers and the copy: `layout` makes an
//! [`Attachment`](girih_planner::file::Attachment) for the instruction set, threads and caches of a backend.
//! Preparing takes the decisions again by these numbers and checks the copy where it lies in the file: each
//! row of C is stored once, each column lies in A. A layout for other threads or another machine is ignored.
//!
//! `execute` allocates nothing but for [a B that is copied](#operands). With AVX2, each thread keeps scratch
//! for dense tiles of 32 to 128 rows, where rows of B have 256 bytes or more. It holds up to 260 KiB of
//! packed rows of B and 32 KiB of sums, in f32 and in f64.
//!
//! # What runs
//! The tasks of the plan's schedule run on the rayon pool that `execute` is called in. Outside of every pool
//! they run on the calling thread and helpers, as many together as the global pool has threads; or on threads
//! of the backend's own ([`CpuBackend::with_threads`]). The calling thread is always one of those that
//! multiply, and it runs small products alone, since waking others takes longer.
//!
//! Tasks share nothing that is written: each stores its own rows of C. The parts of a window that the
//! schedule splits write their sums to scratch, where they are added up in task order. C is written past the
//! caches in whole cache lines, if these are aligned, C is larger than 2 MiB (4 for tiles of rows), and β is
//! zero.
//!
//! Threads that have panels of their own each pack and multiply other panels, so that nothing packed moves
//! from one core's caches to another's. If there are twice as many threads as panels, two threads pack the
//! same panel and multiply half of the tasks each. Otherwise all threads pack a panel together and then
//! multiply by it.
//!
//! # Complex values
//! A row-major B of n complex columns is a real matrix of 2n columns. Preparing takes the real and the imaginary parts
//! of A's values apart, O(values stored); a product multiplies B by both, by the real kernels, and combines the two:
//! `C = α·(P + i·Q) + β·C`. That goes block by block, so that the second product finds its rows of B, and the
//! combining pass P and Q, in a core's caches. Each thread keeps 32 KiB for P and Q in c64. A is multiplied as stored:
//! what is said above of copies, of packed panels and of stores past the caches is of real values. A window that the
//! schedule splits is summed in one piece.
//!
//! # Reproducibility
//! All kernels add in an order that depends on the plan, n and the instruction set ([`Isa`]) alone. So an element of C has
//! the same bits on any number of threads, for any strides of B and C, and whether B is packed or not. There is no faster
//! mode without that. Instruction sets that fuse multiply and add differ in CSR alone, where one tiles rows that share
//! columns and another does not.
//!
//! [`Isa::Portable`] on x86-64 does not fuse. Its bits are the same on every x86-64 machine, with fused
//! multiply-add or without: [`CpuBackend::with_isa`] selects it.
//!
//! # Operands
//! B with unit column stride (row-major) is read in place; so is a single column if its elements are next to
//! each other. With any other strides B is copied first, 256 bytes of each row (of sums) at a time: O(k·n)
//! time, and k·min(n, 64) elements (f32; half as many of f64), which the prepared plan keeps. C with other
//! strides than row-major is written element by element.
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

mod analyze;
mod backend;
mod exec;
#[expect(unsafe_code, reason = "SIMD")]
mod kernels;
mod layout;
mod lowering;
mod machine;
mod prepare;
#[cfg(feature = "f64")]
pub mod roofline;
mod sddmm;

pub use backend::{CpuBackend, NAME};
pub use girih_simd::{Isa, thresholds};
pub use machine::caches::{Cache, caches};
