//! What values are divided by before they are stored in e4m3.

use girih_parallel::prelude::*;

use crate::E4m3;
use crate::csr::{Csr, check_len};
use crate::error::FormatError;
use crate::narrowing::{Kind, Limits, Narrowing};
use crate::scalar::Scalar;
use crate::tilings::spec::ScalesPer;

/// The scales of a matrix that is stored in e4m3: an element is its code's number times the scale of its row.
///
/// e4m3 has a sign, four bits of exponent and three of mantissa: numbers up to 448, the least normal one 2⁻⁶, the
/// least subnormal one 2⁻⁹; two NaNs, no infinity (OCP 8-bit Floating Point Specification, revision 1.0).
#[derive(Clone, Debug, PartialEq)]
pub struct E4m3Scales {
    /// One, or one for each row of the matrix in its own order.
    scales: Vec<f32>,
    per: ScalesPer,
}

/// What becomes of values that are beyond 448 times their scale, infinite or NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum E4m3Overflow {
    /// The matrix is refused.
    #[default]
    Error,
    /// They become ±448 times their scale; NaN stays NaN.
    Saturate,
}

/// The largest number of e4m3.
const LARGEST: f32 = 448.0;

/// The scale by which `largest`, the largest magnitude of a row, a column or a matrix, becomes 448: 1 if it is
/// 0, and never so small that it has fewer digits than others.
#[must_use]
fn scale_of(largest: f64) -> f32 {
    if largest == 0.0 {
        return 1.0;
    }
    ((largest / f64::from(LARGEST)) as f32).clamp(f32::MIN_POSITIVE, f32::MAX)
}

/// The largest finite magnitude.
fn largest<T: Scalar>(values: &[T]) -> f64 {
    let magnitudes = values.iter().map(|value| value.to_c64().re.abs());
    magnitudes.filter(|x| x.is_finite()).fold(0.0, f64::max)
}

impl E4m3Scales {
    /// Scales by which the largest finite magnitude, of the matrix or of each row, becomes 448. O(nnz), in
    /// parallel. Of complex values the real part counts; they are not stored in e4m3.
    #[must_use]
    pub fn of<T: Scalar>(a: &Csr<T>, per: ScalesPer) -> Self {
        let rows = (0..a.nrows()).into_par_iter().with_min_len(64);
        let rows: Vec<f64> = rows.map(|row| largest(a.row(row).1)).collect();
        let scales = match per {
            ScalesPer::Tensor => vec![scale_of(rows.into_iter().fold(0.0, f64::max))],
            ScalesPer::Row => rows.into_iter().map(scale_of).collect(),
        };
        Self { scales, per }
    }

    /// One scale for all of a matrix.
    ///
    /// # Errors
    /// If it is not finite, or not a normal number above 0.
    pub fn per_tensor(scale: f32) -> Result<Self, FormatError> {
        check_scales(&[scale])?;
        Ok(Self { scales: vec![scale], per: ScalesPer::Tensor })
    }

    /// A scale for each row, in the order of the matrix.
    ///
    /// # Errors
    /// If one is not finite, or not a normal number above 0.
    pub fn per_row(scales: Vec<f32>) -> Result<Self, FormatError> {
        check_scales(&scales)?;
        Ok(Self { scales, per: ScalesPer::Row })
    }

    /// What has a scale of its own.
    #[must_use]
    pub fn per(&self) -> ScalesPer {
        self.per
    }

    /// The scale of a row.
    ///
    /// # Panics
    /// If the matrix that the scales are of has no such row.
    #[inline]
    #[must_use]
    pub fn of_row(&self, row: usize) -> f32 {
        match self.per {
            ScalesPer::Tensor => self.scales[0],
            ScalesPer::Row => self.scales[row],
        }
    }

    /// Whether they are of a matrix with `nrows` rows.
    pub(super) fn check_rows(&self, nrows: usize) -> Result<(), FormatError> {
        match self.per {
            ScalesPer::Tensor => Ok(()),
            ScalesPer::Row => check_len("scales", self.scales.len(), nrows),
        }
    }

    /// The scales as a tiling stores them: one, or one for each slot, 1 for an empty one.
    pub(super) fn by_slot(&self, rows: impl Iterator<Item = Option<usize>>) -> Vec<f32> {
        match self.per {
            ScalesPer::Tensor => self.scales.clone(),
            ScalesPer::Row => rows.map(|row| row.map_or(1.0, |row| self.scales[row])).collect(),
        }
    }

    /// What storing a matrix in e4m3 does to its values. O(nnz), in parallel.
    ///
    /// # Errors
    /// If there are scales for another number of rows.
    pub fn narrowing<T: Scalar>(&self, a: &Csr<T>) -> Result<E4m3Narrowing, FormatError> {
        self.check_rows(a.nrows())?;
        let rows = (0..a.nrows()).into_par_iter().with_min_len(64);
        let rows = rows.map(|row| E4m3Narrowing::of(a.row(row).1, self.of_row(row)));
        let rows: Vec<_> = rows.collect();
        Ok(rows.into_iter().fold(E4m3Narrowing::default(), E4m3Narrowing::and))
    }
}

/// What storing values in e4m3 does to them besides the digits that it costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct E4m3Narrowing {
    /// How many become zero, subnormal, or more than 448 times their scale.
    pub counts: Narrowing,
    /// The largest relative error of a value that becomes neither zero nor too large: at most 2⁻⁴ of one that
    /// becomes a normal number.
    pub largest_error: f64,
}

impl E4m3Narrowing {
    fn of<T: Scalar>(values: &[T], scale: f32) -> Self {
        let (limits, scale) = (Limits::e4m3(), f64::from(scale));
        let mut this = Self::default();
        for value in values.iter().map(|value| value.to_c64().re / scale) {
            let kind = limits.kind(value);
            this.counts.count(kind, 1);
            if matches!(kind, Kind::Normal | Kind::Subnormal) {
                let error = (E4m3::from_f64(value).to_f64() - value).abs() / value.abs();
                this.largest_error = this.largest_error.max(error);
            }
        }
        this
    }

    fn and(self, other: Self) -> Self {
        Self {
            counts: self.counts + other.counts,
            largest_error: self.largest_error.max(other.largest_error),
        }
    }
}

impl ScalesPer {
    /// How many scales a matrix has whose rows stand in `n_slots` slots.
    pub(crate) fn count(self, n_slots: usize) -> usize {
        match self {
            Self::Tensor => 1,
            Self::Row => n_slots,
        }
    }
}

/// Checks that scales are finite, normal and above 0, so that what is divided by one keeps its digits.
pub(super) fn check_scales(scales: &[f32]) -> Result<(), FormatError> {
    match scales.iter().position(|scale| !scale.is_normal() || *scale < 0.0) {
        None => Ok(()),
        Some(position) => Err(FormatError::Inconsistent {
            what: "scales",
            position,
            reason: "a scale is not a finite, normal number above 0",
        }),
    }
}

/// `value / scale` in e4m3, rounded to nearest even once: the quotient of numbers of 24 bits is an f64 on the
/// same side of every tie. `None` if it is NaN, infinite or rounds beyond 448.
#[inline]
pub(super) fn narrowed(value: f64, scale: f32) -> Option<E4m3> {
    let quotient = value / f64::from(scale);
    // 464 is halfway to 480, which would be next; 448 is even.
    (quotient.abs() <= 464.0).then(|| E4m3::from_f64(quotient))
}

impl E4m3Scales {
    /// The scale of a column of a dense operand, by which its largest finite magnitude becomes 448: as CUDA
    /// kernels choose it, in f32.
    ///
    /// ```
    /// use girih_formats::E4m3Scales;
    ///
    /// let columns = [vec![1.0f32, -896.0], vec![0.0, f32::INFINITY]];
    /// let scales = columns.map(|column| E4m3Scales::of_column(column.into_iter()));
    /// assert_eq!(scales, [2.0, 1.0]);
    /// ```
    #[must_use]
    pub fn of_column(column: impl Iterator<Item = f32>) -> f32 {
        let largest = column.map(f32::abs).filter(|x| x.is_finite()).fold(0.0, f32::max);
        if largest == 0.0 { 1.0 } else { (largest / LARGEST).max(f32::MIN_POSITIVE) }
    }

    /// An element of a dense operand in e4m3, as CUDA kernels round it: divided by the scale of its column in f32,
    /// then rounded to nearest even. What is not finite becomes NaN.
    #[must_use]
    pub fn narrow_dense(x: f32, scale: f32) -> E4m3 {
        let x = if x.is_infinite() { f32::NAN } else { x };
        E4m3::from_f32(x / scale)
    }
}

#[cfg(test)]
mod tests {
    use std::iter::once;

    use super::*;

    /// Every finite number of e4m3 that is not negative, with its code: from the definition.
    fn numbers() -> Vec<(u8, f64)> {
        let number = |code: u8| {
            let (exponent, mantissa) = (i32::from(code >> 3), f64::from(code & 7) / 8.0);
            match exponent {
                0 => mantissa * 2f64.powi(-6),
                _ => (1.0 + mantissa) * 2f64.powi(exponent - 7),
            }
        };
        (0..0x7f).map(|code| (code, number(code))).collect()
    }

    #[test]
    fn all_256_codes_are_what_the_specification_says() {
        for (code, number) in numbers() {
            assert_eq!(E4m3::from_bits(code).to_f64(), number);
            assert_eq!(E4m3::from_bits(code | 0x80).to_f64(), -number);
            assert_eq!(narrowed(number, 1.0).map(|e| e.to_bits()), Some(code));
            let negative = narrowed(-number, 1.0).unwrap();
            assert_eq!((negative.to_bits() & 0x7f, negative.to_f64()), (code, -number));
        }
        assert!(E4m3::from_bits(0x7f).is_nan() && E4m3::from_bits(0xff).is_nan());
        assert_eq!(numbers().last().unwrap().1, 448.0);
    }

    #[test]
    fn ties_go_to_the_even_code_and_what_is_beside_them_to_the_nearest() {
        for pair in numbers().windows(2) {
            let ((low, x), (high, y)) = (pair[0], pair[1]);
            let tie = f64::midpoint(x, y);
            let even = if low % 2 == 0 { low } else { high };
            let bits = |x: f64| narrowed(x, 1.0).unwrap().to_bits();
            assert_eq!(bits(tie), even, "{tie}");
            assert_eq!((bits(tie.next_down()), bits(tie.next_up())), (low, high), "{tie}");
            assert_eq!(bits(-tie.next_up()), high | 0x80);
        }
    }

    #[test]
    fn beyond_464_scales_nothing_is_there() {
        assert_eq!(narrowed(464.0, 1.0).unwrap().to_f64(), 448.0);
        assert_eq!(narrowed(-928.0, 2.0).unwrap().to_f64(), -448.0);
        for x in [464f64.next_up(), f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(narrowed(x, 1.0).is_none(), "{x}");
        }
    }

    #[test]
    fn quotients_are_rounded_once() {
        // The quotient lies closer to a tie than f32 tells: 17/16 · (1 + 2⁻²³) · 3 / 3.
        let scale = 1.0 + f32::EPSILON;
        let tie = 17.0 / 16.0;
        let value = f32::from_bits((tie as f32 * scale).to_bits() + 1);
        let code = narrowed(f64::from(value), scale).unwrap();
        let exact = f64::from(value) / f64::from(scale);
        assert!(exact > tie);
        assert_eq!(code.to_f64(), 1.125);
    }

    #[test]
    fn scales_bring_the_largest_to_448() {
        let a = Csr::try_new(
            4,
            4,
            vec![0, 2, 3, 3, 5],
            vec![0, 2, 1, 0, 3],
            vec![1.0f32, -896.0, 7.0, f32::INFINITY, 1e-40],
        );
        let a = a.unwrap();
        assert_eq!(E4m3Scales::of(&a, ScalesPer::Tensor).scales, [2.0]);
        let per_row = E4m3Scales::of(&a, ScalesPer::Row);
        assert_eq!(per_row.scales, [2.0, 7.0 / 448.0, 1.0, f32::MIN_POSITIVE]);
        assert_eq!((per_row.of_row(1), per_row.per()), (7.0 / 448.0, ScalesPer::Row));
        assert_eq!(per_row.by_slot([Some(1), None].into_iter()), [7.0 / 448.0, 1.0]);
        let found = per_row.narrowing(&a).unwrap();
        assert_eq!((found.counts.nonzeros, found.counts.non_finite), (5, 1));
        assert_eq!((found.counts.overflowed, found.counts.subnormal), (0, 1));
        assert!(per_row.narrowing(&Csr::<f32>::empty(3, 4).unwrap()).is_err());
    }

    #[test]
    fn scales_that_are_no_numbers_are_refused() {
        for bad in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-40] {
            assert!(E4m3Scales::per_tensor(bad).is_err(), "{bad}");
            let error = E4m3Scales::per_row(vec![1.0, bad]).unwrap_err();
            assert!(matches!(error, FormatError::Inconsistent { what: "scales", position: 1, .. }));
        }
        assert!(E4m3Scales::per_row(vec![1.0, 0.25]).is_ok());
    }

    #[test]
    fn errors_of_narrowing_are_measured() {
        let a = |values: Vec<f64>| {
            let cols = (0..values.len() as u32).collect::<Vec<_>>();
            Csr::try_new(1, values.len(), vec![0, values.len() as u64], cols, values).unwrap()
        };
        let of = |values, scale| E4m3Scales::per_tensor(scale).unwrap().narrowing(&a(values));
        // 17/16 is a tie and becomes 1; 500 is too large; 2⁻¹⁰ vanishes; 2⁻⁸ is subnormal and exact.
        let found = of(vec![17.0, 500.0 * 16.0, 2f64.powi(-6), 2f64.powi(-4), 0.0], 16.0).unwrap();
        assert_eq!(found.largest_error, 1.0 / 17.0);
        let Narrowing { nonzeros, overflowed, vanished, subnormal, non_finite } = found.counts;
        assert_eq!([nonzeros, overflowed, vanished, subnormal, non_finite], [4, 1, 1, 1, 0]);
        assert_eq!(of(vec![448.0, -1.0], 1.0).unwrap().largest_error, 0.0);
    }

    #[test]
    fn columns_are_scaled_and_rounded_as_kernels_do() {
        assert_eq!(E4m3Scales::of_column([3.0, -448.0, f32::NAN].into_iter()), 1.0);
        assert_eq!(E4m3Scales::of_column([0.0, -0.0].into_iter()), 1.0);
        assert_eq!(E4m3Scales::of_column(once(1e-44)), f32::MIN_POSITIVE);
        assert_eq!(E4m3Scales::narrow_dense(-17.0, 16.0).to_f64(), -1.0);
        assert!(E4m3Scales::narrow_dense(f32::NEG_INFINITY, 1.0).is_nan());
    }
}
