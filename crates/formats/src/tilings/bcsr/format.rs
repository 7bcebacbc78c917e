//! BCSR as a format.

use super::Bcsr;
use super::convert::Blocks;
use crate::buffer::Buffer;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec::FormatSpec;
use crate::tilings::tile_format::{Array, ArrayName, ArraySource, Extent, TileFormat};

impl<T: Scalar> TileFormat<T> for Bcsr<T> {
    type Places<'a> = Blocks<'a>;

    fn spec(&self) -> FormatSpec {
        FormatSpec::Bcsr { block_rows: self.block_rows(), block_cols: self.block_cols() }
    }

    fn nnz(&self) -> usize {
        self.nnz()
    }

    #[inline]
    fn tile_ptr(&self, w: usize) -> u64 {
        self.block_row_ptr()[w]
    }

    fn arrays(&self) -> Vec<Array<'_, T>> {
        vec![
            Array::u64s(ArrayName::BlockRowPtr, self.block_row_ptr()),
            Array::u32s(ArrayName::BlockColIdx, self.block_col_idx()),
            Array::values(self.values()),
        ]
    }

    fn values(&self) -> Option<&Buffer<T>> {
        Some(self.values())
    }

    fn values_mut(&mut self) -> Option<&mut Buffer<T>> {
        Some(self.values_mut())
    }

    fn places(&self) -> Blocks<'_> {
        Blocks::of(self)
    }

    /// One row of every block of the block row, cut off at the last column.
    #[inline]
    fn visit_stored(&self, slot: usize, mut visit: impl FnMut(usize, T)) {
        let (block_rows, block_cols) = (self.block_rows(), self.block_cols());
        let (block_row, r) = (slot / block_rows, slot % block_rows);
        for block in self.block_row_ptr()[block_row]..self.block_row_ptr()[block_row + 1] {
            let block = block as usize;
            let first_col = self.block_col_idx()[block] as usize * block_cols;
            let values = &self.values()[(block * block_rows + r) * block_cols..][..block_cols];
            for (col, &value) in (first_col..self.ncols()).zip(values) {
                visit(col, value);
            }
        }
    }
}

impl<T: Scalar> Bcsr<T> {
    /// Reads the arrays and validates them.
    pub(crate) fn from_arrays<S: ArraySource>(
        layout: RowLayout,
        extent: Extent,
        block_cols: usize,
        arrays: &S,
    ) -> Result<Self, S::Error> {
        Ok(Self::try_new(
            layout,
            extent.ncols,
            extent.nnz,
            block_cols,
            arrays.u64s(ArrayName::BlockRowPtr)?,
            arrays.u32s(ArrayName::BlockColIdx)?,
            arrays.values()?,
        )?)
    }
}
