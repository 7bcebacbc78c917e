//! Products timed on the device itself.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DevicePtrMut};
use girih_backend::{BackendError, DenseScalar};
use ndarray::{ArrayView2, ArrayViewMut2};

use crate::device::Gpu;
use crate::error::refused;
use crate::operand::Place;
use crate::prepared::host::{fetch, send};
use crate::prepared::launch::Operands;
use crate::{CudaError, CudaPrepared};

/// Operands together are this many times the second-level cache, so that none is still in it when its
/// turn comes again.
const PAST_CACHE: u64 = 3;

/// Most copies of the operands.
const MAX_COPIES: u64 = 64;

/// Products of one plan with copies of B and C that take turns, timed by events on the device.
pub struct TimedProducts<T> {
    prepared: CudaPrepared,
    stream: Arc<CudaStream>,
    copies: Vec<Copy>,
    next: usize,
    between: (CudaEvent, CudaEvent),
    value: PhantomData<T>,
}

/// B and C in memory of their own, row-major.
struct Copy {
    b: Place,
    c: Place,
    _room_of_b: CudaSlice<u8>,
    room_of_c: CudaSlice<u8>,
}

impl<T> fmt::Debug for TimedProducts<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prepared, copies, .. } = self;
        let copies = &copies.len();
        f.debug_struct("TimedProducts").field("of", prepared).field("copies", copies).finish()
    }
}

impl<T: DenseScalar> TimedProducts<T> {
    /// Copies B to the device, row-major, as often as it takes to outgrow the second-level cache, at
    /// least twice, with a C for each.
    ///
    /// # Errors
    /// [`BackendError::Shape`] or [`BackendError::DType`] if B does not fit the plan,
    /// [`BackendError::Failed`] if two copies do not fit the device.
    pub fn new(prepared: CudaPrepared, b: &ArrayView2<'_, T>) -> Result<Self, BackendError> {
        prepared.check_b(b.dim(), T::DTYPE)?;
        Self::with_copies(prepared, b).map_err(|error| refused(error, "copy the operands"))
    }

    fn with_copies(prepared: CudaPrepared, b: &ArrayView2<'_, T>) -> Result<Self, CudaError> {
        let (k, n) = b.dim();
        let m = prepared.nrows();
        let gpu = prepared.gpu().clone();
        let bytes = |rows: usize, size: usize| (rows as u64) * (n * size) as u64;
        let (b_bytes, c_bytes) = (bytes(k, size_of::<T>()), bytes(m, size_of::<T::Acc>()));
        let pair = (b_bytes + c_bytes).max(1);
        let wanted = (PAST_CACHE * gpu.info.l2_bytes).div_ceil(pair).clamp(2, MAX_COPIES);
        let event = || {
            let event = gpu.context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
            event.map_err(CudaError::driver("create an event"))
        };
        let between = (event()?, event()?);
        let mut transfer = gpu.transfer();
        let stream = transfer.stream().clone();
        let place = |room: &mut CudaSlice<u8>, rows| Place {
            address: room.device_ptr_mut(&stream).0,
            rows,
            cols: n,
            row_stride: n as u64,
            col_stride: 1,
            spare: 0,
        };
        let mut copies: Vec<Copy> = Vec::new();
        while (copies.len() as u64) < wanted {
            let rooms = gpu.alloc(&stream, b_bytes, "B's elements").and_then(|room_of_b| {
                Ok((room_of_b, gpu.alloc(&stream, c_bytes, "C's elements")?))
            });
            let (mut room_of_b, mut room_of_c) = match rooms {
                Ok(rooms) => rooms,
                // Fewer turns, of operands that are that much larger.
                Err(CudaError::Memory { .. }) if copies.len() >= 2 => break,
                Err(error) => return Err(error),
            };
            let (b_place, c) = (place(&mut room_of_b, k), place(&mut room_of_c, m));
            send(&mut transfer, &b_place, b)?;
            copies.push(Copy { b: b_place, c, _room_of_b: room_of_b, room_of_c });
        }
        transfer.wait()?;
        drop(transfer);
        Ok(Self { prepared, stream, copies, next: 0, between, value: PhantomData })
    }

    /// Copies of B and C that take turns.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.copies.len()
    }

    /// Enqueues `calls` products `C = A·B` one after the other, waits for them, and gives the time from
    /// the beginning of the first to the end of the last, as the device has it.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn time(&mut self, calls: u32) -> Result<Duration, BackendError> {
        self.run(calls).map_err(|error| refused(error, "time products"))
    }

    fn run(&mut self, calls: u32) -> Result<Duration, CudaError> {
        let failed = || CudaError::driver("time products");
        self.between.0.record(&self.stream).map_err(failed())?;
        for _ in 0..calls {
            let &Copy { b, c, .. } = &self.copies[self.next];
            let operands = Operands { alpha: 1.0, beta: 0.0, b, c };
            self.next = (self.next + 1) % self.copies.len();
            // Untracked, so that no event stands between products.
            // SAFETY: both were allocated with this shape and live as long as this, which owns the plan
            // and its room too; all of it is used, and freed, on this stream alone.
            unsafe { self.prepared.enqueue(&self.stream, &operands, false) }?;
        }
        self.between.1.record(&self.stream).map_err(failed())?;
        let ms = self.between.0.elapsed_ms(&self.between.1).map_err(failed())?;
        Ok(Duration::from_secs_f64(f64::from(ms.max(0.0)) / 1e3))
    }

    /// Makes every C NaN, so that an element that no product writes shows.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn poison(&mut self) -> Result<(), BackendError> {
        let stream = &self.stream;
        let mut rooms = self.copies.iter_mut().map(|copy| &mut copy.room_of_c);
        rooms.try_for_each(|room| Gpu::poison(stream, room)).map_err(|e| refused(e, "poison C"))
    }

    /// Copies the C of the last product to the host.
    ///
    /// # Errors
    /// If the driver refuses.
    ///
    /// # Panics
    /// If `c` is not as large as C.
    pub fn last(&self, c: ArrayViewMut2<'_, T::Acc>) -> Result<(), BackendError> {
        let last = &self.copies[(self.next + self.copies.len() - 1) % self.copies.len()];
        assert_eq!(c.dim(), (last.c.rows, last.c.cols));
        let mut transfer = self.prepared.gpu().transfer();
        fetch(&mut transfer, &last.c, c).map_err(|error| refused(error, "fetch C"))
    }
}
