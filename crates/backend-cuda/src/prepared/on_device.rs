//! A plan on a device.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut};
use girih_backend::{Activation, Aggregation, BackendError, DenseScalar, ProductShape};
use girih_formats::{Complex, ComplexScalar, DType, Real, Scalar};

use super::host::HostOperands;
use super::launch::Operands;
use super::launched::Launched;
use super::panels::panels;
use super::product::{DeviceProduct, Product};
use super::source::Source;
use super::total::{Later, Total};
use crate::device::Gpu;
use crate::epilogue::{DeviceEpilogue, PlacedEpilogue};
use crate::error::refused_by;
use crate::operand::Place;
use crate::{CudaError, DeviceMatrix, DeviceMatrixMut, NAME};

/// A plan on a device: A uploaded, its kernels loaded, its workspace allocated.
///
/// [`execute_device`](Self::execute_device) enqueues a product of device operands and returns. Through
/// [`PreparedSpmm`](girih_backend::PreparedSpmm) operands on the host are multiplied too: they are copied there and back.
#[derive(Debug)]
pub struct CudaPrepared {
    pub(super) backend: &'static str,
    pub(super) gpu: Arc<Gpu>,
    pub(super) shape: ProductShape,
    pub(super) rows: OperandRows,
    pub(super) product: Product,
    pub(super) host: Mutex<HostOperands>,
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
    /// A plan that a product of one's own multiplies, by kernels or a library of one's own.
    ///
    /// `backend` names it in errors and lowerings. [`refresh`](girih_backend::PreparedSpmm::refresh) refuses new values, and
    /// operands on the host are moved in one piece.
    #[must_use]
    pub fn of_product(
        backend: &'static str,
        gpu: Arc<Gpu>,
        shape: ProductShape,
        rows: OperandRows,
        product: Box<dyn DeviceProduct>,
    ) -> Self {
        let product = Product::Other(product);
        Self { backend, gpu, shape, rows, product, host: Mutex::default() }
    }

    /// A plan that this crate's kernels multiply.
    pub(crate) fn launched(
        gpu: Arc<Gpu>,
        shape: ProductShape,
        launched: Launched,
        source: Source,
    ) -> Self {
        let rows = OperandRows { b: shape.k, c: shape.m };
        let product = Product::Launched(Box::new(launched), Box::new(source));
        Self { backend: NAME, gpu, shape, rows, product, host: Mutex::default() }
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

    /// The shape of products and the value type of A and B.
    #[must_use]
    pub fn shape(&self) -> ProductShape {
        self.shape
    }

    /// The name of the backend that prepared it.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    /// The panels of columns that operands on the host are moved in.
    pub(super) fn panels(&self, n: usize) -> Vec<Range<usize>> {
        match self.product.takes_panels() {
            true => panels(self.shape, n),
            false => std::iter::once(0..n).collect(),
        }
    }

    /// The device that it is on.
    #[must_use]
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Bytes of device memory that the plan takes: A and the workspace. Products of operands on the host
    /// keep more, for copies of these.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.product.device().device_bytes()
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
    /// vectors on 16-byte boundaries are fastest. Of other rows, those of as many columns as the plan was made for.
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
        self.execute_device_with(stream, alpha, b, beta, c, &DeviceEpilogue::new())
    }

    /// Enqueues `C = act(α·A·B + β·C + bias)`: [`execute_device`](Self::execute_device), with an epilogue in the
    /// kernels' store. The bits are those of the plain product, put through the epilogue in the accumulation type.
    ///
    /// The first product with an epilogue loads the kernels that have one, from the cache or the compiler: one
    /// should be enqueued before a stream is captured.
    ///
    /// # Errors
    /// As for `execute_device`, also of the bias. [`BackendError::Unsupported`] if the kernels of the plan's
    /// format have no epilogues.
    pub fn execute_device_with<T: DenseScalar>(
        &self,
        stream: &CudaStream,
        alpha: f64,
        b: &DeviceMatrix<'_, T>,
        beta: f64,
        c: &mut DeviceMatrixMut<'_, T::Acc>,
        epilogue: &DeviceEpilogue<'_, T::Acc>,
    ) -> Result<(), BackendError> {
        self.execute_on_device(stream, (alpha.into(), beta.into()), b, c, epilogue)
    }

    /// [`execute_device`](Self::execute_device) of complex values, with complex α and β: see
    /// [`PreparedSpmm::execute_complex`](girih_backend::PreparedSpmm::execute_complex). Elements lie on a multiple of
    /// their size, 8 or 16 bytes, as they do in whatever a device allocates.
    /// [`complex_memory`](crate::complex_memory) makes slices of such values.
    ///
    /// # Errors
    /// As for `execute_device`. [`BackendError::Failed`] too if elements begin elsewhere.
    pub fn execute_device_complex<T: DenseScalar + ComplexScalar>(
        &self,
        stream: &CudaStream,
        alpha: Complex<f64>,
        b: &DeviceMatrix<'_, T>,
        beta: Complex<f64>,
        c: &mut DeviceMatrixMut<'_, T::Acc>,
    ) -> Result<(), BackendError> {
        self.execute_on_device(stream, (alpha, beta), b, c, &DeviceEpilogue::new())
    }

    fn execute_on_device<T: DenseScalar, C: Scalar>(
        &self,
        stream: &CudaStream,
        (alpha, beta): (Complex<f64>, Complex<f64>),
        b: &DeviceMatrix<'_, T>,
        c: &mut DeviceMatrixMut<'_, C>,
        epilogue: &DeviceEpilogue<'_, T::Acc>,
    ) -> Result<(), BackendError> {
        self.check(&b.place, T::DTYPE, &c.place)?;
        let bias = epilogue.bias();
        if let Some((bias, per_row)) = bias {
            let rows = if per_row { self.shape.m } else { b.place.cols };
            check_place("bias", &bias.place, (rows, 1))?;
        }
        let activation = (!epilogue.is_none()).then_some(epilogue.function());
        self.load_sums(activation, C::DTYPE)?;
        let operands = Operands { alpha, beta, b: b.place, c: c.place };
        let bias_place = bias.map(|(bias, per_row)| (&bias.place, per_row));
        let placed = PlacedEpilogue::new(bias_place, epilogue.function());
        let total = Total::Sum(placed.rounded_to(C::DTYPE));
        self.on_device(stream, &operands, &total, b, c, bias.map(|(bias, _)| bias))
    }

    /// Enqueues an [aggregation](girih_backend::PreparedSpmm::aggregate) of operands on the device on one of its
    /// streams and returns:
    /// as [`execute_device`](Self::execute_device) does a product. C is not read.
    ///
    /// The first maximum or minimum loads the kernels of both, from the cache or the compiler, and the first mean those
    /// of means: one should be enqueued before a stream is captured.
    ///
    /// # Errors
    /// As for `execute_device`. [`BackendError::Unsupported`] unless the plan is in CSR.
    pub fn aggregate_device<T: DenseScalar>(
        &self,
        stream: &CudaStream,
        aggregation: Aggregation,
        b: &DeviceMatrix<'_, T>,
        c: &mut DeviceMatrixMut<'_, T::Acc>,
    ) -> Result<(), BackendError> {
        self.check(&b.place, T::DTYPE, &c.place)?;
        let total = self.load_aggregation(aggregation)?;
        let alpha = Total::sign(aggregation);
        let operands = Operands { alpha, beta: Complex::ZERO, b: b.place, c: c.place };
        self.on_device(stream, &operands, &total, b, c, None)
    }

    /// Enqueues `C = act(α·A·B + β·C + bias)` with a C of f16 or bf16, of a plan that sums in f32: what
    /// [`execute_device_with`](Self::execute_device_with) would store is rounded to it once, to nearest even. So C can be
    /// the next product's B.
    ///
    /// The first such product loads its kernels, from the cache or the compiler: one should be enqueued before a
    /// stream is captured.
    ///
    /// # Errors
    /// As for `execute_device_with`. [`BackendError::Unsupported`] too unless the backend
    /// [supports](girih_backend::SpmmBackend::supports_output) such a C.
    pub fn execute_device_rounded<T: DenseScalar, C: Real>(
        &self,
        stream: &CudaStream,
        alpha: f64,
        b: &DeviceMatrix<'_, T>,
        beta: f64,
        c: &mut DeviceMatrixMut<'_, C>,
        epilogue: &DeviceEpilogue<'_, T::Acc>,
    ) -> Result<(), BackendError> {
        self.execute_on_device(stream, (alpha.into(), beta.into()), b, c, epilogue)
    }

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

    /// Enqueues what is requested, of operands that fit and by kernels that are loaded.
    fn on_device<T: DenseScalar, C: Scalar>(
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

    /// Refuses an aggregation that the plan's kernels don't compute, and loads those that do.
    pub(super) fn load_aggregation(&self, aggregation: Aggregation) -> Result<Total, BackendError> {
        self.product
            .takes_aggregation(aggregation)
            .map_err(|unsupported| unsupported.by(self.backend))?;
        let total = Total::Aggregation(aggregation);
        if let (Product::Launched(launched, _), Some(later)) = (&self.product, total.later()) {
            let failed = |error| refused_by(self.backend, error, "load kernels of aggregations");
            launched.load(later).map_err(failed)?;
        }
        Ok(total)
    }

    /// Refuses an epilogue or a type of C that the plan's kernels don't have, and loads those that do; `None` if there is
    /// no epilogue.
    pub(super) fn load_sums(
        &self,
        activation: Option<Activation>,
        output: DType,
    ) -> Result<(), BackendError> {
        self.product
            .takes_epilogue(self.shape.dtype, activation)
            .and_then(|()| self.product.takes_output(self.shape, output))
            .map_err(|unsupported| unsupported.by(self.backend))?;
        let rounds = self.shape.rounds_to(output).then_some(output);
        let later = Later::of_sums(activation.is_some(), rounds);
        if let (Product::Launched(launched, _), Some(later)) = (&self.product, later) {
            let failed = |error| refused_by(self.backend, error, "load kernels for such a C");
            launched.load(later).map_err(failed)?;
        }
        Ok(())
    }

    /// The checks of [`ProductShape`], on places.
    fn check(&self, b: &Place, dtype: DType, c: &Place) -> Result<(), BackendError> {
        let OperandRows { b: b_rows, c: c_rows } = self.rows;
        for (operand, place, rows) in [("B", b, b_rows), ("C", c, c_rows)] {
            check_place(operand, place, (rows, b.cols))?;
        }
        let expected = self.shape.dtype;
        if dtype != expected {
            return Err(BackendError::DType { operand: "B", found: dtype, expected });
        }
        // C's type is by its Rust type, or checked when kernels for it are loaded.
        Ok(())
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

    /// [`enqueue`](Self::enqueue), of a total that the plan takes and whose kernels were loaded.
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

/// Whether an operand has this shape.
pub(super) fn check_place(
    operand: &'static str,
    place: &Place,
    (rows, cols): (usize, usize),
) -> Result<(), BackendError> {
    let (found_rows, found_cols) = (place.rows, place.cols);
    if (found_rows, found_cols) != (rows, cols) {
        return Err(BackendError::Shape { operand, found_rows, found_cols, rows, cols });
    }
    Ok(())
}
