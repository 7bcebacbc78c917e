//! Sampled products: a pattern on a device.

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use girih_backend::{BackendError, DenseScalar, DenseView, DenseViewMut, Lowering, Rounding};
use girih_formats::{CsrPattern, DType, Scalar};
use ndarray::ArrayViewMut2;

use super::host::reserve;
use super::on_device::check_place;
use super::sddmm_layout::{Choice, Method};
use super::upload;
use crate::device::{Gpu, LoadedKernel, Transfer};
use crate::error::refused;
use crate::kernels::csr_sddmm::SampledOperands;
use crate::operand::Place;
use crate::{CudaError, DeviceMatrix, DeviceMatrixMut, NAME};

/// A pattern on a device, for sampled products `S = α·(X·Yᵀ) ⊙ pattern + β·S` of one value type.
///
/// X is m×d, Y k×d and S has an entry for each of the pattern's, in its order; d is any. Where α is 0, neither X nor
/// Y is read, and where β is 0, S is not. NaN and Inf reach S exactly where the pattern has an entry. An entry has
/// the same bits for the same d and value type, whatever the strides and the device, of all patterns that are shared
/// out alike: entry by entry, or by windows.
///
/// Made by [`CudaBackend::prepare_sddmm`](crate::CudaBackend::prepare_sddmm).
///
/// # Cost
/// Memory moves at least X, Y, the columns and S once. Beyond that, the second-level cache serves rows of Y; that
/// traffic takes the time, not the arithmetic.
///
/// - Entry by entry: 2·nnz·d flops on CUDA cores, in the accumulation type. A row of Y is read for each entry, and X
///   once for every run of 8 to 64 entries or shorter row.
/// - By windows: 32·d flops on tensor cores for each packed column, in f32. A row of Y is read for each packed column,
///   and X once for 64 tiles of a window or fewer.
#[derive(Debug)]
pub struct CudaSddmm {
    gpu: Arc<Gpu>,
    kernel: Arc<LoadedKernel>,
    dtype: DType,
    choice: Choice,
    method: Method,
    nrows: usize,
    ncols: usize,
    nnz: usize,
    /// All of the pattern, and where its parts begin.
    arena: CudaSlice<u8>,
    parts: Vec<u64>,
    host: Mutex<KeptOperands>,
}

/// Memory on the device for operands on the host.
#[derive(Debug, Default)]
struct KeptOperands {
    x: Option<CudaSlice<u8>>,
    y: Option<CudaSlice<u8>>,
    s: Option<CudaSlice<u8>>,
}

impl CudaSddmm {
    /// Uploads a pattern: O(rows + nnz).
    pub(crate) fn new(
        gpu: Arc<Gpu>,
        kernel: Arc<LoadedKernel>,
        pattern: CsrPattern<'_>,
        dtype: DType,
        choice: Choice,
    ) -> Result<Self, CudaError> {
        let mut transfer = gpu.transfer();
        let multiprocessors = gpu.info.multiprocessors;
        let (method, uploaded) = choice
            .parts(pattern, dtype, multiprocessors, |parts| upload(&gpu, &mut transfer, parts));
        let (arena, parts) = uploaded?;
        transfer.wait()?;
        drop(transfer);
        Ok(Self {
            gpu,
            kernel,
            dtype,
            choice,
            method,
            nrows: pattern.nrows(),
            ncols: pattern.ncols(),
            nnz: pattern.nnz(),
            arena,
            parts,
            host: Mutex::default(),
        })
    }

    /// Rows of the pattern and X (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Columns of the pattern and rows of Y (k).
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Entries of the pattern and rows of S.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// The value type of X and Y; S has its accumulation type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// How entries are rounded, which decides how far one may be from the exact inner product
    /// ([`verify_sddmm`](girih_backend::verify_sddmm)).
    #[must_use]
    pub fn rounding(&self) -> Rounding {
        self.choice.rounding(self.dtype)
    }

    /// What a product of X and Y with `d` columns executes, for operands whose rows are contiguous and begin on 16
    /// bytes: how entries are shared out and why, and the launch.
    #[must_use]
    pub fn lowering(&self, d: usize) -> Lowering {
        let lowering = Lowering::new(NAME, &self.gpu.info.name, d);
        self.choice.describe(&self.method, &self.parts, self.dtype, d, lowering)
    }

    /// The device that it is on.
    #[must_use]
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Bytes of device memory that the pattern takes. Products of operands on the host keep more, for copies of
    /// these.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.arena.len() as u64
    }

    /// Enqueues the product on a stream of the device and returns. S is nnz×1. It allocates no device memory,
    /// compiles nothing and does not wait for the device.
    ///
    /// Streams are ordered as by [`CudaPrepared::execute_device`](crate::CudaPrepared::execute_device), and captured
    /// as there. X and Y whose rows begin on 16 bytes and are contiguous are read fastest.
    ///
    /// # Errors
    /// [`BackendError::Shape`] or [`BackendError::DType`] naming the operand that does not fit: X before Y before S.
    /// [`BackendError::Failed`] if one is on another device or the driver refuses.
    pub fn execute_device<T: DenseScalar>(
        &self,
        stream: &CudaStream,
        alpha: f64,
        x: &DeviceMatrix<'_, T>,
        y: &DeviceMatrix<'_, T>,
        beta: f64,
        s: &mut DeviceMatrixMut<'_, T::Acc>,
    ) -> Result<(), BackendError> {
        let operands = SampledOperands { alpha, x: x.place, y: y.place, beta, s: s.place };
        self.check(&operands, T::DTYPE)?;
        let failed = |error: CudaError| refused(error, "sample the product");
        for (operand, context) in [
            ("X", x.slice.context()),
            ("Y", y.slice.context()),
            ("S", s.slice.context()),
            ("the stream", stream.context()),
        ] {
            if **context != *self.gpu.context {
                let reason = format!("is not in the context of device {}", self.gpu.info.index);
                return Err(failed(CudaError::Operand { operand, reason }));
            }
        }
        let status = stream.capture_status().map_err(CudaError::driver("ask for a capture"));
        let idle = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        if status.map_err(failed)? != idle {
            // SAFETY: shapes, types and contexts were checked; who launches the graph sees to the rest.
            return unsafe { self.enqueue(stream, &operands, false) }.map_err(failed);
        }
        let (_, _x) = x.slice.device_ptr(stream);
        let (_, _y) = y.slice.device_ptr(stream);
        let (_, _s) = s.slice.device_ptr_mut(stream);
        // SAFETY: shapes, types and contexts were checked; the guards see to the order of uses.
        unsafe { self.enqueue(stream, &operands, true) }.map_err(failed)
    }

    /// Whether operands have the shapes of the pattern, and X and Y its value type.
    fn check(&self, operands: &SampledOperands, found: DType) -> Result<(), BackendError> {
        let SampledOperands { x, y, s, .. } = operands;
        let (d, expected) = (x.cols, self.dtype);
        check_place("X", x, (self.nrows, d))?;
        if found != expected {
            return Err(BackendError::DType { operand: "X", found, expected });
        }
        check_place("Y", y, (self.ncols, d))?;
        check_place("S", s, (self.nnz, 1))
    }

    /// Samples operands on the host: copies X, Y and, unless β is zero, S to the device, and S back. Device memory
    /// for them is kept and grows with the widest product; one thread at a time is served.
    ///
    /// # Errors
    /// As for [`execute_device`](Self::execute_device); S is unchanged if an operand does not fit.
    pub fn execute(
        &self,
        alpha: f64,
        x: DenseView<'_>,
        y: DenseView<'_>,
        beta: f64,
        s: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let (expected, place) = (self.dtype, |dim| Place::row_major(0, dim, 1));
        let operands = SampledOperands {
            alpha,
            x: place(x.dim()),
            y: place(y.dim()),
            beta,
            s: place(s.dim()),
        };
        self.check(&operands, x.dtype())?;
        for (operand, found, expected) in
            [("Y", y.dtype(), expected), ("S", s.dtype(), expected.accumulator())]
        {
            if found != expected {
                return Err(BackendError::DType { operand, found, expected });
            }
        }
        if self.nnz == 0 {
            return Ok(());
        }
        let run = match expected {
            DType::F16 => Self::sample_host::<half::f16>,
            DType::Bf16 => Self::sample_host::<half::bf16>,
            DType::F32 => Self::sample_host::<f32>,
            DType::F64 => Self::sample_host::<f64>,
            DType::C32 | DType::C64 => unreachable!("no sampling of complex values is prepared"),
        };
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        let mut transfer = self.gpu.transfer();
        run(self, &mut host, &mut transfer, (alpha, beta), (x, y), s)
            .map_err(|error| refused(error, "sample the product"))
    }

    fn sample_host<T: DenseScalar>(
        &self,
        host: &mut KeptOperands,
        transfer: &mut Transfer,
        (alpha, beta): (f64, f64),
        (x, y): (DenseView<'_>, DenseView<'_>),
        s: DenseViewMut<'_>,
    ) -> Result<(), CudaError> {
        let (Some(x), Some(y), Some(s)) = (T::view(x), T::view(y), T::acc_view_mut(s)) else {
            unreachable!("the operands' types were checked")
        };
        let d = x.ncols();
        let x_place = self.place::<T>(transfer, &mut host.x, (self.nrows, d), "X's elements")?;
        let y_place = self.place::<T>(transfer, &mut host.y, (self.ncols, d), "Y's elements")?;
        let s_place = self.place::<T::Acc>(transfer, &mut host.s, (self.nnz, 1), "S's entries")?;
        let s: ArrayViewMut2<'_, T::Acc> = s;
        let mut moving = transfer.begin(s, false)?;
        if alpha != 0.0 {
            moving.send(&x_place, &x)?;
            moving.send(&y_place, &y)?;
        }
        if beta != 0.0 {
            moving.send_c(&s_place, 0..1)?;
        }
        moving.sent()?;
        let operands = SampledOperands { alpha, x: x_place, y: y_place, beta, s: s_place };
        let stream = moving.stream().clone();
        // SAFETY: the places were reserved with these shapes, by whom this thread has locked.
        unsafe { self.enqueue(&stream, &operands, true) }?;
        moving.fetch(&s_place, 0..1)?;
        moving.settle()
    }

    /// Memory that is kept for an operand of this shape.
    fn place<T: Scalar>(
        &self,
        transfer: &Transfer,
        kept: &mut Option<CudaSlice<u8>>,
        (rows, cols): (usize, usize),
        what: &'static str,
    ) -> Result<Place, CudaError> {
        let whole = 0..cols;
        let whole = std::slice::from_ref(&whole);
        Ok(reserve::<T>(&self.gpu, transfer, kept, rows, whole, what)?[0])
    }

    /// Enqueues a product of operands by their addresses, and checks nothing: to time products without events
    /// between them, or for memory that is not cudarc's. Nothing is done if the pattern has no entries.
    ///
    /// `tracked` says whether streams are to be ordered by events; the operands' uses are recorded by the caller.
    ///
    /// # Errors
    /// [`CudaError::Operand`] if there are more entries than a grid has blocks for; what the driver refuses.
    ///
    /// # Safety
    /// 1. The operands are in this device's memory, and hold what they say; the stream is of its
    ///    [context](Gpu::context).
    /// 2. X is m×d, Y k×d and S nnz×1, the elements of X and Y of the value type and those of S of its
    ///    accumulation type.
    /// 3. They and the pattern live until the stream has run the product; nobody writes X and Y or uses S meanwhile.
    pub unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        operands: &SampledOperands,
        tracked: bool,
    ) -> Result<(), CudaError> {
        if self.nnz == 0 {
            return Ok(());
        }
        let _arena = tracked.then(|| self.arena.device_ptr(stream));
        self.method.launch(&self.parts, operands, &mut |launch| {
            // SAFETY: the caller's promise on the operands; the pattern is this value's own, and what makes the
            // launch was given its addresses and sizes.
            unsafe { self.kernel.launch(stream, launch) }
        })
    }
}
