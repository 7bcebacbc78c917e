//! Products of complex values.

use girih_formats::{AnyTiling, Complex, ComplexScalar, DType, Tiling};
use ndarray::{ArrayView2, ArrayViewMut2};

use crate::dense::{DenseScalar, DenseView, DenseViewMut};
use crate::epilogue::Epilogue;
use crate::error::Unsupported;

/// Multiplies operands that were checked to be of the tiling's value type, which is complex.
pub(super) fn multiply_any(
    tiling: &AnyTiling,
    row_of_b: Option<&[u32]>,
    alpha: Complex<f64>,
    b: DenseView<'_>,
    beta: Complex<f64>,
    c: DenseViewMut<'_>,
) {
    match (tiling, b, c) {
        (AnyTiling::C32(t), DenseView::C32(b), DenseViewMut::C32(c)) => {
            multiply(t, row_of_b, alpha, &b, beta, c);
        }
        (AnyTiling::C64(t), DenseView::C64(b), DenseViewMut::C64(c)) => {
            multiply(t, row_of_b, alpha, &b, beta, c);
        }
        _ => unreachable!("the operands' types were checked"),
    }
}

fn multiply<T: DenseScalar + ComplexScalar>(
    tiling: &Tiling<T>,
    row_of_b: Option<&[u32]>,
    alpha: Complex<f64>,
    b: &ArrayView2<'_, T>,
    beta: Complex<f64>,
    mut c: ArrayViewMut2<'_, T>,
) {
    for slot in 0..tiling.layout().n_slots() {
        let Some(row) = tiling.layout().row(slot) else { continue };
        for (b, out) in b.columns().into_iter().zip(c.row_mut(row)) {
            let mut sum = Complex::ZERO;
            if alpha != Complex::ZERO {
                tiling.visit_stored(slot, |col, a| {
                    let col = row_of_b.map_or(col, |rows| rows[col] as usize);
                    sum += a.to_c64() * b[col].to_c64();
                });
            }
            *out = T::from_c64(scaled(alpha, sum) + scaled(beta, out.to_c64()));
        }
    }
}

/// A factor times a number: 0 if the factor is, whatever the number; part by part if the factor is real.
fn scaled(factor: Complex<f64>, x: Complex<f64>) -> Complex<f64> {
    match factor {
        Complex { re: 0.0, im: 0.0 } => Complex::ZERO,
        Complex { re, im: 0.0 } => Complex::new(re * x.re, re * x.im),
        Complex { re, im } => Complex::new(re * x.re - im * x.im, re * x.im + im * x.re),
    }
}

/// Refuses every epilogue but none: activations are functions of real numbers.
pub(super) fn no_epilogue(epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
    match epilogue.is_none() {
        true => Ok(()),
        false => Err(Unsupported::Epilogue {
            reason: "products of complex values are stored without bias and activation".to_owned(),
        }),
    }
}

/// Refuses complex values, which have no order and so no maximum.
pub(super) fn no_aggregation(dtype: DType) -> Result<(), Unsupported> {
    match dtype.is_complex() {
        false => Ok(()),
        true => Err(Unsupported::Aggregation {
            reason: format!("values of {dtype} are summed, and nothing else"),
        }),
    }
}
