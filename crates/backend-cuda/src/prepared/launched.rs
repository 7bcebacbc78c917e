//! Products by this crate's own kernels: an image on a device, and the launches it is for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use girih_backend::Lowering;

use super::launch::{Addresses, Image, Operands, Routine};
use super::lowering::Outline;
use super::on_device::DeviceProduct;
use super::upload::upload;
use crate::CudaError;
use crate::device::{Driver, Functions, Gpu};

/// An image on a device.
#[derive(Debug)]
pub(crate) struct Launched {
    /// Of the image's kernels, in its order.
    functions: Vec<Arc<Functions>>,
    /// All of A.
    arena: CudaSlice<u8>,
    /// What products write and read again, if anything.
    room: Option<Mutex<CudaSlice<u8>>>,
    at: Addresses,
    outline: Outline,
    routine: Box<dyn Routine>,
}

impl Launched {
    /// Uploads the image and makes room.
    pub(crate) fn new(
        gpu: &Gpu,
        functions: Vec<Arc<Functions>>,
        image: Image,
    ) -> Result<Self, CudaError> {
        let mut transfer = gpu.transfer();
        let stream = transfer.stream().clone();
        let (arena, parts) = upload(gpu, &mut transfer, &image.parts)?;
        let (mut room, mut room_at) = (None, 0);
        if image.room > 0 {
            let mut slice = gpu.alloc(&stream, image.room, "partial results")?;
            room_at = slice.device_ptr_mut(&stream).0;
            room = Some(Mutex::new(slice));
        }
        let at = image.placed(parts, room_at, &Driver)?;
        transfer.wait()?;
        let outline = image.outline();
        Ok(Self { functions, arena, room, at, outline, routine: image.routine })
    }

    fn lock_room(&self) -> Option<MutexGuard<'_, CudaSlice<u8>>> {
        Some(self.room.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DeviceProduct for Launched {
    fn takes_panels(&self) -> bool {
        true
    }

    fn describe(&self, lowering: Lowering) -> Lowering {
        self.outline.describe(&*self.routine, lowering)
    }

    fn device_bytes(&self) -> u64 {
        self.arena.len() as u64 + self.lock_room().map_or(0, |room| room.len() as u64)
    }

    unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        tracked: bool,
    ) -> Result<(), CudaError> {
        // What is read of A, and what is written to the room, live as long as the guards' events say.
        let _arena = tracked.then(|| self.arena.device_ptr(stream));
        let mut room = self.routine.uses_room(operands).then(|| self.lock_room()).flatten();
        let _room = room.as_mut().filter(|_| tracked).map(|room| room.device_ptr_mut(stream));
        self.routine.launches(&self.at, operands, &Driver, &mut |launch| {
            // SAFETY: the caller's promise on B and C; A and the room are this plan's own, and what
            // makes the launches was given their addresses and sizes.
            unsafe { self.functions[launch.kernel].launch(stream, launch) }
        })
    }
}
