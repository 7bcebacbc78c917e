//! A plan on a device.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};
use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, Lowering, PreparedSpmm, ProductShape,
};
use girih_formats::DType;

use super::host::HostOperands;
use super::launch::{Bytes, Operands};
use super::panels::panels;
use super::source::Source;
use crate::device::Gpu;
use crate::error::refused_by;
use crate::operand::Place;
use crate::{CudaError, DeviceMatrix, DeviceMatrixMut};

/// What multiplies operands that are in its device's memory.
pub(crate) trait DeviceProduct: Debug + Send + Sync {
    /// Bytes of device memory that it takes.
    fn device_bytes(&self) -> u64;

    /// Whether the columns of C may be computed in panels, with the same bits.
    fn takes_panels(&self) -> bool {
        false
    }

    /// Puts new values in the place of A's, of which there are as many bytes.
    fn replace_values(&mut self, gpu: &Gpu, values: &dyn Bytes) -> Result<(), CudaError> {
        let _ = (gpu, values);
        unreachable!("only what has a source of values is given new ones")
    }

    /// Adds what products of the lowering's n do, where that is known.
    fn describe(&self, lowering: Lowering) -> Lowering {
        lowering
    }

    /// Enqueues a product of operands that fit. Neither m nor n is 0.
    ///
    /// # Safety
    /// Both places are in this device's memory, hold what they say, and live until the stream has run
    /// the product; nobody writes B or uses C meanwhile. Untracked, nobody uses this plan's workspace either.
    unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        tracked: bool,
    ) -> Result<(), CudaError>;
}

/// A plan on a device: A uploaded, its kernels loaded, its workspace allocated.
///
/// [`execute_device`](Self::execute_device) enqueues a product of device operands and returns. Through
/// [`PreparedSpmm`] operands on the host are multiplied too: they are copied there and back.
#[derive(Debug)]
pub struct CudaPrepared {
    backend: &'static str,
    gpu: Arc<Gpu>,
    shape: ProductShape,
    rows: OperandRows,
    product: Box<dyn DeviceProduct>,
    /// What new values are put into before they are sent; none for NVIDIA's libraries.
    source: Option<Source>,
    host: Mutex<HostOperands>,
}

/// Rows that operands have in device memory: those of the matrix, and where whole blocks are read and
/// written perhaps a few more. What B holds there must be zero; what C holds there is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandRows {
    /// Of B, at least k.
    pub b: usize,
    /// Of C, at least m.
    pub c: usize,
}

impl CudaPrepared {
    /// What a backend has prepared.
    pub(crate) fn new(
        backend: &'static str,
        gpu: Arc<Gpu>,
        shape: ProductShape,
        rows: OperandRows,
        product: Box<dyn DeviceProduct>,
    ) -> Self {
        Self { backend, gpu, shape, rows, product, source: None, host: Mutex::default() }
    }

    /// The same, ready for new values.
    pub(crate) fn refreshable(self, source: Source) -> Self {
        Self { source: Some(source), ..self }
    }

    /// Number of rows of A and C (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.shape.m
    }

    /// Rows that operands have in device memory: k and m, but for libraries that read and write whole
    /// blocks.
    #[must_use]
    pub fn operand_rows(&self) -> OperandRows {
        self.rows
    }

    pub(crate) fn shape(&self) -> ProductShape {
        self.shape
    }

    pub(crate) fn backend(&self) -> &'static str {
        self.backend
    }

    /// The panels of columns that operands on the host are moved in.
    pub(super) fn panels(&self, n: usize) -> Vec<Range<usize>> {
        match self.product.takes_panels() {
            true => panels(self.shape, n),
            false => std::iter::once(0..n).collect(),
        }
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

    /// Bytes of device memory that the plan takes: A and the workspace. Products of operands on the host
    /// keep more, for copies of these.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.product.device_bytes()
    }

    /// Enqueues `C = α·A·B + β·C` on a stream of the device and returns. It allocates no device memory,
    /// compiles nothing and does not wait for the device.
    ///
    /// The stream waits for what other streams have enqueued on the operands, as cudarc tracks it, and
    /// they for this. While the stream is captured into a graph nothing is tracked: whoever launches
    /// the graph keeps the plan and both operands alive and orders it among other uses of them, also
    /// among other products of the same plan.
    ///
    /// Operands have the rows that [`operand_rows`](Self::operand_rows) says.
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
        let failed = |error: CudaError| refused_by(self.backend, error, "multiply");
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
        let OperandRows { b: b_rows, c: c_rows } = self.rows;
        for (operand, place, rows) in [("B", b, b_rows), ("C", c, c_rows)] {
            let (found_rows, found_cols, cols) = (place.rows, place.cols, b.cols);
            if (found_rows, found_cols) != (rows, cols) {
                return Err(BackendError::Shape { operand, found_rows, found_cols, rows, cols });
            }
        }
        let expected = self.shape.dtype;
        if dtype != expected {
            return Err(BackendError::DType { operand: "B", found: dtype, expected });
        }
        // C is of the accumulation type by its Rust type.
        Ok(())
    }

    /// Enqueues a product of operands that fit.
    ///
    /// # Safety
    /// As for [`DeviceProduct::enqueue`].
    pub(crate) unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        tracked: bool,
    ) -> Result<(), CudaError> {
        if self.shape.m == 0 || operands.b.cols == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.product.enqueue(stream, operands, tracked) }
    }
}

impl PreparedSpmm for CudaPrepared {
    /// Copies B (and C, unless β is zero) to the device, multiplies, and copies C back; large operands in
    /// panels of columns, so that both directions and the product overlap. Page-locked memory is copied as
    /// it is, other memory through page-locked buffers by all threads of the rayon pool. Device memory for
    /// both is kept and grows with the widest product; one thread at a time is served.
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
            .map_err(|error| refused_by(self.backend, error, "multiply"))
    }

    /// Puts the values into a clone of the plan, which stays in the host's memory and shares all other arrays with it,
    /// packs them as the kernels read them, and sends them where the old ones are: no device memory is allocated.
    /// Products that were enqueued before are waited for; those of captured graphs are the caller's to order.
    fn refresh(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        let Some(source) = &mut self.source else {
            let reason = "its prepared plans keep their values; prepare a plan of the new matrix";
            let (backend, reason) = (self.backend.to_owned(), reason.to_owned());
            return Err(BackendError::NewValues { backend, reason });
        };
        let device_plan = source.renewed(self.backend, values)?;
        let values = &*device_plan.parts[device_plan.values];
        self.product
            .replace_values(&self.gpu, values)
            .map_err(|error| refused_by(self.backend, error, "send new values"))
    }

    fn lowering(&self, n: usize) -> Lowering {
        self.product.describe(Lowering::new(self.backend, self.gpu.info.machine(), n))
    }
}
