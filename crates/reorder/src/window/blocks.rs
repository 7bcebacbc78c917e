//! Rows into block rows and columns into block columns.

use girih_formats::{Csr, CsrPattern, FormatError, MAX_DIM, RowLayout};
use girih_parallel::prelude::*;
use serde::{Deserialize, Serialize};

use super::hypergraph::Hypergraph;
use super::options::{BlockOptions, WindowOptions};
use super::partition::Partition;
use super::progress::RefinementProgress;
use super::window;
use crate::error::ReorderError;
use crate::metrics::window_counts;
use crate::occupied::{Occupied, check_cols};
use crate::permutation::Permutation;
use crate::rcm::{rcm, rcm_rows_cols};

/// An order of rows and columns with few blocks, and how it came about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BlockOrdering {
    /// The rows in block rows; natural if nothing better was found.
    pub rows: RowLayout,
    /// The columns: all block columns but the last are full.
    pub cols: Permutation,
    /// Blocks on the way.
    pub stats: BlockStats,
}

/// Blocks with an entry, at every stage of [`blocks`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BlockStats {
    /// In the order of the input.
    pub natural: u64,
    /// With only rows permuted.
    pub rows_only: u64,
    /// Starting from the columns as they are, both sides refined by turns.
    pub from_natural: u64,
    /// Starting from columns in reverse Cuthill–McKee order, both sides refined by turns.
    pub from_rcm: u64,
    /// Starting from columns that share rows, both sides refined by turns.
    pub from_columns: u64,
    /// Of the order that is returned.
    pub blocks: u64,
}

/// Deals rows into block rows and columns into block columns so that few blocks hold entries: what
/// BCSR and Blocked-ELL store and multiply. For matrices whose columns may be permuted, which costs
/// a gather of the rows of B in these formats.
///
/// With the columns in blocks, the blocks are the packed columns of a matrix whose columns are
/// block columns, so [`window()`] deals the rows; and with the rows in blocks the same holds for
/// the columns, which are refined in turn. Three starts are tried: block columns as they are, in
/// reverse Cuthill–McKee order, and as windows of the transposed matrix. Block columns can't be
/// short, so columns of the shortest fill the others. Where nothing beats the order of the input,
/// that is returned.
///
/// Cost as a few of [`window()`], and O(nnz + nrows + ncols) memory. Deterministic on any number of
/// threads.
///
/// # Errors
/// If `block_rows` or `block_cols` is 0 or above [`MAX_DIM`], or if there are far more columns than rows and
/// entries.
///
/// ```
/// use girih_formats::Csr;
/// use girih_reorder::{BlockOptions, blocks};
///
/// // [ 1 . 1 . ]
/// // [ . 1 . 1 ]
/// // [ 1 . 1 . ]
/// // [ . 1 . 1 ]
/// let a = Csr::try_new(4, 4, vec![0, 2, 4, 6, 8], vec![0, 2, 1, 3, 0, 2, 1, 3], vec![1.0f32; 8])?;
/// let found = blocks(a.pattern(), &BlockOptions::new(2, 2))?;
/// assert_eq!((found.stats.natural, found.stats.blocks), (4, 2));
/// # Ok::<(), girih_reorder::ReorderError>(())
/// ```
pub fn blocks(
    pattern: CsrPattern<'_>,
    options: &BlockOptions,
) -> Result<BlockOrdering, ReorderError> {
    let (nrows, ncols) = (pattern.nrows(), pattern.ncols());
    check_block_cols(options.block_cols)?;
    check_cols(pattern.nrows(), pattern.ncols(), pattern.nnz())?;
    if let Some(occupied) = Occupied::of(pattern)? {
        let found = blocks(occupied.pattern(), options)?;
        return expanded(pattern, options, found, &occupied);
    }
    let rows = RowLayout::natural(nrows, options.block_rows)?;
    let cols = RowLayout::natural(ncols, options.block_cols)?;
    let natural = Partition::natural(&cols);
    let in_order = Blocked::of_rows(pattern, &natural)?;
    let count = in_order.count(&Partition::natural(&rows));
    let mut stats = BlockStats { natural: count, blocks: count, ..BlockStats::default() };
    let transposed = transposed(pattern)?;
    let of_columns = window(transposed.pattern(), &options.side(options.block_cols))?;
    let mut grouped = Partition::of_layout(&of_columns.layout);
    grouped.fill_windows(options.block_cols as u32);
    let both = Both { pattern, transposed: transposed.pattern(), options };
    let by_rcm = Partition::in_order(&rcm_cols(pattern)?, options.block_cols);
    let starts = [natural, by_rcm, grouped].into_par_iter();
    let turns: Vec<Turn> =
        starts.map(|cols| both.by_turns(cols)).collect::<Result<_, ReorderError>>()?;
    stats.rows_only = turns[0].rows_only;
    stats.from_natural = turns[0].blocks;
    stats.from_rcm = turns[1].blocks;
    stats.from_columns = turns[2].blocks;
    let best = turns.into_iter().min_by_key(|turn| turn.blocks);
    let Some(mut best) = best.filter(|turn| turn.blocks < stats.natural) else {
        let cols = Permutation::identity(ncols)?;
        return Ok(BlockOrdering { rows, cols, stats });
    };
    stats.blocks = best.blocks;
    let by_column = Blocked::of_cols(transposed.pattern(), &Partition::of_layout(&best.rows))?;
    best.cols.order_windows(&by_column.graph)?;
    let cols = Permutation::try_from_order(&best.cols.order_full_first())?;
    Ok(BlockOrdering { rows: best.rows, cols, stats })
}

/// What was found for the rows and columns that have entries, with the others in empty slots and last;
/// natural if that has no fewer blocks.
fn expanded(
    pattern: CsrPattern<'_>,
    options: &BlockOptions,
    mut found: BlockOrdering,
    occupied: &Occupied,
) -> Result<BlockOrdering, ReorderError> {
    let natural = RowLayout::natural(pattern.nrows(), options.block_rows)?;
    let counts = window_counts(pattern, &natural, None, options.block_cols as u32)?;
    found.stats.natural = counts.iter().map(|&count| u64::from(count)).sum();
    if found.stats.blocks < found.stats.natural {
        found.rows = occupied.layout(&found.rows)?;
        found.cols = occupied.col_permutation(&found.cols);
    } else {
        found.rows = natural;
        found.cols = Permutation::identity(pattern.ncols())?;
        found.stats.blocks = found.stats.natural;
    }
    Ok(found)
}

fn check_block_cols(found: usize) -> Result<(), FormatError> {
    if (1..=MAX_DIM).contains(&found) {
        return Ok(());
    }
    let expected = "a block has at least one column and at most 2³²−1";
    Err(FormatError::Parameter { what: "block_cols", found, expected })
}

/// Turns of columns and rows at most.
const TURNS: usize = 3;

/// The two sides that are refined by turns.
struct Both<'a> {
    pattern: CsrPattern<'a>,
    transposed: CsrPattern<'a>,
    options: &'a BlockOptions,
}

/// Blocks of both sides, and how many hold entries.
struct Turn {
    rows_only: u64,
    blocks: u64,
    rows: RowLayout,
    cols: Partition,
}

impl Both<'_> {
    /// Deals the rows, then refines columns and rows.
    fn by_turns(&self, cols: Partition) -> Result<Turn, ReorderError> {
        let block_rows = self.options.block_rows;
        let by_row = quotient(self.pattern, &cols)?;
        let dealt = window(by_row.pattern(), &self.options.side(block_rows))?;
        let blocks = dealt.stats.packed;
        let mut best = Turn { rows_only: blocks, blocks, rows: dealt.layout, cols };
        let Some(limits) = self.options.effort.limits() else { return Ok(best) };

        let block_cols = self.options.block_cols as u32;
        for _ in 0..TURNS {
            let before = best.blocks;
            let mut rows = Partition::of_layout(&best.rows);
            let by_column = Blocked::of_cols(self.transposed, &rows)?;
            let mut cols = best.cols.clone();
            cols.refine_levels(
                &by_column.graph,
                block_cols,
                1,
                &limits,
                &mut RefinementProgress::nobody(),
            );
            cols.fill_windows(block_cols);
            let blocks = by_column.count(&cols);
            if blocks < best.blocks {
                (best.blocks, best.cols) = (blocks, cols);
            }
            let by_row = Blocked::of_rows(self.pattern, &best.cols)?;
            let progress = &mut RefinementProgress::nobody();
            rows.refine_levels(&by_row.graph, block_rows as u32, 1, &limits, progress);
            rows.join_short_windows(block_rows as u32);
            let blocks = by_row.count(&rows);
            if blocks < best.blocks {
                rows.order_windows(&by_row.graph)?;
                (best.blocks, best.rows) = (blocks, rows.layout(block_rows)?);
            }
            if best.blocks == before {
                break;
            }
        }
        Ok(best)
    }
}

/// The columns in reverse Cuthill–McKee order.
fn rcm_cols(pattern: CsrPattern<'_>) -> Result<Permutation, ReorderError> {
    if pattern.nrows() == pattern.ncols() { rcm(pattern) } else { Ok(rcm_rows_cols(pattern)?.1) }
}

/// One side's hypergraph, whose nets are the blocks of the other side.
struct Blocked {
    graph: Hypergraph,
    lone: u64,
}

impl Blocked {
    fn of_rows(pattern: CsrPattern<'_>, cols: &Partition) -> Result<Self, ReorderError> {
        let (graph, lone) = Hypergraph::of(quotient(pattern, cols)?.pattern());
        Ok(Self { graph, lone })
    }

    fn of_cols(transposed: CsrPattern<'_>, rows: &Partition) -> Result<Self, ReorderError> {
        Self::of_rows(transposed, rows)
    }

    /// Blocks with an entry.
    fn count(&self, partition: &Partition) -> u64 {
        partition.packed(&self.graph) + self.lone
    }
}

/// The pattern with each column replaced by its block.
fn quotient(pattern: CsrPattern<'_>, cols: &Partition) -> Result<Csr<f32>, ReorderError> {
    let mut row_ptr = vec![0u64];
    let mut col_idx = Vec::new();
    let mut blocks: Vec<u32> = Vec::new();
    for i in 0..pattern.nrows() {
        blocks.clear();
        blocks.extend(pattern.row(i).iter().map(|&j| cols.window[j as usize]));
        blocks.sort_unstable();
        blocks.dedup();
        col_idx.extend_from_slice(&blocks);
        row_ptr.push(col_idx.len() as u64);
    }
    let values = vec![0.0; col_idx.len()];
    Ok(Csr::try_new(pattern.nrows(), cols.n_windows(), row_ptr, col_idx, values)?)
}

fn transposed(pattern: CsrPattern<'_>) -> Result<Csr<f32>, ReorderError> {
    let (ptr, rows) = pattern.try_transpose()?;
    let values = vec![0.0; rows.len()];
    Ok(Csr::try_new(pattern.ncols(), pattern.nrows(), ptr, rows, values)?)
}

impl BlockOptions {
    /// For windows of `window_rows` on one side.
    fn side(&self, window_rows: usize) -> WindowOptions {
        WindowOptions::new(window_rows).seed(self.seed).effort(self.effort)
    }
}
