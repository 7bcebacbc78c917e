//! cuSPARSE: NVIDIA's sparse products.
//!
//! The functions of its generic interface are looked up here, as NVRTC's are: the library may lie
//! anywhere, and one that is too old is an error.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use girih_formats::DType;
use libloading::Library;

use super::{LibrarySearch, open};
use crate::CudaError;

type Status = c_int;
/// Handles and descriptors alike.
type Opaque = *mut c_void;

const SUCCESS: Status = 0;
const INSUFFICIENT_RESOURCES: Status = 11;
const NOT_SUPPORTED: Status = 10;

/// `CUSPARSE_OPERATION_NON_TRANSPOSE`, `CUSPARSE_INDEX_BASE_ZERO`, and the two orders and index types.
const AS_IT_IS: c_int = 0;
const BASE_ZERO: c_int = 0;
const COL_MAJOR: c_int = 1;
const ROW_MAJOR: c_int = 2;
const INDEX_32: c_int = 2;
const INDEX_64: c_int = 3;

const LIBRARY: &str = "cuSPARSE";

/// CUDA 13 and 12 ship the same major version.
const NAMES: [&str; 2] = ["libcusparse.so.12", "libcusparse.so"];

functions! {
    of LIBRARY;
    property = "cusparseGetProperty": fn(c_int, *mut c_int) -> Status;
    error_string = "cusparseGetErrorString": fn(Status) -> *const c_char;
    create = "cusparseCreate": fn(*mut Opaque) -> Status;
    destroy = "cusparseDestroy": fn(Opaque) -> Status;
    set_stream = "cusparseSetStream": fn(Opaque, *mut c_void) -> Status;
    create_csr = "cusparseCreateConstCsr": fn(
        *mut Opaque, i64, i64, i64, *const c_void, *const c_void, *const c_void, c_int, c_int, c_int,
        c_int
    ) -> Status;
    create_bsr = "cusparseCreateConstBsr": fn(
        *mut Opaque, i64, i64, i64, i64, i64, *const c_void, *const c_void, *const c_void, c_int,
        c_int, c_int, c_int, c_int
    ) -> Status;
    create_ell = "cusparseCreateConstBlockedEll": fn(
        *mut Opaque, i64, i64, i64, i64, *const c_void, *const c_void, c_int, c_int, c_int
    ) -> Status;
    destroy_sparse = "cusparseDestroySpMat": fn(Opaque) -> Status;
    create_dense = "cusparseCreateDnMat": fn(
        *mut Opaque, i64, i64, i64, *mut c_void, c_int, c_int
    ) -> Status;
    destroy_dense = "cusparseDestroyDnMat": fn(Opaque) -> Status;
    buffer_size = "cusparseSpMM_bufferSize": fn(
        Opaque, c_int, c_int, *const c_void, Opaque, Opaque, *const c_void, Opaque, c_int, c_int,
        *mut usize
    ) -> Status;
    preprocess = "cusparseSpMM_preprocess": fn(
        Opaque, c_int, c_int, *const c_void, Opaque, Opaque, *const c_void, Opaque, c_int, c_int,
        *mut c_void
    ) -> Status;
    spmm = "cusparseSpMM": fn(
        Opaque, c_int, c_int, *const c_void, Opaque, Opaque, *const c_void, Opaque, c_int, c_int,
        *mut c_void
    ) -> Status;
}

/// cuSPARSE, loaded.
pub struct Cusparse {
    functions: Functions,
    path: String,
    version: (u32, u32, u32),
    /// What the functions are in.
    _library: Library,
}

impl fmt::Debug for Cusparse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, version, .. } = self;
        f.debug_struct("Cusparse").field("path", path).field("version", version).finish()
    }
}

impl Cusparse {
    /// Finds and loads it.
    ///
    /// # Errors
    /// [`CudaError::LibraryNotFound`], or [`CudaError::FunctionMissing`] if it is too old: products of
    /// BSR came with CUDA 12.6.
    pub fn load(search: &LibrarySearch) -> Result<Self, CudaError> {
        let found = open(LIBRARY, &NAMES.map(str::to_owned), search)?;
        let functions = Functions::of(&found.library, &found.path)?;
        let mut this =
            Self { functions, path: found.path, version: (0, 0, 0), _library: found.library };
        let part = |property| {
            let mut value = 0;
            // SAFETY: it is written to an integer.
            let status = unsafe { (this.functions.property)(property, &raw mut value) };
            this.check("tell its version", status).map(|()| c_int::unsigned_abs(value))
        };
        this.version = (part(0)?, part(1)?, part(2)?);
        Ok(this)
    }

    /// Where it was found: a path, or the name that the loader knew.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its major and minor version and its patch level.
    #[must_use]
    pub fn version(&self) -> (u32, u32, u32) {
        self.version
    }

    fn check(&self, operation: &'static str, status: Status) -> Result<(), CudaError> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: any number has a text, which is the library's and static.
        let text = unsafe { (self.functions.error_string)(status) };
        let reason = if text.is_null() {
            format!("error {status}")
        } else {
            // SAFETY: it is not null and ends with a zero.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        let unsupported = matches!(status, NOT_SUPPORTED | INSUFFICIENT_RESOURCES);
        Err(CudaError::Vendor { library: LIBRARY, operation, reason, unsupported })
    }
}

/// The library's own state, for one thread at a time.
///
/// It is of the context that is current when it is created, which is to be current when it is used.
pub(crate) struct Handle {
    library: Arc<Cusparse>,
    handle: Opaque,
}

// SAFETY: a handle belongs to a context, not to a thread.
unsafe impl Send for Handle {}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("library", &self.library).finish_non_exhaustive()
    }
}

impl Handle {
    pub(crate) fn new(library: Arc<Cusparse>) -> Result<Self, CudaError> {
        let mut handle = ptr::null_mut();
        // SAFETY: it is written to a pointer.
        let status = unsafe { (library.functions.create)(&raw mut handle) };
        library.check("start", status)?;
        Ok(Self { library, handle })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once. There is nobody to tell of a failure.
        unsafe { (self.library.functions.destroy)(self.handle) };
    }
}

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
    matrix: Opaque,
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

/// A scalar of the compute type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scale {
    F32(f32),
    F64(f64),
}

impl Scale {
    pub(crate) fn new(value: f64, compute: DType) -> Self {
        if compute == DType::F64 { Self::F64(value) } else { Self::F32(value as f32) }
    }

    pub(crate) fn address(&self) -> *const c_void {
        match self {
            Self::F32(value) => ptr::from_ref(value).cast(),
            Self::F64(value) => ptr::from_ref(value).cast(),
        }
    }

    /// Whether it is zero in its own type.
    pub(crate) fn is_zero(&self) -> bool {
        match *self {
            Self::F32(value) => value == 0.0,
            Self::F64(value) => value == 0.0,
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
        // SAFETY: the stream is alive.
        let status = unsafe {
            (handle.library.functions.set_stream)(handle.handle, stream.cu_stream().cast())
        };
        handle.library.check("take a stream", status)?;
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

/// The description of a dense matrix.
struct Described<'a> {
    library: &'a Cusparse,
    matrix: Opaque,
}

impl<'a> Described<'a> {
    fn new(library: &'a Cusparse, dense: &DenseMatrix) -> Result<Self, CudaError> {
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

/// `cudaDataType` of a value type.
pub(super) fn data_type(dtype: DType) -> c_int {
    match dtype {
        DType::F32 => 0,
        DType::F64 => 1,
        DType::F16 => 2,
        DType::Bf16 => 14,
    }
}
