//! Statistics of a format: what a tiling would hold, without building it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::measure::Measure;
use crate::dtype::DType;
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::pattern::CsrPattern;
use crate::tilings::shared::union::Unions;
use crate::tilings::shared::windows::check_layout;
use crate::tilings::spec::fill_ratio;
use crate::tilings::{FormatSpec, tiling};

/// What a matrix would take in a format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormatStats {
    /// The format with its sizes.
    pub spec: FormatSpec,
    /// The value type.
    pub dtype: DType,
    /// Bytes of all arrays of the tiling, an explicit row layout included: exactly what
    /// [`Tiling::bytes`](crate::Tiling::bytes) says once it is built.
    pub bytes: u64,
    /// Elements of the value array: entries, fill-in and padding.
    pub stored: u64,
    /// Share of the positions a kernel multiplies that are entries, as the tiling's `fill_ratio`.
    pub fill_ratio: f64,
    /// Windows of rows.
    pub windows: u64,
    /// Tiles of all windows, counted as in [`Tiling::tile_ptr`](crate::Tiling::tile_ptr).
    pub tiles: u64,
    /// Tiles of the fullest window.
    pub max_tiles_per_window: u64,
    /// Columns of A that the windows hold, summed over windows, padding excluded: the rows of B
    /// read when each window is computed once and nothing is cached.
    pub gathered_cols: u64,
    /// Column slots that are padding (WCSR, BMat, Blocked-ELL, packed windows of a hybrid), summed over windows.
    pub padding_cols: u64,
    /// Block slots of a block row; 0 except for Blocked-ELL.
    pub ell_width: u64,
    /// Windows of a hybrid that are not packed; 0 for other formats.
    #[serde(default)]
    pub row_windows: u64,
    /// Entries of the rows in them.
    #[serde(default)]
    pub row_entries: u64,
}

impl FormatStats {
    /// Measures what `pattern` would take in `spec`, with rows in the order of `layout`.
    ///
    /// O(nnz + windows), in parallel; allocates a counter per window and a bit set over the columns
    /// per thread, whatever the size of the tiling would be.
    ///
    /// # Errors
    /// What [`Tiling::from_csr`](crate::Tiling::from_csr) would refuse the pattern for, memory
    /// aside.
    pub fn of(
        pattern: CsrPattern<'_>,
        spec: FormatSpec,
        layout: &RowLayout,
        dtype: DType,
    ) -> Result<Self, FormatError> {
        let counts = |width| Unions { pattern, layout, width }.counts().into();
        Self::counted(pattern, spec, layout, dtype, &counts)
    }

    /// The same, with the members of each window's union from `counts`, by the width of a block.
    pub(super) fn counted(
        pattern: CsrPattern<'_>,
        spec: FormatSpec,
        layout: &RowLayout,
        dtype: DType,
        counts: &dyn Fn(u32) -> Arc<[u32]>,
    ) -> Result<Self, FormatError> {
        check_layout(layout, pattern.nrows(), spec.window_rows())?;
        let measure = Measure { pattern, layout, counts };
        let sizes = tiling::sizes(spec, &measure)?;
        Ok(Self {
            spec,
            dtype,
            bytes: layout.bytes()
                + sizes.index_bytes
                + sizes.stored as u64 * spec.value_bytes(dtype) as u64,
            stored: sizes.stored as u64,
            fill_ratio: fill_ratio(pattern.nnz(), sizes.multiplied),
            windows: layout.n_windows() as u64,
            tiles: sizes.tiles,
            max_tiles_per_window: sizes.max_tiles_per_window,
            gathered_cols: sizes.gathered_cols,
            padding_cols: sizes.padding_cols,
            ell_width: sizes.ell_width,
            row_windows: sizes.row_windows,
            row_entries: sizes.row_entries,
        })
    }
}
