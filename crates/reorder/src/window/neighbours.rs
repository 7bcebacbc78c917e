//! What windows of neighbouring rows pack, in an order that takes no search.

use girih_formats::CsrPattern;

/// What a row is sorted by: the size of its length in bits, then its two most frequent columns.
type Key = (u32, u64, u64);

/// Heights that one pass over the entries counts.
const AT_ONCE: usize = 4;

/// How many columns windows of each height pack, for rows in `order`. O(nnz) for every four heights; memory for a number
/// of each column.
fn packed(
    pattern: CsrPattern<'_>,
    order: &(impl Iterator<Item = u32> + Clone),
    heights: &[usize],
) -> Vec<u64> {
    let mut packed = Vec::with_capacity(heights.len());
    // One more than the position of the last row that had a column.
    let mut last = vec![0u32; pattern.ncols()];
    for heights in heights.chunks(AT_ONCE) {
        last.fill(0);
        let mut sums = [0u64; AT_ONCE];
        for (at, row) in order.clone().enumerate() {
            // Where the windows begin that the row is in.
            let mut starts = [0u32; AT_ONCE];
            for (start, &height) in starts.iter_mut().zip(heights) {
                *start = (at - at % height.max(1)) as u32;
            }
            let mut new = [0u32; AT_ONCE];
            for &col in pattern.row(row as usize) {
                let seen = std::mem::replace(&mut last[col as usize], at as u32 + 1);
                for (new, start) in new.iter_mut().zip(starts) {
                    *new += u32::from(seen <= start);
                }
            }
            for (sum, new) in sums.iter_mut().zip(new) {
                *sum += u64::from(new);
            }
        }
        packed.extend(&sums[..heights.len()]);
    }
    packed
}

/// Rows with entries, those of about the same length and with the same frequent columns next to each other.
fn alike(pattern: CsrPattern<'_>, col_ptr: &[u64]) -> Vec<u32> {
    // The most frequent column has the least key.
    let keys: Vec<u64> = (0u64..)
        .zip(col_ptr.windows(2))
        .map(|(col, ends)| {
            let entries = (ends[1] - ends[0]).min(u64::from(u32::MAX));
            (u64::from(u32::MAX) - entries) << 32 | col
        })
        .collect();
    let mut rows: Vec<(Key, u32)> = (0..pattern.nrows() as u32)
        .filter(|&row| !pattern.row(row as usize).is_empty())
        .map(|row| {
            let cols = pattern.row(row as usize);
            let (mut first, mut second) = (u64::MAX, u64::MAX);
            for &col in cols {
                let key = keys[col as usize];
                second = second.min(first.max(key));
                first = first.min(key);
            }
            ((usize::BITS - cols.len().leading_zeros(), first, second), row)
        })
        .collect();
    rows.sort_unstable();
    rows.into_iter().map(|(_, row)| row).collect()
}

/// How many columns windows of neighbouring rows pack at each height: as rows stand, or sorted so that those of about
/// the same length and with the same frequent columns are neighbours, whichever is less.
///
/// Where some columns are in many rows, sorted rows pack nearly what the window ordering does: 1.0 to 1.5 times as much
/// for 12 real matrices of that kind, where [`sampled_windows`](super::sampled_windows) expected up to six times.
///
/// O(nnz + nrows · log nrows) time for every four heights, two orders at once, and memory for 32 bytes of each row that has
/// entries and 8 of each column.
pub(super) fn neighbours(pattern: CsrPattern<'_>, col_ptr: &[u64], heights: &[usize]) -> Vec<u64> {
    let (natural, sorted) = girih_parallel::join(
        || packed(pattern, &(0..pattern.nrows() as u32), heights),
        || packed(pattern, &alike(pattern, col_ptr).iter().copied(), heights),
    );
    natural.into_iter().zip(sorted).map(|(natural, sorted)| natural.min(sorted)).collect()
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;

    use super::*;

    #[test]
    fn rows_alike_are_neighbours() {
        // Rows 0, 2 and 4 have two columns alike, rows 1 and 3 four; row 5 has none.
        let row_ptr = vec![0u64, 2, 6, 8, 12, 14, 14];
        let col_idx = vec![0u32, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1];
        let a = Csr::try_new(6, 6, row_ptr, col_idx, vec![1.0f32; 14]).unwrap();
        let (col_ptr, _) = a.pattern().transpose();
        assert_eq!(alike(a.pattern(), &col_ptr), [0, 2, 4, 1, 3]);
        // Windows of two rows as they stand pack 6, 6 and 2 columns, sorted 2, 6 and 4.
        assert_eq!(neighbours(a.pattern(), &col_ptr, &[1, 2, 3, 6]), [14, 12, 6, 6]);
        // More heights than are counted at once.
        let alone = (1..=6).flat_map(|height| neighbours(a.pattern(), &col_ptr, &[height]));
        let all = neighbours(a.pattern(), &col_ptr, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(all, alone.collect::<Vec<_>>());
    }

    #[test]
    fn rows_in_their_order_may_be_better() {
        // Sorted by length, neither rows 1 and 3 nor rows 0 and 2 have all their columns in common.
        let col_idx = vec![0u32, 9, 9, 0, 8, 8];
        let a = Csr::try_new(4, 10, vec![0u64, 2, 3, 5, 6], col_idx, vec![1.0f32; 6]).unwrap();
        let (col_ptr, _) = a.pattern().transpose();
        assert_eq!(neighbours(a.pattern(), &col_ptr, &[2]), [4]);
    }
}
