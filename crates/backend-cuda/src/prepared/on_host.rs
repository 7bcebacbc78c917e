//! Products of operands on the host, by a plan on a device.

use std::sync::PoisonError;

use girih_backend::{
    Aggregation, BackendError, DenseView, DenseViewMut, Epilogue, Lowering, PreparedSpmm,
    real_scaling,
};
use girih_formats::Complex;

use super::on_device::CudaPrepared;
use super::product::Product;
use super::total::{Requested, Total};
use crate::error::refused_by;
use crate::operand::Place;

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
        self.execute_with(alpha, b, beta, c, &Epilogue::new())
    }

    /// Copies the bias to the device too. The first product with an epilogue, or with a C of 16 bits, loads what it
    /// launches, from the cache or the compiler. The bits are those of the plain product, put through the epilogue in the
    /// accumulation type, then rounded.
    fn execute_with(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(), BackendError> {
        self.execute_on_host((alpha.into(), beta.into()), &b, c, epilogue)
    }

    /// Plans in CSR of complex values take factors with imaginary parts.
    fn execute_complex(
        &self,
        alpha: Complex<f64>,
        b: DenseView<'_>,
        beta: Complex<f64>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        if !self.shape.dtype.is_complex() {
            real_scaling(alpha, beta).map_err(|unsupported| unsupported.by(self.backend))?;
        }
        self.execute_on_host((alpha, beta), &b, c, &Epilogue::new())
    }

    /// Copies B to the device and C back, as a product does. The first aggregation loads what it launches,
    /// from the cache or the compiler.
    fn aggregate(
        &self,
        aggregation: Aggregation,
        b: DenseView<'_>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let n = self.shape.check_operands(&b, &c)?;
        self.check_aggregation(aggregation)?;
        if self.shape.m == 0 || n == 0 {
            return Ok(());
        }
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        let mut transfer = self.gpu.transfer();
        let scales = (Total::sign(aggregation), Complex::ZERO);
        host.multiply(self, &mut transfer, scales, &b, c, Requested::Aggregation(aggregation))
            .map_err(|error| refused_by(self.backend, error, "aggregate"))
    }

    /// Copies the values to the device, where a kernel puts them in the place of the old ones. The first call finds out
    /// where they go, as [`refresh_device`](Self::refresh_device) says, and keeps memory on the device for them.
    /// Products that were enqueued before are waited for; those of captured graphs are the caller's to order.
    fn refresh(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        let dim = values.dim();
        self.takes_values(&Place::row_major(0, dim, 1), values.dtype())?;
        let Product::Launched(launched, _) = &mut self.product else {
            unreachable!("others take no new values")
        };
        let put = match values {
            DenseView::F16(values) => launched.put_host_values(&self.gpu, &values),
            DenseView::Bf16(values) => launched.put_host_values(&self.gpu, &values),
            DenseView::F32(values) => launched.put_host_values(&self.gpu, &values),
            DenseView::F64(values) => launched.put_host_values(&self.gpu, &values),
            DenseView::C32(values) => launched.put_host_values(&self.gpu, &values),
            DenseView::C64(values) => launched.put_host_values(&self.gpu, &values),
        };
        put.map_err(|error| refused_by(self.backend, error, "send new values"))
    }

    fn lowering(&self, n: usize) -> Lowering {
        self.product.describe(Lowering::new(self.backend, self.gpu.info.machine(), n))
    }
}

impl CudaPrepared {
    fn execute_on_host(
        &self,
        scales: (Complex<f64>, Complex<f64>),
        b: &DenseView<'_>,
        c: DenseViewMut<'_>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(), BackendError> {
        let n = self.shape.check_rounded(b, &c)?;
        epilogue.check(&self.shape, n)?;
        self.check_sums((!epilogue.is_none()).then_some(epilogue.activation), c.dtype())?;
        if self.shape.m == 0 || n == 0 {
            return Ok(());
        }
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        let mut transfer = self.gpu.transfer();
        host.multiply(self, &mut transfer, scales, b, c, Requested::Sum(epilogue))
            .map_err(|error| refused_by(self.backend, error, "multiply"))
    }
}
