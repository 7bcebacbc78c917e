//! How a product is enqueued: checked, operands kept while it runs, on a stream that may be captured.

use std::sync::Arc;

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut};
use girih_backend::{Activation, Aggregation, BackendError, DenseScalar};
use girih_formats::{DType, Scalar};

#[cfg(doc)]
use super::device_product::DeviceProduct;
use super::on_device::CudaPrepared;
use super::product::Product;
use super::total::Total;
#[cfg(doc)]
use crate::device::Gpu;
use crate::error::refused_by;
use crate::launch::Operands;
use crate::{CudaError, DeviceMatrix, DeviceMatrixMut};

impl CudaPrepared {
    /// Refuses what is of another device.
    pub(super) fn in_context(
        &self,
        operand: &'static str,
        context: &Arc<CudaContext>,
    ) -> Result<(), CudaError> {
        if **context == *self.gpu.context {
            return Ok(());
        }
        let reason = format!("is not in the context of device {}", self.gpu.info.index);
        Err(CudaError::Operand { operand, reason })
    }

    /// Enqueues what is requested, of operands that fit.
    pub(super) fn on_device<T: DenseScalar, C: Scalar>(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        total: &Total,
        b: &DeviceMatrix<'_, T>,
        c: &mut DeviceMatrixMut<'_, C>,
        bias: Option<&DeviceMatrix<'_, T::Acc>>,
    ) -> Result<(), BackendError> {
        let failed = |error: CudaError| refused_by(self.backend, error, "multiply");
        let of_bias = bias.map_or(b.slice.context(), |bias| bias.slice.context());
        for (operand, context) in [
            ("B", b.slice.context()),
            ("C", c.slice.context()),
            ("bias", of_bias),
            ("the stream", stream.context()),
        ] {
            self.in_context(operand, context).map_err(failed)?;
        }
        if !is_tracked(stream).map_err(failed)? {
            // SAFETY: 1 was checked; who launches the graph sees to the rest.
            return unsafe { self.enqueue_with(stream, operands, total, false) }.map_err(failed);
        }
        let (_, _b) = b.slice.device_ptr(stream);
        let (_, _c) = c.slice.device_ptr_mut(stream);
        let _bias = bias.map(|bias| bias.slice.device_ptr(stream));
        // SAFETY: 1 was checked; the guards see to 2, 3 and 7.
        unsafe { self.enqueue_with(stream, operands, total, true) }.map_err(failed)
    }

    /// An aggregation, unless the plan's kernels don't compute it.
    pub(super) fn check_aggregation(
        &self,
        aggregation: Aggregation,
    ) -> Result<Total, BackendError> {
        self.product
            .takes_aggregation(aggregation)
            .map_err(|unsupported| unsupported.by(self.backend))?;
        Ok(Total::Aggregation(aggregation))
    }

    /// Refuses an epilogue, with its activation, or a type of C that the plan's kernels don't have.
    pub(super) fn check_sums(
        &self,
        activation: Option<Activation>,
        output: DType,
    ) -> Result<(), BackendError> {
        self.product
            .takes_epilogue(self.shape.dtype, activation)
            .and_then(|()| self.product.takes_output(self.shape, output))
            .map_err(|unsupported| unsupported.by(self.backend))
    }

    /// Enqueues `C = α·A·B + β·C` of operands by their addresses, and checks nothing: to time products
    /// without events between them, or for memory that is not cudarc's. Nothing is done if m or n is 0.
    ///
    /// # Errors
    /// As for [`DeviceProduct::enqueue`].
    ///
    /// # Safety
    /// That of [`DeviceProduct::enqueue`], and:
    /// 5. The operands have the rows that [`operand_rows`](Self::operand_rows) says, both as many columns, B's
    ///    elements the value type of the plan and C's its accumulation type.
    /// 6. The stream is of this plan's [context](Gpu::context).
    pub unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        tracked: bool,
    ) -> Result<(), CudaError> {
        if self.shape.m == 0 || operands.b.cols == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise, point by point.
        unsafe { self.product.device().enqueue(stream, operands, tracked) }
    }

    /// [`enqueue`](Self::enqueue), of a total that the plan takes.
    ///
    /// # Safety
    /// That of [`enqueue`](Self::enqueue), and:
    /// 7. A bias is in this device's memory and has a value for each row or column of C. It lives until the
    ///    stream has run the product, and nobody writes it meanwhile.
    pub(super) unsafe fn enqueue_with(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        total: &Total,
        tracked: bool,
    ) -> Result<(), CudaError> {
        let Product::Launched(launched, _) = &self.product else {
            // SAFETY: the caller's promise; others have plain products alone, which was checked.
            return unsafe { self.enqueue(stream, operands, tracked) };
        };
        if self.shape.m == 0 || operands.b.cols == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise, point by point.
        unsafe { launched.enqueue_with(stream, operands, total, tracked) }
    }
}

/// Whether uses of memory are tracked on a stream: unless it is captured into a graph.
pub(super) fn is_tracked(stream: &CudaStream) -> Result<bool, CudaError> {
    let status = stream.capture_status().map_err(CudaError::driver("ask for a capture"))?;
    Ok(status == CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}
