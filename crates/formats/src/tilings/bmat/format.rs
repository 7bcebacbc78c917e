//! BMat as a format.

use super::BMat;
use super::convert::Masks;
use crate::buffer::Buffer;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec::FormatSpec;
use crate::tilings::tile_format::{Array, ArrayName, ArraySource, Extent, TileFormat};

impl<T: Scalar> TileFormat<T> for BMat<T> {
    type Places<'a> = Masks<'a>;

    fn spec(&self) -> FormatSpec {
        FormatSpec::BMat { pattern_only: self.values().is_none() }
    }

    fn nnz(&self) -> usize {
        self.nnz()
    }

    #[inline]
    fn tile_ptr(&self, w: usize) -> u64 {
        self.window_ptr()[w]
    }

    fn arrays(&self) -> Vec<Array<'_, T>> {
        let mut arrays = vec![
            Array::u64s(ArrayName::WindowPtr, self.window_ptr()),
            Array::u32s(ArrayName::TileColIdx, self.tile_col_idx()),
            Array::u32s(ArrayName::TileBits, self.tile_bits()),
            Array::u64s(ArrayName::TileValuePtr, self.tile_value_ptr()),
        ];
        arrays.extend(self.values().map(Array::values));
        arrays
    }

    fn values(&self) -> Option<&Buffer<T>> {
        self.values()
    }

    fn values_mut(&mut self) -> Option<&mut Buffer<T>> {
        self.values_mut()
    }

    fn places(&self) -> Masks<'_> {
        Masks::of(self)
    }

    /// The set bits of one row of every tile of the window.
    #[inline]
    fn visit_stored(&self, slot: usize, mut visit: impl FnMut(usize, T)) {
        let (window, r) = (slot / Self::WINDOW_ROWS, slot % Self::WINDOW_ROWS);
        for tile in self.window_ptr()[window]..self.window_ptr()[window + 1] {
            let tile = tile as usize;
            let words = &self.tile_bits()[tile * Self::TILE_WORDS..][..Self::TILE_WORDS];
            let cols = &self.tile_col_idx()[tile * Self::TILE_COLS..][..Self::TILE_COLS];
            for (c, &col) in cols.iter().enumerate() {
                let (word, bit) = Self::bit(r, c);
                if words[word] >> bit & 1 == 0 {
                    continue;
                }
                let value = self.values().map_or(T::ONE, |values| {
                    let before: u32 = words[..word].iter().map(|w| w.count_ones()).sum();
                    let within = (words[word] & ((1 << bit) - 1)).count_ones();
                    values[self.tile_value_ptr()[tile] as usize + (before + within) as usize]
                });
                visit(col as usize, value);
            }
        }
    }
}

impl<T: Scalar> BMat<T> {
    /// Reads the arrays and validates them.
    pub(crate) fn from_arrays<S: ArraySource>(
        layout: RowLayout,
        extent: Extent,
        pattern_only: bool,
        arrays: &S,
    ) -> Result<Self, S::Error> {
        Ok(Self::try_new(
            layout,
            extent.ncols,
            arrays.u64s(ArrayName::WindowPtr)?,
            arrays.u32s(ArrayName::TileColIdx)?,
            arrays.u32s(ArrayName::TileBits)?,
            arrays.u64s(ArrayName::TileValuePtr)?,
            if pattern_only { None } else { Some(arrays.values()?) },
        )?)
    }
}
