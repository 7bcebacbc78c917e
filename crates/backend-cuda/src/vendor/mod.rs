//! NVIDIA's own libraries: cuSPARSE as a backend, and cuBLASLt as the dense product that a sparse one
//! is compared with.

mod cublaslt;
mod cusparse;
mod cusparse_product;
mod memory;
mod sparse_arrays;

pub use cublaslt::{CublasLtOptions, DenseYardstick};
pub use cusparse::{CsrAlgorithm, CusparseBackend, CusparseOptions};
pub(crate) use memory::DeviceMemory;
