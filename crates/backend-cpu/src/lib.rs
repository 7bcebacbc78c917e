//! The CPU backend of girih: rayon tasks and SIMD kernels, from every format and value type.
//!
//! [`CpuBackend`] multiplies directly from a plan's tiles; nothing is converted back to CSR. Values
//! of f16 and bf16 are widened in registers or in small buffers on the stack and summed in f32.
//!
//! # What is decided
//! Preparing first decides, then makes what was decided: a value holds the kernels, copies of the matrix, packed
//! panels, prefetching and sums of split windows, each with its reason. Products read that value and nothing else,
//! and [`PreparedSpmm::lowering`](girih_backend::PreparedSpmm::lowering) prints it for any number of columns.
//! [`CpuBackend`]'s `lower` decides without copies. The numbers that decide stand in [`thresholds`].
//!
//! # What preparing does
//! No tiling but CSR is copied. CSR is laid out once more where that pays for the n of the plan, in
//! O(nnz) and in parallel, for at most another copy of its columns and values, these widened:
//!
//! - **Patterns**, from n = 2 on: tiles of four neighbouring rows, their columns grouped by which of
//!   the rows hold them. A row of B is loaded once for all of them and every sum stays in a register
//!   (Wilkinson et al., PLDI 2023). For rows that share columns: finite elements, pruned and blocked
//!   weights; fewer have to be shared for n from 256 bytes on, where a walk through the patterns multiplies four
//!   lines of columns. There, where tiles meet a hundred columns and more of each 256 (of 512 to 2048 too if there
//!   are 3072; 150 of them for more than 4096 rows), all of them go through one **slab** of so many columns before the
//!   next: rows of B that the first caches hold (K tiling in the same paper).
//! - **Sorted rows**, for n up to 128 bytes and where B is packed: the rows of a task by their
//!   lengths, since most of the time of short rows goes into guessing wrong where each ends. Rows that
//!   repeat the one before them a column later, those of a stencil, share one column index, for n = 1
//!   across vector lanes. At any n > 1, on AMD's processors, where entries meet rows of B beyond a
//!   core's own caches and nothing foretells them, of a B five times as large as these caches, or B is 8
//!   times as large: then rows of B are asked for ahead.
//!
//! Otherwise rows are multiplied as they stand, as they are for an n that the layout is not for.
//!
//! Room is kept for a **packed panel** of a B of 512 bytes a row and more, 2 or 4 lines of 64 bytes wide,
//! or for one for each thread if all of them fit five eighths of the last-level cache ([`caches()`]),
//!
//! - where that cache does not hold B and would fetch each of its rows six times and more, and the panel
//!   takes at most three quarters of it;
//! - where that cache would not, but a core's own caches would, patterns are multiplied, which go through
//!   some lines of B at a time, and its rows are of 1024 bytes and more (2048 where they are asked for
//!   ahead): few sets of these caches hold such lines;
//! - where that cache holds B, a core's own caches do not, but would hold the panel, and rows have 20 entries
//!   and more: if a core would fetch each row of B six times and more, ten times on two threads, and on more
//!   of them 16 times for each thread that packs the same panel; 16 times for a panel of two lines, 24 times
//!   where B is less than twice as large as these caches;
//! - where tiles go through slabs and load each row of B 16 times and more, or fewer times in proportion as its
//!   rows have more than 512 bytes, for each thread that packs the same panel: a slab's rows of B at a time up to 4096
//!   rows of A, else all. Not on several threads of Intel's processors whose own caches hold a panel of all rows;
//! - for rows of BMat, on Intel's processors of 2:4 too, that each meet more of B than a core's own caches hold,
//!   if these hold the panel;
//! - for dense tiles, where the rows of B that a window meets are twice what these caches hold, and each
//!   meets 1024 values of A: four lines of rows far apart share few sets. Not with AVX2, where such rows are
//!   gathered; on more than two threads for windows of up to 16 rows.
//!
//! The last four only for threads that have panels of their own.
//!
//! A plan can keep what this comes to: the numbers that decisions rest on, and the copy. `layout` gives an
//! [`Attachment`](girih_planner::Attachment) for the instruction set, threads and caches of a backend. Preparing takes
//! the decisions again by these numbers, in no time, and checks the copy where it lies in the file: each row of C is
//! stored once, each column lies in A. A layout for other threads or another machine is ignored.
//!
//! Besides that `prepare` allocates room for the sums of windows that the schedule splits. `execute`
//! allocates nothing but for [a B that is copied](#operands), and with AVX2, where a thread that meets dense
//! tiles of 32 to 128 rows, for n from 256 bytes on, keeps room for up to 260 KiB of **gathered rows** of B and
//! 32 KiB of sums (f32; as many bytes of f64): a first-level cache of the rows that a window meets, copied next
//! to each other, so that all rows of the window go through them there.
//!
//! # What runs
//! The tasks of the plan's schedule, on the rayon pool that `execute` is called in; outside of every
//! pool on the calling thread and helpers, as many together as the global pool has threads; or on threads
//! of the backend's own ([`CpuBackend::with_threads`]). The calling thread is always one of those that
//! multiply, and runs small products alone: to wake others, and be woken, takes longer. A window that
//! the schedule splits has its parts' sums written to scratch and added up in task order. Tasks share
//! nothing that is written: each stores its own rows of C, whole cache lines where those are aligned,
//! past the caches where C is larger than 2 MiB (4 for tiles of rows) and β is zero.
//! Where B is packed, threads that have room of their own each pack and multiply other panels, so that
//! nothing packed goes from one core's caches to another's; where there are twice as many threads as panels,
//! two pack the same one and multiply half of the tasks each. Else, or where that would leave threads without
//! a panel, all pack a panel together and then multiply by it.
//!
//! # Reproducibility
//! An element of C is the same, bit for bit, on any number of threads, for any strides of B and C,
//! whether B is packed or not, and on every instruction set that fuses multiply and add ([`Isa`]): all
//! kernels add in an order that depends on the plan and on n alone. That is always so; there is no
//! faster mode without it.
//!
//! [`Isa::Portable`] on x86-64 does not fuse. It is reproducible within itself, and exists on every
//! x86-64 machine: [`CpuBackend::with_isa`] with it is the option for the same bits on machines with
//! fused multiply-add and without.
//!
//! # Operands
//! B with unit column stride (row-major) is read where it is, a single column if its elements are next to
//! each other. With any other strides it is copied first, 256 bytes of each row (of sums) at a time: O(k·n)
//! time, and room for k·min(n, 64) elements (f32; half as many of f64), which the prepared plan keeps. C with
//! other strides than row-major is written element by element.
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
mod isa;
#[expect(unsafe_code, reason = "SIMD")]
#[expect(clippy::needless_range_loop, reason = "indices of registers, constant once unrolled")]
mod kernels;
mod layout;
mod lowering;
mod machine;
#[expect(unsafe_code, reason = "threads write disjoint rows of one array")]
mod operands;
mod prepare;
pub mod roofline;
mod tuning;

pub use backend::{CpuBackend, NAME};
pub use isa::Isa;
pub use machine::caches::{Cache, caches};
pub use tuning::thresholds;
