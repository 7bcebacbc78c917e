//! The least that a product can take in any order of the rows, from counts that no order changes.
//!
//! **Packed columns.** A window of h rows holds every column of its longest row. Of all ways to deal rows
//! into windows, the one that sorts them by length has the least sum of those: the j-th largest window
//! maximum is at least the (h·j)-th longest row. And a column with d entries stands in ⌈d/h⌉ windows at
//! least. So, with rows' lengths ℓ in decreasing order,
//!
//! ```text
//! packed(h) ≥ max(Σ over columns of ⌈d/h⌉, ℓ₀ + ℓ_h + ℓ_2h + …)
//! ```
//!
//! which is never less than the columns that have entries, nor than nnz/h or the longest row. Windows that
//! close early only add windows, so it holds with empty slots too.
//!
//! **Blocks.** A block row of h rows has ⌈ℓ/w⌉ blocks of w columns at least, ℓ being its longest row's
//! length, however columns are ordered; a block column has ⌈d/h⌉. The same argument gives
//!
//! ```text
//! blocks(h, w) ≥ max(⌈ℓ₀/w⌉ + ⌈ℓ_h/w⌉ + …, ⌈d₀/h⌉ + ⌈d_w/h⌉ + …, packed(h)/w)
//! ```
//!
//! **B** is fetched once at the least, a row for each column that has entries, and by windows of 16 rows
//! packed(16) times. No row of C is stored out of order, and the schedule is perfect. A price does not fall
//! when a count grows, so the price of these counts is a lower bound of every order's.

use girih_formats::stats::FormatStats;
use girih_formats::{BMat, CsrPattern, DType, FormatSpec, TwoFour};

use crate::cost::{Footprint, Workload};
use crate::precision::Precision;

/// Counts of a pattern that no order of its rows and columns changes.
#[derive(Clone, Debug)]
pub(super) struct Invariants {
    nrows: usize,
    ncols: usize,
    nnz: usize,
    /// Columns that have entries.
    used_cols: u64,
    /// Entries of the rows that have any, in decreasing order.
    row_lengths: Vec<u32>,
    /// The same of the columns; empty where columns are far more than entries.
    col_lengths: Vec<u32>,
}

impl Invariants {
    /// Counts a pattern of which `used_cols` columns have entries: O(nnz + nrows log nrows) time, and
    /// memory for two numbers a row and, unless there are far more of them than entries, a column.
    pub(super) fn of(pattern: CsrPattern<'_>, used_cols: u64) -> Self {
        let decreasing = |mut lengths: Vec<u32>| {
            lengths.retain(|&length| length > 0);
            lengths.sort_unstable_by(|a, b| b.cmp(a));
            lengths
        };
        let rows = pattern.row_ptr().windows(2).map(|p| (p[1] - p[0]) as u32).collect();
        // A column that is not counted has one entry at the least, which `used_cols` says.
        let is_counted = pattern.ncols() / 4 <= pattern.nnz();
        let mut cols = vec![0u32; if is_counted { pattern.ncols() } else { 0 }];
        if is_counted {
            pattern.col_idx().iter().for_each(|&col| cols[col as usize] += 1);
        }
        Self {
            nrows: pattern.nrows(),
            ncols: pattern.ncols(),
            nnz: pattern.nnz(),
            used_cols,
            row_lengths: decreasing(rows),
            col_lengths: decreasing(cols),
        }
    }

    /// The fewest columns that windows of `window_rows` rows pack, summed over windows.
    pub(super) fn packed(&self, window_rows: usize) -> u64 {
        let rows = window_rows.max(1);
        let longest = self.row_lengths.iter().step_by(rows).map(|&length| u64::from(length)).sum();
        let cols = self.col_lengths.iter().map(|&length| u64::from(length).div_ceil(rows as u64));
        cols.sum::<u64>().max(longest).max(self.used_cols)
    }

    /// Rows that have entries.
    pub(super) fn rows_with_entries(&self) -> usize {
        self.row_lengths.len()
    }

    /// The fewest blocks of this size.
    fn blocks(&self, rows: usize, cols: usize) -> u64 {
        let one_side = |lengths: &[u32], step: usize, width: usize| {
            let longest = lengths.iter().step_by(step.max(1));
            longest.map(|&length| u64::from(length).div_ceil(width.max(1) as u64)).sum::<u64>()
        };
        one_side(&self.row_lengths, rows, cols).max(one_side(&self.col_lengths, cols, rows))
    }

    /// What a product in the default precision needs to know of the pattern in the best order that could be.
    pub(super) fn workload(&self, n: usize, dtype: DType) -> Workload {
        let footprint = Footprint::ideal(self.nrows, self.used_cols as f64, self.packed(16) as f64);
        self.workload_with(n, dtype, footprint, 0)
    }

    pub(super) fn workload_with(
        &self,
        n: usize,
        dtype: DType,
        footprint: Footprint,
        scattered_rows: usize,
    ) -> Workload {
        let Self { nrows, ncols, nnz, .. } = *self;
        let precision = Precision::default();
        let beside_bytes = 0.0;
        Workload { nrows, ncols, nnz, n, dtype, precision, footprint, scattered_rows, beside_bytes }
    }

    /// Counts of a format in the best order that could be, of those that decide its price.
    pub(super) fn stats(&self, spec: FormatSpec, dtype: DType) -> FormatStats {
        self.stats_with(spec, dtype, &|rows| self.packed(rows))
    }

    /// The same where windows of `rows` rows pack `packed(rows)` columns, and blocks hold as many of
    /// these as they can.
    pub(super) fn stats_with(
        &self,
        spec: FormatSpec,
        dtype: DType,
        packed: &dyn Fn(usize) -> u64,
    ) -> FormatStats {
        let rows = spec.window_rows().max(1) as u64;
        let windows = (self.nrows as u64).div_ceil(rows);
        let nnz = self.nnz as u64;
        // Elements stored, tiles, columns gathered, padding, bytes of indices and width of ELL.
        let (stored, tiles, gathered_cols, padding_cols, index_bytes, ell_width) = match spec {
            FormatSpec::Csr => (nnz, nnz, nnz, 0, 8 * (windows + 1) + 4 * nnz, 0),
            FormatSpec::Bcsr { block_rows, block_cols } => {
                let blocks = self.blocks(block_rows, block_cols);
                let blocks = blocks.max(packed(block_rows).div_ceil(block_cols.max(1) as u64));
                let cols = blocks * block_cols as u64;
                (cols * rows, blocks, cols, 0, 8 * (windows + 1) + 4 * blocks, 0)
            }
            // What an order of windows aims at: that all are packed.
            FormatSpec::Wcsr { pad_cols, .. } | FormatSpec::Hybrid { pad_cols, .. } => {
                let packed = packed(rows as usize);
                let tiles = packed.div_ceil(pad_cols.max(1) as u64);
                (packed * rows, tiles, packed, 0, 8 * (windows + 1) + 4 * packed, 0)
            }
            FormatSpec::BlockedEll { block_size } => {
                let blocks = self.blocks(block_size, block_size);
                let blocks = blocks.max(packed(block_size).div_ceil(rows));
                let longest = self.row_lengths.first().map_or(0, |&length| u64::from(length));
                let width = longest.div_ceil(rows).max(blocks.div_ceil(windows.max(1)));
                let slots = windows * width;
                let padding = (slots - blocks) * rows;
                (slots * rows * rows, slots, blocks * rows, padding, 4 * slots, width)
            }
            FormatSpec::BMat { pattern_only } => {
                let packed = packed(rows as usize);
                let tiles = packed.div_ceil(BMat::<f32>::TILE_COLS as u64);
                let words = (BMat::<f32>::TILE_COLS + BMat::<f32>::TILE_WORDS) as u64;
                let index_bytes = 8 * (windows + 1) + 8 * (tiles + 1) + 4 * words * tiles;
                (if pattern_only { 0 } else { nnz }, tiles, packed, 0, index_bytes, 0)
            }
            FormatSpec::TwoFour | FormatSpec::TwoFourE4m3 { .. } => {
                let slots = self.nrows as u64;
                let groups = TwoFour::<f32>::groups_of(self.ncols) as u64;
                let words = TwoFour::<f32>::words_of(self.ncols) as u64;
                let stored = slots * groups * 2;
                (stored, slots * groups, stored, 0, 2 * slots * words, 0)
            }
        };
        FormatStats {
            spec,
            dtype,
            bytes: index_bytes + stored * spec.value_bytes(dtype) as u64,
            stored,
            fill_ratio: if stored > 0 { nnz as f64 / stored as f64 } else { 1.0 },
            windows,
            tiles,
            // No price depends on it.
            max_tiles_per_window: 0,
            gathered_cols,
            padding_cols,
            ell_width,
            row_windows: 0,
            row_entries: 0,
        }
    }
}

/// Rows and columns of the blocks of formats whose tiles point at runs of columns, not at columns.
pub(super) fn block_size(spec: FormatSpec) -> Option<(usize, usize)> {
    match spec {
        FormatSpec::Bcsr { block_rows, block_cols } => Some((block_rows, block_cols)),
        FormatSpec::BlockedEll { block_size } => Some((block_size, block_size)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::stats::SharedStats;
    use girih_formats::{Csr, RowLayout};
    use girih_generate::{banded, block_sparse, power_law_rows, rmat, uniform};
    use girih_reorder::{Method, Reordering, simple};
    use proptest::prelude::*;

    use super::*;
    use crate::choice::Choice;
    use crate::cost::price;
    use crate::device::DeviceSpec;
    use crate::options::{FormatChoice, PlanOptions};
    use crate::progress::Watch;

    const SPECS: [FormatSpec; 7] = [
        FormatSpec::Csr,
        FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
        FormatSpec::Bcsr { block_rows: 64, block_cols: 16 },
        FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
        FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 },
        FormatSpec::BlockedEll { block_size: 16 },
        FormatSpec::BMat { pattern_only: false },
    ];

    fn invariants(a: &Csr<f32>) -> Invariants {
        let rows = RowLayout::natural(a.nrows(), 1).unwrap();
        let once = Footprint::of(&SharedStats::new(a.pattern(), &rows)).once();
        Invariants::of(a.pattern(), once as u64)
    }

    #[test]
    fn packed_columns_by_hand() {
        // Rows of 3, 1, 1 and 1 entries; columns of 3, 1, 1 and 1.
        let a = Csr::try_new(4, 5, vec![0, 3, 4, 5, 6], vec![0, 1, 2, 0, 0, 4], vec![1.0f32; 6]);
        let found = invariants(&a.unwrap());
        // Column 0 is in two windows of two rows.
        assert_eq!([1, 2, 3, 4].map(|rows| found.packed(rows)), [6, 5, 4, 4]);
        // Rows of two windows that need one block of two columns, and one that needs two.
        assert_eq!(found.blocks(2, 2), 3);
        assert_eq!(found.blocks(4, 5), 1);
        let tall = Csr::try_new(3, 3, vec![0, 3, 5, 6], vec![0, 1, 2, 0, 1, 0], vec![1.0f32; 6]);
        // The longest row, and then the shortest.
        assert_eq!(invariants(&tall.unwrap()).packed(2), 4);
    }

    #[test]
    fn columns_that_are_not_counted_leave_a_bound() {
        let few = Csr::try_new(3, 1 << 20, vec![0, 2, 3, 3], vec![7, 1 << 19, 7], vec![1.0f32; 3]);
        let found = invariants(&few.unwrap());
        assert_eq!((found.col_lengths.len(), found.used_cols, found.packed(2)), (0, 2, 2));
    }

    fn matrices() -> impl Strategy<Value = Csr<f32>> {
        (0u64..1000, 0usize..5, 30usize..400, 30usize..400).prop_map(|(seed, kind, m, k)| {
            match kind {
                0 => uniform(m, k, 5, seed),
                1 => power_law_rows(m, k, 6, seed),
                2 => banded(m, m, 3, 5, seed),
                3 => block_sparse(m.next_multiple_of(8), k.next_multiple_of(8), 8, 0.2, seed),
                _ => rmat(8, 4, seed),
            }
            .unwrap()
        })
    }

    fn orders(a: &Csr<f32>, seed: u64) -> Vec<Reordering> {
        let window_rows = Some(16);
        let mut orders = vec![Reordering::natural(a.nrows()).unwrap()];
        let by = |method: Method| method.order(a.pattern()).unwrap();
        orders.extend([Method::Rcm, Method::Random { seed }, Method::Degree].map(by));
        orders.push(by(Method::Window { window_rows }));
        orders
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn no_order_is_priced_below_the_bound(
            a in matrices(), seed in 0u64..100, n in 1usize..600, device in 0usize..3
        ) {
            let device = DeviceSpec::builtin(["cpu", "h200", "a100"][device]).unwrap();
            // Rows and columns in another order to begin with have the same bound.
            let shuffled = simple::random(a.ncols(), seed).unwrap().apply_cols(&a).unwrap();
            let bound = invariants(&a);
            let workload = bound.workload(n, DType::F32);
            for order in orders(&shuffled, seed) {
                let shared = SharedStats::new(shuffled.pattern(), order.rows());
                let seen = Workload::of(&shared, n, DType::F32);
                prop_assert_eq!(seen.footprint.once(), workload.footprint.once());
                for spec in SPECS {
                    let stats = shared.format(spec, DType::F32).unwrap();
                    let least = bound.stats(spec, DType::F32);
                    let is_bound = least.gathered_cols <= stats.gathered_cols
                        && least.bytes <= stats.bytes
                        && least.tiles <= stats.tiles;
                    prop_assert!(is_bound, "{spec}: {least:?}, {stats:?}");
                    let price = |workload: &Workload, stats: &FormatStats| {
                        price(workload, stats, &device, None, 1.0).seconds
                    };
                    let (least, found) = (price(&workload, &least), price(&seen, &stats));
                    prop_assert!(least <= found * (1.0 + 1e-12), "{spec}: {least} above {found}");
                    // So is what a planner says of it, with a configuration and a schedule.
                    let format = FormatChoice::Fixed(spec);
                    let target = device.clone();
                    let options = PlanOptions { n, format, target, ..PlanOptions::default() };
                    let stats = bound.stats(spec, DType::F32);
                    let least = Choice::least(&options, &workload, &stats);
                    let Ok(choice) = Choice::of(&options, &shared, DType::F32, Watch::nobody()) else { continue };
                    let cost = choice.candidates[0].cost.unwrap().seconds;
                    prop_assert!(
                        least.is_some_and(|least| least <= cost * (1.0 + 1e-12)),
                        "{spec}: {least:?} above {cost}"
                    );
                }
            }
        }
    }
}
