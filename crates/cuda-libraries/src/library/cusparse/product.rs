//! Products.

use std::ffi::{c_int, c_void};
use std::ptr;

use girih_backend_cuda::CudaError;
use girih_backend_cuda::cudarc::driver::CudaStream;
use girih_formats::{Complex, DType, Scalar};

use super::operand::{DenseMatrix, Described, SparseMatrix};
use super::{Handle, Opaque, Status, data_type};

/// `CUSPARSE_OPERATION_NON_TRANSPOSE`.
pub(super) const AS_IT_IS: c_int = 0;

/// A scalar of the compute type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scale {
    F32(f32),
    F64(f64),
    C32(Complex<f32>),
    C64(Complex<f64>),
}

impl Scale {
    /// A real type takes the real part alone.
    pub(crate) fn new(value: impl Into<Complex<f64>>, compute: DType) -> Self {
        let value = value.into();
        match compute {
            DType::F64 => Self::F64(value.re),
            DType::C32 => Self::C32(Complex::from_c64(value)),
            DType::C64 => Self::C64(value),
            _ => Self::F32(value.re as f32),
        }
    }

    pub(crate) fn address(&self) -> *const c_void {
        match self {
            Self::F32(value) => ptr::from_ref(value).cast(),
            Self::F64(value) => ptr::from_ref(value).cast(),
            Self::C32(value) => ptr::from_ref(value).cast(),
            Self::C64(value) => ptr::from_ref(value).cast(),
        }
    }

    /// Whether it is zero in its own type.
    pub(crate) fn is_zero(&self) -> bool {
        match *self {
            Self::F32(value) => value == 0.0,
            Self::F64(value) => value == 0.0,
            Self::C32(value) => value.is_zero(),
            Self::C64(value) => value.is_zero(),
        }
    }
}

/// `cusparseSpMMAlg_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Csr1 = 4,
    Csr2 = 6,
    Csr3 = 12,
    BlockedEll = 13,
    Bsr = 14,
}

/// A product of a sparse matrix, `C = α·A·B + β·C`.
#[derive(Debug)]
pub(crate) struct Spmm<'a> {
    pub(crate) a: &'a SparseMatrix,
    pub(crate) b: DenseMatrix,
    pub(crate) c: DenseMatrix,
    pub(crate) alpha: Scale,
    pub(crate) beta: Scale,
    pub(crate) algorithm: Algorithm,
}

impl Spmm<'_> {
    /// Bytes of the buffer that it needs.
    pub(crate) fn buffer_size(&self, handle: &Handle) -> Result<usize, CudaError> {
        let mut bytes = 0;
        self.with_operands(handle, |b, c| {
            let (alpha, beta) = (self.alpha.address(), self.beta.address());
            let (compute, algorithm) = (data_type(self.c.dtype), self.algorithm as c_int);
            // SAFETY: the descriptions are alive, and the size is written to an integer.
            let status = unsafe {
                (handle.library.functions.buffer_size)(
                    handle.handle,
                    AS_IT_IS,
                    AS_IT_IS,
                    alpha,
                    self.a.matrix,
                    b,
                    beta,
                    c,
                    compute,
                    algorithm,
                    &raw mut bytes,
                )
            };
            handle.library.check("size its buffer", status)
        })?;
        Ok(bytes)
    }

    /// Enqueues an analysis of A, which products with this buffer and these shapes then use.
    ///
    /// # Safety
    /// The addresses of A and the buffer are of this context's memory, as large as needed, and live
    /// until the stream has run it.
    pub(crate) unsafe fn preprocess(
        &self,
        handle: &Handle,
        stream: &CudaStream,
        buffer: u64,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        unsafe { self.call(handle, stream, buffer, handle.library.functions.preprocess, "prepare") }
    }

    /// Enqueues the product.
    ///
    /// # Safety
    /// All addresses are of this context's memory, as large as needed, live until the stream has run
    /// the product, and nobody writes what it reads or uses C and the buffer meanwhile.
    pub(crate) unsafe fn enqueue(
        &self,
        handle: &Handle,
        stream: &CudaStream,
        buffer: u64,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        unsafe { self.call(handle, stream, buffer, handle.library.functions.spmm, "multiply") }
    }

    unsafe fn call(
        &self,
        handle: &Handle,
        stream: &CudaStream,
        buffer: u64,
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
            *mut c_void,
        ) -> Status,
        operation: &'static str,
    ) -> Result<(), CudaError> {
        handle.take_stream(stream)?;
        self.with_operands(handle, |b, c| {
            let (alpha, beta) = (self.alpha.address(), self.beta.address());
            let (compute, algorithm) = (data_type(self.c.dtype), self.algorithm as c_int);
            // SAFETY: the descriptions are alive; scalars are read before it returns; the rest is the
            // caller's promise.
            let status = unsafe {
                function(
                    handle.handle,
                    AS_IT_IS,
                    AS_IT_IS,
                    alpha,
                    self.a.matrix,
                    b,
                    beta,
                    c,
                    compute,
                    algorithm,
                    buffer as *mut c_void,
                )
            };
            handle.library.check(operation, status)
        })
    }

    /// Describes B and C for the time of a call: host memory, a few words each.
    fn with_operands<R>(
        &self,
        handle: &Handle,
        call: impl FnOnce(Opaque, Opaque) -> Result<R, CudaError>,
    ) -> Result<R, CudaError> {
        let b = Described::new(&handle.library, &self.b)?;
        let c = Described::new(&handle.library, &self.c)?;
        call(b.matrix, c.matrix)
    }
}
