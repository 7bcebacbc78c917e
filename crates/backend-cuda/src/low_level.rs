//! What a product of one's own is made of: by kernels that this crate does not have, or by a library.
//!
//! - [`Gpu`] is a device in use: its context, a stream, [memory](Gpu::memory), and copies there and back.
//!   [`CudaBackend::gpu`](crate::CudaBackend::gpu) is that of a backend, and [`Gpu::open`] another's.
//! - A [`Kernel`](crate::kernels::Kernel) may have a source from anywhere, which may include the headers of this
//!   crate's kernels. [`CudaBackend::load`](crate::CudaBackend::load) compiles it, keeps it in the cache, and gives a
//!   [`LoadedKernel`], whose [entries](LoadedKernel::entry) are launched as cudarc launches functions.
//! - [`LibrarySearch::open`](crate::LibrarySearch::open) and [`library_functions!`](crate::library_functions) find a
//!   library and its functions at run time, with errors that say what is missing where.
//! - A [`DeviceProduct`] enqueues products of [`Operands`], whose B and C are [`Place`]s in device memory.
//!   [`CudaPrepared::of_product`](crate::CudaPrepared::of_product) makes it a prepared plan like any other, which
//!   checks operands, orders streams, and takes operands on the host too.
//! - [`CudaSddmm::enqueue`](crate::CudaSddmm::enqueue) samples [`SampledOperands`] by their addresses.
//!
//! `girih-cuda-libraries` is written with this alone, and is an example of all of it.

pub use crate::device::{DeviceMemory, Gpu, LoadedKernel};
pub use crate::error::refused_by;
pub use crate::kernels::csr_sddmm::SampledOperands;
pub use crate::kernels::supported::takes_b_as_it_is;
pub use crate::launch::Operands;
pub use crate::library::FoundLibrary;
pub use crate::operand::Place;
pub use crate::prepared::DeviceProduct;
