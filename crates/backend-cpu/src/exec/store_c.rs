//! How C is stored: as it is, through a bias and an activation, or rounded to 16 bits.

use std::borrow::Cow;

use girih_backend::{Activation, Bias, DenseScalar, DenseViewMut, Epilogue, Unsupported};
use girih_formats::{FormatError, RealNumber, Scalar};
use girih_simd::{Finish, GROUP_VECTORS, Input, Output, RowMap, Source, lanes};
use ndarray::{ArrayView2, ArrayViewMut2, Axis};

use super::Prepared;
use crate::kernels::CpuScalar;
use crate::thresholds::SUMS_CARRIED_COLS;

/// Rows of sums that a thread rounds at a time.
const ROUNDED_ROWS: usize = 256;

impl<T: CpuScalar + DenseScalar> Prepared<T> {
    /// Computes C, which is not empty, of operands of the right shape.
    ///
    /// # Errors
    /// If there is no memory for a copy of B, or for sums.
    pub(super) fn product_into(
        &self,
        (alpha, beta): (f64, f64),
        b: &ArrayView2<'_, T>,
        c: DenseViewMut<'_>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(), FormatError> {
        let (m, n) = c.dim();
        let bias = bias_of::<T>(epilogue);
        let bias = bias.as_ref().map(|(values, per_row)| (&values[..], *per_row));
        let (alpha, beta) = (T::Acc::from_f64(alpha), T::Acc::from_f64(beta));
        match c {
            DenseViewMut::F16(mut c) => {
                let finish = Finish::rounded(&mut c, bias, epilogue.activation);
                self.finished(alpha, b, Output::rounded(&finish, alpha, beta), m, n)
            }
            DenseViewMut::Bf16(mut c) => {
                let finish = Finish::rounded(&mut c, bias, epilogue.activation);
                self.finished(alpha, b, Output::rounded(&finish, alpha, beta), m, n)
            }
            c => {
                let Some(mut c) = T::acc_view_mut(c) else { unreachable!("C's type was checked") };
                if epilogue.is_none() {
                    self.plain(alpha, b, beta, &mut c, n)
                } else {
                    let finish = Finish::new(&c, bias, epilogue.activation);
                    let out = Output::new(&mut c, alpha, beta).finished(&finish);
                    self.finished(alpha, b, out, m, n)
                }
            }
        }
    }
}

impl<T: CpuScalar> Prepared<T> {
    /// A product whose elements are stored as they are; C is not empty.
    fn plain(
        &self,
        alpha: T::Acc,
        b: &ArrayView2<'_, T>,
        beta: T::Acc,
        c: &mut ArrayViewMut2<'_, T::Acc>,
        n: usize,
    ) -> Result<(), FormatError> {
        match (alpha.is_zero(), beta.is_zero()) {
            (false, _) => self.product_of(b, Output::new(c, alpha, beta), n)?,
            (true, true) => c.fill(T::Acc::ZERO),
            (true, false) => c.mapv_inplace(|x| beta * x),
        }
        Ok(())
    }

    /// A product whose m×n elements go through something before they are stored.
    fn finished(
        &self,
        alpha: T::Acc,
        b: &ArrayView2<'_, T>,
        out: Output<T::Acc>,
        m: usize,
        n: usize,
    ) -> Result<(), FormatError> {
        if alpha.is_zero() {
            self.finish_only(out, m, n);
            return Ok(());
        }
        self.product_of(b, out, n)
    }

    /// A product; α ≠ 0.
    fn product_of(
        &self,
        b: &ArrayView2<'_, T>,
        out: Output<T::Acc>,
        n: usize,
    ) -> Result<(), FormatError> {
        match Input::in_place(b) {
            Some(b) => self.product(b, out, n),
            None => self.copied(Source::new(b), out, n),
        }
    }

    /// A product that adds up slab by slab, in sums of its own: a group of columns at a time, for all rows. C is rounded
    /// when they are complete.
    ///
    /// # Errors
    /// If there is no memory for the sums, or a copy of B.
    pub(super) fn round_slabs(
        &self,
        b: Input<T>,
        out: Output<T::Acc>,
        n: usize,
    ) -> Result<(), FormatError> {
        let (m, at_once) = (self.tiling.nrows(), GROUP_VECTORS * lanes::<T>());
        self.slab_sums.with(m.saturating_mul(at_once.min(n)), |sums| {
            (0..n).step_by(at_once).try_for_each(|j| {
                let (width, out) = (at_once.min(n - j), out.at_col(j));
                self.product(b.at_col(j), Output::sums(sums, width, false), width)?;
                self.team.for_each(m.div_ceil(ROUNDED_ROWS), 1, |i| {
                    let first = i * ROUNDED_ROWS;
                    let len = ROUNDED_ROWS.min(m - first);
                    let sums = &sums[first * width..(first + len) * width];
                    let map = RowMap::Consecutive { first, len };
                    self.kernels.combine(sums, 1, &out, map, width);
                });
                Ok(())
            })
        })?
    }

    /// C as it is without a product.
    fn finish_only(&self, out: Output<T::Acc>, m: usize, n: usize) {
        let none = [T::Acc::ZERO; SUMS_CARRIED_COLS];
        for first in 0..m {
            for j in (0..n).step_by(none.len()) {
                let map = RowMap::Consecutive { first, len: 1 };
                self.kernels.combine(&none, 1, &out.at_col(j), map, none.len().min(n - j));
            }
        }
    }
}

/// Whether kernels know the activation.
pub(crate) fn known_epilogue(epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
    match epilogue.activation {
        Activation::None | Activation::Relu | Activation::Gelu => Ok(()),
        other => Err(Unsupported::Epilogue { reason: format!("its kernels lack {other:?}") }),
    }
}

/// The values of a bias next to each other, and whether they are for rows.
fn bias_of<'a, T: DenseScalar>(epilogue: &'a Epilogue<'_>) -> Option<(Cow<'a, [T::Acc]>, bool)> {
    let (values, per_row) = match epilogue.bias.as_ref()? {
        Bias::PerRow(values) => (values, true),
        Bias::PerColumn(values) => (values, false),
    };
    let column = T::acc_view(values.reborrow())?.index_axis_move(Axis(1), 0);
    let values = column.to_slice().map_or_else(|| Cow::Owned(column.to_vec()), Cow::Borrowed);
    Some((values, per_row))
}
