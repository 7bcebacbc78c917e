//! Block compressed sparse rows.

pub(crate) mod convert;
mod format;
pub(crate) mod stats;

use crate::buffer::Buffer;
use crate::csr::{check_dims, check_index_lists, check_len, check_offsets};
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::tile_format::TileFormat;

/// Block compressed sparse rows (AsyncSparse §II-C): the matrix is cut into a grid of
/// `block_rows × block_cols` blocks, and every block with an entry is stored dense.
///
/// Blocks of a block row are sorted by block column and row-major inside; ragged edges are padded
/// with zeros. Block rows are the windows of the [`RowLayout`]. A zero inside a block counts as
/// stored: a NaN or Inf in row `j` of B reaches every row of a block row that has a block over
/// column `j`, and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Bcsr<T: Scalar> {
    layout: RowLayout,
    ncols: usize,
    nnz: usize,
    block_cols: usize,
    block_row_ptr: Buffer<u64>,
    block_col_idx: Buffer<u32>,
    values: Buffer<T>,
}

impl<T: Scalar> Bcsr<T> {
    /// Takes ownership of BCSR arrays and validates them: O(block rows + nnzb).
    ///
    /// `nnz` is the number of entries the blocks were filled from.
    ///
    /// # Errors
    /// If an array has the wrong length, `block_row_ptr` is not an offset array, or the block
    /// columns of a block row are out of range or not strictly increasing.
    pub fn try_new(
        layout: RowLayout,
        ncols: usize,
        nnz: usize,
        block_cols: usize,
        block_row_ptr: impl Into<Buffer<u64>>,
        block_col_idx: impl Into<Buffer<u32>>,
        values: impl Into<Buffer<T>>,
    ) -> Result<Self, FormatError> {
        let (block_row_ptr, block_col_idx, values) =
            (block_row_ptr.into(), block_col_idx.into(), values.into());
        check_dims(layout.nrows(), ncols)?;
        crate::tilings::spec::check_size("block_cols", block_cols)?;
        let nnzb = block_col_idx.len();
        let elements =
            crate::tilings::spec::checked_elements(&[nnzb, layout.window_rows(), block_cols])?;
        check_len("values", values.len(), elements)?;
        check_offsets("block_row_ptr", &block_row_ptr, layout.n_windows(), nnzb)?;
        let limit = ncols.div_ceil(block_cols);
        check_index_lists("block_col_idx", &block_row_ptr, &block_col_idx, limit)?;
        crate::tilings::spec::check_nnz(nnz, elements)?;
        Ok(Self { layout, ncols, nnz, block_cols, block_row_ptr, block_col_idx, values })
    }

    /// Takes ownership of arrays that are valid by construction.
    pub(crate) fn from_parts(
        layout: RowLayout,
        ncols: usize,
        nnz: usize,
        block_cols: usize,
        block_row_ptr: Buffer<u64>,
        block_col_idx: Buffer<u32>,
        values: Buffer<T>,
    ) -> Self {
        Self { layout, ncols, nnz, block_cols, block_row_ptr, block_col_idx, values }
    }

    /// Which original row stands in which slot; block rows are its windows.
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

    /// Entries the blocks were filled from.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Rows of a block.
    #[must_use]
    pub fn block_rows(&self) -> usize {
        self.layout.window_rows()
    }

    /// Columns of a block.
    #[must_use]
    pub fn block_cols(&self) -> usize {
        self.block_cols
    }

    /// Stored blocks.
    #[must_use]
    pub fn nnzb(&self) -> usize {
        self.block_col_idx.len()
    }

    /// Offsets of the block rows in [`block_col_idx`](Self::block_col_idx).
    #[must_use]
    pub fn block_row_ptr(&self) -> &Buffer<u64> {
        &self.block_row_ptr
    }

    /// Block column of every block; the first column it covers is that times `block_cols`.
    #[must_use]
    pub fn block_col_idx(&self) -> &Buffer<u32> {
        &self.block_col_idx
    }

    /// The blocks, `block_rows · block_cols` values each, row-major.
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

    /// `nnz / (nnzb · block_rows · block_cols)`: the share of stored values that are entries. 1 for
    /// a matrix without blocks.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        crate::tilings::spec::fill_ratio(self.nnz, self.values.len())
    }
}
