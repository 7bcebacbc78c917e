//! What the rows of a tile share, and where its columns are, judged by some of the tasks.

use std::ops::Range;

use girih_formats::{Csr, Scalar};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::patterns::{merge, rows_of, tiles};
use crate::thresholds::*;

/// Columns that slabs may have. Of the rows of B that the columns of the smallest meet the first-level cache holds much,
/// four lines of each at a time.
const SLABS: [usize; 4] = [SLAB_COLS, 2 * SLAB_COLS, 4 * SLAB_COLS, 8 * SLAB_COLS];

/// Tiles of some of the tasks, in numbers.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sharing {
    pub(crate) tiles: usize,
    /// Their columns.
    pub(crate) cols: usize,
    /// Loads of rows of B spared: entries that are not the first of their tile in a column.
    pub(crate) spared: usize,
    /// Slabs of so many columns as [`SLABS`] says that have columns of a tile, for all tiles together.
    pub(crate) slabs: [usize; SLABS.len()],
}

impl Sharing {
    /// The tiles of up to [`TILE_SAMPLED_TASKS`] tasks, each a range of slots: O(their entries).
    pub(crate) fn of<T: Scalar>(csr: &Csr<T>, tasks: &[Range<usize>]) -> Self {
        let step = tasks.len().div_ceil(TILE_SAMPLED_TASKS).max(1);
        let sample = tasks.par_iter().step_by(step).map(|slots| Self::of_task(csr, slots));
        sample.reduce(Self::default, |a, b| Self {
            tiles: a.tiles + b.tiles,
            cols: a.cols + b.cols,
            spared: a.spared + b.spared,
            slabs: std::array::from_fn(|i| a.slabs[i] + b.slabs[i]),
        })
    }

    pub(crate) fn of_task<T: Scalar>(csr: &Csr<T>, slots: &Range<usize>) -> Self {
        let (mut sum, mut merged) = (Self::default(), Vec::new());
        for slots in tiles(csr, slots.clone()) {
            let rows = rows_of(csr, &slots);
            merge(csr, &rows[..slots.len()], &mut merged);
            sum.tiles += 1;
            sum.cols += merged.len();
            sum.spared += rows.iter().map(Range::len).sum::<usize>() - merged.len();
            for (slabs, size) in sum.slabs.iter_mut().zip(SLABS) {
                let of = |&(col, _): &(u32, u8)| col as usize / size;
                *slabs += merged.chunk_by(|a, b| of(a) == of(b)).count();
            }
        }
        sum
    }

    /// Whether a tile spares so many loads on average.
    pub(crate) fn spares(&self, loads: usize) -> bool {
        self.tiles > 0 && self.spared >= self.tiles * loads
    }

    /// Columns of a slab of a matrix of `m` rows and `k` columns, if it pays to multiply by one slab after the
    /// other: where tiles meet most slabs, in many columns each, so that a slab's rows of B stay in the first
    /// caches from tile to tile, while all that a tile meets do not (K tiling in Wilkinson et al., PLDI 2023).
    pub(crate) fn slab_cols(&self, m: usize, k: usize) -> Option<usize> {
        let least = if m > SLAB_ROWS { SLAB_TILE_COLS_FAR } else { SLAB_TILE_COLS };
        let pays = |&(slabs, size): &(usize, usize)| {
            let is_smaller = if size == SLABS[0] { 2 * size <= k } else { k >= SLAB_ALL_COLS };
            is_smaller
                && 3 * slabs >= 2 * self.tiles * k.div_ceil(size)
                && self.cols >= slabs * least
                && slabs > 0
        };
        self.slabs.into_iter().zip(SLABS).find(pays).map(|(_, size)| size)
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::generate::{banded, fem_3d, uniform};

    use super::*;

    #[test]
    fn tiles_spare_what_their_rows_share() {
        let a: Csr<f32> = fem_3d(4, 4, 4, 1, 1).unwrap();
        let sharing = Sharing::of(&a, &[0..30, 30..64]);
        assert!(sharing.spares(6) && !sharing.spares(24));
        assert!(!Sharing::of(&a, &[]).spares(0));
    }

    #[test]
    fn slabs_are_for_tiles_that_meet_all_of_b_in_many_columns() {
        let of = |a: &Csr<f32>| Sharing::of(a, &[0..20, 20..40]);
        let slab = |a: &Csr<f32>| of(a).slab_cols(40, a.ncols());
        let weights = |k, per_row| slab(&uniform(40, k, per_row, 1).unwrap());
        // Four rows of 200 entries meet 151 of 256 columns on average, of 75 meet 68.
        assert_eq!(weights(1000, 200), Some(256));
        assert_eq!([3071, 3072].map(|k| weights(k, 150)), [None, Some(1024)]);
        assert_eq!(weights(1000, 10), None);
        assert_eq!(weights(511, 400), None);
        let far = of(&uniform(40, 1000, 170, 1).unwrap());
        assert_eq!([4096, 4097].map(|m| far.slab_cols(m, 1000)), [Some(256), None]);
        assert_eq!(slab(&banded(40, 4000, 0, 300, 1).unwrap()), None);
    }
}
