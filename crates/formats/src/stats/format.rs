//! Statistics of a format: what a tiling would hold, without building it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::tilings::shared::union::Unions;
use crate::tilings::shared::windows::check_layout;
use crate::tilings::spec::{check_size, checked_elements, fill_ratio};
use crate::tilings::two_four::convert::check_two_four;
use crate::{BMat, CsrPattern, DType, FormatError, FormatSpec, RowLayout, TwoFour};

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
    /// Column slots that are padding (WCSR, BMat, Blocked-ELL), summed over windows.
    pub padding_cols: u64,
    /// Block slots of a block row; 0 except for Blocked-ELL.
    pub ell_width: u64,
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
        let sizes = match spec {
            FormatSpec::Csr => measure.csr(),
            FormatSpec::Bcsr { block_cols, .. } => measure.bcsr(block_cols)?,
            FormatSpec::Wcsr { pad_cols, .. } => measure.wcsr(pad_cols)?,
            FormatSpec::BlockedEll { .. } => measure.blocked_ell()?,
            FormatSpec::BMat { pattern_only } => measure.bmat(pattern_only),
            FormatSpec::TwoFour => measure.two_four()?,
        };
        Ok(Self {
            spec,
            dtype,
            bytes: layout.bytes() + sizes.index_bytes + sizes.stored as u64 * dtype.size() as u64,
            stored: sizes.stored as u64,
            fill_ratio: fill_ratio(pattern.nnz(), sizes.multiplied),
            windows: layout.n_windows() as u64,
            tiles: sizes.tiles,
            max_tiles_per_window: sizes.max_tiles_per_window,
            gathered_cols: sizes.gathered_cols,
            padding_cols: sizes.padding_cols,
            ell_width: sizes.ell_width,
        })
    }
}

#[derive(Default)]
struct Sizes {
    index_bytes: u64,
    stored: usize,
    multiplied: usize,
    tiles: u64,
    max_tiles_per_window: u64,
    gathered_cols: u64,
    padding_cols: u64,
    ell_width: u64,
}

struct Measure<'a> {
    pattern: CsrPattern<'a>,
    layout: &'a RowLayout,
    counts: &'a dyn Fn(u32) -> Arc<[u32]>,
}

/// Bytes of an offset array over `lists` lists.
fn ptr_bytes(lists: usize) -> u64 {
    8 * (lists as u64 + 1)
}

impl Measure<'_> {
    /// Columns, or blocks of `width` columns, in each window's union.
    fn counts(&self, width: usize) -> Arc<[u32]> {
        (self.counts)(width as u32)
    }

    fn csr(&self) -> Sizes {
        let nnz = self.pattern.nnz();
        let longest = self.pattern.row_ptr().windows(2).map(|p| p[1] - p[0]).max();
        Sizes {
            index_bytes: ptr_bytes(self.layout.n_slots()) + 4 * nnz as u64,
            stored: nnz,
            multiplied: nnz,
            tiles: nnz as u64,
            max_tiles_per_window: longest.unwrap_or(0),
            gathered_cols: nnz as u64,
            ..Sizes::default()
        }
    }

    fn bcsr(&self, block_cols: usize) -> Result<Sizes, FormatError> {
        check_size("block_cols", block_cols)?;
        let counts = self.counts(block_cols);
        let nnzb = sum(&counts);
        let stored = checked_elements(&[nnzb as usize, self.layout.window_rows(), block_cols])?;
        Ok(Sizes {
            index_bytes: ptr_bytes(counts.len()) + 4 * nnzb,
            stored,
            multiplied: stored,
            tiles: nnzb,
            max_tiles_per_window: max(&counts),
            gathered_cols: nnzb * block_cols as u64,
            ..Sizes::default()
        })
    }

    fn wcsr(&self, pad_cols: usize) -> Result<Sizes, FormatError> {
        check_size("pad_cols", pad_cols)?;
        let counts = self.counts(1);
        let pad = pad_cols as u64;
        let packed: u128 =
            counts.iter().map(|&count| u128::from(u64::from(count).next_multiple_of(pad))).sum();
        let packed =
            usize::try_from(packed).map_err(|_| FormatError::TooManyElements { found: packed })?;
        let stored = checked_elements(&[packed, self.layout.window_rows()])?;
        let gathered_cols = sum(&counts);
        Ok(Sizes {
            index_bytes: ptr_bytes(counts.len()) + 4 * packed as u64,
            stored,
            multiplied: stored,
            tiles: packed as u64 / pad,
            max_tiles_per_window: max(&counts).div_ceil(pad),
            gathered_cols,
            padding_cols: packed as u64 - gathered_cols,
            ..Sizes::default()
        })
    }

    fn blocked_ell(&self) -> Result<Sizes, FormatError> {
        let block_size = self.layout.window_rows();
        let counts = self.counts(block_size);
        let ell_width = max(&counts);
        let slots = checked_elements(&[counts.len(), ell_width as usize])?;
        let stored = checked_elements(&[slots, block_size, block_size])?;
        let nnzb = sum(&counts);
        Ok(Sizes {
            index_bytes: 4 * slots as u64,
            stored,
            multiplied: stored,
            tiles: slots as u64,
            max_tiles_per_window: ell_width,
            gathered_cols: nnzb * block_size as u64,
            padding_cols: (slots as u64 - nnzb) * block_size as u64,
            ell_width,
        })
    }

    fn bmat(&self, pattern_only: bool) -> Sizes {
        const TILE_COLS: usize = BMat::<f32>::TILE_COLS;
        const TILE_WORDS: usize = BMat::<f32>::TILE_WORDS;
        let counts = self.counts(1);
        let cols = TILE_COLS as u64;
        let tiles: u64 = counts.iter().map(|&count| u64::from(count).div_ceil(cols)).sum();
        let nnz = self.pattern.nnz();
        let gathered_cols = sum(&counts);
        Sizes {
            index_bytes: ptr_bytes(counts.len())
                + ptr_bytes(tiles as usize)
                + 4 * (TILE_COLS + TILE_WORDS) as u64 * tiles,
            stored: if pattern_only { 0 } else { nnz },
            multiplied: tiles as usize * BMat::<f32>::WINDOW_ROWS * TILE_COLS,
            tiles,
            max_tiles_per_window: max(&counts).div_ceil(cols),
            gathered_cols,
            padding_cols: tiles * cols - gathered_cols,
            ..Sizes::default()
        }
    }

    fn two_four(&self) -> Result<Sizes, FormatError> {
        check_two_four(self.pattern)?;
        let (slots, ncols) = (self.layout.n_slots(), self.pattern.ncols());
        let groups = TwoFour::<f32>::groups_of(ncols);
        let words = checked_elements(&[slots, TwoFour::<f32>::words_of(ncols)])?;
        let stored = checked_elements(&[slots, groups, 2])?;
        Ok(Sizes {
            index_bytes: 2 * words as u64,
            stored,
            multiplied: stored,
            tiles: (slots * groups) as u64,
            max_tiles_per_window: if slots == 0 { 0 } else { groups as u64 },
            gathered_cols: stored as u64,
            ..Sizes::default()
        })
    }
}

fn sum(counts: &[u32]) -> u64 {
    counts.iter().map(|&count| u64::from(count)).sum()
}

fn max(counts: &[u32]) -> u64 {
    counts.iter().copied().max().unwrap_or(0).into()
}
