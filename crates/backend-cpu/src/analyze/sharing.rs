//! What the rows of a tile share, and where its columns are, in a sample of the tasks.

use std::ops::Range;

use girih_formats::CsrPattern;
use girih_parallel::prelude::*;
use girih_simd::PATTERNS;
use serde::{Deserialize, Serialize};

use super::row_tiles::{merge, row_entries, tiles};
use crate::thresholds::{
    SLAB_ALL_COLS, SLAB_COLS, SLAB_ROWS, SLAB_TILE_COLS, SLAB_TILE_COLS_FAR, TILE_SAMPLED_TASKS,
};

/// Columns that slabs may have. The first-level cache holds much of what the smallest slab uses of B, four
/// vectors of each row at a time.
const SLAB_SIZES: [usize; 4] = [SLAB_COLS, 2 * SLAB_COLS, 4 * SLAB_COLS, 8 * SLAB_COLS];

/// Tiles whose patterns the processor is taken to remember.
const TILES_BEFORE: usize = 16;

/// Columns of a tile by pattern.
type PatternCounts = [u32; PATTERNS];

/// Counts of the tiles of some of the tasks.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RowSharing {
    pub(crate) tiles: usize,
    /// Columns of all tiles: loads of rows of B.
    pub(crate) cols: usize,
    /// Loads of rows of B that tiles spare: entries that are not the first of their tile in a column.
    pub(crate) spared: usize,
    /// Patterns whose number of columns differs from that in the most alike of the [`TILES_BEFORE`] tiles before, summed over
    /// the tiles. The processor guesses wrong where these patterns end.
    pub(crate) changes: usize,
    /// For each of [`SLAB_SIZES`]: slabs in which a tile has columns, summed over the tiles.
    pub(crate) slabs: [usize; SLAB_SIZES.len()],
}

impl RowSharing {
    /// Counts the tiles of up to [`TILE_SAMPLED_TASKS`] tasks, each a range of slots: O(their entries), in
    /// parallel.
    pub(crate) fn sample(pattern: CsrPattern<'_>, tasks: &[Range<usize>]) -> Self {
        let step = tasks.len().div_ceil(TILE_SAMPLED_TASKS).max(1);
        let sample = tasks.par_iter().step_by(step).map(|slots| Self::count(pattern, slots));
        sample.reduce(Self::default, |a, b| Self {
            tiles: a.tiles + b.tiles,
            cols: a.cols + b.cols,
            spared: a.spared + b.spared,
            changes: a.changes + b.changes,
            slabs: std::array::from_fn(|i| a.slabs[i] + b.slabs[i]),
        })
    }

    /// Counts the tiles of a task: O(its entries).
    pub(crate) fn count(pattern: CsrPattern<'_>, slots: &Range<usize>) -> Self {
        let (mut sum, mut merged) = (Self::default(), Vec::new());
        let mut before: Vec<PatternCounts> = Vec::with_capacity(TILES_BEFORE);
        for slots in tiles(pattern, slots.clone()) {
            let rows = row_entries(pattern, &slots);
            merge(pattern, &rows[..slots.len()], &mut merged);
            sum.tiles += 1;
            sum.cols += merged.len();
            sum.spared += rows.iter().map(Range::len).sum::<usize>() - merged.len();
            let mut counts = PatternCounts::default();
            merged.iter().for_each(|&(_, mask)| counts[usize::from(mask) - 1] += 1);
            sum.changes += changes(&counts, &before);
            match before.len() {
                TILES_BEFORE => before[sum.tiles % TILES_BEFORE] = counts,
                _ => before.push(counts),
            }
            for (slabs, size) in sum.slabs.iter_mut().zip(SLAB_SIZES) {
                let slab = |&(col, _): &(u32, u8)| col as usize / size;
                *slabs += merged.chunk_by(|a, b| slab(a) == slab(b)).count();
            }
        }
        sum
    }

    /// Whether tiles spare at least `loads` loads each, on average, and `of_change` more for each change of their patterns.
    pub(crate) fn spares(&self, loads: usize, of_change: usize) -> bool {
        self.tiles > 0 && self.spared >= self.tiles * loads + self.changes * of_change
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

/// Patterns whose number of columns differs from that in the most alike of the tiles before.
fn changes(counts: &PatternCounts, before: &[PatternCounts]) -> usize {
    let differ = |other: &PatternCounts| counts.iter().zip(other).filter(|(a, b)| a != b).count();
    let least = before.iter().map(differ).min();
    least.unwrap_or_else(|| differ(&PatternCounts::default()))
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;
    use girih_generate::{banded, fem_3d, uniform};

    use super::*;

    #[test]
    fn tiles_spare_what_their_rows_share() {
        let a: Csr<f32> = fem_3d(4, 4, 4, 1, 1).unwrap();
        let sharing = RowSharing::sample(a.pattern(), &[0..30, 30..64]);
        assert!(sharing.spares(6, 0) && !sharing.spares(24, 0));
        assert!(sharing.changes > 0 && sharing.spares(6, 0) != sharing.spares(6, 100));
        assert!(!RowSharing::sample(a.pattern(), &[]).spares(0, 0));
    }

    #[test]
    fn a_pattern_changes_that_no_tile_before_has_as_often() {
        let both: &[u32] = &[0, 1];
        let unlike: [&[u32]; 4] = [both, &[0], &[1], &[0]];
        let rows = [[both; 4], [both; 4], unlike, [both; 4]].concat();
        let mut row_ptr = vec![0u64];
        row_ptr.extend(rows.iter().scan(0, |sum, row| {
            *sum += row.len() as u64;
            Some(*sum)
        }));
        let col_idx = rows.concat();
        let values = vec![1.0f32; col_idx.len()];
        let a = Csr::try_new(16, 2, row_ptr, col_idx, values).unwrap();
        // One pattern changes in the first tile, none in the second, three in the third, none in the last.
        let sharing = RowSharing::count(a.pattern(), &(0..16));
        assert_eq!((sharing.tiles, sharing.changes, sharing.spared), (4, 4, 21));
        assert!(sharing.spares(5, 0) && sharing.spares(3, 2) && !sharing.spares(3, 3));
    }

    #[test]
    fn slabs_are_for_tiles_with_many_columns_all_over_b() {
        let sharing = |a: &Csr<f32>| RowSharing::sample(a.pattern(), &[0..20, 20..40]);
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
