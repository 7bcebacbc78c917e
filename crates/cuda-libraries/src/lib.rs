//! Products of cuSPARSE and cuBLASLt on a CUDA device, timed and checked beside girih's.
//!
//! - [`CusparseBackend`] is a [backend](girih_backend::SpmmBackend) that multiplies with cuSPARSE. Programs name it;
//!   no registry offers it.
//! - [`CusparseSddmm`] samples with cuSPARSE, and [`TimedSampled`] times that beside girih's sampled products.
//! - [`DenseYardstick`] multiplies the dense form of a matrix with cuBLASLt.
//! - [`TimedProducts`] times products of any prepared plan on the device itself, and [`CudaRoofline`] what the
//!   device can do at most.
//!
//! The libraries are looked for when they are first needed, by a
//! [`LibrarySearch`](girih_backend_cuda::LibrarySearch). Everything else is made of
//! [`girih_backend_cuda::low_level`].
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use girih_cuda_libraries::{CusparseBackend, CusparseOptions, TimedOperands, TimedProducts};
//!
//! # fn time(plan: &girih_planner::Plan, b: &ndarray::Array2<f32>) -> Result<(), Box<dyn std::error::Error>> {
//! let cusparse = CusparseBackend::new(CusparseOptions::default());
//! let prepared = cusparse.prepare_device(plan)?;
//! let operands = Arc::new(TimedOperands::new(&prepared, &b.view())?);
//! let mut products = TimedProducts::new(prepared, operands)?;
//! products.time(3)?;
//! println!("{:?} per product", products.time(100)? / 100);
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "the library is called with raw device memory")]
mod cusparse;
#[expect(unsafe_code, reason = "libraries are called at run time")]
mod library;
#[expect(unsafe_code, reason = "kernels are launched on raw device memory")]
mod roofline;
#[expect(unsafe_code, reason = "products are enqueued on raw device memory")]
mod sampled;
#[expect(unsafe_code, reason = "products are enqueued on raw device memory")]
mod timing;
#[expect(unsafe_code, reason = "the library is called with raw device memory")]
mod yardstick;

pub use cusparse::{CsrAlgorithm, CusparseBackend, CusparseOptions, CusparseSddmm};
pub use library::{CublasLt, Cusparse};
pub use roofline::{CudaRoofline, kernel as roofline_kernel};
pub use sampled::{Sampler, TimedSampled};
pub use timing::{TimedOperands, TimedProducts};
pub use yardstick::{CublasLtOptions, DenseYardstick};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what no panic can leave half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
