//! What windows and blocks would hold in some order, counted without building them.

use girih_formats::stats::SharedStats;
use girih_formats::{BMat, Csr, CsrPattern, FormatError, RowLayout};

use crate::error::ReorderError;
use crate::permutation::Permutation;
use crate::reordering::Reordering;

/// Window heights that packed columns are counted for.
pub const WINDOW_ROWS: [usize; 3] = [8, 16, 64];

/// Sides of the square blocks that fill is counted for.
pub const BLOCK_SIZES: [usize; 3] = [8, 16, 64];

/// Windows of one height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Rows of a window.
    pub window_rows: usize,
    /// Number of windows.
    pub windows: u64,
    /// Distinct columns of a window, summed over the windows: the rows of B that are gathered.
    pub packed_cols: u64,
}

/// Square blocks of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    /// Rows and columns of a block.
    pub block_size: usize,
    /// Blocks with an entry.
    pub blocks: u64,
    /// Entries over positions of these blocks; 1 without entries, when nothing is filled in.
    pub fill_ratio: f64,
}

/// What the windowed and blocked formats would make of a matrix in some order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TileMetrics {
    /// Packed columns, for each of [`WINDOW_ROWS`].
    pub windows: [Windows; 3],
    /// Fill, for each of [`BLOCK_SIZES`].
    pub blocks: [Blocks; 3],
    /// 16×8 tiles of BMat.
    pub bmat_tiles: u64,
}

impl TileMetrics {
    /// Counts, with rows and columns in the order of `ordering`, or as they are.
    ///
    /// O(nnz + slots) for each size, in parallel; memory as [`SharedStats::unions`]. Where the ordering moves
    /// columns, the pattern is copied, and rows of the copy are sorted: 8 bytes for each entry.
    ///
    /// # Errors
    /// If the ordering is of another matrix.
    ///
    /// ```
    /// use girih_generate::laplacian_5pt;
    /// use girih_reorder::metrics::TileMetrics;
    /// use girih_reorder::{Method, simple};
    ///
    /// let grid = laplacian_5pt::<f32>(64, 64)?;
    /// let shuffled = simple::random(4096, 1)?.apply_symmetric(&grid)?;
    /// let rcm = Method::Rcm.order(shuffled.pattern())?;
    /// let before = TileMetrics::of(shuffled.pattern(), None)?;
    /// let after = TileMetrics::of(shuffled.pattern(), Some(&rcm))?;
    /// assert!(after.windows[2].packed_cols < before.windows[2].packed_cols);
    /// assert!(after.blocks[1].fill_ratio > before.blocks[1].fill_ratio);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(
        pattern: CsrPattern<'_>,
        ordering: Option<&Reordering>,
    ) -> Result<Self, ReorderError> {
        let natural = Reordering::natural(pattern.nrows())?;
        let ordering = ordering.unwrap_or(&natural);
        let rows = ordering.rows();
        check_rows(pattern, rows)?;
        let relabelled = ordering.cols().map(|cols| relabelled(pattern, cols)).transpose()?;
        let pattern = relabelled.as_ref().map_or(pattern, Csr::pattern);
        let stats = SharedStats::new(pattern, rows);
        let bmat_rows = BMat::<f32>::WINDOW_ROWS;
        let tile_cols = BMat::<f32>::TILE_COLS as u32;
        let mut bmat_tiles = 0;
        let mut windows = [Windows { window_rows: 0, windows: 0, packed_cols: 0 }; 3];
        for (found, window_rows) in windows.iter_mut().zip(WINDOW_ROWS) {
            let counts = stats.unions(window_rows, 1)?;
            if window_rows == bmat_rows {
                bmat_tiles = counts.iter().map(|&n| u64::from(n.div_ceil(tile_cols))).sum();
            }
            *found =
                Windows { window_rows, windows: counts.len() as u64, packed_cols: sum(&counts) };
        }
        let mut blocks = [Blocks { block_size: 0, blocks: 0, fill_ratio: 0.0 }; 3];
        for (found, size) in blocks.iter_mut().zip(BLOCK_SIZES) {
            let blocks = sum(&stats.unions(size, size as u32)?);
            let positions = blocks as f64 * (size * size) as f64;
            let fill_ratio = if blocks == 0 { 1.0 } else { pattern.nnz() as f64 / positions };
            *found = Blocks { block_size: size, blocks, fill_ratio };
        }
        Ok(Self { windows, blocks, bmat_tiles })
    }
}

/// For each window of `rows`, how many different blocks of `width` columns its rows hold, with the
/// columns in the order of `cols`; `width` 1 counts packed columns.
///
/// Cost as [`TileMetrics::of`].
///
/// # Errors
/// If the layout or the permutation is of another matrix, or `width` is 0.
pub fn window_counts(
    pattern: CsrPattern<'_>,
    rows: &RowLayout,
    cols: Option<&Permutation>,
    width: u32,
) -> Result<Vec<u32>, ReorderError> {
    check_rows(pattern, rows)?;
    if width == 0 {
        let expected = "a block has at least one column";
        return Err(FormatError::Parameter { what: "width", found: 0, expected }.into());
    }
    let relabelled = cols.map(|cols| relabelled(pattern, cols)).transpose()?;
    let pattern = relabelled.as_ref().map_or(pattern, Csr::pattern);
    Ok(SharedStats::new(pattern, rows).unions(rows.window_rows(), width)?.to_vec())
}

/// Checks that a layout is one of the pattern's rows.
fn check_rows(pattern: CsrPattern<'_>, rows: &RowLayout) -> Result<(), ReorderError> {
    let (found, expected) = (rows.nrows(), pattern.nrows());
    if found == expected {
        return Ok(());
    }
    Err(FormatError::LayoutMismatch { what: "rows", found, expected }.into())
}

/// A matrix with the pattern's columns in the order of `cols`, whose values say nothing.
fn relabelled(pattern: CsrPattern<'_>, cols: &Permutation) -> Result<Csr<f32>, ReorderError> {
    cols.check_applies("columns", pattern.ncols())?;
    let len = |row| pattern.row(row).len();
    let fill = |row: usize, to: &mut [u32], _: &mut [f32]| {
        for (to, &col) in to.iter_mut().zip(pattern.row(row)) {
            *to = cols.new_index(col as usize) as u32;
        }
        to.sort_unstable();
    };
    Ok(Csr::from_rows(pattern.nrows(), pattern.ncols(), len, fill)?)
}

fn sum(counts: &[u32]) -> u64 {
    counts.iter().map(|&count| u64::from(count)).sum()
}
