//! CSR in a row order, as a format.

use super::RowCsr;
use super::convert::SlotRows;
use crate::buffer::Buffer;
use crate::csr::Csr;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec::FormatSpec;
use crate::tilings::tile_format::{Array, ArrayName, ArraySource, Extent, TileFormat};

impl<T: Scalar> TileFormat<T> for RowCsr<T> {
    type Places<'a> = SlotRows<'a>;

    fn spec(&self) -> FormatSpec {
        FormatSpec::Csr
    }

    fn nnz(&self) -> usize {
        self.csr().nnz()
    }

    #[inline]
    fn tile_ptr(&self, w: usize) -> u64 {
        self.csr().row_ptr()[w * self.layout().window_rows()]
    }

    fn arrays(&self) -> Vec<Array<'_, T>> {
        vec![
            Array::u64s(ArrayName::RowPtr, self.csr().row_ptr()),
            Array::u32s(ArrayName::ColIdx, self.csr().col_idx()),
            Array::values(self.csr().values()),
        ]
    }

    fn values(&self) -> Option<&Buffer<T>> {
        Some(self.csr().values())
    }

    fn values_mut(&mut self) -> Option<&mut Buffer<T>> {
        Some(self.csr_mut().value_buffer_mut())
    }

    fn places(&self) -> SlotRows<'_> {
        SlotRows::of(self)
    }

    /// The entries of the row in the slot.
    #[inline]
    fn visit_stored(&self, slot: usize, mut visit: impl FnMut(usize, T)) {
        let (cols, values) = self.csr().row(slot);
        for (&col, &value) in cols.iter().zip(values) {
            visit(col as usize, value);
        }
    }
}

impl<T: Scalar> RowCsr<T> {
    /// Reads the arrays and validates them.
    pub(crate) fn from_arrays<S: ArraySource>(
        layout: RowLayout,
        extent: Extent,
        arrays: &S,
    ) -> Result<Self, S::Error> {
        let csr = Csr::try_new(
            layout.n_slots(),
            extent.ncols,
            arrays.u64s(ArrayName::RowPtr)?,
            arrays.u32s(ArrayName::ColIdx)?,
            arrays.values()?,
        )?;
        Ok(Self::try_new(layout, csr)?)
    }
}
