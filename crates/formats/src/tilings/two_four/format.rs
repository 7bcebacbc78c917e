//! 2:4 as a format.

use super::TwoFour;
use super::convert::Pairs;
use crate::buffer::Buffer;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec::FormatSpec;
use crate::tilings::tile_format::{Array, ArrayName, ArraySource, Extent, TileFormat};

impl<T: Scalar> TileFormat<T> for TwoFour<T> {
    type Places<'a> = Pairs<'a>;

    fn spec(&self) -> FormatSpec {
        match self.e4m3() {
            Some(narrow) => FormatSpec::TwoFourE4m3 { scales: narrow.per() },
            None => FormatSpec::TwoFour,
        }
    }

    fn nnz(&self) -> usize {
        self.nnz()
    }

    #[inline]
    fn tile_ptr(&self, w: usize) -> u64 {
        (w * self.layout().window_rows() * Self::groups_of(self.ncols())) as u64
    }

    fn arrays(&self) -> Vec<Array<'_, T>> {
        let metadata = Array::u16s(ArrayName::Metadata, self.metadata());
        match self.e4m3() {
            Some(narrow) => {
                vec![metadata, Array::codes(narrow.codes()), Array::scales(narrow.scales())]
            }
            None => vec![metadata, Array::values(self.values())],
        }
    }

    fn values(&self) -> Option<&Buffer<T>> {
        self.e4m3().is_none().then(|| self.values())
    }

    fn values_mut(&mut self) -> Option<&mut Buffer<T>> {
        self.e4m3().is_none().then(|| self.values_mut())
    }

    fn places(&self) -> Pairs<'_> {
        Pairs::of(self)
    }

    /// Both stored positions of every group, without those past the last column.
    #[inline]
    fn visit_stored(&self, slot: usize, mut visit: impl FnMut(usize, T)) {
        for group in 0..Self::groups_of(self.ncols()) {
            let pair = self.pair(slot, group);
            for (position, value) in self.positions(slot, group).into_iter().zip(pair) {
                let col = 4 * group + position;
                if col < self.ncols() {
                    visit(col, value);
                }
            }
        }
    }
}

impl<T: Scalar> TwoFour<T> {
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
            arrays.values()?,
            arrays.u16s(ArrayName::Metadata)?,
        )?)
    }
}
