//! Sampled products.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use girih_backend_cuda::CudaError;
use girih_backend_cuda::cudarc::driver::CudaStream;
use girih_formats::DType;

use super::operand::{BASE_ZERO, DenseMatrix, Described, INDEX_32};
use super::product::{AS_IT_IS, Scale};
use super::{Cusparse, Handle, Opaque, Status, data_type};

/// `CUSPARSE_OPERATION_TRANSPOSE`, and the only algorithm there is.
const TRANSPOSED: c_int = 1;
const DEFAULT: c_int = 0;

/// The description of a matrix in CSR whose values the library writes; offsets and columns of 32 bits.
pub(crate) struct WritableCsr {
    library: Arc<Cusparse>,
    matrix: Opaque,
    dtype: DType,
}

// SAFETY: a description is host memory that is used under the handle's lock.
unsafe impl Send for WritableCsr {}

impl fmt::Debug for WritableCsr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WritableCsr").field("dtype", &self.dtype).finish_non_exhaustive()
    }
}

impl WritableCsr {
    /// Describes arrays, which live as long as it is used. `dtype` is the type of the values.
    pub(crate) fn new(
        library: Arc<Cusparse>,
        (rows, cols, nnz): (u64, u64, u64),
        [row_ptr, col_idx, values]: [u64; 3],
        dtype: DType,
    ) -> Result<Self, CudaError> {
        let mut matrix = ptr::null_mut();
        let at = |address: u64| address as *mut c_void;
        // SAFETY: the description is written to a pointer; addresses are kept, not followed.
        let status = unsafe {
            (library.functions.create_writable_csr)(
                &raw mut matrix,
                rows as i64,
                cols as i64,
                nnz as i64,
                at(row_ptr),
                at(col_idx),
                at(values),
                INDEX_32,
                INDEX_32,
                BASE_ZERO,
                data_type(dtype),
            )
        };
        library.check("describe S", status)?;
        Ok(Self { library, matrix, dtype })
    }

    /// Puts the values elsewhere.
    pub(crate) fn set_values(&mut self, address: u64) -> Result<(), CudaError> {
        // SAFETY: the description is alive; the address is kept, not followed.
        let status =
            unsafe { (self.library.functions.set_values)(self.matrix, address as *mut c_void) };
        self.library.check("take S", status)
    }
}

impl Drop for WritableCsr {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once. There is nobody to tell of a failure.
        unsafe { (self.library.functions.destroy_sparse)(self.matrix) };
    }
}

/// A sampled product, `S = α·(X·Yᵀ) ⊙ pattern(S) + β·S`.
#[derive(Debug)]
pub(crate) struct Sddmm<'a> {
    pub(crate) x: DenseMatrix,
    pub(crate) y: DenseMatrix,
    pub(crate) s: &'a WritableCsr,
    pub(crate) alpha: Scale,
    pub(crate) beta: Scale,
}

impl Sddmm<'_> {
    /// Bytes of the buffer that it needs.
    pub(crate) fn buffer_size(&self, handle: &Handle) -> Result<usize, CudaError> {
        let mut bytes = 0;
        let size = handle.library.functions.sddmm_buffer_size;
        // SAFETY: the size is written to an integer, and no address is followed.
        unsafe { self.call(handle, size, &raw mut bytes, "size its buffer") }?;
        Ok(bytes)
    }

    /// Enqueues an analysis of the pattern, which products with this buffer and these shapes then use.
    ///
    /// # Safety
    /// The addresses of S's pattern and the buffer are of this context's memory, as large as needed, and live until
    /// the stream has run it.
    pub(crate) unsafe fn preprocess(
        &self,
        handle: &Handle,
        stream: &CudaStream,
        buffer: u64,
    ) -> Result<(), CudaError> {
        handle.take_stream(stream)?;
        let (analyse, buffer) = (handle.library.functions.sddmm_preprocess, buffer as *mut c_void);
        // SAFETY: the caller's promise.
        unsafe { self.call(handle, analyse, buffer, "analyse the pattern") }
    }

    /// Enqueues the product.
    ///
    /// # Safety
    /// All addresses are of this context's memory, as large as needed, live until the stream has run the product,
    /// and nobody writes what it reads or uses S and the buffer meanwhile.
    pub(crate) unsafe fn enqueue(
        &self,
        handle: &Handle,
        stream: &CudaStream,
        buffer: u64,
    ) -> Result<(), CudaError> {
        handle.take_stream(stream)?;
        let (sample, buffer) = (handle.library.functions.sddmm, buffer as *mut c_void);
        // SAFETY: the caller's promise.
        unsafe { self.call(handle, sample, buffer, "sample") }
    }

    /// Calls one of the three functions, which differ in their last parameter.
    unsafe fn call<L>(
        &self,
        handle: &Handle,
        function: unsafe extern "C" fn(
            Opaque,
            c_int,
            c_int,
            *const c_void,
            Opaque,
            Opaque,
            *const c_void,
            Opaque,
            c_int,
            c_int,
            L,
        ) -> Status,
        last: L,
        operation: &'static str,
    ) -> Result<(), CudaError> {
        let x = Described::new(&handle.library, &self.x)?;
        let y = Described::new(&handle.library, &self.y)?;
        let (alpha, beta) = (self.alpha.address(), self.beta.address());
        let (s, compute) = (self.s.matrix, data_type(self.s.dtype));
        // SAFETY: the descriptions are alive; scalars are read before it returns; the rest is the caller's promise.
        let status = unsafe {
            function(
                handle.handle,
                AS_IT_IS,
                TRANSPOSED,
                alpha,
                x.matrix,
                y.matrix,
                beta,
                s,
                compute,
                DEFAULT,
                last,
            )
        };
        handle.library.check(operation, status)
    }
}
