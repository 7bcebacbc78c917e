//! Rows of much the same length, by teams of lanes: which matrices are taken so, and by what teams.
//!
//! # What bounds such products
//! Counted for `wave_graph` (156 317 rows, 2.12 million entries, 13.6 to a row, n = 512; an H200: 132
//! multiprocessors, 50 MB of L2, some 3.95 TB/s from memory and 6.8 to 9.5 TB/s from L2; see
//! `bench/records/spmm-h200.md`):
//!
//! | where | bytes | at least |
//! |---|---|---|
//! | memory: A once, B once, C once | 17 + 320 + 320 MB | 166 µs |
//! | L2 to multiprocessors, every entry its row of B | 4.36 GB | 460 to 640 µs |
//! | the same, but rows of B once for 4 neighbouring rows of A | 0.72 of it: 3.1 GB | 330 to 460 µs |
//! | for 16 rows | 0.53 of it: 2.3 GB | 245 to 340 µs |
//! | for 64 rows | 0.42 of it: 1.8 GB | 195 to 270 µs |
//! | through L1, every entry its row of B, 128 bytes a cycle | 4.36 GB | 130 µs |
//!
//! So it is the way from L2 that bounds the product, and what shortens it is that neighbouring rows of A
//! share rows of B: where they are multiplied on one multiprocessor at the same time, its L1 serves all but
//! the first. Blocks go round the multiprocessors, so that only the rows of one block are sure to be
//! neighbours there. With a warp to a row and four warps to a block that was four rows; a tile of 32 columns
//! (eight lanes of f32) makes four rows of a warp, and 32 of a block of eight warps. As many bytes are under
//! way as with wide tiles (four loads of 16 bytes to a lane), rows of A and B are as long for L1, and only
//! A's entries are read once for every 32 columns instead of 128: 8 bytes to 128 of B.
//!
//! A team that has finished a row has looked up the next and has its first entries: of the three round trips
//! of a row (where it begins, its entries, rows of B) only the last is waited for.
//!
//! Weights are the same case with longer rows: 256 rows of 461 entries times 512 columns are 241 MB from L2,
//! 25 to 35 µs, and a row of B serves a fifth of the rows. Eight rows of a block at a time need 0.52 of it,
//! 16 rows 0.30. Rows are few, so a warp takes one (four groups of eight lanes, eight entries each at a
//! time: 15 round trips for a row).
//!
//! # Narrow products
//! There, it is round trips one after the other that take the time. `bcsstk33` (8738 rows of 68 entries), n
//! = 32: with eight lanes to a row there are 2185 warps, 17 of them on each multiprocessor, half of what it
//! has registers for, and each goes through 68 entries in 17 round trips. With 16 lanes and eight rows of B
//! at a time it is five round trips of 4369 warps; [`groups`] counts that. `p2p-Gnutella31` (62 586 rows of
//! 2.4 entries, the longest 78) is no case for it: 15 647 warps of four rows each come in three to four
//! waves, each of which waits for an item, its entries and rows of B. There `2/2 x4, 8 warps, 4 turns` at n
//! = 8 and `8/8 x4, 8 warps, 4 turns` at n = 32 are to be tried, one wave whose warps wait for rows of B
//! alone; its longest row is 20 round trips, so that is not chosen unmeasured. So is `visium_counts` (rows
//! of 0 to 2686 entries): eight lanes times four groups.
//!
//! # What was measured
//! `wave_graph`, n = 512, on an H100, in microseconds: 530 with tiles of 32 columns, which are taken, 403 with
//! 128 columns, 569 from items. So the count above does not hold: wide tiles are the faster ones there. With
//! n of 128 and more they were so for nearly all of eight matrices, and tiles of 32 columns took up to 1.6 times
//! as long as items (`bcsstk33`). `WIDE_LANES` is to be 32 where that is tested.
//! The example `csr_layouts` times all layouts. The numbers that decide stand in this file, in `limits.rs` and
//! in `passes.rs`.

use std::fmt;

use girih_formats::DType;

use super::limits::is_even;
use super::{Statistics, WARP, lanes};

/// Lanes across a tile of wide products: 128 bytes of a row of B.
const WIDE_LANES: u32 = 8;
/// Rows of B that a lane waits for at a time, of rows of `LONG` entries on average and of shorter ones.
const DEEP: u32 = 8;
const SHALLOW: u32 = 4;
const LONG: u64 = 64;
/// Warps of a block.
const BLOCK_WARPS: u32 = 8;
/// The most rows of a team, one after the other.
const MOST_TURNS: u64 = 4;
/// Round trips of a row besides those to rows of B: where it begins, its entries, and what launching a warp
/// takes.
const TRIPS: u64 = 3;

/// The most warps of a block, by the kernel's registers.
const fn most_warps(depth: u32) -> u32 {
    if depth > SHALLOW { 8 } else { 16 }
}

/// Teams of lanes that take rows one after the other, times tiles of columns.
///
/// [`Display`](fmt::Display) gives `lanes/team depth warps turns panel` as in `8/8 x4, 8 warps, 4 turns,
/// panels of 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CsrTeams {
    /// Lanes across a tile, each of which holds 16 bytes of a row of B: 2, 4, 8, 16 or 32.
    pub lanes: u32,
    /// Lanes to a row: a power of two from `lanes` to 32. More than `lanes` take entries by turns.
    pub team: u32,
    /// Rows of B that a lane waits for at a time: 4, or with 8 to 32 lanes also 8.
    pub depth: u32,
    /// Warps of a block, up to 16 (of depth 8 up to 8). Their teams have neighbouring rows.
    pub warps: u32,
    /// Rows that a team takes one after the other, at least 1.
    pub turns: u32,
    /// Tiles of columns that neighbouring blocks take of the same rows, at least 1: a panel, which all rows
    /// are multiplied by before the next.
    pub panel_tiles: u32,
}

/// How products in CSR are laid over lanes and blocks, for whoever times layouts;
/// [`CudaOptions::csr_layout`](crate::CudaOptions::csr_layout) takes one in place of the backend's own
/// choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CsrLayout {
    /// From a list of items: long rows by blocks and warps, the others by lanes according to their lengths.
    Items {
        /// Tiles of columns that neighbouring blocks take of the same items, at least 1.
        panel_tiles: u32,
    },
    /// All rows alike.
    Teams(CsrTeams),
}

impl fmt::Display for CsrTeams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lanes, team, depth, warps, turns, panel_tiles } = self;
        write!(f, "{lanes}/{team} x{depth}, {warps} warps, {turns} turns, panels of {panel_tiles}")
    }
}

impl fmt::Display for CsrLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Items { panel_tiles } => write!(f, "items, panels of {panel_tiles}"),
            Self::Teams(teams) => write!(f, "teams {teams}"),
        }
    }
}

impl CsrTeams {
    /// Whether there is a kernel for it.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let Self { lanes, team, depth, warps, turns, panel_tiles } = *self;
        let power = |x: u32, range: std::ops::RangeInclusive<u32>| {
            x.is_power_of_two() && range.contains(&x)
        };
        power(lanes, 2..=WARP)
            && power(team, lanes..=WARP)
            && (depth == SHALLOW || depth == DEEP && lanes >= 8)
            && (1..=most_warps(depth)).contains(&warps)
            && turns >= 1
            && panel_tiles >= 1
    }

    /// Bytes of shared memory that a block stages entries in, for a value type.
    pub(crate) fn shared_bytes(&self, dtype: DType) -> u32 {
        // A column and a value in the accumulation type, aligned to that.
        let entry = 2 * dtype.accumulator().size() as u32;
        self.warps * WARP * entries_of_lane(self.lanes) * entry
    }

    /// Rows of a block.
    pub(crate) fn rows_of_block(&self) -> u64 {
        u64::from(self.warps * WARP / self.team) * u64::from(self.turns)
    }

    /// Groups of lanes that take a row's entries by turns. The order of additions follows from this alone.
    #[cfg(test)]
    pub(crate) fn groups(&self) -> u32 {
        self.team / self.lanes
    }
}

/// Entries that a lane stages at a time: `kEach` in `rows.cuh`.
const fn entries_of_lane(lanes: u32) -> u32 {
    if lanes >= 8 { 1 } else { 2 }
}

/// What of teams is the same for all n that a row of B has 512 bytes or more of: else a product would have
/// other bits than its panels of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide {
    groups: u32,
}

impl Wide {
    /// The order of additions of wide products of a matrix, if all its rows go to teams; `n` columns are
    /// expected.
    pub(crate) fn new(statistics: &Statistics, n: u64, dtype: DType, warps: u64) -> Option<Self> {
        let lanes = lanes_of_tile(dtype, n);
        // A single column or vector has kernels of its own.
        if lanes < 2 {
            return None;
        }
        let groups = groups(statistics, n, dtype, warps);
        let steps = steps(statistics, lanes, tiles(dtype, n, lanes), warps);
        if !is_even(statistics, steps, u64::from(groups)) {
            return None;
        }
        let wide = n.max(wide_columns(dtype));
        Some(Self { groups: self::groups(statistics, wide, dtype, warps) })
    }

    /// The teams for products of `n` columns; those of a panel are left to [`passes`](super::passes).
    pub(crate) fn teams(
        self,
        statistics: &Statistics,
        n: u64,
        dtype: DType,
        warps: u64,
    ) -> CsrTeams {
        let lanes = lanes_of_tile(dtype, n);
        let groups = match n >= wide_columns(dtype) {
            true => self.groups,
            false => groups(statistics, n, dtype, warps),
        };
        let depth = depth(statistics, lanes);
        let team = lanes * groups;
        let teams = statistics.rows.saturating_mul(tiles(dtype, n, lanes));
        let warps_of_rows = teams.saturating_mul(u64::from(team)) / u64::from(WARP);
        let turns = (warps_of_rows / warps.max(1)).clamp(1, MOST_TURNS) as u32;
        CsrTeams {
            lanes,
            team,
            depth,
            warps: BLOCK_WARPS.min(most_warps(depth)),
            turns,
            panel_tiles: 1,
        }
    }
}

/// Columns that a row of B has 512 bytes of.
fn wide_columns(dtype: DType) -> u64 {
    u64::from(WARP) * 16 / dtype.size() as u64
}

fn lanes_of_tile(dtype: DType, n: u64) -> u32 {
    lanes(dtype, n).min(WIDE_LANES)
}

/// Tiles of columns.
pub(super) fn tiles(dtype: DType, n: u64, lanes: u32) -> u64 {
    n.div_ceil(u64::from(lanes) * 16 / dtype.size() as u64)
}

fn depth(statistics: &Statistics, lanes: u32) -> u32 {
    if statistics.mean() >= LONG && lanes >= 8 { DEEP } else { SHALLOW }
}

/// Entries that each warp would go through, if they were shared out evenly among those of the device, a
/// team of `lanes` lanes to a row.
fn steps(statistics: &Statistics, lanes: u32, tiles: u64, warps: u64) -> u64 {
    let at_once = u64::from(WARP / lanes) * warps.max(1);
    statistics.entries.saturating_mul(tiles) / at_once
}

/// Groups of lanes to a row: those with which the device's warps take the fewest round trips altogether. More
/// groups make more warps, which wait at the same time, of shorter rows; beyond as many as wait at the same
/// time anyway they cost what a warp takes besides.
fn groups(statistics: &Statistics, n: u64, dtype: DType, warps: u64) -> u32 {
    let lanes = lanes_of_tile(dtype, n);
    let tiles = tiles(dtype, n, lanes);
    let depth = u64::from(depth(statistics, lanes));
    let cost = |groups: u32| {
        let team = u64::from(lanes * groups);
        let needed = statistics.rows.saturating_mul(tiles).saturating_mul(team) / u64::from(WARP);
        let trips = TRIPS + statistics.mean().div_ceil(u64::from(groups) * depth);
        (needed.max(warps).saturating_mul(trips), groups)
    };
    let all = (0..=(WARP / lanes).ilog2()).map(|bit| 1 << bit);
    all.min_by_key(|&groups| cost(groups)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::super::limits::resident_warps;
    use super::*;

    const H200: u32 = 132;

    /// (rows, entries, longest row, entries of heavy rows) of matrices that were counted.
    const WAVE: (u64, u64, u64, u64) = (156_317, 2_118_662, 44, 6000);
    const BCSSTK33: (u64, u64, u64, u64) = (8738, 591_904, 141, 700);
    const VIBROBOX: (u64, u64, u64, u64) = (12_328, 330_250, 120, 51_000);
    const GNUTELLA: (u64, u64, u64, u64) = (62_586, 147_892, 78, 6200);
    const PRUNED: (u64, u64, u64, u64) = (256, 117_964, 647, 0);
    const ASTRO: (u64, u64, u64, u64) = (16_706, 242_502, 360, 133_000);

    fn statistics((rows, entries, longest, heavy_entries): (u64, u64, u64, u64)) -> Statistics {
        Statistics { rows, entries, longest, heavy_entries, refetch: 1.0 }
    }

    /// The teams of an H200 for products as wide as the plan says, in words.
    fn teams(of: (u64, u64, u64, u64), n: u64) -> Option<String> {
        let (statistics, warps) = (statistics(of), resident_warps(H200));
        let wide = Wide::new(&statistics, n, DType::F32, warps)?;
        let teams = wide.teams(&statistics, n, DType::F32, warps);
        assert!(teams.is_valid(), "{teams}");
        Some(teams.to_string())
    }

    #[test]
    fn meshes_have_tiles_of_128_bytes_and_four_rows_to_a_warp() {
        assert_eq!(teams(WAVE, 512).unwrap(), "8/8 x4, 8 warps, 4 turns, panels of 1");
        assert_eq!(teams(WAVE, 8).unwrap(), "2/2 x4, 8 warps, 2 turns, panels of 1");
        assert_eq!(teams(VIBROBOX, 512).unwrap(), "8/8 x4, 8 warps, 4 turns, panels of 1");
    }

    #[test]
    fn warps_that_would_be_idle_share_a_row() {
        assert_eq!(teams(BCSSTK33, 8).unwrap(), "2/16 x4, 8 warps, 1 turns, panels of 1");
        assert_eq!(teams(BCSSTK33, 32).unwrap(), "8/16 x8, 8 warps, 1 turns, panels of 1");
        assert_eq!(teams(PRUNED, 512).unwrap(), "8/32 x8, 8 warps, 1 turns, panels of 1");
    }

    #[test]
    fn rows_that_differ_are_items() {
        assert_eq!(teams(ASTRO, 512), None);
        assert_eq!(teams(GNUTELLA, 32), None);
        // Half a multiprocessor's time for a row.
        assert_eq!(teams(PRUNED, 128), None);
        assert_eq!(teams((1, 1 << 20, 1 << 20, 0), 512), None);
        // A vector of columns has no team.
        assert_eq!(teams(WAVE, 4), None);
    }

    #[test]
    fn wide_products_of_a_plan_are_added_up_in_one_order() {
        for of in [WAVE, BCSSTK33, VIBROBOX, PRUNED] {
            let statistics = statistics(of);
            for dtype in DType::ALL {
                for warps in [32, resident_warps(H200)] {
                    let Some(wide) = Wide::new(&statistics, 512, dtype, warps) else { continue };
                    let groups = |n| wide.teams(&statistics, n, dtype, warps).groups();
                    let first = wide_columns(dtype);
                    let all: Vec<_> =
                        (first..first + 9).chain([1 << 14, 1 << 40]).map(groups).collect();
                    assert!(all.iter().all(|&found| found == all[0]), "{all:?}");
                }
            }
        }
    }

    #[test]
    fn only_what_kernels_are_compiled_for_is_valid() {
        let teams = CsrTeams { lanes: 8, team: 8, depth: 4, warps: 16, turns: 9, panel_tiles: 1 };
        assert!(teams.is_valid());
        for wrong in [
            CsrTeams { lanes: 1, ..teams },
            CsrTeams { lanes: 64, team: 64, ..teams },
            CsrTeams { team: 4, ..teams },
            CsrTeams { team: 24, ..teams },
            CsrTeams { depth: 5, ..teams },
            CsrTeams { depth: 8, ..teams },
            CsrTeams { lanes: 4, depth: 8, warps: 1, ..teams },
            CsrTeams { warps: 17, ..teams },
            CsrTeams { warps: 0, ..teams },
            CsrTeams { turns: 0, ..teams },
            CsrTeams { panel_tiles: 0, ..teams },
        ] {
            assert!(!wrong.is_valid(), "{wrong}");
        }
        assert_eq!(teams.shared_bytes(DType::F32), 16 * 32 * 8);
        assert_eq!(CsrTeams { lanes: 4, ..teams }.shared_bytes(DType::F64), 16 * 32 * 2 * 16);
        assert_eq!(teams.rows_of_block(), 16 * 4 * 9);
    }
}
