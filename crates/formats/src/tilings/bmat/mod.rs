//! BMat: bitmask tiles.

pub(crate) mod convert;
mod format;
pub(crate) mod stats;

use girih_parallel::prelude::*;

use crate::PAD_COL;
use crate::buffer::Buffer;
use crate::csr::{check_dims, check_len, check_offsets, first_error};
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec;
use crate::tilings::tile_format::TileFormat;

/// Bit-wise compressed tiles (Voltrix §3.1.1): 16-row windows whose column union is condensed into
/// groups of 8, each 16×8 tile held as a 128-bit occupancy mask.
///
/// Word `t`, bit `b` of a tile stands for row `(b >> 2) + 8·(t & 1)` and tile column
/// `(b & 3) + 4·(t >> 1)`, so bit `lane` of word `t` is that lane's A register `t` of
/// `mma.m16n8k8`. Values follow in mask order, word by word, low bit first: the value of bit `i`
/// lies `popcount(mask & ((1 << i) − 1))` past its word's base. The occupancy is exact, so explicit
/// zeros survive and no fill-in is stored.
///
/// A pattern-only BMat stores no values: every entry stands for 1.
#[derive(Clone, Debug, PartialEq)]
pub struct BMat<T: Scalar> {
    layout: RowLayout,
    ncols: usize,
    window_ptr: Buffer<u64>,
    tile_col_idx: Buffer<u32>,
    tile_bits: Buffer<u32>,
    tile_value_ptr: Buffer<u64>,
    values: Option<Buffer<T>>,
}

impl<T: Scalar> BMat<T> {
    /// Rows of a window.
    pub const WINDOW_ROWS: usize = 16;
    /// Columns of a tile.
    pub const TILE_COLS: usize = 8;
    /// Mask words of a tile.
    pub const TILE_WORDS: usize = 4;

    /// The word and bit of a tile's row and column.
    #[inline]
    #[must_use]
    pub const fn bit(row: usize, col: usize) -> (usize, u32) {
        let word = (row >> 3) + 2 * (col >> 2);
        (word, (((row & 7) << 2) + (col & 3)) as u32)
    }

    /// The row and column of a tile that a word's bit stands for.
    #[inline]
    #[must_use]
    pub const fn position(word: usize, bit: u32) -> (usize, usize) {
        ((bit as usize >> 2) + 8 * (word & 1), (bit as usize & 3) + 4 * (word >> 1))
    }

    /// Takes ownership of BMat arrays and validates them: O(windows + tiles).
    ///
    /// # Errors
    /// If an array has the wrong length, an offset array is not one, a window's columns are out of
    /// range, not strictly increasing or continue after padding, a bit is set in a padded column or
    /// an empty row slot, or `tile_value_ptr` disagrees with the masks.
    pub fn try_new(
        layout: RowLayout,
        ncols: usize,
        window_ptr: impl Into<Buffer<u64>>,
        tile_col_idx: impl Into<Buffer<u32>>,
        tile_bits: impl Into<Buffer<u32>>,
        tile_value_ptr: impl Into<Buffer<u64>>,
        values: Option<Buffer<T>>,
    ) -> Result<Self, FormatError> {
        let (window_ptr, tile_col_idx) = (window_ptr.into(), tile_col_idx.into());
        let (tile_bits, tile_value_ptr) = (tile_bits.into(), tile_value_ptr.into());
        check_dims(layout.nrows(), ncols)?;
        if layout.window_rows() != Self::WINDOW_ROWS {
            return Err(FormatError::Parameter {
                what: "window_rows",
                found: layout.window_rows(),
                expected: "a BMat window has 16 rows",
            });
        }
        let n_tiles = tile_bits.len() / Self::TILE_WORDS;
        check_len("tile_bits", tile_bits.len(), n_tiles * Self::TILE_WORDS)?;
        check_len("tile_col_idx", tile_col_idx.len(), n_tiles * Self::TILE_COLS)?;
        check_offsets("window_ptr", &window_ptr, layout.n_windows(), n_tiles)?;
        let nnz = tile_value_ptr.last().copied().unwrap_or(0) as usize;
        check_offsets("tile_value_ptr", &tile_value_ptr, n_tiles, nnz)?;
        if let Some(values) = &values {
            check_len("values", values.len(), nnz)?;
        }
        let this =
            Self { layout, ncols, window_ptr, tile_col_idx, tile_bits, tile_value_ptr, values };
        first_error((0..this.layout.n_windows()).into_par_iter(), |w| this.check_window(w))?;
        Ok(this)
    }

    fn check_window(&self, w: usize) -> Result<(), FormatError> {
        let tiles = self.window_ptr[w] as usize..self.window_ptr[w + 1] as usize;
        let cols = tiles.start * Self::TILE_COLS..tiles.end * Self::TILE_COLS;
        let list = &self.tile_col_idx[cols.clone()];
        spec::check_padded_list("tile_col_idx", w, cols.start, list, self.ncols)?;
        let mut row_mask = [0u32; 2];
        for (r, row) in self.layout.rows(w).enumerate() {
            if row.is_some() {
                row_mask[r >> 3] |= 0xf << ((r & 7) << 2);
            }
        }
        for tile in tiles {
            let bits = &self.tile_bits[tile * Self::TILE_WORDS..][..Self::TILE_WORDS];
            let inconsistent = |reason| {
                Err(FormatError::Inconsistent { what: "tile_bits", position: tile, reason })
            };
            if bits.iter().enumerate().any(|(t, &word)| word & !row_mask[t & 1] != 0) {
                return inconsistent("a bit is set in an empty row slot");
            }
            for (c, &col) in
                self.tile_col_idx[tile * Self::TILE_COLS..][..Self::TILE_COLS].iter().enumerate()
            {
                let col_mask = 0x1111_1111 << (c & 3);
                if col == PAD_COL && bits[2 * (c >> 2)..][..2].iter().any(|w| w & col_mask != 0) {
                    return inconsistent("a bit is set in a padded column");
                }
            }
            let count: u32 = bits.iter().map(|w| w.count_ones()).sum();
            if self.tile_value_ptr[tile + 1] - self.tile_value_ptr[tile] != u64::from(count) {
                return inconsistent("tile_value_ptr does not count its bits");
            }
        }
        Ok(())
    }

    /// Takes ownership of arrays that are valid by construction.
    pub(crate) fn from_parts(
        layout: RowLayout,
        ncols: usize,
        window_ptr: Buffer<u64>,
        tile_col_idx: Buffer<u32>,
        tile_bits: Buffer<u32>,
        tile_value_ptr: Buffer<u64>,
        values: Option<Buffer<T>>,
    ) -> Self {
        Self { layout, ncols, window_ptr, tile_col_idx, tile_bits, tile_value_ptr, values }
    }

    /// Which original row stands in which slot.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// Number of rows (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.layout.nrows()
    }

    /// Number of columns (k).
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Number of entries: set bits.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.tile_value_ptr[self.n_tiles()] as usize
    }

    /// Number of 16×8 tiles.
    #[must_use]
    pub fn n_tiles(&self) -> usize {
        self.tile_bits.len() / Self::TILE_WORDS
    }

    /// Offsets of the windows, in tiles.
    #[must_use]
    pub fn window_ptr(&self) -> &Buffer<u64> {
        &self.window_ptr
    }

    /// Original column of each of a tile's 8 columns, or [`PAD_COL`](crate::PAD_COL).
    #[must_use]
    pub fn tile_col_idx(&self) -> &Buffer<u32> {
        &self.tile_col_idx
    }

    /// Four mask words per tile.
    #[must_use]
    pub fn tile_bits(&self) -> &Buffer<u32> {
        &self.tile_bits
    }

    /// Offset of each tile's first value, `n_tiles + 1` of them.
    #[must_use]
    pub fn tile_value_ptr(&self) -> &Buffer<u64> {
        &self.tile_value_ptr
    }

    /// The values in mask order; `None` if pattern-only.
    #[must_use]
    pub fn values(&self) -> Option<&Buffer<T>> {
        self.values.as_ref()
    }

    pub(crate) fn values_mut(&mut self) -> Option<&mut Buffer<T>> {
        self.values.as_mut()
    }

    /// Bytes of all arrays, those of the layout included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        TileFormat::bytes(self)
    }

    /// The share of a tile's 128 positions that are entries, over all tiles.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        spec::fill_ratio(self.nnz(), self.n_tiles() * Self::WINDOW_ROWS * Self::TILE_COLS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_positions_are_inverse_and_match_the_paper() {
        let mut seen = [0u32; 4];
        for row in 0..16 {
            for col in 0..8 {
                let (word, bit) = BMat::<f32>::bit(row, col);
                assert_eq!(BMat::<f32>::position(word, bit), (row, col));
                seen[word] |= 1 << bit;
            }
        }
        assert_eq!(seen, [u32::MAX; 4]);
        // Voltrix §3.1.1: entries 3, 7 and 20 of an 8×4 block make the word 0x0010_0088.
        let word: u32 = [(0, 3), (1, 3), (5, 0)]
            .iter()
            .map(|&(row, col)| 1 << BMat::<f32>::bit(row, col).1)
            .sum();
        assert_eq!(word, 0x0010_0088);
    }
}
