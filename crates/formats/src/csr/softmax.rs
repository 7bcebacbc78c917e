//! Softmax over the entries of each row, and its gradient.

use girih_parallel::prelude::*;

use super::{Csr, check_shape, first_error};
use crate::error::FormatError;
use crate::scalar::Real;

/// Exponentials that are kept on the stack: those of a longer row take memory of their own.
const SHORT_ROW: usize = 64;

impl<T: Real> Csr<T> {
    /// Replaces each row's values by their softmax, `exp(v − max) / Σ exp(v − max)`, max and sum over the
    /// row's entries: what turns scores along edges into weights of attention.
    ///
    /// No exponential overflows, since the row's maximum is subtracted. Columns without an entry do not
    /// count, and a row without entries stays empty. Computed in f64 and rounded once, so that a row sums to
    /// 1 but for that rounding. The same bytes on any number of threads; O(nrows + nnz), in parallel.
    ///
    /// A value of −Inf is a mask and becomes 0. A row that holds NaN or +Inf, or −Inf alone, has no
    /// distribution: all of its values become NaN.
    ///
    /// The array is copied first if it is shared with a clone or mapped from a file.
    ///
    /// ```
    /// let mut scores = girih_formats::Csr::from_triplets(2, 3, [(0, 0, 1000.0f32), (0, 2, 1000.0), (1, 1, -7.0)])?;
    /// scores.row_softmax();
    /// assert_eq!(scores.values()[..], [0.5, 0.5, 1.0]);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    pub fn row_softmax(&mut self) {
        self.update_rows(|_, _, values| softmax(values));
    }

    /// Replaces a gradient by the weights P of [`row_softmax`](Self::row_softmax) by the gradient by the scores that
    /// they were made of: `p·(g − Σ p·g)`, the sum over the row's entries.
    ///
    /// Computed in f64 and rounded once. The same bytes on any number of threads; O(nrows + nnz), in parallel. Where
    /// weights are NaN, so is the gradient. The array is copied first if it is shared with a clone or mapped from a
    /// file.
    ///
    /// ```
    /// let mut weights = girih_formats::Csr::from_triplets(1, 2, [(0, 0, 3.0f64), (0, 1, 3.0)])?;
    /// weights.row_softmax();
    /// let mut gradient = weights.with_values(vec![1.0, 0.0])?;
    /// gradient.row_softmax_gradient(&weights)?;
    /// assert_eq!(gradient.values()[..], [0.25, -0.25]);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError::Shape`] or [`FormatError::OtherPattern`] if the weights have another shape or other entries;
    /// nothing is changed then.
    pub fn row_softmax_gradient(&mut self, weights: &Self) -> Result<(), FormatError> {
        check_shape(weights, self.nrows, self.ncols)?;
        let rows = (0..self.nrows).into_par_iter().with_min_len(256);
        first_error(rows, |row| match self.row(row).0 == weights.row(row).0 {
            true => Ok(()),
            false => Err(FormatError::OtherPattern { row }),
        })?;
        self.update_rows(|i, _, gradient| through_softmax(weights.row(i).1, gradient));
        Ok(())
    }
}

fn through_softmax<T: Real>(weights: &[T], gradient: &mut [T]) {
    let pairs = weights.iter().zip(&*gradient);
    let mean: f64 = pairs.map(|(p, g)| p.to_f64() * g.to_f64()).sum();
    for (g, p) in gradient.iter_mut().zip(weights) {
        *g = T::from_f64(p.to_f64() * (g.to_f64() - mean));
    }
}

fn softmax<T: Real>(values: &mut [T]) {
    let larger = |most: f64, x: f64| if x > most || x.is_nan() { x } else { most };
    let most = values.iter().map(|value| value.to_f64()).fold(f64::NEG_INFINITY, larger);
    let (mut short, mut long) = ([0.0; SHORT_ROW], Vec::new());
    let exponentials = match short.get_mut(..values.len()) {
        Some(short) => short,
        None => {
            long.resize(values.len(), 0.0);
            &mut long[..]
        }
    };
    let mut sum = 0.0;
    for (exponential, value) in exponentials.iter_mut().zip(&*values) {
        *exponential = (value.to_f64() - most).exp();
        sum += *exponential;
    }
    for (value, exponential) in values.iter_mut().zip(exponentials) {
        *value = T::from_f64(*exponential / sum);
    }
}
