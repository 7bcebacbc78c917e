//! NVIDIA's libraries by their C functions, each opened at run time.

mod cublaslt;
mod cusparse;

pub use cublaslt::CublasLt;
pub(crate) use cublaslt::{Dense, DenseCompute, DenseProduct};
pub use cusparse::Cusparse;
pub(crate) use cusparse::{
    Algorithm, DenseMatrix, Handle, Scale, Sddmm, Sparse, SparseMatrix, Spmm, WritableCsr,
};
