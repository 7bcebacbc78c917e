//! What the rows of a tile share, and where its columns are, in a sample of the tasks.

use std::ops::Range;

use girih_formats::{Csr, Scalar};
use girih_parallel::prelude::*;
use serde::{Deserialize, Serialize};

use super::row_tiles::{merge, row_entries, tiles};
use crate::thresholds::{
    SLAB_ALL_COLS, SLAB_COLS, SLAB_ROWS, SLAB_TILE_COLS, SLAB_TILE_COLS_FAR, TILE_SAMPLED_TASKS,
};

/// Columns that slabs may have. The first-level cache holds much of what the smallest slab uses of B, four
/// vectors of each row at a time.
const SLAB_SIZES: [usize; 4] = [SLAB_COLS, 2 * SLAB_COLS, 4 * SLAB_COLS, 8 * SLAB_COLS];

/// Counts of the tiles of some of the tasks.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RowSharing {
    pub(crate) tiles: usize,
    /// Columns of all tiles: loads of rows of B.
    pub(crate) cols: usize,
    /// Loads of rows of B that tiles spare: entries that are not the first of their tile in a column.
    pub(crate) spared: usize,
    /// For each of [`SLAB_SIZES`]: slabs in which a tile has columns, summed over the tiles.
    pub(crate) slabs: [usize; SLAB_SIZES.len()],
}

impl RowSharing {
    /// Counts the tiles of up to [`TILE_SAMPLED_TASKS`] tasks, each a range of slots: O(their entries), in
    /// parallel.
    pub(crate) fn sample<T: Scalar>(csr: &Csr<T>, tasks: &[Range<usize>]) -> Self {
        let step = tasks.len().div_ceil(TILE_SAMPLED_TASKS).max(1);
        let sample = tasks.par_iter().step_by(step).map(|slots| Self::count(csr, slots));
        sample.reduce(Self::default, |a, b| Self {
            tiles: a.tiles + b.tiles,
            cols: a.cols + b.cols,
            spared: a.spared + b.spared,
            slabs: std::array::from_fn(|i| a.slabs[i] + b.slabs[i]),
        })
    }

    /// Counts the tiles of a task: O(its entries).
    pub(crate) fn count<T: Scalar>(csr: &Csr<T>, slots: &Range<usize>) -> Self {
        let (mut sum, mut merged) = (Self::default(), Vec::new());
        for slots in tiles(csr, slots.clone()) {
            let rows = row_entries(csr, &slots);
            merge(csr, &rows[..slots.len()], &mut merged);
            sum.tiles += 1;
            sum.cols += merged.len();
            sum.spared += rows.iter().map(Range::len).sum::<usize>() - merged.len();
            for (slabs, size) in sum.slabs.iter_mut().zip(SLAB_SIZES) {
                let slab = |&(col, _): &(u32, u8)| col as usize / size;
                *slabs += merged.chunk_by(|a, b| slab(a) == slab(b)).count();
            }
        }
        sum
    }

    /// Whether a tile spares at least `loads` loads on average.
    pub(crate) fn spares(&self, loads: usize) -> bool {
        self.tiles > 0 && self.spared >= self.tiles * loads
    }

    /// Columns of a slab of a matrix of `m` rows and `k` columns, if slabs are profitable: where tiles have
    /// columns in most slabs, and many in each. Then the first caches hold a slab's rows of B from tile to
    /// tile, while they would not hold all that a tile uses (K tiling in Wilkinson et al., PLDI 2023).
    pub(crate) fn slab_cols(&self, m: usize, k: usize) -> Option<usize> {
        let least = if m > SLAB_ROWS { SLAB_TILE_COLS_FAR } else { SLAB_TILE_COLS };
        let is_profitable = |&(slabs, size): &(usize, usize)| {
            let is_smaller = if size == SLAB_SIZES[0] { 2 * size <= k } else { k >= SLAB_ALL_COLS };
            is_smaller
                && 3 * slabs >= 2 * self.tiles * k.div_ceil(size)
                && self.cols >= slabs * least
                && slabs > 0
        };
        self.slabs.into_iter().zip(SLAB_SIZES).find(is_profitable).map(|(_, size)| size)
    }
}

#[cfg(test)]
mod tests {
    use girih_generate::{banded, fem_3d, uniform};

    use super::*;

    #[test]
    fn tiles_spare_what_their_rows_share() {
        let a: Csr<f32> = fem_3d(4, 4, 4, 1, 1).unwrap();
        let sharing = RowSharing::sample(&a, &[0..30, 30..64]);
        assert!(sharing.spares(6) && !sharing.spares(24));
        assert!(!RowSharing::sample(&a, &[]).spares(0));
    }

    #[test]
    fn slabs_are_for_tiles_with_many_columns_all_over_b() {
        let sharing = |a: &Csr<f32>| RowSharing::sample(a, &[0..20, 20..40]);
        let slab = |a: &Csr<f32>| sharing(a).slab_cols(40, a.ncols());
        let weights = |k, per_row| slab(&uniform(40, k, per_row, 1).unwrap());
        // Four rows of 200 entries have 151 of 256 columns on average, of 75 have 68.
        assert_eq!(weights(1000, 200), Some(256));
        assert_eq!([3071, 3072].map(|k| weights(k, 150)), [None, Some(1024)]);
        assert_eq!(weights(1000, 10), None);
        assert_eq!(weights(511, 400), None);
        let far = sharing(&uniform(40, 1000, 170, 1).unwrap());
        assert_eq!([4096, 4097].map(|m| far.slab_cols(m, 1000)), [Some(256), None]);
        assert_eq!(slab(&banded(40, 4000, 0, 300, 1).unwrap()), None);
    }
}
