//! What breaks balance and offsets: long rows, full rows and columns, empty rows.

use super::rows::{check_dims, check_fraction, check_per_row, from_rows, value_at};
use super::sampling::distinct;
use crate::rng::SplitMix64;
use girih_formats::{Csr, FormatError, Scalar};

/// Keeps the streams that draw row lengths apart from those that draw columns.
const LENGTHS: u64 = 0x6c65_6e67_7468;

/// Row lengths from a power law: a row has at least x entries with probability `shortest / x`, for
/// x from `shortest` to `ncols`; columns are uniform.
///
/// The density of lengths falls as x⁻², as in-degrees of web graphs and word counts nearly do; the
/// mean is about `shortest · (1 + ln(ncols / shortest))`. Rows of very different length stand next
/// to each other. O(nnz · log ncols).
///
/// # Errors
/// If a dimension is above [`MAX_DIM`](girih_formats::MAX_DIM) or `shortest` above `ncols`.
///
/// ```
/// let a = girih_generate::power_law_rows::<f32>(2000, 2000, 2, 1)?;
/// let mut lens: Vec<usize> = (0..2000).map(|i| a.row(i).0.len()).collect();
/// lens.sort_unstable();
/// assert!(lens[0] == 2 && lens[1000] <= 5 && lens[1999] > 200);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn power_law_rows<T: Scalar>(
    nrows: usize,
    ncols: usize,
    shortest: usize,
    seed: u64,
) -> Result<Csr<T>, FormatError> {
    check_dims(nrows, ncols)?;
    check_per_row(shortest, ncols)?;
    let len = |i: usize| {
        let u = 1.0 - SplitMix64::new(seed ^ LENGTHS, i as u64).unit();
        ((shortest as f64 / u) as usize).min(ncols)
    };
    random_rows(nrows, ncols, len, seed)
}

/// [`uniform`](super::uniform) with `per_row` entries, except that row `row` is full.
///
/// Stands for a linear program's budget constraint, a supply net, a normalisation row: one row that
/// holds a share of all work that no window shares. O(nnz · log `per_row`).
///
/// # Errors
/// If a dimension is above [`MAX_DIM`](girih_formats::MAX_DIM), `per_row` above `ncols`, or `row` is not a
/// row.
///
/// ```
/// let a = girih_generate::dense_row::<f32>(100, 50, 2, 7, 1)?;
/// assert_eq!(a.row(7).0.len(), 50);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn dense_row<T: Scalar>(
    nrows: usize,
    ncols: usize,
    per_row: usize,
    row: usize,
    seed: u64,
) -> Result<Csr<T>, FormatError> {
    check_dims(nrows, ncols)?;
    check_per_row(per_row, ncols)?;
    check_below("row", row, nrows)?;
    random_rows(nrows, ncols, |i| if i == row { ncols } else { per_row }, seed)
}

/// `per_row` uniform entries in every row, and one more in column `col` of every row.
///
/// Stands for an intercept or a hub: one row of B that every window needs. O(nnz · log `per_row`).
///
/// # Errors
/// If a dimension is above [`MAX_DIM`](girih_formats::MAX_DIM), `per_row` is not below `ncols`, or `col` is
/// not a column.
///
/// ```
/// let a = girih_generate::dense_col::<f32>(100, 50, 2, 7, 1)?;
/// assert_eq!(a.nnz(), 300);
/// assert!((0..100).all(|i| a.row(i).0.contains(&7)));
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn dense_col<T: Scalar>(
    nrows: usize,
    ncols: usize,
    per_row: usize,
    col: usize,
    seed: u64,
) -> Result<Csr<T>, FormatError> {
    check_dims(nrows, ncols)?;
    check_below("col", col, ncols)?;
    check_per_row(per_row.saturating_add(1), ncols)?;
    let col = col as u32;
    let fill = |i: usize, cols: &mut [u32]| {
        // Draw among the other columns, then leave a place for the full one.
        let n = cols.len() - 1;
        distinct(&mut SplitMix64::new(seed, i as u64), ncols as u64 - 1, &mut cols[..n]);
        cols[..n].iter_mut().for_each(|j| *j += u32::from(*j >= col));
        let at = cols[..n].partition_point(|&j| j < col);
        cols.copy_within(at..n, at + 1);
        cols[at] = col;
    };
    from_rows(nrows, ncols, |_| per_row + 1, fill, |i, j| value_at(seed, i, j))
}

/// [`uniform`](super::uniform) with `per_row` entries in some rows and none in the others.
///
/// A row is empty with probability `empty`, and the last `empty`/2 of the rows are empty for
/// certain, so that windows at the end are too. Stands for isolated vertices and unused tokens.
/// O(nrows + nnz · log `per_row`).
///
/// # Errors
/// If a dimension is above [`MAX_DIM`](girih_formats::MAX_DIM), `per_row` above `ncols`, or `empty` outside
/// 0..=1.
///
/// ```
/// let a = girih_generate::empty_rows::<f32>(1000, 50, 2, 0.5, 1)?;
/// let empty = (0..1000).filter(|&i| a.row(i).0.is_empty()).count();
/// assert!((550..700).contains(&empty));
/// assert!(a.row(999).0.is_empty());
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn empty_rows<T: Scalar>(
    nrows: usize,
    ncols: usize,
    per_row: usize,
    empty: f64,
    seed: u64,
) -> Result<Csr<T>, FormatError> {
    check_dims(nrows, ncols)?;
    check_per_row(per_row, ncols)?;
    check_fraction("empty", empty)?;
    let tail = nrows - (nrows as f64 * empty / 2.0) as usize;
    let len = |i: usize| {
        let is_empty = i >= tail || SplitMix64::new(seed ^ LENGTHS, i as u64).unit() < empty;
        if is_empty { 0 } else { per_row }
    };
    random_rows(nrows, ncols, len, seed)
}

fn random_rows<T: Scalar>(
    nrows: usize,
    ncols: usize,
    len: impl Fn(usize) -> usize + Sync,
    seed: u64,
) -> Result<Csr<T>, FormatError> {
    from_rows(
        nrows,
        ncols,
        len,
        |i, cols| distinct(&mut SplitMix64::new(seed, i as u64), ncols as u64, cols),
        |i, j| value_at(seed, i, j),
    )
}

fn check_below(what: &'static str, found: usize, limit: usize) -> Result<(), FormatError> {
    if found < limit {
        return Ok(());
    }
    Err(FormatError::Parameter { what, found, expected: "it must lie inside the matrix" })
}
