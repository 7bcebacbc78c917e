//! Memory that libraries are given by its address.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop};

use crate::CudaError;
use crate::device::Gpu;

/// Device memory and its address, which may be had without recording an event.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    slice: CudaSlice<u8>,
    address: u64,
}

impl DeviceMemory {
    /// Allocates. `what` is a plural, for the message.
    pub(crate) fn new(
        gpu: &Gpu,
        stream: &Arc<CudaStream>,
        bytes: u64,
        what: &'static str,
    ) -> Result<Self, CudaError> {
        Ok(Self::of(gpu.alloc(stream, bytes, what)?, stream))
    }

    pub(super) fn of(mut slice: CudaSlice<u8>, stream: &CudaStream) -> Self {
        let address = slice.device_ptr_mut(stream).0;
        Self { slice, address }
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> u64 {
        self.slice.len() as u64
    }

    /// Tracks a reading on a stream, until the guard goes.
    pub(super) fn read<'a>(&'a self, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        self.slice.device_ptr(stream).1
    }

    /// Tracks a writing on a stream, until the guard goes.
    pub(super) fn write<'a>(&'a mut self, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        self.slice.device_ptr_mut(stream).1
    }

    /// Enqueues making all of it zero.
    pub(super) fn clear(&mut self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        stream.memset_zeros(&mut self.slice).map_err(CudaError::driver("fill memory"))
    }
}

/// Locks what no panic can leave half done.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
