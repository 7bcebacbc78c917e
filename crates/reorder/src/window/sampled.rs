//! What the window ordering would reach, from a few windows that are grown where they would be.

use girih_formats::CsrPattern;

use super::neighbours::neighbours;

/// Entries of a column that are looked at, those nearest to the row that a window began with: the same
/// rows in every long column.
const MAX_COLUMN: usize = 256;

/// Windows that are grown at the most, and at the least if the matrix has that many rows.
const MAX_SEEDS: usize = 64;
const LEAST_SEEDS: usize = 4;

/// Steps for each entry of the matrix that growing windows may take, after the first few windows. With fewer,
/// windows in graphs whose columns are long do not grow to their height.
const STEPS_PER_ENTRY: usize = 4;

/// Steps that windows of the smallest matrices may take all the same.
const LEAST_STEPS: usize = 1 << 16;

/// Steps from which on one for each entry is enough.
const MANY_STEPS: usize = 1 << 22;

/// How many columns windows of rows that share many would pack, for each entry of the matrix: one number
/// for each height of `heights`, which increase. `None` where a matrix has no entries, or far more columns
/// than entries, so that the rows of a column cannot be looked up.
///
/// From some rows, spread evenly over the entries, windows grow by the row that brings the fewest new
/// columns for those it shares. A row may be in several of them, so a partition packs somewhat more, and
/// refinement less. It is no more than windows of neighbouring rows pack, as rows stand or sorted by length and frequent
/// columns. Beside what [`window`](crate::window()) packs it is 0.76 to 1.87 times as much, for 34 real matrices as they come
/// and shuffled, at heights of 16 and 64. Without that limit it was up to 5.8 times.
///
/// O(nnz + ncols + nrows · log nrows) time, O(nnz + ncols) memory. Deterministic.
///
/// ```
/// use girih_generate::block_sparse;
/// use girih_reorder::{sampled_windows, simple};
///
/// // Blocks of 16 rows have 16 columns each in common, wherever their rows stand.
/// let blocks = block_sparse::<f32>(512, 512, 16, 0.1, 1)?;
/// let shuffled = simple::random(512, 1)?.apply_rows(&blocks)?;
/// let found = sampled_windows(shuffled.pattern(), &[16]).unwrap();
/// assert_eq!(found, [1.0 / 16.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn sampled_windows(pattern: CsrPattern<'_>, heights: &[usize]) -> Option<Vec<f64>> {
    let nnz = pattern.nnz();
    if nnz == 0 || pattern.ncols() / 4 > nnz {
        return None;
    }
    let (col_ptr, rows) = pattern.transpose();
    let (sums, least) = girih_parallel::join(
        || grown(pattern, &col_ptr, &rows, heights),
        || neighbours(pattern, &col_ptr, heights),
    );
    let shares = sums.iter().zip(least);
    Some(shares.map(|(sum, least)| sum.share().min(least as f64 / nnz as f64)).collect())
}

/// Grows windows from rows that are spread evenly over the entries.
fn grown(pattern: CsrPattern<'_>, col_ptr: &[u64], rows: &[u32], heights: &[usize]) -> Vec<Sum> {
    let (nrows, nnz) = (pattern.nrows(), pattern.nnz());
    let mut grower = Grower {
        pattern,
        col_ptr,
        rows,
        shared: vec![0; nrows],
        found: Vec::new(),
        count: vec![0; pattern.ncols()],
        packed: Vec::new(),
        seed: 0,
        steps: 0,
        limit: (STEPS_PER_ENTRY * nnz).clamp(LEAST_STEPS, MANY_STEPS).max(nnz),
    };
    let mut sums = vec![Sum::default(); heights.len()];
    let seeds = MAX_SEEDS.min(nrows);
    for i in 0..seeds {
        // A stride that has no divisor in common with the number of seeds visits all of them, and those
        // that time is left for are spread as evenly.
        let at = i * 37 % seeds;
        // Rows are drawn by their entries: the row of the entry in the middle of each share.
        let entry = ((2 * at as u128 + 1) * nnz as u128 / (2 * seeds as u128)) as u64;
        let seed = pattern.row_ptr().partition_point(|&first| first <= entry) - 1;
        grower.grow(seed as u32, heights, &mut sums);
        if i + 1 >= LEAST_SEEDS && grower.steps > grower.limit {
            break;
        }
    }
    sums
}

/// What windows of one height came to.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    packed: u64,
    entries: u64,
    /// For each window the share of its columns that is its first row's, over that row's entries: a column
    /// that d rows have counts 1/d.
    own: f64,
    windows: u32,
}

impl Sum {
    /// Packed columns for each entry. Windows that grow from a row of many entries take in short rows, which
    /// others would want too; the first row's own share sees that it has no equal. In a mesh the first row
    /// stands in the middle, and its share is too good. So the larger of both counts.
    fn share(&self) -> f64 {
        let all = self.packed as f64 / self.entries.max(1) as f64;
        all.max(self.own / f64::from(self.windows.max(1)))
    }
}

struct Grower<'a> {
    pattern: CsrPattern<'a>,
    col_ptr: &'a [u64],
    rows: &'a [u32],
    /// Columns that a row has in common with the window; `TAKEN` if it is in the window.
    shared: Vec<u32>,
    /// Rows that share columns with the window or are in it.
    found: Vec<u32>,
    /// Rows of the window that have a column.
    count: Vec<u32>,
    /// Columns that some have.
    packed: Vec<u32>,
    /// The row that the window began with.
    seed: u32,
    /// Steps so far, and the most for all windows but the first few.
    steps: usize,
    limit: usize,
}

const TAKEN: u32 = u32::MAX;

impl Grower<'_> {
    /// Grows a window from a row and adds its packed columns and entries at each height. A window that
    /// shares nothing with the rest stays lower.
    fn grow(&mut self, seed: u32, heights: &[usize], sums: &mut [Sum]) {
        let (mut row, mut height, mut entries) = (Some(seed), 0, 0);
        self.seed = seed;
        // One window must not take the steps of all.
        let most = self.steps + self.limit.div_ceil(LEAST_SEEDS);
        for (&limit, sum) in heights.iter().zip(sums) {
            while let Some(next) = row.filter(|_| height < limit && self.steps <= most) {
                self.take(next);
                entries += self.pattern.row(next as usize).len() as u64;
                height += 1;
                row = self.best();
            }
            // A window that ran out of steps says nothing of this height, unless no other does.
            if row.is_some() && height < limit && sum.windows > 0 {
                break;
            }
            sum.packed += self.packed.len() as u64;
            sum.entries += entries;
            let cols = self.pattern.row(seed as usize);
            let own: f64 = cols.iter().map(|&col| 1.0 / f64::from(self.count[col as usize])).sum();
            sum.own += own / cols.len().max(1) as f64;
            sum.windows += 1;
        }
        for row in self.found.drain(..) {
            self.shared[row as usize] = 0;
        }
        self.shared[seed as usize] = 0;
        for col in self.packed.drain(..) {
            self.count[col as usize] = 0;
        }
    }

    fn take(&mut self, row: u32) {
        self.shared[row as usize] = TAKEN;
        for &col in self.pattern.row(row as usize) {
            self.count[col as usize] += 1;
            if self.count[col as usize] > 1 {
                continue;
            }
            self.packed.push(col);
            let (start, end) = (self.col_ptr[col as usize], self.col_ptr[col as usize + 1]);
            let mut rows = &self.rows[start as usize..end as usize];
            if rows.len() > MAX_COLUMN {
                let near = rows.partition_point(|&row| row < self.seed);
                let first = near.saturating_sub(MAX_COLUMN / 2).min(rows.len() - MAX_COLUMN);
                rows = &rows[first..first + MAX_COLUMN];
            }
            self.steps += rows.len();
            for &other in rows {
                let shared = &mut self.shared[other as usize];
                if *shared == 0 {
                    self.found.push(other);
                }
                if *shared != TAKEN {
                    *shared += 1;
                }
            }
        }
    }

    /// The row outside of the window that has the largest share of its columns in it; of equal ones the
    /// one that shares most, then the first that was found.
    fn best(&mut self) -> Option<u32> {
        self.steps += self.found.len();
        let free = self.found.iter().copied().filter(|&row| self.shared[row as usize] != TAKEN);
        let key = |row: u32| {
            (u64::from(self.shared[row as usize]), self.pattern.row(row as usize).len() as u64)
        };
        free.reduce(|best, row| {
            let ((a, of_a), (b, of_b)) = (key(best), key(row));
            if (b * of_a, b) > (a * of_b, a) { row } else { best }
        })
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;

    use super::*;

    #[test]
    fn windows_of_alike_rows_by_hand() {
        // Rows 0, 2 and 4 are alike, and rows 1, 3 and 5.
        let cols = |row: u32| if row.is_multiple_of(2) { [0, 1] } else { [2, 3] };
        let col_idx: Vec<u32> = (0..6).flat_map(cols).collect();
        let row_ptr: Vec<u64> = (0..=6).map(|row| 2 * row).collect();
        let a = Csr::try_new(6, 4, row_ptr, col_idx, vec![1.0f32; 12]).unwrap();
        let found = sampled_windows(a.pattern(), &[1, 2, 3, 6]).unwrap();
        // A window that shares nothing with other rows grows no more.
        let expected = [1.0, 0.5, 1.0 / 3.0, 1.0 / 3.0];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn a_row_without_equals_is_seen() {
        // A row of 60 entries, each of which is one of 60 rows that have no other.
        let row_ptr: Vec<u64> =
            (0..=61u64).map(|row| if row == 0 { 0 } else { 59 + row }).collect();
        let col_idx: Vec<u32> = (0..60).chain(0..60).collect();
        let star = Csr::try_new(61, 60, row_ptr, col_idx, vec![1.0f32; 120]).unwrap();
        // Whatever the window of 16 rows that it is in, 45 of its columns or more are its own.
        let found = sampled_windows(star.pattern(), &[16]).unwrap();
        assert!(found[0] > 0.75, "{found:?}");
    }

    #[test]
    fn nothing_is_said_of_what_cannot_be_looked_up() {
        let empty = Csr::<f32>::empty(5, 7).unwrap();
        assert_eq!(sampled_windows(empty.pattern(), &[16]), None);
        let wide = Csr::try_new(1, 1 << 20, vec![0, 1], vec![9], vec![1.0f32]).unwrap();
        assert_eq!(sampled_windows(wide.pattern(), &[16]), None);
    }
}
