//! Products timed on the device itself.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use girih_backend::{BackendError, DenseScalar, ProductShape};
use girih_backend_cuda::cudarc::driver::sys::CUevent_flags;
use girih_backend_cuda::cudarc::driver::{CudaEvent, result};
use girih_backend_cuda::low_level::{DeviceMemory, Gpu, Operands, Place, refused_by};
use girih_backend_cuda::{CudaError, CudaPrepared, OperandRows};
use girih_formats::DType;
use ndarray::{ArrayView2, ArrayViewMut2};

/// Operands together are this many times the second-level cache, so that none is still in it when its
/// turn comes again.
pub(crate) const PAST_CACHE: u64 = 3;

/// Most copies of the operands.
pub(crate) const MAX_COPIES: u64 = 64;

/// Rows beyond those of the matrix, for libraries that read and write whole blocks: of 64 rows, and one
/// block more.
const SPARE_ROWS: usize = 128;

/// Copies of B and C on a device that take turns, row-major: for products of any number of plans of
/// one shape, on one device.
pub struct TimedOperands<T> {
    gpu: Arc<Gpu>,
    shape: ProductShape,
    n: usize,
    copies: Vec<Copy>,
    value: PhantomData<T>,
}

/// Memory for B and C.
struct Copy {
    b: DeviceMemory,
    c: DeviceMemory,
}

impl<T> fmt::Debug for TimedOperands<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, n, copies, .. } = self;
        let copies = &copies.len();
        f.debug_struct("TimedOperands")
            .field("shape", shape)
            .field("n", n)
            .field("copies", copies)
            .finish_non_exhaustive()
    }
}

impl<T: DenseScalar> TimedOperands<T> {
    /// Copies B to the device of a plan as often as it takes to outgrow the second-level cache, at
    /// least twice, with a C for each.
    ///
    /// # Errors
    /// [`BackendError::Shape`] or [`BackendError::DType`] if B does not fit the plan,
    /// [`BackendError::Failed`] if two copies do not fit the device.
    pub fn new(prepared: &CudaPrepared, b: &ArrayView2<'_, T>) -> Result<Self, BackendError> {
        check_b(prepared.shape(), b.dim(), T::DTYPE)?;
        Self::with_copies(prepared, b)
            .map_err(|error| refused_by(prepared.backend(), error, "copy the operands"))
    }

    fn with_copies(prepared: &CudaPrepared, b: &ArrayView2<'_, T>) -> Result<Self, CudaError> {
        let (k, n) = b.dim();
        let (gpu, shape) = (prepared.gpu().clone(), prepared.shape());
        let bytes = |rows: usize, size: usize| ((rows + SPARE_ROWS) as u64) * (n * size) as u64;
        let (b_bytes, c_bytes) = (bytes(k, size_of::<T>()), bytes(shape.m, size_of::<T::Acc>()));
        let pair = (b_bytes + c_bytes).max(1);
        let wanted = (PAST_CACHE * gpu.info().l2_bytes).div_ceil(pair).clamp(2, MAX_COPIES);
        let mut copies: Vec<Copy> = Vec::new();
        while (copies.len() as u64) < wanted {
            let both = gpu
                .memory(b_bytes, "B's elements")
                .and_then(|b| Ok((b, gpu.memory(c_bytes, "C's elements")?)));
            let (mut to, c) = match both {
                Ok(both) => both,
                // Fewer turns, of operands that are that much larger.
                Err(CudaError::Memory { .. }) if copies.len() >= 2 => break,
                Err(error) => return Err(error),
            };
            // Spare rows stay zero.
            to.clear(gpu.stream())?;
            gpu.send_matrix(&mut to, b)?;
            copies.push(Copy { b: to, c });
        }
        Ok(Self { gpu, shape, n, copies, value: PhantomData })
    }

    /// Copies of B and C that take turns.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.copies.len()
    }

    fn copy(&self, turn: usize) -> &Copy {
        &self.copies[turn % self.copies.len()]
    }
}

/// Whether B has this shape and value type.
fn check_b(
    shape: ProductShape,
    (found_rows, cols): (usize, usize),
    found: DType,
) -> Result<(), BackendError> {
    let ProductShape { k: rows, dtype: expected, .. } = shape;
    if found_rows != rows {
        let (operand, found_cols) = ("B", cols);
        return Err(BackendError::Shape { operand, found_rows, found_cols, rows, cols });
    }
    if found != expected {
        return Err(BackendError::DType { operand: "B", found, expected });
    }
    Ok(())
}

/// A row-major matrix without gaps.
pub(crate) fn place(address: u64, rows: usize, cols: usize) -> Place {
    Place { address, rows, cols, row_stride: cols as u64, col_stride: 1, spare: 0 }
}

/// Products of one plan with operands that take turns, timed by events on the device.
pub struct TimedProducts<T> {
    prepared: CudaPrepared,
    operands: Arc<TimedOperands<T>>,
    next: usize,
    between: (CudaEvent, CudaEvent),
}

impl<T> fmt::Debug for TimedProducts<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prepared, operands, .. } = self;
        f.debug_struct("TimedProducts").field("of", prepared).field("with", operands).finish()
    }
}

impl<T: DenseScalar> TimedProducts<T> {
    /// Products of a plan with operands of its shape.
    ///
    /// # Errors
    /// [`BackendError::Shape`] or [`BackendError::DType`] if the operands are those of another shape,
    /// [`BackendError::Failed`] if they are on another device.
    pub fn new(
        prepared: CudaPrepared,
        operands: Arc<TimedOperands<T>>,
    ) -> Result<Self, BackendError> {
        let TimedOperands { shape, n: cols, gpu, .. } = &*operands;
        check_b(prepared.shape(), (shape.k, *cols), T::DTYPE)?;
        let OperandRows { b, c } = prepared.operand_rows();
        if (prepared.nrows(), prepared.gpu().info().index) != (shape.m, gpu.info().index)
            || b > shape.k + SPARE_ROWS
            || c > shape.m + SPARE_ROWS
        {
            let (found_rows, rows, cols) = (shape.m, c, *cols);
            let operand = "C";
            return Err(BackendError::Shape { operand, found_rows, found_cols: cols, rows, cols });
        }
        let event = || gpu.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let between = event().and_then(|first| Ok((first, event()?)));
        let between = between.map_err(CudaError::driver("create an event"));
        let between = between.map_err(|e| refused_by(prepared.backend(), e, "time products"))?;
        Ok(Self { prepared, operands, next: 0, between })
    }

    /// Enqueues `calls` products `C = A·B` one after the other, waits for them, and gives the time from
    /// the beginning of the first to the end of the last, as the device has it.
    ///
    /// # Errors
    /// If the driver or a library refuses.
    pub fn time(&mut self, calls: u32) -> Result<Duration, BackendError> {
        self.run(calls).map_err(|error| self.refused(error, "time products"))
    }

    fn run(&mut self, calls: u32) -> Result<Duration, CudaError> {
        let failed = || CudaError::driver("time products");
        let stream = self.operands.gpu.stream();
        self.between.0.record(stream).map_err(failed())?;
        for _ in 0..calls {
            let copy = self.operands.copy(self.next);
            let (rows, n) = (self.prepared.operand_rows(), self.operands.n);
            let b = place(copy.b.address(), rows.b, n);
            let c = place(copy.c.address(), rows.c, n);
            let operands = Operands { alpha: 1.0.into(), beta: 0.0.into(), b, c };
            self.next = (self.next + 1) % self.operands.copies.len();
            // Untracked, so that no event stands between products.
            // SAFETY: 1 and 5: both were allocated with these rows and more, for this plan's value types.
            // 2 to 4: they live as long as this, which owns the plan and its workspace too; all of it is used
            // on this stream alone, and what was enqueued before has been waited for. 6: it is that of a device
            // of the same index, whose primary context all share.
            unsafe { self.prepared.enqueue(stream, &operands, false) }?;
        }
        self.between.1.record(stream).map_err(failed())?;
        let ms = self.between.0.elapsed_ms(&self.between.1).map_err(failed())?;
        Ok(Duration::from_secs_f64(f64::from(ms.max(0.0)) / 1e3))
    }

    /// Makes every C NaN, so that an element that no product writes shows.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn poison(&mut self) -> Result<(), BackendError> {
        let stream = self.operands.gpu.stream();
        let poisoned = self.operands.gpu.bind().and_then(|()| {
            self.operands.copies.iter().try_for_each(|Copy { c, .. }| {
                let (address, bytes) = (c.address(), c.bytes() as usize);
                // All bits set make a NaN of any type.
                // SAFETY: the memory is as large as it says, and what else uses it is on this stream.
                let filled =
                    unsafe { result::memset_d8_async(address, 0xff, bytes, stream.cu_stream()) };
                filled.map_err(CudaError::driver("fill memory"))
            })
        });
        poisoned.map_err(|error| self.refused(error, "poison C"))
    }

    /// Copies the C of the last product to the host.
    ///
    /// # Errors
    /// If the driver refuses.
    ///
    /// # Panics
    /// If `c` is not as large as C.
    pub fn last(&self, c: ArrayViewMut2<'_, T::Acc>) -> Result<(), BackendError> {
        let TimedOperands { copies, shape, n, gpu, .. } = &*self.operands;
        assert_eq!(c.dim(), (shape.m, *n));
        let last = self.operands.copy(self.next + copies.len() - 1);
        gpu.fetch_matrix(&last.c, c).map_err(|error| self.refused(error, "fetch C"))
    }

    fn refused(&self, error: CudaError, operation: &str) -> BackendError {
        refused_by(self.prepared.backend(), error, operation)
    }
}
