//! A plan on a device.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, PreparedSpmm, ProductShape,
};
use girih_formats::DType;

use super::host::HostOperands;
use super::launch::{ALIGN, Addresses, Image, Operands, Routine};
use crate::device::{Driver, Functions, Gpu};
use crate::error::refused;
use crate::operand::Place;
use crate::{CudaError, DeviceMatrix, DeviceMatrixMut};

/// A plan on a device: A uploaded, the kernels loaded, room allocated.
///
/// [`execute_device`](Self::execute_device) enqueues a product of device operands and returns. Through
/// [`PreparedSpmm`] operands on the host are multiplied too: they are copied there and back.
#[derive(Debug)]
pub struct CudaPrepared {
    gpu: Arc<Gpu>,
    /// Of the image's kernels, in its order.
    functions: Vec<Arc<Functions>>,
    shape: ProductShape,
    /// All of A.
    arena: CudaSlice<u8>,
    /// What products write and read again, if anything.
    room: Option<Mutex<CudaSlice<u8>>>,
    at: Addresses,
    routine: Box<dyn Routine>,
    host: Mutex<HostOperands>,
}

impl CudaPrepared {
    /// Uploads the image and makes room.
    pub(crate) fn new(
        gpu: Arc<Gpu>,
        functions: Vec<Arc<Functions>>,
        image: Image,
    ) -> Result<Self, CudaError> {
        let mut transfer = gpu.transfer();
        let stream = transfer.stream().clone();
        let mut arena = gpu.alloc(&stream, image.bytes(), "the tiles")?;
        let (mut next, guard) = arena.device_ptr_mut(&stream);
        let mut parts = Vec::with_capacity(image.parts.len());
        for part in &image.parts {
            let part = part.bytes();
            transfer.send(next, part.len() as u64, 1, |range, to| {
                to.copy_from_slice(&part[range.start as usize..range.end as usize]);
            })?;
            parts.push(next);
            next += (part.len() as u64).next_multiple_of(ALIGN);
        }
        drop(guard);
        let (mut room, mut room_at) = (None, 0);
        if image.room > 0 {
            let mut slice = gpu.alloc(&stream, image.room, "partial results")?;
            room_at = slice.device_ptr_mut(&stream).0;
            room = Some(Mutex::new(slice));
        }
        let at = image.placed(parts, room_at, &Driver)?;
        transfer.wait()?;
        drop(transfer);
        let (shape, routine) = (image.shape, image.routine);
        let host = Mutex::new(HostOperands::default());
        Ok(Self { gpu, functions, shape, arena, room, at, routine, host })
    }

    /// Number of rows of A and C (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.shape.m
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Whether B has this shape and value type.
    pub(crate) fn check_b(
        &self,
        (found_rows, cols): (usize, usize),
        found: DType,
    ) -> Result<(), BackendError> {
        let ProductShape { k: rows, dtype: expected, .. } = self.shape;
        if found_rows != rows {
            let (operand, found_cols) = ("B", cols);
            return Err(BackendError::Shape { operand, found_rows, found_cols, rows, cols });
        }
        if found != expected {
            return Err(BackendError::DType { operand: "B", found, expected });
        }
        Ok(())
    }

    /// Bytes of device memory that the plan takes: A, and room for what products write and read
    /// again. Operands on the host take more while they are there.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.arena.len() as u64 + self.lock_room().map_or(0, |room| room.len() as u64)
    }

    fn lock_room(&self) -> Option<MutexGuard<'_, CudaSlice<u8>>> {
        Some(self.room.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Enqueues `C = α·A·B + β·C` on a stream of the device and returns: nothing is allocated, compiled
    /// or waited for.
    ///
    /// The stream waits for what other streams have enqueued on the operands, as cudarc tracks it, and
    /// they for this. While the stream is captured into a graph nothing is tracked: whoever launches
    /// the graph keeps the plan and both operands alive and orders it among other uses of them, also
    /// among other products of the same plan.
    ///
    /// β = 0 does not read C. The bits of C do not depend on strides or alignment; rows of 16-byte
    /// vectors on 16-byte boundaries are fastest.
    ///
    /// # Errors
    /// [`BackendError::Shape`] or [`BackendError::DType`] if an operand does not fit,
    /// [`BackendError::Failed`] if it is on another device or the driver refuses.
    pub fn execute_device<T: DenseScalar>(
        &self,
        stream: &CudaStream,
        alpha: f64,
        b: &DeviceMatrix<'_, T>,
        beta: f64,
        c: &mut DeviceMatrixMut<'_, T::Acc>,
    ) -> Result<(), BackendError> {
        self.check(&b.place, T::DTYPE, &c.place)?;
        let failed = |error: CudaError| refused(error, "multiply");
        for (operand, context) in
            [("B", b.slice.context()), ("C", c.slice.context()), ("the stream", stream.context())]
        {
            if **context != *self.gpu.context {
                let reason = format!("is not in the context of device {}", self.gpu.info.index);
                return Err(failed(CudaError::Operand { operand, reason }));
            }
        }
        let operands = Operands { alpha, beta, b: b.place, c: c.place };
        let status = stream.capture_status().map_err(CudaError::driver("ask for a capture"));
        let idle = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        if status.map_err(failed)? != idle {
            // SAFETY: the operands are as large as was checked; who launches the graph sees to the rest.
            return unsafe { self.enqueue(stream, &operands, false) }.map_err(failed);
        }
        let (_, _b) = b.slice.device_ptr(stream);
        let (_, _c) = c.slice.device_ptr_mut(stream);
        // SAFETY: the operands are as large as was checked, and what is tracked outlives the product.
        unsafe { self.enqueue(stream, &operands, true) }.map_err(failed)
    }

    /// The checks of [`ProductShape`], on places.
    fn check(&self, b: &Place, dtype: DType, c: &Place) -> Result<(), BackendError> {
        self.check_b((b.rows, b.cols), dtype)?;
        let (rows, cols, found_rows, found_cols) = (self.shape.m, b.cols, c.rows, c.cols);
        if (found_rows, found_cols) != (rows, cols) {
            return Err(BackendError::Shape { operand: "C", found_rows, found_cols, rows, cols });
        }
        // C is of the accumulation type by its Rust type.
        Ok(())
    }

    /// Enqueues a product of operands that fit.
    ///
    /// # Safety
    /// Both places are in this device's memory, hold what they say, and live until the stream has run
    /// the product; nobody writes B or uses C meanwhile. Untracked, nobody uses this plan's room either.
    pub(crate) unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        tracked: bool,
    ) -> Result<(), CudaError> {
        if self.shape.m == 0 || operands.b.cols == 0 {
            return Ok(());
        }
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

impl PreparedSpmm for CudaPrepared {
    /// Copies B (and C, unless β is zero) to the device, multiplies, and copies C back. The room on the
    /// device for both is kept and grows with the widest product; one thread at a time is served.
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let n = self.shape.check_operands(&b, &c)?;
        if self.shape.m == 0 || n == 0 {
            return Ok(());
        }
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        let mut transfer = self.gpu.transfer();
        host.multiply(self, &mut transfer, (alpha, beta), &b, c)
            .map_err(|error| refused(error, "multiply"))
    }
}
