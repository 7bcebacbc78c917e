//! Device memory by its address, and what is sent there and fetched.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, cast_slice_mut};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop};
use girih_formats::Scalar;
use ndarray::{ArrayView2, ArrayViewMut2};

use super::Gpu;
use crate::CudaError;
use crate::operand::Place;
use crate::prepared::upload;

/// Memory on a device and its address.
///
/// The address is known without recording an event, which asking a [`CudaSlice`] for it does. Who passes the
/// address on keeps the memory alive, and orders what is done with it by [`read`](Self::read) and
/// [`write`](Self::write) or by using one stream.
#[derive(Debug)]
pub struct DeviceMemory {
    slice: CudaSlice<u8>,
    address: u64,
}

impl DeviceMemory {
    pub(crate) fn of(mut slice: CudaSlice<u8>, stream: &CudaStream) -> Self {
        let address = slice.device_ptr_mut(stream).0;
        Self { slice, address }
    }

    /// Where it begins: a multiple of 256.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its length in bytes; at least 1.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.slice.len() as u64
    }

    /// Orders a reading on a stream after what other streams have written, and later writings after it: until
    /// the guard is dropped, once the reading has been enqueued.
    pub fn read<'a>(&'a self, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        self.slice.device_ptr(stream).1
    }

    /// Orders a writing on a stream after all other uses, and later uses after it: until the guard is dropped,
    /// once the writing has been enqueued.
    pub fn write<'a>(&'a mut self, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        self.slice.device_ptr_mut(stream).1
    }

    /// Enqueues making all of it zero.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn clear(&mut self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        stream.memset_zeros(&mut self.slice).map_err(CudaError::driver("fill memory"))
    }

    /// A row-major matrix without gaps at its beginning.
    fn place(&self, (rows, cols): (usize, usize), size: usize) -> Result<Place, CudaError> {
        let needed = rows.checked_mul(cols).and_then(|elements| elements.checked_mul(size));
        if needed.is_none_or(|needed| needed as u64 > self.bytes()) {
            let (operand, bytes) = ("a matrix", self.bytes());
            let reason = format!("{rows}×{cols} elements of {size} bytes do not fit {bytes} bytes");
            return Err(CudaError::Operand { operand, reason });
        }
        let row_stride = cols as u64;
        Ok(Place { address: self.address, rows, cols, row_stride, col_stride: 1, spare: 0 })
    }
}

impl Gpu {
    /// Memory on the device, its contents undefined. `what` is a plural, for the message.
    ///
    /// # Errors
    /// [`CudaError::Memory`] if there is not as much, [`CudaError::Driver`] if the driver refuses.
    pub fn memory(&self, bytes: u64, what: &'static str) -> Result<DeviceMemory, CudaError> {
        Ok(DeviceMemory::of(self.alloc(&self.stream, bytes, what)?, &self.stream))
    }

    /// Allocates memory for arrays, copies them there one after the other, and waits for it. Gives the address
    /// of each, a multiple of 256.
    ///
    /// # Errors
    /// As for [`memory`](Self::memory).
    pub fn upload(&self, arrays: &[&[u8]]) -> Result<(DeviceMemory, Vec<u64>), CudaError> {
        let mut transfer = self.transfer();
        let (memory, addresses) = upload(self, &mut transfer, arrays)?;
        transfer.wait()?;
        Ok((DeviceMemory::of(memory, &self.stream), addresses))
    }

    /// Fills the beginning of memory with elements that `fill` makes, ranges of which are requested in any order
    /// by several threads, and waits for it.
    ///
    /// # Errors
    /// [`CudaError::Operand`] if they do not fit the memory, [`CudaError::Driver`] if the driver refuses.
    pub fn fill<T: Pod>(
        &self,
        memory: &mut DeviceMemory,
        elements: u64,
        fill: impl Fn(Range<u64>, &mut [T]) + Sync,
    ) -> Result<(), CudaError> {
        let size = size_of::<T>();
        let place = memory.place((1, usize::try_from(elements).unwrap_or(usize::MAX)), size)?;
        let mut transfer = self.transfer();
        let _guard = memory.write(&self.stream);
        let bytes = elements * size as u64;
        transfer.send(place.address, bytes, size, |range, to| fill(range, cast_slice_mut(to)))?;
        transfer.wait()
    }

    /// Sends a matrix to the beginning of memory, row-major without gaps, and waits for it.
    ///
    /// # Errors
    /// [`CudaError::Operand`] if it does not fit the memory, [`CudaError::Driver`] if the driver refuses.
    pub fn send_matrix<T: Scalar>(
        &self,
        memory: &mut DeviceMemory,
        from: &ArrayView2<'_, T>,
    ) -> Result<(), CudaError> {
        let place = memory.place(from.dim(), size_of::<T>())?;
        let mut transfer = self.transfer();
        let _guard = memory.write(&self.stream);
        transfer.send_matrix(&place, from)
    }

    /// Copies a row-major matrix without gaps back from the beginning of memory, and waits for it.
    ///
    /// # Errors
    /// [`CudaError::Operand`] if the memory is smaller, [`CudaError::Driver`] if the driver refuses.
    pub fn fetch_matrix<T: Scalar>(
        &self,
        memory: &DeviceMemory,
        to: ArrayViewMut2<'_, T>,
    ) -> Result<(), CudaError> {
        let place = memory.place(to.dim(), size_of::<T>())?;
        let mut transfer = self.transfer();
        let _guard = memory.read(&self.stream);
        transfer.fetch_matrix(&place, to)
    }
}
