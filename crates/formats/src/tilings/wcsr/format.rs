//! WCSR as a format.

use super::Wcsr;
use super::convert::Packed;
use crate::PAD_COL;
use crate::buffer::Buffer;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec::FormatSpec;
use crate::tilings::tile_format::{Array, ArrayName, ArraySource, Extent, TileFormat};

impl<T: Scalar> TileFormat<T> for Wcsr<T> {
    type Places<'a> = Packed<'a>;

    fn spec(&self) -> FormatSpec {
        FormatSpec::Wcsr { window_rows: self.window_rows(), pad_cols: self.pad_cols() }
    }

    fn nnz(&self) -> usize {
        self.nnz()
    }

    #[inline]
    fn tile_ptr(&self, w: usize) -> u64 {
        self.window_ptr()[w] / self.pad_cols() as u64
    }

    fn arrays(&self) -> Vec<Array<'_, T>> {
        vec![
            Array::u64s(ArrayName::WindowPtr, self.window_ptr()),
            Array::u32s(ArrayName::WindowColIdx, self.window_col_idx()),
            Array::values(self.values()),
        ]
    }

    fn values(&self) -> Option<&Buffer<T>> {
        Some(self.values())
    }

    fn values_mut(&mut self) -> Option<&mut Buffer<T>> {
        Some(self.values_mut())
    }

    fn places(&self) -> Packed<'_> {
        Packed::of(self)
    }

    /// One row of the window's strip, without its padded columns.
    #[inline]
    fn visit_stored(&self, slot: usize, mut visit: impl FnMut(usize, T)) {
        let (window, r) = (slot / self.window_rows(), slot % self.window_rows());
        let strip = self.window_ptr()[window] as usize..self.window_ptr()[window + 1] as usize;
        let values = &self.values()[r * self.packed_cols()..][..self.packed_cols()];
        for (&col, &value) in self.window_col_idx()[strip.clone()].iter().zip(&values[strip]) {
            if col != PAD_COL {
                visit(col as usize, value);
            }
        }
    }
}

impl<T: Scalar> Wcsr<T> {
    /// Reads the arrays and validates them.
    pub(crate) fn from_arrays<S: ArraySource>(
        layout: RowLayout,
        extent: Extent,
        pad_cols: usize,
        arrays: &S,
    ) -> Result<Self, S::Error> {
        Ok(Self::try_new(
            layout,
            extent.ncols,
            extent.nnz,
            pad_cols,
            arrays.u64s(ArrayName::WindowPtr)?,
            arrays.u32s(ArrayName::WindowColIdx)?,
            arrays.values()?,
        )?)
    }
}
