//! A device in use.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUfunction_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream};
use cudarc::nvrtc::Ptx;

use super::{DeviceInfo, Transfer, device, device_count};
use crate::CudaError;
use crate::jit::Binary;

/// A device, its context, and the way to it.
///
/// Copies between host and device are one thread's at a time, through buffers that the device keeps.
pub struct Gpu {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) info: DeviceInfo,
    pub(super) stream: Arc<CudaStream>,
    transfer: Mutex<Transfer>,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("info", &self.info).finish_non_exhaustive()
    }
}

impl Gpu {
    /// Opens the device of an index: retains its primary context.
    ///
    /// # Errors
    /// [`CudaError::LibraryNotFound`] or [`CudaError::FunctionMissing`] if there is no driver or it is too old,
    /// [`CudaError::NoDevice`] if it knows no such device, [`CudaError::Driver`] if it refuses.
    pub fn open(index: usize) -> Result<Self, CudaError> {
        let count = device_count()?;
        if index >= count {
            return Err(CudaError::NoDevice { index, count });
        }
        let info = device(index)?;
        let context = CudaContext::new(index).map_err(CudaError::driver("open a device"))?;
        let stream = context.new_stream().map_err(CudaError::driver("create a stream"))?;
        let transfer = Mutex::new(Transfer::new(stream.clone()));
        Ok(Self { context, info, stream, transfer })
    }

    /// What it is.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Its primary context.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The stream that copies are enqueued on.
    #[must_use]
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Makes its context the calling thread's, as libraries expect that are called with addresses.
    ///
    /// # Errors
    /// [`CudaError::Driver`] if the driver refuses.
    pub fn bind(&self) -> Result<(), CudaError> {
        self.context.bind_to_thread().map_err(CudaError::driver("use a device"))
    }

    /// The way to the device and back, which one thread at a time takes.
    pub(crate) fn transfer(&self) -> MutexGuard<'_, Transfer> {
        self.transfer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory on the device, its contents undefined. `what` is a plural, for the message.
    pub(crate) fn alloc(
        &self,
        stream: &Arc<CudaStream>,
        bytes: u64,
        what: &'static str,
    ) -> Result<CudaSlice<u8>, CudaError> {
        let memory = || self.context.mem_get_info().map_err(CudaError::driver("measure memory"));
        let total = memory()?.1 as u64;
        let refused = |free| CudaError::Memory { what, needed: bytes, free, total };
        // Beyond the device's size no allocator can have it.
        if bytes > total {
            return Err(refused(memory()?.0 as u64));
        }
        // The driver refuses to allocate nothing.
        // SAFETY: all of it is written before it is read.
        match unsafe { stream.alloc::<u8>(bytes.max(1) as usize) } {
            Ok(memory) => Ok(memory),
            Err(error) if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                Err(refused(memory()?.0 as u64))
            }
            Err(error) => Err(CudaError::driver("allocate device memory")(error)),
        }
    }

    /// Loads a binary, finds these entry points of it, and lets them have their dynamic shared memory.
    pub(super) fn load(
        &self,
        binary: &Binary,
        entries: &[&'static str],
        dynamic_shared: u32,
    ) -> Result<Vec<CudaFunction>, CudaError> {
        let module = self
            .context
            .load_module(Ptx::from_binary(binary.cubin.clone()))
            .map_err(CudaError::driver("load a kernel"))?;
        let functions = entries.iter().map(|&entry| {
            let function = module.load_function(entry);
            let function = function.map_err(CudaError::driver("find a kernel's entry"))?;
            if dynamic_shared > 0 {
                let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                let set = function.set_attribute(most, dynamic_shared as i32);
                set.map_err(CudaError::driver("grant a kernel its shared memory"))?;
            }
            Ok(function)
        });
        functions.collect()
    }
}
