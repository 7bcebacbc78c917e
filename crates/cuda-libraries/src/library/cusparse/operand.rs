//! Descriptions of matrices in device memory.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use girih_backend_cuda::CudaError;
use girih_formats::DType;

use super::{Cusparse, Opaque, data_type};

/// `CUSPARSE_INDEX_BASE_ZERO`, and the two orders and index types.
pub(super) const BASE_ZERO: c_int = 0;
const COL_MAJOR: c_int = 1;
const ROW_MAJOR: c_int = 2;
pub(super) const INDEX_32: c_int = 2;
const INDEX_64: c_int = 3;

/// Arrays of a sparse matrix in device memory: addresses and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sparse {
    /// Offsets and columns of 64 bits if `wide`, else of 32.
    Csr { rows: u64, cols: u64, nnz: u64, row_ptr: u64, col_idx: u64, values: u64, wide: bool },
    /// Counted in blocks, which are row-major; offsets and columns as above.
    Bsr {
        rows: u64,
        cols: u64,
        nnzb: u64,
        block: (u64, u64),
        row_ptr: u64,
        col_idx: u64,
        values: u64,
        wide: bool,
    },
    /// Rows, columns and the width of the values in elements; columns of 32 bits.
    Ell { rows: u64, cols: u64, block: u64, width: u64, col_idx: u64, values: u64 },
}

/// The description of a sparse matrix.
pub(crate) struct SparseMatrix {
    library: Arc<Cusparse>,
    pub(super) matrix: Opaque,
}

// SAFETY: a description is host memory that is used under the handle's lock.
unsafe impl Send for SparseMatrix {}
// SAFETY: as above.
unsafe impl Sync for SparseMatrix {}

impl fmt::Debug for SparseMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SparseMatrix").finish_non_exhaustive()
    }
}

impl SparseMatrix {
    /// Describes arrays, which live as long as it is used.
    pub(crate) fn new(
        library: Arc<Cusparse>,
        arrays: Sparse,
        dtype: DType,
    ) -> Result<Self, CudaError> {
        let mut matrix = ptr::null_mut();
        let (f, out, value) = (&library.functions, &raw mut matrix, data_type(dtype));
        let index = |wide| if wide { INDEX_64 } else { INDEX_32 };
        let at = |address: u64| address as *const c_void;
        // SAFETY: the description is written to a pointer; addresses are kept, not followed.
        let status = unsafe {
            match arrays {
                Sparse::Csr { rows, cols, nnz, row_ptr, col_idx, values, wide } => (f.create_csr)(
                    out,
                    rows as i64,
                    cols as i64,
                    nnz as i64,
                    at(row_ptr),
                    at(col_idx),
                    at(values),
                    index(wide),
                    index(wide),
                    BASE_ZERO,
                    value,
                ),
                Sparse::Bsr { rows, cols, nnzb, block, row_ptr, col_idx, values, wide } => (f
                    .create_bsr)(
                    out,
                    rows as i64,
                    cols as i64,
                    nnzb as i64,
                    block.0 as i64,
                    block.1 as i64,
                    at(row_ptr),
                    at(col_idx),
                    at(values),
                    index(wide),
                    index(wide),
                    BASE_ZERO,
                    value,
                    ROW_MAJOR,
                ),
                Sparse::Ell { rows, cols, block, width, col_idx, values } => (f.create_ell)(
                    out,
                    rows as i64,
                    cols as i64,
                    block as i64,
                    width as i64,
                    at(col_idx),
                    at(values),
                    INDEX_32,
                    BASE_ZERO,
                    value,
                ),
            }
        };
        library.check("describe A", status)?;
        Ok(Self { library, matrix })
    }
}

impl Drop for SparseMatrix {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once. There is nobody to tell of a failure.
        unsafe { (self.library.functions.destroy_sparse)(self.matrix) };
    }
}

/// A dense matrix in device memory, its rows or its columns contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DenseMatrix {
    pub(crate) address: u64,
    pub(crate) rows: u64,
    pub(crate) cols: u64,
    /// From one row (or column) to the next, in elements.
    pub(crate) leading: u64,
    pub(crate) row_major: bool,
    pub(crate) dtype: DType,
}

/// The description of a dense matrix.
pub(super) struct Described<'a> {
    library: &'a Cusparse,
    pub(super) matrix: Opaque,
}

impl<'a> Described<'a> {
    pub(super) fn new(library: &'a Cusparse, dense: &DenseMatrix) -> Result<Self, CudaError> {
        let mut matrix = ptr::null_mut();
        // SAFETY: the description is written to a pointer; the address is kept, not followed.
        let status = unsafe {
            (library.functions.create_dense)(
                &raw mut matrix,
                dense.rows as i64,
                dense.cols as i64,
                dense.leading as i64,
                dense.address as *mut c_void,
                data_type(dense.dtype),
                if dense.row_major { ROW_MAJOR } else { COL_MAJOR },
            )
        };
        library.check("describe an operand", status)?;
        Ok(Self { library, matrix })
    }
}

impl Drop for Described<'_> {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once. There is nobody to tell of a failure.
        unsafe { (self.library.functions.destroy_dense)(self.matrix) };
    }
}
