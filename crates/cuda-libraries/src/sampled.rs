//! Sampled products timed on the device itself.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use girih_backend::{BackendError, DenseScalar};
use girih_backend_cuda::cudarc::driver::sys::CUevent_flags;
use girih_backend_cuda::cudarc::driver::{CudaEvent, CudaStream, result};
use girih_backend_cuda::low_level::{DeviceMemory, Gpu, SampledOperands, refused_by};
use girih_backend_cuda::{CudaError, CudaSddmm};
use girih_formats::DType;
use ndarray::{ArrayView2, ArrayViewMut2};

use crate::CusparseSddmm;
use crate::timing::{MAX_COPIES, PAST_CACHE, place};

/// What samples.
#[derive(Clone, Copy, Debug)]
pub enum Sampler<'a> {
    /// girih's kernel.
    Girih(&'a CudaSddmm),
    /// cuSPARSE.
    Cusparse(&'a CusparseSddmm),
}

impl Sampler<'_> {
    /// # Safety
    /// That of [`CudaSddmm::enqueue`] and [`CusparseSddmm::enqueue`].
    unsafe fn enqueue(
        self,
        stream: &CudaStream,
        operands: &SampledOperands,
    ) -> Result<(), CudaError> {
        match self {
            // SAFETY: the caller's promise.
            Self::Girih(pattern) => unsafe { pattern.enqueue(stream, operands, false) },
            // SAFETY: the caller's promise.
            Self::Cusparse(pattern) => unsafe { pattern.enqueue(stream, operands) },
        }
    }

    /// Whether operands on this device, of this shape and with values of a type, are what it samples.
    fn takes(&self, gpu: &Gpu, [m, k, d, nnz]: [usize; 4], dtype: DType) -> bool {
        let (of, index, found) = match self {
            Self::Girih(pattern) => {
                let shape = [pattern.nrows(), pattern.ncols(), d, pattern.nnz()];
                (shape, pattern.gpu().info().index, pattern.dtype())
            }
            Self::Cusparse(pattern) => {
                (pattern.shape(), pattern.gpu().info().index, pattern.dtype())
            }
        };
        (of, index, found) == ([m, k, d, nnz], gpu.info().index, dtype)
    }
}

/// Copies of X, Y and S on a device that take turns, row-major without gaps, and sampled products of them, timed by
/// events on the device.
pub struct TimedSampled<T> {
    gpu: Arc<Gpu>,
    /// m, k, d and nnz.
    shape: [usize; 4],
    copies: Vec<[DeviceMemory; 3]>,
    next: usize,
    between: (CudaEvent, CudaEvent),
    value: PhantomData<T>,
}

impl<T> fmt::Debug for TimedSampled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copies = &self.copies.len();
        f.debug_struct("TimedSampled")
            .field("shape", &self.shape)
            .field("copies", copies)
            .finish_non_exhaustive()
    }
}

impl<T: DenseScalar> TimedSampled<T> {
    /// Copies X and Y to the device of a pattern as often as it takes to outgrow the second-level cache, at least
    /// twice, with an S for each.
    ///
    /// # Errors
    /// [`BackendError::Shape`] if X or Y does not fit the pattern, [`BackendError::Failed`] if two copies do not
    /// fit the device.
    pub fn new(
        pattern: &CudaSddmm,
        x: &ArrayView2<'_, T>,
        y: &ArrayView2<'_, T>,
    ) -> Result<Self, BackendError> {
        let d = x.ncols();
        for (operand, found, rows) in
            [("X", x.dim(), pattern.nrows()), ("Y", y.dim(), pattern.ncols())]
        {
            if found != (rows, d) {
                let (found_rows, found_cols) = found;
                return Err(BackendError::Shape { operand, found_rows, found_cols, rows, cols: d });
            }
        }
        if pattern.dtype() != T::DTYPE {
            let (operand, found, expected) = ("X", T::DTYPE, pattern.dtype());
            return Err(BackendError::DType { operand, found, expected });
        }
        Self::with_copies(pattern, x, y).map_err(|error| refused(error, "copy the operands"))
    }

    fn with_copies(
        pattern: &CudaSddmm,
        x: &ArrayView2<'_, T>,
        y: &ArrayView2<'_, T>,
    ) -> Result<Self, CudaError> {
        let (gpu, nnz) = (pattern.gpu().clone(), pattern.nnz());
        let bytes = [x.len() * size_of::<T>(), y.len() * size_of::<T>(), nnz * size_of::<T::Acc>()];
        let all = bytes.iter().sum::<usize>().max(1) as u64;
        let wanted = (PAST_CACHE * gpu.info().l2_bytes).div_ceil(all).clamp(2, MAX_COPIES);
        let mut copies = Vec::new();
        while (copies.len() as u64) < wanted {
            let of = |bytes: usize| gpu.memory(bytes as u64, "copies of the operands");
            let (mut to_x, mut to_y, s) = match (of(bytes[0]), of(bytes[1]), of(bytes[2])) {
                (Ok(x), Ok(y), Ok(s)) => (x, y, s),
                // Fewer turns, of operands that are that much larger.
                _ if copies.len() >= 2 => break,
                (x, y, s) => (x?, y?, s?),
            };
            gpu.send_matrix(&mut to_x, x)?;
            gpu.send_matrix(&mut to_y, y)?;
            copies.push([to_x, to_y, s]);
        }
        let event = || gpu.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let between = event().and_then(|first| Ok((first, event()?)));
        let between = between.map_err(CudaError::driver("create an event"))?;
        let shape = [x.nrows(), y.nrows(), x.ncols(), nnz];
        Ok(Self { gpu, shape, copies, next: 0, between, value: PhantomData })
    }

    /// Enqueues `calls` products `S = (X·Yᵀ) ⊙ pattern` one after the other, and waits for them. Returns the time
    /// from the beginning of the first to the end of the last, by the device's clock.
    ///
    /// # Errors
    /// If the driver or a library refuses.
    ///
    /// # Panics
    /// If the sampler is on another device, or for another shape or value type.
    pub fn time(&mut self, sampler: Sampler<'_>, calls: u32) -> Result<Duration, BackendError> {
        assert!(
            sampler.takes(&self.gpu, self.shape, T::DTYPE),
            "{sampler:?} is for other operands than {self:?}"
        );
        self.run(sampler, calls).map_err(|error| refused(error, "time products"))
    }

    fn run(&mut self, sampler: Sampler<'_>, calls: u32) -> Result<Duration, CudaError> {
        let failed = || CudaError::driver("time products");
        let (stream, [m, k, d, nnz]) = (self.gpu.stream(), self.shape);
        self.between.0.record(stream).map_err(failed())?;
        for _ in 0..calls {
            let [x, y, s] = &self.copies[self.next % self.copies.len()];
            let (x, y) = (place(x.address(), m, d), place(y.address(), k, d));
            let s = place(s.address(), nnz, 1);
            let operands = SampledOperands { alpha: 1.0, x, y, beta: 0.0, s };
            self.next = (self.next + 1) % self.copies.len();
            // SAFETY: the copies were allocated with these shapes, live as long as this, and are used on this stream
            // alone; what was enqueued before has been waited for. The sampler takes such operands.
            unsafe { sampler.enqueue(stream, &operands) }?;
        }
        self.between.1.record(stream).map_err(failed())?;
        let ms = self.between.0.elapsed_ms(&self.between.1).map_err(failed())?;
        Ok(Duration::from_secs_f64(f64::from(ms.max(0.0)) / 1e3))
    }

    /// Makes every S NaN, so that an entry that no product writes shows.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn poison(&mut self) -> Result<(), BackendError> {
        let stream = self.gpu.stream();
        let poisoned = self.gpu.bind().and_then(|()| {
            self.copies.iter().try_for_each(|[_, _, s]| {
                let (address, bytes) = (s.address(), s.bytes() as usize);
                // SAFETY: the memory is as large as it says, and what else uses it is on this stream.
                let filled =
                    unsafe { result::memset_d8_async(address, 0xff, bytes, stream.cu_stream()) };
                filled.map_err(CudaError::driver("fill memory"))
            })
        });
        poisoned.map_err(|error| refused(error, "poison S"))
    }

    /// Copies the S of the last product to the host.
    ///
    /// # Errors
    /// If the driver refuses.
    ///
    /// # Panics
    /// If `s` does not have an entry for each of the pattern's.
    pub fn last(&self, s: ArrayViewMut2<'_, T::Acc>) -> Result<(), BackendError> {
        assert_eq!(s.dim(), (self.shape[3], 1));
        let [_, _, last] = &self.copies[(self.next + self.copies.len() - 1) % self.copies.len()];
        self.gpu.fetch_matrix(last, s).map_err(|error| refused(error, "fetch S"))
    }
}

fn refused(error: CudaError, operation: &str) -> BackendError {
    refused_by("sampling", error, operation)
}
