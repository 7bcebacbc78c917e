//! Weights of neural networks, pruned in three ways.

use super::rows::{check_dims, check_fraction, from_rows, value_at};
use super::sampling::distinct;
use crate::rng::SplitMix64;
use girih_formats::{Csr, FormatError, Scalar};

/// Keeps the streams that draw row weights apart from those that draw columns.
const WEIGHTS: u64 = 0x7765_6967_6874;

/// Dense `block × block` blocks, of which the share `density` is present, spread at random.
///
/// Blocks at the right and lower edge are cut off where the matrix ends. The number of blocks is
/// `density` of all, rounded, and block rows differ in it as rows of [`pruned_weights`] do. Stands for weights pruned in blocks (64×64 fits a tensor-core tile).
/// O(nrows + nnz).
///
/// # Errors
/// If a dimension is above [`MAX_DIM`](girih_formats::MAX_DIM), `block` is 0, or `density` is outside 0..=1.
///
/// ```
/// let a = girih_generate::block_sparse::<f32>(512, 256, 64, 0.25, 1)?;
/// assert_eq!(a.nnz(), 8 * 64 * 64);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn block_sparse<T: Scalar>(
    nrows: usize,
    ncols: usize,
    block: usize,
    density: f64,
    seed: u64,
) -> Result<Csr<T>, FormatError> {
    check_dims(nrows, ncols)?;
    check_fraction("density", density)?;
    if block == 0 {
        let expected = "a block holds at least one entry";
        return Err(FormatError::Parameter { what: "block", found: block, expected });
    }
    let (block_rows, block_cols) = (nrows.div_ceil(block), ncols.div_ceil(block));
    let counts = spread(block_rows, block_cols, density, |i| row_weight(seed, i));
    // Where the blocks of one block row stand; drawn once per row of it, to keep no other copy.
    let row_blocks = |i: usize| {
        let mut blocks = vec![0; counts[i / block]];
        distinct(&mut SplitMix64::new(seed, (i / block) as u64), block_cols as u64, &mut blocks);
        blocks
    };
    let columns = |b: u32| {
        let start = b as usize * block;
        start..ncols.min(start.saturating_add(block))
    };
    from_rows(
        nrows,
        ncols,
        |i| row_blocks(i).into_iter().map(|b| columns(b).len()).sum(),
        |i, cols| {
            let all = row_blocks(i).into_iter().flat_map(columns);
            cols.iter_mut().zip(all).for_each(|(col, j)| *col = j as u32);
        },
        |i, j| value_at(seed, i, j),
    )
}

/// The share `1 − sparsity` of all entries, without structure.
///
/// nnz is that share, rounded, as a global magnitude threshold gives; rows differ in length with a
/// coefficient of variation near 0.3, as rows of trained weights differ in norm. Stands for
/// unstructured pruning of linear and convolution layers. O(nnz · log ncols).
///
/// # Errors
/// If a dimension is above [`MAX_DIM`](girih_formats::MAX_DIM) or `sparsity` outside 0..=1.
///
/// ```
/// let a = girih_generate::pruned_weights::<f32>(512, 2304, 0.9, 1)?;
/// assert_eq!(a.nnz(), 117_965);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn pruned_weights<T: Scalar>(
    nrows: usize,
    ncols: usize,
    sparsity: f64,
    seed: u64,
) -> Result<Csr<T>, FormatError> {
    check_dims(nrows, ncols)?;
    check_fraction("sparsity", sparsity)?;
    let counts = spread(nrows, ncols, 1.0 - sparsity, |i| row_weight(seed, i));
    from_rows(
        nrows,
        ncols,
        |i| counts[i],
        |i, cols| distinct(&mut SplitMix64::new(seed, i as u64), ncols as u64, cols),
        |i, j| value_at(seed, i, j),
    )
}

/// Two entries in every group of four columns; a group cut off by the edge holds what it can of two.
///
/// Stands for weights pruned for sparse tensor cores: always representable as
/// [`TwoFour`](girih_formats::TwoFour). O(nnz).
///
/// # Errors
/// If a dimension is above [`MAX_DIM`](girih_formats::MAX_DIM).
///
/// ```
/// let a = girih_generate::two_four::<f32>(16, 64, 1)?;
/// assert_eq!(a.nnz(), 16 * 32);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn two_four<T: Scalar>(nrows: usize, ncols: usize, seed: u64) -> Result<Csr<T>, FormatError> {
    check_dims(nrows, ncols)?;
    let per_row = ncols / 4 * 2 + (ncols % 4).min(2);
    let fill = |i: usize, cols: &mut [u32]| {
        let mut rng = SplitMix64::new(seed, i as u64);
        for (group, pair) in cols.chunks_mut(2).enumerate() {
            let first = 4 * group;
            distinct(&mut rng, (ncols - first).min(4) as u64, pair);
            pair.iter_mut().for_each(|col| *col += first as u32);
        }
    };
    from_rows(nrows, ncols, |_| per_row, fill, |i, j| value_at(seed, i, j))
}

/// What share of the entries row `i` gets: between 0 and 2 with mean 1 and deviation 0.29.
fn row_weight(seed: u64, i: usize) -> f64 {
    1.0 + SplitMix64::new(seed ^ WEIGHTS, i as u64).normal() / 3.5
}

/// How many of `row_len` places each of `rows` rows gets, so that the rounded share `density` of all
/// places is given away, in proportion to `weight(row)`, up to what a row can hold.
fn spread(rows: usize, row_len: usize, density: f64, weight: impl Fn(usize) -> f64) -> Vec<usize> {
    let places = rows as f64 * row_len as f64;
    let mut left = (places * density).round() as u128;
    let mut weight_left: f64 = (0..rows).map(&weight).sum();
    let mut rows_left = rows as u128;
    (0..rows)
        .map(|i| {
            let w = weight(i);
            rows_left -= 1;
            let fair = if weight_left > w { left as f64 * w / weight_left } else { left as f64 };
            // What the rows after this one can't hold, this one must.
            let least = left.saturating_sub(rows_left * row_len as u128) as usize;
            let most = usize::try_from(left).map_or(row_len, |left| left.min(row_len));
            let count = (fair.round() as usize).clamp(least.min(most), most);
            left -= count as u128;
            weight_left -= w;
            count
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreading_gives_away_exactly_the_share() {
        for density in [0.0, 0.013, 0.5, 0.97, 1.0] {
            let counts = spread(37, 29, density, |i| 1.0 + (i % 5) as f64 / 5.0);
            let total: usize = counts.iter().sum();
            assert_eq!(total, (37.0 * 29.0 * density).round() as usize, "{density}");
            assert!(counts.iter().all(|&c| c <= 29));
        }
        assert!(spread(0, 5, 0.5, |_| 1.0).is_empty());
        assert_eq!(spread(3, 0, 0.5, |_| 1.0), [0, 0, 0]);
    }

    #[test]
    fn blocks_are_whole_inside_and_cut_at_the_edge() {
        let a = block_sparse::<f32>(10, 7, 4, 1.0, 1).unwrap();
        assert_eq!(a.nnz(), 70);
        let a = block_sparse::<f32>(10, 7, 4, 0.5, 1).unwrap();
        for i in 0..10 {
            let (first, _) = a.row(i / 4 * 4);
            assert_eq!(a.row(i).0, first);
        }
        assert!(block_sparse::<f32>(10, 7, 0, 0.5, 1).is_err());
        assert!(block_sparse::<f32>(10, 7, 4, f64::NAN, 1).is_err());
    }

    #[test]
    fn every_group_of_four_holds_two() {
        for ncols in 0..9 {
            let a = two_four::<f32>(5, ncols, 3).unwrap();
            for i in 0..5 {
                for first in (0..ncols).step_by(4) {
                    let group = first as u32..(first + 4).min(ncols) as u32;
                    let held = a.row(i).0.iter().filter(|j| group.contains(j)).count();
                    assert_eq!(held, group.len().min(2));
                }
            }
        }
    }
}
