//! Blocked-ELL as a format.

use super::BlockedEll;
use super::convert::EllBlocks;
use crate::PAD_COL;
use crate::buffer::Buffer;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec::FormatSpec;
use crate::tilings::tile_format::{Array, ArrayName, ArraySource, Extent, TileFormat};

impl<T: Scalar> TileFormat<T> for BlockedEll<T> {
    type Places<'a> = EllBlocks<'a>;

    fn spec(&self) -> FormatSpec {
        FormatSpec::BlockedEll { block_size: self.block_size() }
    }

    fn nnz(&self) -> usize {
        self.nnz()
    }

    #[inline]
    fn tile_ptr(&self, w: usize) -> u64 {
        (w * self.ell_width()) as u64
    }

    fn arrays(&self) -> Vec<Array<'_, T>> {
        vec![Array::u32s(ArrayName::EllColIdx, self.ell_col_idx()), Array::values(self.values())]
    }

    fn values(&self) -> Option<&Buffer<T>> {
        Some(self.values())
    }

    fn values_mut(&mut self) -> Option<&mut Buffer<T>> {
        Some(self.values_mut())
    }

    fn places(&self) -> EllBlocks<'_> {
        EllBlocks::of(self)
    }

    /// One row of every block that is not padding, cut off at the last column.
    #[inline]
    fn visit_stored(&self, slot: usize, mut visit: impl FnMut(usize, T)) {
        let (size, width) = (self.block_size(), self.ell_width());
        let blocks = &self.ell_col_idx()[slot / size * width..][..width];
        let values = &self.values()[slot * self.row_stride()..][..self.row_stride()];
        for (&block_col, values) in blocks.iter().zip(values.chunks_exact(size)) {
            if block_col == PAD_COL {
                continue;
            }
            for (col, &value) in (block_col as usize * size..self.ncols()).zip(values) {
                visit(col, value);
            }
        }
    }
}

impl<T: Scalar> BlockedEll<T> {
    /// Reads the arrays and validates them.
    pub(crate) fn from_arrays<S: ArraySource>(
        layout: RowLayout,
        extent: Extent,
        arrays: &S,
    ) -> Result<Self, S::Error> {
        Ok(Self::try_new(
            layout,
            extent.ncols,
            extent.nnz,
            extent.ell_width,
            arrays.u32s(ArrayName::EllColIdx)?,
            arrays.values()?,
        )?)
    }
}
