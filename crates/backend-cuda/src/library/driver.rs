//! The CUDA driver, opened before cudarc calls it.

use std::sync::OnceLock;

use super::{LibrarySearch, open};
use crate::CudaError;

const LIBRARY: &str = "the CUDA driver";

/// Every function that the backend calls, itself or through cudarc.
const FUNCTIONS: [&str; 41] = [
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncSetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuInit",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuMemAllocAsync",
    "cuMemAlloc_v2",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamIsCapturing",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuTensorMapEncodeTiled",
];

/// Makes sure that the driver can be called.
///
/// The answer is found once for a process: cudarc keeps the library it loads.
///
/// # Errors
/// [`CudaError::LibraryNotFound`] if there is no driver, [`CudaError::FunctionMissing`] if it is too
/// old.
pub(crate) fn driver() -> Result<(), CudaError> {
    static USABLE: OnceLock<()> = OnceLock::new();
    if USABLE.get().is_some() {
        return Ok(());
    }
    // The names that cudarc tries, in its order: what is checked here is what it will load.
    let names: Vec<String> =
        ["cuda", "nvcuda"].into_iter().flat_map(cudarc::get_lib_name_candidates).collect();
    let found = open(LIBRARY, &names, &LibrarySearch::new()).map_err(in_short)?;
    for symbol in FUNCTIONS {
        // SAFETY: the address is looked up, not called.
        let function = unsafe { found.library.get::<unsafe extern "C" fn()>(symbol.as_bytes()) };
        if function.is_err() {
            let (library, path) = (LIBRARY, found.path);
            return Err(CudaError::FunctionMissing { library, path, symbol });
        }
    }
    // Stays loaded, so that cudarc, which asks for the same name, gets the same library.
    std::mem::forget(found.library);
    USABLE.get_or_init(|| ());
    Ok(())
}

/// Of some thirty names, those that a person would look for.
fn in_short(error: CudaError) -> CudaError {
    match error {
        CudaError::LibraryNotFound { library, mut tried } => {
            if let [only] = &mut tried[..] {
                only.name = "libcuda.so, libcuda.so.1 and other names of it".to_owned();
            }
            CudaError::LibraryNotFound { library, tried }
        }
        error => error,
    }
}
