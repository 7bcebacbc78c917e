//! Windows of packed columns beside windows of rows.

pub(crate) mod convert;
mod format;
mod index;
pub(crate) mod stats;

use std::ops::Range;

use crate::buffer::Buffer;
use crate::csr::{check_dims, check_len};
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec;
use crate::tilings::tile_format::TileFormat;

pub(crate) use index::HybridIndex;

/// Windows that are dense enough packed as [WCSR](super::Wcsr) packs them, the rows of all others entry by entry as
/// CSR has them: RSH-SpMM (arXiv 2603.08734), by windows of one height.
///
/// A window is *packed* if it has packed columns; otherwise its rows are held one by one. None is both, so every row
/// of C has one part that computes it. What of a matrix is packed is decided when it is converted: a window with at
/// least `tile_entries` entries for each of its tiles of `pad_cols` packed columns, the last of them padded. Tiles are
/// so of about equal cost where a dense tile takes as long as `tile_entries` entries: a tile of a window of rows is a
/// run of as many entries.
///
/// One value array holds all windows, one after the other: of a packed window the dense strip, row-major
/// `window_rows × packed columns`, of another the entries of its rows in order. A zero inside a strip counts as
/// stored; windows of rows store exactly the entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Hybrid<T: Scalar> {
    layout: RowLayout,
    ncols: usize,
    nnz: usize,
    pad_cols: usize,
    tile_entries: usize,
    window_ptr: Buffer<u64>,
    window_col_idx: Buffer<u32>,
    row_ptr: Buffer<u64>,
    col_idx: Buffer<u32>,
    values: Buffer<T>,
    /// Where windows' tiles begin: follows from the offsets.
    tile_ptr: Buffer<u64>,
}

impl<T: Scalar> Hybrid<T> {
    /// Takes ownership of the arrays and validates them: O(slots + packed columns + entries), in parallel.
    ///
    /// # Errors
    /// - If an array has the wrong length, or offsets do not ascend to their array's length.
    /// - If `window_ptr` counts something else than whole tiles.
    /// - If columns of a window or of a row are out of range or not strictly increasing.
    /// - If a packed window has rows with entries too, or an empty slot has entries.
    #[expect(clippy::too_many_arguments, reason = "each is an array of the format, by its name")]
    pub fn try_new(
        layout: RowLayout,
        ncols: usize,
        nnz: usize,
        (pad_cols, tile_entries): (usize, usize),
        window_ptr: impl Into<Buffer<u64>>,
        window_col_idx: impl Into<Buffer<u32>>,
        row_ptr: impl Into<Buffer<u64>>,
        col_idx: impl Into<Buffer<u32>>,
        values: impl Into<Buffer<T>>,
    ) -> Result<Self, FormatError> {
        let index = HybridIndex {
            window_ptr: window_ptr.into(),
            window_col_idx: window_col_idx.into(),
            row_ptr: row_ptr.into(),
            col_idx: col_idx.into(),
        };
        let values = values.into();
        check_dims(layout.nrows(), ncols)?;
        spec::check_size("pad_cols", pad_cols)?;
        spec::check_size("tile_entries", tile_entries)?;
        index.check(&layout, ncols, pad_cols)?;
        let entries = index.col_idx.len();
        let dense = spec::checked_elements(&[index.window_col_idx.len(), layout.window_rows()])?;
        let elements = spec::checked_elements(&[dense.saturating_add(entries)])?;
        check_len("values", values.len(), elements)?;
        spec::check_nnz(nnz, elements)?;
        if nnz < entries {
            let (found, expected) = (nnz as u64, entries as u64);
            return Err(FormatError::Mismatch { what: "nnz", found, expected });
        }
        Ok(Self::from_parts(layout, ncols, nnz, (pad_cols, tile_entries), index, values))
    }

    /// Takes ownership of arrays that are valid by construction.
    pub(crate) fn from_parts(
        layout: RowLayout,
        ncols: usize,
        nnz: usize,
        (pad_cols, tile_entries): (usize, usize),
        index: HybridIndex,
        values: Buffer<T>,
    ) -> Self {
        let HybridIndex { window_ptr, window_col_idx, row_ptr, col_idx } = index;
        let mut tiles = 0;
        let mut tile_ptr = Vec::with_capacity(window_ptr.len());
        tile_ptr.push(0);
        for (w, bounds) in window_ptr.windows(2).enumerate() {
            let slots = layout.window(w);
            let entries = row_ptr[slots.end] - row_ptr[slots.start];
            tiles += (bounds[1] - bounds[0]) / pad_cols as u64;
            tiles += entries.div_ceil(tile_entries as u64);
            tile_ptr.push(tiles);
        }
        Self {
            layout,
            ncols,
            nnz,
            pad_cols,
            tile_entries,
            window_ptr,
            window_col_idx,
            row_ptr,
            col_idx,
            values,
            tile_ptr: tile_ptr.into(),
        }
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

    /// Entries that the matrix has.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Rows of a window.
    #[must_use]
    pub fn window_rows(&self) -> usize {
        self.layout.window_rows()
    }

    /// What a packed window's columns are padded to a multiple of: the columns of its tiles.
    #[must_use]
    pub fn pad_cols(&self) -> usize {
        self.pad_cols
    }

    /// The fewest entries, on average, of a packed window's tile; the entries of a tile of other windows.
    #[must_use]
    pub fn tile_entries(&self) -> usize {
        self.tile_entries
    }

    /// Whether a window is packed.
    ///
    /// # Panics
    /// If there is no such window.
    #[must_use]
    pub fn is_packed(&self, w: usize) -> bool {
        self.window_ptr[w] < self.window_ptr[w + 1]
    }

    /// Number of packed windows.
    #[must_use]
    pub fn packed_windows(&self) -> usize {
        self.window_ptr.windows(2).filter(|bounds| bounds[0] < bounds[1]).count()
    }

    /// Packed columns of all windows, padding included.
    #[must_use]
    pub fn packed_cols(&self) -> usize {
        self.window_col_idx.len()
    }

    /// Offsets of the windows in [`window_col_idx`](Self::window_col_idx).
    #[must_use]
    pub fn window_ptr(&self) -> &Buffer<u64> {
        &self.window_ptr
    }

    /// Original column of every packed column, or [`PAD_COL`](crate::PAD_COL).
    #[must_use]
    pub fn window_col_idx(&self) -> &Buffer<u32> {
        &self.window_col_idx
    }

    /// Offsets of the slots' rows in [`col_idx`](Self::col_idx). Rows of packed windows have no entries there.
    #[must_use]
    pub fn row_ptr(&self) -> &Buffer<u64> {
        &self.row_ptr
    }

    /// Columns of the entries of rows in windows that are not packed.
    #[must_use]
    pub fn col_idx(&self) -> &Buffer<u32> {
        &self.col_idx
    }

    /// The values of all windows, one after the other.
    #[must_use]
    pub fn values(&self) -> &Buffer<T> {
        &self.values
    }

    /// Where a window's values stand in [`values`](Self::values).
    ///
    /// # Panics
    /// If there is no such window.
    #[inline]
    #[must_use]
    pub fn window_values(&self, w: usize) -> Range<usize> {
        let at = |w| value_ptr(&self.layout, &self.window_ptr, &self.row_ptr, w);
        at(w)..at(w + 1)
    }

    /// Where window `w`'s tiles begin in the sequence of all tiles, for `w` up to and including the number of windows.
    ///
    /// # Panics
    /// If `w` is beyond that.
    #[inline]
    #[must_use]
    pub fn tile_ptr(&self, w: usize) -> u64 {
        self.tile_ptr[w]
    }

    pub(crate) fn values_mut(&mut self) -> &mut Buffer<T> {
        &mut self.values
    }

    /// Bytes of all arrays, those of the layout included. The offsets of tiles are not counted: they follow from the
    /// others.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        TileFormat::bytes(self)
    }

    /// The share of stored values that are entries. 1 for a matrix without entries.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        spec::fill_ratio(self.nnz, self.values.len())
    }
}

/// Whether a window with these entries, and these columns in its union, is packed.
pub(crate) const fn is_packed(
    entries: usize,
    columns: usize,
    (pad_cols, tile_entries): (usize, usize),
) -> bool {
    columns > 0 && entries >= tile_entries.saturating_mul(columns.div_ceil(pad_cols))
}

/// Where window `w`'s values begin, for `w` up to and including the number of windows.
#[inline]
fn value_ptr(layout: &RowLayout, window_ptr: &[u64], row_ptr: &[u64], w: usize) -> usize {
    let rows = layout.window_rows();
    window_ptr[w] as usize * rows + row_ptr[w * rows] as usize
}

#[cfg(test)]
mod tests;
