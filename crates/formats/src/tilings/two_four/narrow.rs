//! 2:4 with values in e4m3.

use girih_parallel::prelude::*;
use num_complex::Complex;

use super::scales::{check_scales, narrowed};
use super::{E4m3Overflow, E4m3Scales, TwoFour};
use crate::E4m3;
use crate::buffer::Buffer;
use crate::csr::{Csr, check_len, first_error};
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec::{self, ScalesPer};
use crate::tilings::tile_format::{ArrayName, ArraySource, Extent};

/// The values of a 2:4 matrix in e4m3, a byte each, and their scales.
#[derive(Clone, Debug)]
pub struct E4m3Values {
    codes: Buffer<E4m3>,
    scales: Buffer<f32>,
    per: ScalesPer,
}

impl PartialEq for E4m3Values {
    /// By their bits: a NaN is itself.
    fn eq(&self, other: &Self) -> bool {
        fn bits(values: &E4m3Values) -> &[u8] {
            bytemuck::cast_slice(&values.codes)
        }
        bits(self) == bits(other) && self.scales == other.scales && self.per == other.per
    }
}

impl E4m3Values {
    /// The codes, as [`TwoFour::values`] has values.
    #[must_use]
    pub fn codes(&self) -> &Buffer<E4m3> {
        &self.codes
    }

    /// What has a scale of its own.
    #[must_use]
    pub fn per(&self) -> ScalesPer {
        self.per
    }

    /// The scales: one, or one for each slot.
    #[must_use]
    pub fn scales(&self) -> &Buffer<f32> {
        &self.scales
    }

    /// The scale of the row in a slot.
    ///
    /// # Panics
    /// If there is no such slot.
    #[inline]
    #[must_use]
    pub fn scale(&self, slot: usize) -> f32 {
        match self.per {
            ScalesPer::Tensor => self.scales[0],
            ScalesPer::Row => self.scales[slot],
        }
    }
}

impl<T: Scalar> TwoFour<T> {
    /// Builds the 2:4 form of a matrix, as [`from_csr`](Self::from_csr) does, with values in e4m3: each is divided by
    /// its row's scale and rounded to nearest even. T stays the value type of B.
    ///
    /// O(slots · k), in parallel over rows; allocates the values in T besides the result.
    ///
    /// # Errors
    /// As `from_csr`. [`FormatError::BeyondE4m3`] with the first value that is too large, infinite or NaN, unless it
    /// is to saturate. [`FormatError::DTypeUnsupported`] for complex values; if there are scales for another number
    /// of rows.
    pub fn from_csr_e4m3(
        csr: &Csr<T>,
        layout: RowLayout,
        scales: &E4m3Scales,
        overflow: E4m3Overflow,
    ) -> Result<Self, FormatError> {
        T::two_four_e4m3(csr, layout, scales, overflow)
    }

    /// [`from_csr_e4m3`](Self::from_csr_e4m3), [compiled once](crate::compiled).
    pub(crate) fn tiled_e4m3(
        csr: &Csr<T>,
        layout: RowLayout,
        scales: &E4m3Scales,
        overflow: E4m3Overflow,
    ) -> Result<Self, FormatError> {
        if T::DTYPE.is_complex() {
            return Err(no_complex::<T>());
        }
        scales.check_rows(csr.nrows())?;
        if overflow == E4m3Overflow::Error {
            first_error((0..csr.nrows()).into_par_iter().with_min_len(64), |row| {
                check_row(csr, row, scales.of_row(row))
            })?;
        }
        let full = Self::tiled(csr, layout)?;
        let (stride, layout) = (full.row_stride(), &full.layout);
        let rows = (0..layout.n_slots()).map(|slot| layout.row(slot));
        let by_slot = Buffer::from(scales.by_slot(rows));
        let mut codes = vec![0u8; full.values.len()];
        if stride > 0 {
            codes.par_chunks_exact_mut(stride).with_min_len(8).enumerate().for_each(
                |(slot, to)| {
                    let scale = layout.row(slot).map_or(1.0, |row| scales.of_row(row));
                    for (code, value) in to.iter_mut().zip(&full.values[slot * stride..]) {
                        *code = saturated(value.to_c64().re, scale).to_bits();
                    }
                },
            );
        }
        let codes = Buffer::from(bytemuck::cast_vec::<u8, E4m3>(codes));
        let narrow = Some(E4m3Values { codes, scales: by_slot, per: scales.per() });
        Ok(Self { values: Buffer::default(), narrow, ..full })
    }

    /// Takes ownership of 2:4 arrays whose values are in e4m3 and validates them, as
    /// [`try_new`](Self::try_new) does: `codes` in the place of values, and one scale or one for each slot.
    ///
    /// # Errors
    /// As `try_new`. If a scale is not a finite, normal number above 0, or there are others than `per` says.
    pub fn try_new_e4m3(
        layout: RowLayout,
        ncols: usize,
        nnz: usize,
        codes: impl Into<Buffer<E4m3>>,
        scales: impl Into<Buffer<f32>>,
        per: ScalesPer,
        metadata: impl Into<Buffer<u16>>,
    ) -> Result<Self, FormatError> {
        if T::DTYPE.is_complex() {
            return Err(no_complex::<T>());
        }
        let (codes, scales, metadata) = (codes.into(), scales.into(), metadata.into());
        check_len("scales", scales.len(), per.count(layout.n_slots()))?;
        check_scales(&scales)?;
        let groups = Self::groups_of(ncols);
        let elements = spec::checked_elements(&[layout.n_slots(), groups, 2])?;
        check_len("codes", codes.len(), elements)?;
        let narrow = Some(E4m3Values { codes, scales, per });
        let this = Self { layout, ncols, nnz, values: Buffer::default(), narrow, metadata };
        this.validated(elements)
    }

    /// Reads the arrays and validates them.
    pub(crate) fn from_narrow_arrays<S: ArraySource>(
        layout: RowLayout,
        extent: Extent,
        per: ScalesPer,
        arrays: &S,
    ) -> Result<Self, S::Error> {
        let (codes, scales) = (arrays.codes()?, arrays.scales()?);
        let metadata = arrays.u16s(ArrayName::Metadata)?;
        let Extent { ncols, nnz, .. } = extent;
        Ok(Self::try_new_e4m3(layout, ncols, nnz, codes, scales, per, metadata)?)
    }

    /// The values in e4m3, if that is how they are stored.
    #[must_use]
    pub fn e4m3(&self) -> Option<&E4m3Values> {
        self.narrow.as_ref()
    }

    /// Calls `visit` with the column and the exact value of every stored element of the row in `slot`, whatever it is
    /// stored in: in the order of the groups, without those past the last column.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn visit_exact(&self, slot: usize, mut visit: impl FnMut(usize, f64)) {
        for group in 0..Self::groups_of(self.ncols) {
            let at = slot * self.row_stride() + 2 * group;
            for (i, position) in self.positions(slot, group).into_iter().enumerate() {
                let col = 4 * group + position;
                if col < self.ncols {
                    visit(col, self.exact(slot, at + i));
                }
            }
        }
    }

    /// The value at a place among the stored ones, of the row in `slot`.
    #[inline]
    fn exact(&self, slot: usize, at: usize) -> f64 {
        match &self.narrow {
            Some(narrow) => narrow.codes[at].to_f64() * f64::from(narrow.scale(slot)),
            None => self.values[at].to_c64().re,
        }
    }

    /// The two stored values of a group: those in e4m3 rounded to T.
    #[inline]
    pub(super) fn pair(&self, slot: usize, group: usize) -> [T; 2] {
        let at = slot * self.row_stride() + 2 * group;
        match self.narrow {
            Some(_) => [0, 1].map(|i| T::from_c64(Complex::new(self.exact(slot, at + i), 0.0))),
            None => [self.values[at], self.values[at + 1]],
        }
    }
}

fn no_complex<T: Scalar>() -> FormatError {
    FormatError::DTypeUnsupported {
        what: "values in e4m3",
        found: T::DTYPE,
        expected: "f16, bf16, f32 and f64",
    }
}

/// `value / scale` in e4m3; what is beyond it becomes its largest number.
fn saturated(value: f64, scale: f32) -> E4m3 {
    narrowed(value, scale).unwrap_or_else(|| match value {
        _ if value.is_nan() => E4m3::from_bits(0x7f),
        _ if value > 0.0 => E4m3::from_bits(0x7e),
        _ => E4m3::from_bits(0xfe),
    })
}

/// Refuses a row with a value that e4m3 can't hold.
fn check_row<T: Scalar>(csr: &Csr<T>, row: usize, scale: f32) -> Result<(), FormatError> {
    let (cols, values) = csr.row(row);
    let values = values.iter().map(|value| value.to_c64().re);
    match cols.iter().zip(values).find(|&(_, value)| narrowed(value, scale).is_none()) {
        None => Ok(()),
        Some((&col, value)) => Err(FormatError::BeyondE4m3 {
            row,
            col: col as usize,
            found: value.to_string(),
            scale: scale.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::tilings::{FormatSpec, Tiling};

    fn csr<T: Scalar>(values: Vec<f64>) -> Csr<T> {
        // Rows of 3, 0 and 2 entries.
        let values: Vec<T> = values.into_iter().map(|x| T::from_c64(x.into())).collect();
        Csr::try_new(3, 9, vec![0, 3, 3, 5], vec![1, 2, 8, 0, 7], values).unwrap()
    }

    fn layout() -> RowLayout {
        RowLayout::explicit(3, 1, vec![2, u32::MAX, 0, 1]).unwrap()
    }

    fn narrow<T: Scalar>(a: &Csr<T>, per: ScalesPer) -> TwoFour<T> {
        let spec = FormatSpec::TwoFourE4m3 { scales: per };
        let tiling = Tiling::from_csr(a, spec, layout()).unwrap();
        assert_eq!(tiling.spec(), spec);
        let Tiling::TwoFour(tiling) = tiling else { panic!("{spec}") };
        tiling
    }

    #[test]
    fn values_are_multiples_of_their_rows_scale() {
        let a = csr::<f32>(vec![1.0, -448.0, 17.0, 3.5, 0.3]);
        let tiled = narrow(&a, ScalesPer::Row);
        let narrow = tiled.e4m3().unwrap();
        // Slots hold rows 2, none, 0 and 1.
        assert_eq!(&narrow.scales()[..], [3.5 / 448.0, 1.0, 1.0, 1.0]);
        assert_eq!(narrow.codes().len(), 4 * 6);
        // 17 is a tie of 16 and 18, and 16 is even; 0.3/3.5·448 = 38.4 becomes 40.
        let expected = csr::<f32>(vec![1.0, -448.0, 16.0, 3.5, 40.0 * 3.5 / 448.0]);
        assert_eq!(tiled.to_csr(), expected);
        let mut exact = vec![];
        tiled.visit_exact(0, |col, value| exact.push((col, value)));
        assert_eq!(exact[0], (0, 3.5));
        assert!(exact.contains(&(7, 40.0 * 3.5 / 448.0)));
        assert!(tiled.values().is_empty());
    }

    #[test]
    fn a_byte_is_stored_for_each_value_and_statistics_know() {
        let a = csr::<f16>(vec![1.0, 2.0, 3.0, 4.0, 5.0]);
        for per in [ScalesPer::Tensor, ScalesPer::Row] {
            let spec = FormatSpec::TwoFourE4m3 { scales: per };
            let stats = crate::stats::FormatStats::of(a.pattern(), spec, &layout(), f16::DTYPE);
            let tiled = narrow(&a, per);
            assert_eq!(stats.unwrap().bytes, tiled.bytes());
            let full = TwoFour::from_csr(&a, layout()).unwrap();
            let scales = 4 * per.count(4) as u64;
            assert_eq!(full.bytes() - tiled.bytes() + scales, 4 * 6);
            assert_eq!(tiled.fill_ratio(), full.fill_ratio());
        }
    }

    #[test]
    fn overflow_is_named_or_saturates() {
        let a = csr::<f32>(vec![1.0, 929.0, f32::INFINITY.into(), f64::NAN, f64::NEG_INFINITY]);
        let scales = E4m3Scales::per_tensor(2.0).unwrap();
        let of = |overflow| TwoFour::from_csr_e4m3(&a, layout(), &scales, overflow);
        let error = of(E4m3Overflow::Error).unwrap_err();
        assert!(matches!(error, FormatError::BeyondE4m3 { row: 0, col: 2, .. }), "{error}");
        assert!(error.to_string().contains("929 at row 0, column 2"), "{error}");
        let values = of(E4m3Overflow::Saturate).unwrap().to_csr().values().to_vec();
        assert_eq!(values[..3], [1.0, 896.0, 896.0]);
        assert!(values[3].is_nan() && values[4] == -896.0);
        let other = E4m3Scales::per_row(vec![1.0; 4]).unwrap();
        assert!(TwoFour::from_csr_e4m3(&a, layout(), &other, E4m3Overflow::Saturate).is_err());
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        let tiled = narrow(&csr::<f32>(vec![1.0, 2.0, 3.0, 4.0, 5.0]), ScalesPer::Row);
        let E4m3Values { codes, scales, per } = tiled.e4m3().unwrap().clone();
        let metadata = tiled.metadata().to_vec();
        let new = |codes: Vec<E4m3>, scales: Vec<f32>, per| {
            TwoFour::<f32>::try_new_e4m3(layout(), 9, 5, codes, scales, per, metadata.clone())
        };
        assert_eq!(new(codes.to_vec(), scales.to_vec(), per).unwrap(), tiled);
        assert!(new(codes[1..].to_vec(), scales.to_vec(), per).is_err());
        assert!(new(codes.to_vec(), scales.to_vec(), ScalesPer::Tensor).is_err());
        assert!(new(codes.to_vec(), vec![1.0, 0.0, 1.0, 1.0], per).is_err());
        // The last group has column 8 alone: its second position is beyond the last column.
        let mut beyond = codes.to_vec();
        beyond[2 * 6 + 5] = E4m3::from_bits(1);
        assert!(new(beyond, scales.to_vec(), per).is_err());
        let complex = Csr::<Complex<f32>>::empty(3, 9).unwrap();
        let spec = FormatSpec::TwoFourE4m3 { scales: per };
        let error = Tiling::from_csr(&complex, spec, layout()).unwrap_err();
        assert!(matches!(error, FormatError::DTypeUnsupported { .. }));
    }

    #[test]
    fn new_values_are_refused() {
        let a = csr::<f32>(vec![1.0, 2.0, 3.0, 4.0, 5.0]);
        let tiling = Tiling::TwoFour(narrow(&a, ScalesPer::Tensor));
        assert_eq!(tiling.value_places().unwrap_err(), FormatError::NoValues);
        assert_eq!(tiling.slot_map(a.pattern()).unwrap_err(), FormatError::NoValues);
    }
}
