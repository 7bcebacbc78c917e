//! Blocked ELLPACK, in cuSPARSE's layout.

pub(crate) mod convert;
mod format;
pub(crate) mod stats;

use girih_parallel::prelude::*;

use crate::PAD_COL;
use crate::buffer::Buffer;
use crate::csr::{check_dims, check_len, first_error};
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec;
use crate::tilings::tile_format::TileFormat;

/// Blocked ELLPACK as cuSPARSE lays it out: square blocks, and the same number of block slots
/// (`ell_width`) in every block row.
///
/// `ell_col_idx` is row-major `block rows × ell_width`; unused slots stand at the end of their
/// block row, marked [`PAD_COL`](crate::PAD_COL), with zero values. `values` is one row-major
/// `slots × (ell_width · block_size)` array. A zero inside a stored block counts as stored, as in
/// [`Bcsr`](crate::Bcsr); a padding block does not.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockedEll<T: Scalar> {
    layout: RowLayout,
    ncols: usize,
    nnz: usize,
    ell_width: usize,
    ell_col_idx: Buffer<u32>,
    values: Buffer<T>,
}

impl<T: Scalar> BlockedEll<T> {
    /// Takes ownership of Blocked-ELL arrays and validates them: O(block rows · `ell_width`).
    ///
    /// # Errors
    /// If an array has the wrong length, or a block row's columns are out of range, not strictly
    /// increasing, or continue after padding.
    pub fn try_new(
        layout: RowLayout,
        ncols: usize,
        nnz: usize,
        ell_width: usize,
        ell_col_idx: impl Into<Buffer<u32>>,
        values: impl Into<Buffer<T>>,
    ) -> Result<Self, FormatError> {
        let (ell_col_idx, values) = (ell_col_idx.into(), values.into());
        check_dims(layout.nrows(), ncols)?;
        let block_size = layout.window_rows();
        let slots = spec::checked_elements(&[layout.n_windows(), ell_width])?;
        check_len("ell_col_idx", ell_col_idx.len(), slots)?;
        let elements = spec::checked_elements(&[slots, block_size, block_size])?;
        check_len("values", values.len(), elements)?;
        // A row's stride must be a number even where there are no rows.
        spec::checked_elements(&[ell_width, block_size])?;
        if ell_width > 0 {
            let limit = ncols.div_ceil(block_size);
            first_error(ell_col_idx.par_chunks_exact(ell_width).enumerate(), |(w, list)| {
                spec::check_padded_list("ell_col_idx", w, w * ell_width, list, limit)
            })?;
        }
        spec::check_nnz(nnz, elements)?;
        Ok(Self { layout, ncols, nnz, ell_width, ell_col_idx, values })
    }

    /// Takes ownership of arrays that are valid by construction.
    pub(crate) fn from_parts(
        layout: RowLayout,
        ncols: usize,
        nnz: usize,
        ell_width: usize,
        ell_col_idx: Buffer<u32>,
        values: Buffer<T>,
    ) -> Self {
        Self { layout, ncols, nnz, ell_width, ell_col_idx, values }
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

    /// Rows and columns of a block.
    #[must_use]
    pub fn block_size(&self) -> usize {
        self.layout.window_rows()
    }

    /// Block slots of every block row.
    #[must_use]
    pub fn ell_width(&self) -> usize {
        self.ell_width
    }

    /// Elements between two rows of [`values`](Self::values): `ell_width · block_size`.
    #[must_use]
    pub fn row_stride(&self) -> usize {
        self.ell_width * self.block_size()
    }

    /// Stored blocks, padding excluded.
    #[must_use]
    pub fn nnzb(&self) -> usize {
        self.ell_col_idx.iter().filter(|&&c| c != PAD_COL).count()
    }

    /// Block column of every block slot, or [`PAD_COL`](crate::PAD_COL).
    #[must_use]
    pub fn ell_col_idx(&self) -> &Buffer<u32> {
        &self.ell_col_idx
    }

    /// The values: row-major, `layout().n_slots()` rows of [`row_stride`](Self::row_stride).
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

    /// The share of stored values, padding blocks included, that are entries.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        spec::fill_ratio(self.nnz, self.values.len())
    }
}
