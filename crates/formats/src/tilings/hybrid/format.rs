//! Packed windows beside windows of rows, as a format.

use super::Hybrid;
use super::convert::PackedOrRows;
use crate::PAD_COL;
use crate::buffer::Buffer;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec::FormatSpec;
use crate::tilings::tile_format::{Array, ArrayName, ArraySource, Extent, TileFormat};

impl<T: Scalar> TileFormat<T> for Hybrid<T> {
    type Places<'a> = PackedOrRows<'a>;

    fn spec(&self) -> FormatSpec {
        FormatSpec::Hybrid {
            window_rows: self.window_rows(),
            pad_cols: self.pad_cols(),
            tile_entries: self.tile_entries(),
        }
    }

    fn nnz(&self) -> usize {
        self.nnz()
    }

    #[inline]
    fn tile_ptr(&self, w: usize) -> u64 {
        self.tile_ptr(w)
    }

    fn arrays(&self) -> Vec<Array<'_, T>> {
        vec![
            Array::u64s(ArrayName::WindowPtr, self.window_ptr()),
            Array::u32s(ArrayName::WindowColIdx, self.window_col_idx()),
            Array::u64s(ArrayName::RowPtr, self.row_ptr()),
            Array::u32s(ArrayName::ColIdx, self.col_idx()),
            Array::values(self.values()),
        ]
    }

    fn values(&self) -> Option<&Buffer<T>> {
        Some(self.values())
    }

    fn values_mut(&mut self) -> Option<&mut Buffer<T>> {
        Some(self.values_mut())
    }

    fn places(&self) -> PackedOrRows<'_> {
        PackedOrRows::of(self)
    }

    /// One row of a packed window's strip, without its padded columns, or the entries of the row.
    #[inline]
    fn visit_stored(&self, slot: usize, mut visit: impl FnMut(usize, T)) {
        let (cols, values) = self.stored(slot);
        for (&col, &value) in cols.iter().zip(values) {
            if col != PAD_COL {
                visit(col as usize, value);
            }
        }
    }
}

impl<T: Scalar> Hybrid<T> {
    /// Reads the arrays and validates them.
    pub(crate) fn from_arrays<S: ArraySource>(
        layout: RowLayout,
        extent: Extent,
        sizes: (usize, usize),
        arrays: &S,
    ) -> Result<Self, S::Error> {
        Ok(Self::try_new(
            layout,
            extent.ncols,
            extent.nnz,
            sizes,
            arrays.u64s(ArrayName::WindowPtr)?,
            arrays.u32s(ArrayName::WindowColIdx)?,
            arrays.u64s(ArrayName::RowPtr)?,
            arrays.u32s(ArrayName::ColIdx)?,
            arrays.values()?,
        )?)
    }
}
