//! Window compressed sparse rows.

pub(crate) mod convert;
mod format;
pub(crate) mod stats;

use crate::PAD_COL;
use crate::buffer::Buffer;
use crate::csr::{check_dims, check_len, check_offsets};
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec;
use crate::tilings::tile_format::TileFormat;

/// Window compressed sparse rows (AsyncSparse §II-C): per window of rows, the sorted union of the
/// columns present, packed side by side into a dense strip.
///
/// Each window's columns are padded to a multiple of `pad_cols`; a padded slot holds
/// [`PAD_COL`](crate::PAD_COL) and zeros, and no kernel reads B for it. `values` is one row-major
/// `window_rows × packed` array over all windows, so that a `window_rows × pad_cols` box is one 2-D
/// TMA load. A zero inside a strip counts as stored: a NaN or Inf in row `j` of B reaches every row
/// of a window that holds column `j`, and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Wcsr<T: Scalar> {
    layout: RowLayout,
    ncols: usize,
    nnz: usize,
    pad_cols: usize,
    window_ptr: Buffer<u64>,
    window_col_idx: Buffer<u32>,
    values: Buffer<T>,
}

impl<T: Scalar> Wcsr<T> {
    /// Takes ownership of WCSR arrays and validates them: O(windows + packed).
    ///
    /// # Errors
    /// If an array has the wrong length, `window_ptr` is not an offset array of multiples of
    /// `pad_cols`, or a window's columns are out of range, not strictly increasing, or continue
    /// after padding.
    pub fn try_new(
        layout: RowLayout,
        ncols: usize,
        nnz: usize,
        pad_cols: usize,
        window_ptr: impl Into<Buffer<u64>>,
        window_col_idx: impl Into<Buffer<u32>>,
        values: impl Into<Buffer<T>>,
    ) -> Result<Self, FormatError> {
        let (window_ptr, window_col_idx, values) =
            (window_ptr.into(), window_col_idx.into(), values.into());
        check_dims(layout.nrows(), ncols)?;
        spec::check_size("pad_cols", pad_cols)?;
        let packed = window_col_idx.len();
        let elements = spec::checked_elements(&[packed, layout.window_rows()])?;
        check_len("values", values.len(), elements)?;
        check_offsets("window_ptr", &window_ptr, layout.n_windows(), packed)?;
        spec::check_padded_lists(
            "window_ptr",
            "window_col_idx",
            &window_ptr,
            &window_col_idx,
            pad_cols,
            ncols,
        )?;
        spec::check_nnz(nnz, elements)?;
        Ok(Self { layout, ncols, nnz, pad_cols, window_ptr, window_col_idx, values })
    }

    /// Takes ownership of arrays that are valid by construction.
    pub(crate) fn from_parts(
        layout: RowLayout,
        ncols: usize,
        nnz: usize,
        pad_cols: usize,
        window_ptr: Buffer<u64>,
        window_col_idx: Buffer<u32>,
        values: Buffer<T>,
    ) -> Self {
        Self { layout, ncols, nnz, pad_cols, window_ptr, window_col_idx, values }
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

    /// Entries the strips were filled from.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Rows of a window.
    #[must_use]
    pub fn window_rows(&self) -> usize {
        self.layout.window_rows()
    }

    /// What a window's columns are padded to a multiple of.
    #[must_use]
    pub fn pad_cols(&self) -> usize {
        self.pad_cols
    }

    /// Packed columns of all windows, padding included: the row stride of [`values`](Self::values).
    #[must_use]
    pub fn packed_cols(&self) -> usize {
        self.window_col_idx.len()
    }

    /// Packed columns that are padding.
    #[must_use]
    pub fn padding(&self) -> usize {
        self.window_col_idx.iter().filter(|&&c| c == PAD_COL).count()
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

    /// The packed values: row-major `window_rows × packed_cols`.
    #[must_use]
    pub fn values(&self) -> &Buffer<T> {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> &mut Buffer<T> {
        &mut self.values
    }

    /// Bytes of all arrays, those of the layout included.
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
