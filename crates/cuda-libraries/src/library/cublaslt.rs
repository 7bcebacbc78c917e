//! cuBLASLt: NVIDIA's dense products, a yardstick.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use girih_backend_cuda::cudarc::driver::CudaStream;
use girih_backend_cuda::low_level::FoundLibrary;
use girih_backend_cuda::{CudaError, LibrarySearch, library_functions};
use girih_formats::DType;

use super::cusparse::{Scale, data_type};

type Status = c_int;
/// Handles and descriptors alike.
type Opaque = *mut c_void;

const SUCCESS: Status = 0;
const NOT_SUPPORTED: Status = 15;

/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`.
const MAX_WORKSPACE: c_int = 1;

const LIBRARY: &str = "cuBLASLt";

const NAMES: [&str; 3] = ["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"];

/// `cublasLtMatmulAlgo_t`, which may be copied.
type Algo = [u64; 8];

/// `cublasLtMatmulHeuristicResult_t`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Choice {
    algo: Algo,
    workspace: usize,
    state: Status,
    waves: f32,
    reserved: [c_int; 4],
}

library_functions! {
    version = "cublasLtGetVersion": fn() -> usize;
    status_string = "cublasLtGetStatusString": fn(Status) -> *const c_char;
    create = "cublasLtCreate": fn(*mut Opaque) -> Status;
    destroy = "cublasLtDestroy": fn(Opaque) -> Status;
    create_product = "cublasLtMatmulDescCreate": fn(*mut Opaque, c_int, c_int) -> Status;
    destroy_product = "cublasLtMatmulDescDestroy": fn(Opaque) -> Status;
    create_layout = "cublasLtMatrixLayoutCreate": fn(*mut Opaque, c_int, u64, u64, i64) -> Status;
    destroy_layout = "cublasLtMatrixLayoutDestroy": fn(Opaque) -> Status;
    create_preference = "cublasLtMatmulPreferenceCreate": fn(*mut Opaque) -> Status;
    destroy_preference = "cublasLtMatmulPreferenceDestroy": fn(Opaque) -> Status;
    set_preference = "cublasLtMatmulPreferenceSetAttribute": fn(
        Opaque, c_int, *const c_void, usize
    ) -> Status;
    heuristic = "cublasLtMatmulAlgoGetHeuristic": fn(
        Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, c_int, *mut Choice, *mut c_int
    ) -> Status;
    matmul = "cublasLtMatmul": fn(
        Opaque, Opaque, *const c_void, *const c_void, Opaque, *const c_void, Opaque, *const c_void,
        *const c_void, Opaque, *mut c_void, Opaque, *const Algo, *mut c_void, usize, *mut c_void
    ) -> Status;
}

/// cuBLASLt, loaded.
pub struct CublasLt {
    functions: Functions,
    /// What the functions are in.
    library: FoundLibrary,
    version: (u32, u32, u32),
}

impl fmt::Debug for CublasLt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { library, version, .. } = self;
        f.debug_struct("CublasLt").field("path", &library.path()).field("version", version).finish()
    }
}

impl CublasLt {
    /// Finds and loads it.
    ///
    /// # Errors
    /// [`CudaError::LibraryNotFound`], or [`CudaError::FunctionMissing`] if it is too old.
    pub fn load(search: &LibrarySearch) -> Result<Self, CudaError> {
        let library = search.open(LIBRARY, &NAMES)?;
        let functions = Functions::of(&library)?;
        // SAFETY: it takes nothing.
        let version = unsafe { (functions.version)() };
        Ok(Self { functions, library, version: parts(version) })
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
        let text = unsafe { (self.functions.status_string)(status) };
        let reason = if text.is_null() {
            format!("error {status}")
        } else {
            // SAFETY: it is not null and ends with a zero.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        let unsupported = status == NOT_SUPPORTED;
        Err(CudaError::Library { library: LIBRARY, operation, reason, unsupported })
    }
}

/// The parts of a version as cuBLAS numbers them: 120801 is 12.8.1.
fn parts(version: usize) -> (u32, u32, u32) {
    let version = version as u32;
    (version / 10_000, version / 100 % 100, version % 100)
}

/// In what a dense product computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DenseCompute {
    F32,
    /// f32 operands rounded to TF32.
    Tf32,
    F64,
}

impl DenseCompute {
    /// `cublasComputeType_t`.
    fn code(self) -> c_int {
        match self {
            Self::F32 => 68,
            Self::Tf32 => 77,
            Self::F64 => 70,
        }
    }
}

/// The shape of a dense product of row-major matrices without gaps, A m×k, B k×n, C m×n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dense {
    pub(crate) m: u64,
    pub(crate) k: u64,
    pub(crate) n: u64,
    /// The type of A and B. C is of its accumulation type.
    pub(crate) dtype: DType,
    pub(crate) compute: DenseCompute,
    /// Bytes that an algorithm may have besides.
    pub(crate) workspace: usize,
}

/// A dense product, with the algorithms that the library thinks best, best first.
pub(crate) struct DenseProduct {
    library: Arc<CublasLt>,
    /// The library's own state, the product, the layouts of A, B and C: what is destroyed in the end.
    handle: Opaque,
    product: Opaque,
    layouts: [Opaque; 3],
    algorithms: Vec<Algo>,
    shape: Dense,
}

// SAFETY: neither the handle nor a description belongs to a thread; it is used under a lock.
unsafe impl Send for DenseProduct {}

impl fmt::Debug for DenseProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let algorithms = &self.algorithms.len();
        f.debug_struct("DenseProduct")
            .field("shape", &self.shape)
            .field("algorithms", algorithms)
            .finish_non_exhaustive()
    }
}

impl DenseProduct {
    /// Describes a product, and asks for at most `most` algorithms.
    pub(crate) fn new(
        library: Arc<CublasLt>,
        shape: Dense,
        most: usize,
    ) -> Result<Self, CudaError> {
        // What is made in part is destroyed when this is dropped.
        let mut this = Self {
            library,
            handle: ptr::null_mut(),
            product: ptr::null_mut(),
            layouts: [ptr::null_mut(); 3],
            algorithms: Vec::new(),
            shape,
        };
        let library = this.library.clone();
        let f = &library.functions;
        // SAFETY: it is written to a pointer.
        let status = unsafe { (f.create)(&raw mut this.handle) };
        library.check("start", status)?;
        let (operand, acc) = (data_type(shape.dtype), data_type(shape.dtype.accumulator()));
        // SAFETY: as above.
        let status =
            unsafe { (f.create_product)(&raw mut this.product, shape.compute.code(), acc) };
        library.check("describe a product", status)?;
        // A row-major matrix is its transpose column by column, and Cᵀ = Bᵀ·Aᵀ: B comes first.
        let Dense { m, k, n, .. } = shape;
        let described = [(operand, n, k), (operand, k, m), (acc, n, m)];
        for (layout, (dtype, rows, cols)) in this.layouts.iter_mut().zip(described) {
            // SAFETY: as above.
            let status = unsafe { (f.create_layout)(layout, dtype, rows, cols, rows as i64) };
            library.check("describe an operand", status)?;
        }
        this.algorithms = this.choose(most)?;
        Ok(this)
    }

    fn choose(&self, most: usize) -> Result<Vec<Algo>, CudaError> {
        let f = &self.library.functions;
        let mut preference = ptr::null_mut();
        // SAFETY: it is written to a pointer.
        let status = unsafe { (f.create_preference)(&raw mut preference) };
        self.library.check("take preferences", status)?;
        let bytes: usize = self.shape.workspace;
        let mut choices = vec![Choice::default(); most];
        let mut found = 0;
        let [b, a, c] = self.layouts;
        // SAFETY: the preference is alive and takes a number of this size; `choices` has `most`
        // elements; all descriptions are alive.
        let statuses = unsafe {
            let size = size_of::<usize>();
            let set =
                (f.set_preference)(preference, MAX_WORKSPACE, (&raw const bytes).cast(), size);
            let chosen = (f.heuristic)(
                self.handle,
                self.product,
                b,
                a,
                c,
                c,
                preference,
                most as c_int,
                choices.as_mut_ptr(),
                &raw mut found,
            );
            (f.destroy_preference)(preference);
            (set, chosen)
        };
        self.library.check("take preferences", statuses.0)?;
        self.library.check("choose an algorithm", statuses.1)?;
        choices.truncate(usize::try_from(found).unwrap_or(0));
        let usable = |choice: &Choice| choice.state == SUCCESS && choice.workspace <= bytes;
        let algorithms: Vec<Algo> = choices.into_iter().filter(usable).map(|c| c.algo).collect();
        if algorithms.is_empty() {
            let reason = "it has none for this shape".to_owned();
            let operation = "choose an algorithm";
            return Err(CudaError::Library {
                library: LIBRARY,
                operation,
                reason,
                unsupported: true,
            });
        }
        Ok(algorithms)
    }

    /// How many algorithms there are to choose from; one at least.
    pub(crate) fn algorithms(&self) -> usize {
        self.algorithms.len()
    }

    /// Enqueues `C = α·A·B + β·C` by one of the algorithms.
    ///
    /// # Safety
    /// All addresses are of the current context's memory, as large as the shape says, live until the
    /// stream has run the product, and nobody writes what it reads or uses C and the workspace
    /// meanwhile.
    pub(crate) unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        algorithm: usize,
        (alpha, beta): (f64, f64),
        [a, b, c, workspace]: [u64; 4],
    ) -> Result<(), CudaError> {
        let acc = self.shape.dtype.accumulator();
        let (alpha, beta) = (Scale::new(alpha, acc), Scale::new(beta, acc));
        let [b_layout, a_layout, c_layout] = self.layouts;
        // SAFETY: descriptions are alive, scalars are read before it returns; the rest is the caller's
        // promise.
        let status = unsafe {
            (self.library.functions.matmul)(
                self.handle,
                self.product,
                alpha.address(),
                b as *const c_void,
                b_layout,
                a as *const c_void,
                a_layout,
                beta.address(),
                c as *const c_void,
                c_layout,
                c as *mut c_void,
                c_layout,
                &raw const self.algorithms[algorithm],
                workspace as *mut c_void,
                self.shape.workspace,
                stream.cu_stream().cast(),
            )
        };
        self.library.check("multiply", status)
    }
}

impl Drop for DenseProduct {
    fn drop(&mut self) {
        let f = &self.library.functions;
        // SAFETY: what was created is destroyed once. There is nobody to tell of a failure.
        unsafe {
            for layout in self.layouts.into_iter().filter(|layout| !layout.is_null()) {
                (f.destroy_layout)(layout);
            }
            if !self.product.is_null() {
                (f.destroy_product)(self.product);
            }
            if !self.handle.is_null() {
                (f.destroy)(self.handle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_parts() {
        assert_eq!(parts(130_100), (13, 1, 0));
        assert_eq!(parts(120_801), (12, 8, 1));
    }

    #[test]
    fn a_choice_is_laid_out_as_in_the_header() {
        assert_eq!(size_of::<Choice>(), 64 + 8 + 4 + 4 + 16);
    }
}
