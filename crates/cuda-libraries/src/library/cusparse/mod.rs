//! cuSPARSE: NVIDIA's sparse products.
//!
//! The functions of its generic interface are looked up here, as NVRTC's are: the library may lie
//! anywhere, and one that is too old is an error.

mod operand;
mod product;
mod sampled;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use girih_backend_cuda::cudarc::driver::CudaStream;
use girih_backend_cuda::low_level::FoundLibrary;
use girih_backend_cuda::{CudaError, LibrarySearch, library_functions};
use girih_formats::DType;

pub(crate) use operand::{DenseMatrix, Sparse, SparseMatrix};
pub(crate) use product::{Algorithm, Scale, Spmm};
pub(crate) use sampled::{Sddmm, WritableCsr};

type Status = c_int;
/// Handles and descriptors alike.
type Opaque = *mut c_void;

const SUCCESS: Status = 0;
const INSUFFICIENT_RESOURCES: Status = 11;
const NOT_SUPPORTED: Status = 10;

const LIBRARY: &str = "cuSPARSE";

/// CUDA 13 and 12 ship the same major version.
const NAMES: [&str; 2] = ["libcusparse.so.12", "libcusparse.so"];

library_functions! {
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
    create_writable_csr = "cusparseCreateCsr": fn(
        *mut Opaque, i64, i64, i64, *mut c_void, *mut c_void, *mut c_void, c_int, c_int, c_int, c_int
    ) -> Status;
    set_values = "cusparseSpMatSetValues": fn(Opaque, *mut c_void) -> Status;
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
    sddmm_buffer_size = "cusparseSDDMM_bufferSize": fn(
        Opaque, c_int, c_int, *const c_void, Opaque, Opaque, *const c_void, Opaque, c_int, c_int,
        *mut usize
    ) -> Status;
    sddmm_preprocess = "cusparseSDDMM_preprocess": fn(
        Opaque, c_int, c_int, *const c_void, Opaque, Opaque, *const c_void, Opaque, c_int, c_int,
        *mut c_void
    ) -> Status;
    sddmm = "cusparseSDDMM": fn(
        Opaque, c_int, c_int, *const c_void, Opaque, Opaque, *const c_void, Opaque, c_int, c_int,
        *mut c_void
    ) -> Status;
}

/// cuSPARSE, loaded.
pub struct Cusparse {
    functions: Functions,
    /// What the functions are in.
    library: FoundLibrary,
    version: (u32, u32, u32),
}

impl fmt::Debug for Cusparse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { library, version, .. } = self;
        f.debug_struct("Cusparse").field("path", &library.path()).field("version", version).finish()
    }
}

impl Cusparse {
    /// Finds and loads it.
    ///
    /// # Errors
    /// [`CudaError::LibraryNotFound`], or [`CudaError::FunctionMissing`] if it is too old: products of
    /// BSR came with CUDA 12.6.
    pub fn load(search: &LibrarySearch) -> Result<Self, CudaError> {
        let library = search.open(LIBRARY, &NAMES)?;
        let functions = Functions::of(&library)?;
        let mut this = Self { functions, library, version: (0, 0, 0) };
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
        self.library.path()
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
        Err(CudaError::Library { library: LIBRARY, operation, reason, unsupported })
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

impl Handle {
    /// Lets what is called next run on a stream.
    fn take_stream(&self, stream: &CudaStream) -> Result<(), CudaError> {
        // SAFETY: the stream is alive.
        let status =
            unsafe { (self.library.functions.set_stream)(self.handle, stream.cu_stream().cast()) };
        self.library.check("take a stream", status)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once. There is nobody to tell of a failure.
        unsafe { (self.library.functions.destroy)(self.handle) };
    }
}

/// `cudaDataType` of a value type.
pub(in crate::library) fn data_type(dtype: DType) -> c_int {
    match dtype {
        DType::F32 => 0,
        DType::F64 => 1,
        DType::F16 => 2,
        DType::Bf16 => 14,
        DType::C32 => 4,
        DType::C64 => 5,
    }
}
