//! A plan on a device.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use cudarc::driver::CudaStream;
use girih_backend::{Aggregation, BackendError, DenseScalar, ProductShape};
use girih_formats::{Complex, ComplexScalar, DType, Real, Scalar};

use super::device_product::DeviceProduct;
use super::host::HostOperands;
use super::launched::Launched;
use super::panels::panels;
use super::product::Product;
use super::source::Source;
use super::total::Total;
use crate::device::Gpu;
use crate::epilogue::{DeviceEpilogue, PlacedEpilogue};
use crate::launch::Operands;
use crate::operand::Place;
use crate::{DeviceMatrix, DeviceMatrixMut, NAME};

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

    /// Enqueues `C = α·A·B + β·C` on a stream of the device and returns. It allocates no device memory
    /// and does not wait for the device.
    ///
    /// Preparing the plan compiled what multiplies as many columns as it was made for, if rows of operands are contiguous
    /// and begin on 16 bytes, or as their columns let them. Other operands may need other entry points of the kernels. The
    /// first product that needs one waits until it is loaded from the cache, or compiled in some tenths of a second.
    /// Such a product should be enqueued once before one is captured into a graph: a capture that takes so long is more
    /// likely to be broken by another thread that waits for the whole context, as opening a backend does.
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
    /// The first product with an epilogue loads what it launches, from the cache or the compiler: one should be enqueued
    /// before a stream is captured.
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
        self.check_sums(activation, C::DTYPE)?;
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
    /// The first aggregation loads what it launches, from the cache or the compiler: one should be enqueued before a
    /// stream is captured.
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
        let total = self.check_aggregation(aggregation)?;
        let alpha = Total::sign(aggregation);
        let operands = Operands { alpha, beta: Complex::ZERO, b: b.place, c: c.place };
        self.on_device(stream, &operands, &total, b, c, None)
    }

    /// Enqueues `C = act(α·A·B + β·C + bias)` with a C of f16 or bf16, of a plan that sums in f32: what
    /// [`execute_device_with`](Self::execute_device_with) would store is rounded to it once, to nearest even. So C can be
    /// the next product's B.
    ///
    /// The first such product loads what it launches, from the cache or the compiler: one should be enqueued before a
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
