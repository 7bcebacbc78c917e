//! The CUDA backend of girih: kernels compiled at run time for the device at hand, loaded through the
//! driver.
//!
//! [`CudaBackend`] builds everywhere and needs nothing until it is used: the driver and the compiler
//! NVRTC are then looked for, opened and checked, and what is missing is an error that says
//! what was looked for and where. No CUDA toolkit is needed: NVRTC may come from the wheel
//! `nvidia-cuda-nvrtc` ([`LibrarySearch`]), or be absent if a cache that was built elsewhere holds the
//! kernels ([`Jit`]).
//!
//! # What runs
//! Plans in CSR, in any value type, complex ones too, row order and schedule, by a kernel after casperSPARSE: a warp for
//! each row, a part of a warp where products are narrow, or several rows where they are short and products
//! are wide. Where all rows are of much the same length, teams of lanes take them in their order, neighbours in
//! one block, so that its first-level cache serves what they share of B; all rows are multiplied by
//! one tile of columns before the next, and tiles are narrower where the second-level cache would not hold wider ones
//! ([`CtaOrder`]). Where rows differ, those that are much longer than a warp's share are shared out among the warps of a block; those
//! that the schedule splits, and all that are too long for a block, are computed in pieces, whose sums the
//! block that finishes last adds in order.
//! Values of f16 and bf16 are widened exactly and summed in f32. Complex values are laid out as real ones of twice
//! the columns, and read once: an entry and a column take four multiply-adds. They have no epilogues, aggregations and
//! sampled products, and a device operand begins at a multiple of an element's size.
//!
//! On Hopper also plans in WCSR in f16, bf16 and f32, by a kernel on wgmma after AsyncSparse: windows of 8
//! to 64 rows, in steps of 8. f32 is rounded to TF32, to nearest, and summed in f32. Rows of B that begin
//! on 16 bytes and are contiguous are copied by the copy engine, or by 16 bytes of each thread where a tile
//! has 256 bytes of a row. B of any other layout is [copied](#operands) first, or else gathered element by
//! element, which is slower. Windows that the schedule splits are computed in parts, whose sums are added in
//! order, or atomically if the schedule says so ([`Reduction`](girih_planner::schedule::Reduction)).
//!
//! And on Hopper plans in BCSR with 64×64 blocks of f16, bf16 or f32, in any row order, by a kernel after
//! AsyncSparse (section III): tensor copies fill a ring of stages in shared memory, `wgmma` multiplies what
//! is there. Block rows that share enough columns are multiplied three at a time, so that B is read less
//! often. Every block row is summed by one CTA, in order, whatever the schedule. B is copied fastest if its
//! rows, or its columns, are contiguous and begin on 16 bytes; otherwise it is copied first, or loaded element by element.
//! Values of f32 are rounded to TF32, to the nearest.
//!
//! Where all blocks of such a plan are there, large products are dense: the same blocks are multiplied in
//! tiles of up to 128×256, by clusters of two CTAs that share what they copy of B, one tile after the other,
//! while the one before is on its way out ([`DenseConfig`]). Which kernel a product takes follows from its
//! flops and what it reads from the cache, and [`lower`](girih_backend::SpmmBackend::lower) says both; their
//! bits are the same. A matrix that lacks one block is multiplied block by block: stored as zeros, it would
//! let a NaN of B into rows that have no entry there. [`CudaBackend::prepare_device_with`] takes the choice,
//! and each rung of the ladder up to that configuration ([`DenseConfig::ladder`]), for measurements.
//!
//! Also on Hopper plans in BMat in f16, bf16 and f32 (as TF32, rounded), with values or of patterns only, by
//! a kernel on `mma.sync` after Voltrix (section 3): producer warps copy masks, values and rows of B to a
//! ring of stages; consumer warps decode the masks into fragments, bit by lane, and find values by counting
//! bits. Where the schedule has [partitions](girih_planner::schedule::Schedule::sm_aligned), as many blocks
//! as a multiprocessor holds share each and walk through it, its cuts by columns included; other schedules
//! have a block for each task, and windows that they split are added up in order. NaN and Inf reach the rows
//! that have an entry for them, and no others: what a tile's zeros have spread is computed once more, entry
//! by entry, which is slow.
//!
//! A plan's [precision](girih_planner::Precision) may rule rounding to TF32 out. In CSR nothing is rounded in
//! any case; WCSR and BCSR are refused then. BMat has two more kernels, which read the same ring. `3xtf32`
//! splits each operand into two TF32 numbers and adds three products on tensor cores. `f32` walks the entries
//! of a row by the bits of its masks on CUDA cores: a sum is that of fused multiply-adds in the order of
//! columns, and parts of windows that the schedule splits are added in order.
//!
//! Plans in 2:4 of f16 or bf16, in any row order, run on Hopper's sparse tensor cores, by a kernel after
//! Croqtile's worklog: tiles of 128 rows × 64 to 256 columns, `wgmma.mma_async.sp`, sums in f32. A is laid out
//! once, when a plan is prepared, so that each stage of the ring is one copy. Metadata have a copy and a barrier
//! of their own. Groups of four columns
//! hold none, one or two entries. What else such a group stores is a zero that counts as stored: multiplied by
//! NaN or Inf in B, its row gets NaN, and no other row does. `PlanOptions::exact_nonfinite` rules 2:4 out where
//! there are such zeros. B is read as in BCSR.
//!
//! # Operands
//! [`CudaPrepared::execute_device`] takes B and C in device memory, with any positive strides, and only
//! enqueues: it can be captured into a graph, and any number of streams may use a plan. What operands launch that are not
//! as the plan was made for is loaded, or compiled, by the first such product. Where columns of B make no whole
//! vectors of 16 bytes, a plan made for that `n` has memory for a copy in rows that do, at most 512 MiB. Kernels read the
//! copy if they read rows of B often. CSR reads other rows in loads of up to 8 bytes. As a
//! [`SpmmBackend`](girih_backend::SpmmBackend) the backend takes operands on the host and copies them
//! there and back, which takes far longer than most products: page-locked memory as it is, other memory
//! through page-locked buffers by all threads of the rayon pool, large operands in panels of columns.
//!
//! # Sampled products
//! `S = α·(X·Yᵀ) ⊙ pattern + β·S`, in one of two ways ([`SddmmLayout`]):
//!
//! - Entry by entry on CUDA cores, in any value type. The entries of a pattern in CSR are cut into runs of equal
//!   length, whatever rows they are in. A team of 1 to 32 lanes takes a run: it keeps its row of X in registers and
//!   reads rows of Y in vectors.
//! - By windows of 16 rows on tensor cores, in f16 and bf16: a row of Y is read once for all entries in its column of a
//!   window, and the window's rows of X come to shared memory once.
//!
//! [`CudaBackend::prepare_sddmm`] takes the way that is estimated to read fewer bytes, and keeps the pattern on the
//! device, where a loop samples it again and again; [`CudaSddmm::lowering`] says which it took, and why.
//! [`SddmmBackend`](girih_backend::SddmmBackend) sends the pattern with every product, entry by entry.
//!
//! # Epilogues
//! A bias for rows or columns and an activation are applied where the kernels of all formats store C: once for every
//! element, after the last sum. Rows or windows that come in pieces have theirs from the kernel that adds them up; where
//! pieces are added to C atomically, a pass over the rows of split windows follows. Rows without entries have theirs too.
//! Kernels with an epilogue are compiled apart from those of plain products, which so pay nothing for it; the first
//! product with an epilogue loads them. The bits are those of the plain product, put through the epilogue in the
//! accumulation type. GELU is computed by approximate powers and reciprocals in f32.
//! With an epilogue C leaves tensor-core kernels by vectors, not by tensor copies.
//!
//! # Aggregations
//! Plans in CSR, in any value type, take the [maximum, minimum or mean](girih_backend::Aggregation) of the products of
//! each row ([`CudaPrepared::aggregate_device`], or [`aggregate`](girih_backend::PreparedSpmm::aggregate) for operands on
//! the host); other formats refuse. Rows are shared out as those of products are, but no warp takes several; what a row's
//! parts come to is joined in their order. These kernels too are compiled apart and loaded when first requested: maxima
//! and minima together, and means.
//!
//! # Products of one's own
//! [`low_level`] has what a product by other kernels or by a library is made of. `girih-cuda-libraries` multiplies so
//! with cuSPARSE and cuBLASLt, and times all of them on the same operands.
//!
//! # Reproducibility
//! An element of C has the same bits whenever it is computed from the same plan, value type and n, for
//! any strides and alignment, on any device with as many multiprocessors: nothing is added atomically, unless the
//! plan's schedule says so.
//!
//! ```no_run
//! use girih_backend_cuda::{CudaBackend, DeviceMatrix, DeviceMatrixMut, Strides};
//! # fn multiply(plan: &girih_planner::Plan, b: &[f32]) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
//! let backend = CudaBackend::default();
//! let prepared = backend.prepare_device(plan)?;
//! let stream = backend.context()?.new_stream()?;
//!
//! let b = stream.clone_htod(b)?;
//! let b = DeviceMatrix::new(&b, Strides::row_major(plan.ncols(), 64))?;
//! let mut c = stream.alloc_zeros::<f32>(plan.nrows() * 64)?;
//! let mut c = DeviceMatrixMut::new(&mut c, Strides::row_major(plan.nrows(), 64))?;
//! prepared.execute_device(&stream, 1.0, &b, 0.0, &mut c)?;
//! # Ok(stream.clone_dtoh(c.slice())?)
//! # }
//! ```

#![deny(unsafe_code)]

pub mod ablation;
mod backend;
mod catalog;
mod cta_order;
#[expect(unsafe_code, reason = "the CUDA driver is called")]
mod device;
#[cfg(test)]
mod emulated;
mod epilogue;
mod error;
mod jit;
mod kernel;
pub mod kernels;
mod launch;
#[expect(unsafe_code, reason = "libraries are loaded and called at run time")]
mod library;
pub mod low_level;
mod operand;
mod options;
mod prepared;

pub use cudarc;

pub use backend::CudaBackend;
pub use catalog::CudaKernels;
pub use cta_order::CtaOrder;
pub use device::{
    DeviceInfo, Half, bits_memory, complex_memory, devices, driver_version, half_memory,
    parts_memory,
};
pub use epilogue::DeviceEpilogue;
pub use error::{Arch, CudaError};
pub use jit::{Binary, Jit, Origin, Resources};
pub use kernels::csr_spmm::{CsrLayout, CsrTeams};
pub use kernels::sm90_dense_gemm::{DenseConfig, FullBlocks, Rung};
pub use library::{Attempt, LibrarySearch, Nvrtc};
pub use operand::{DeviceMatrix, DeviceMatrixMut, Strides};
pub use options::CudaOptions;
pub use prepared::{CudaPrepared, CudaSddmm, OperandRows, SddmmLayout};

/// The name of the CUDA backend.
pub const NAME: &str = "cuda";
