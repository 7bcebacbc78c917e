//! Rows of much the same length, by teams of lanes: which matrices are taken so, and by what teams.
//!
//! # What was measured
//! Microseconds on an H100, every layout verified (the example `csr_layouts` times them):
//!
//! | matrix | n | items | 8 lanes | 32 lanes, 4 rows to a team |
//! |---|---|---|---|---|
//! | `wave_graph` | 128 | 150 | 145 | 113 |
//! | `wave_graph` | 512 | 570 | 531 | 404 |
//! | `fe_body_graph` | 512 | 103 | 121 | 98 |
//! | `delaunay_n15` | 512 | 88 | 85 | 74 |
//! | `bcsstk33` | 512 | 74 | 118 | 76 |
//! | `p2p-Gnutella31` | 1024 | 242 | 338 | 241 |
//!
//! Wide tiles win although narrow ones make more rows of a block share rows of B: what a warp waits for is
//! less where its loads cover 512 bytes of a row. Four rows to a team, one after the other, save a quarter of
//! one row (`wave_graph`, n = 512: 564): the next row's place and first entries arrive meanwhile. Blocks take
//! all rows for a tile of columns, then the next tile. No other order was faster, and all tiles for a block of
//! rows were up to 1.2 times as slow (`delaunay_n15`, n = 512: 88; 8 lanes on pruned weights: 1.19). Where a tile of B
//! does not stay in the second-level cache, [narrower ones](crate::kernels::locality) may win.
//!
//! Weights have few and long rows: 256 of 461 entries times 512 columns make 1024 teams of a warp, a quarter
//! of what the device waits for at a time. There, tiles of 8 lanes and 4 groups of lanes to a row take 52
//! where 32 lanes take 75 and items 68. Where rows are shorter, a warp to a row is faster from two fifths of the
//! device's warps on. On an H200, in the way chosen by that rule and with the warps of the whole device:
//! `maros_r7_Aeq` (3136 rows of 46), n = 128: 11.1 and 13.5; `dg_diffusion` (966 rows of 37), n = 512: 11.5 and 13.3.
//!
//! Where rows are long, a lane holds two vectors of a row of B, so that half as many warps go through the entries. On an
//! H100, 2048 rows of 154 entries, n = 256, 512 and 1024: 16.8, 30.8 and 58.2 where one vector took 22.6, 33.3 and 63.1;
//! in f16 18.2, 27.3 and 50.4 for 21.2, 32.4 and 55.5, in f64 36.9, 71.3 and 142 for 39.9, 73.8 and 147. Shorter rows lose:
//! `bcsstk33` (68 entries) has 0.95 to 1.02 of its speed in f16 and f32, and 0.82 to 0.89 in f64; in f32, n = 512,
//! `delaunay_n15` takes 76 for 69 and `vibrobox_graph` 68 for 65. `fe_body_graph` alone gained, 88 for 94.
//!
//! With n = 128 those 2048 rows keep half of the warps busy, and that is enough: a warp to a row takes 11.3 where four
//! groups of 8 lanes took 15.4. 512 rows of 461 entries take 51 and 45 (H200, n = 512).
//!
//! Rows of two or three entries are another matter: most of their time is what a row takes whatever it holds. Runs
//! of eight items have that once. On an H200: `luxembourg_road` (2.1 entries to a row), n = 1024: 282 where teams
//! take 354; `cont300_A` (3.0), n = 512: 237 and 297.
//!
//! # Narrow products
//! There, it is round trips one after the other that take the time. `bcsstk33` (8738 rows of 68 entries), n
//! = 32: with eight lanes to a row there are 2185 warps, 17 of them on each multiprocessor, half of what it
//! has registers for, and each goes through 68 entries in 17 round trips. With 16 lanes it is half as many of
//! twice as many warps: 17.6 where items take 23.8. [`groups`] counts that.
//!
//! Rows of 64 and more entries have a warp where that has 8 lanes across: `bcsstk33` on an H100, in f16 n = 64 20.2 for
//! 22.2 by 16 lanes to a row, n = 104 30.9 for 34.4, n = 128 28.1 for 35.3; in f32 n = 32 17.1 for 17.6, n = 64 22.6 for 24.5. An
//! event takes some 4 microseconds of these.
//!
//! Up to a vector of columns, each lane has all of them, and entries of its own. Microseconds on an H100, f32, by lanes to
//! a row; an event takes some 4 of them:
//!
//! | matrix | n | items | 1 | 2 | 4 | 8 | 16 |
//! |---|---|---|---|---|---|---|---|
//! | `bcsstk33` | 1 | 19.1 | | | | **10.7** | 11.4 |
//! | `bcsstk33` | 4 | 22.0 | | | | **12.6** | 13.4 |
//! | `wave_graph`, 14 entries to a row | 1 | 33.6 | 22.4 | **19.8** | 21.3 | | |
//! | `wave_graph` | 4 | 40.8 | 27.2 | **25.4** | 27.0 | | |
//! | `delaunay_n15` | 1 | 12.2 | | **9.0** | 9.2 | | |
//! | `luxembourg_road` | 1 | 21.0 | **9.3** | 11.4 | | | |
//!
//! Where rows are short, a team takes several in turn if that lets all teams begin at once. Microseconds on an H100, by
//! rows in turn; the warps are those for one row to a team, in multiples of the device's:
//!
//! | matrix | n | warps | 1 | 2 | 4 |
//! |---|---|---|---|---|---|
//! | `delaunay_n15`, 32 768 rows of 6 | 32 | 1.9 | 14.1 | **12.7** | |
//! | `delaunay_n15` | 64 | 3.9 | | 17.6 | **15.4** |
//! | `4elt_graph`, 15 606 rows of 6 | 64 | 1.8 | 13.5 | **12.6** | |
//! | `bayer10`, 13 436 rows of 7 | 128 | 3.2 | **17.0** | 17.3 | 17.7 |

#[cfg(test)]
mod tests;

use girih_formats::DType;

use super::limits::is_even;
use super::teams::{DEEP, SHALLOW, most_warps};
use super::{CsrTeams, RUN, Statistics, WARP, lanes};

/// The fewest lanes across a tile of wide products: 128 bytes of a row of B.
const NARROW: u32 = 8;
/// Entries of the longest row from which lanes wait for [`DEEP`] rows of B at a time, where half of the device's warps
/// are idle: that row is then what the product waits for. On an H100, of `bcsstk13` (2003 rows of 42 entries and up to
/// 95), n = 128: 8.0 µs for 9.5; of `dg_diffusion`, f16, n = 512: 8.9 for 10.2. On an H200, of 1024 rows of 32: 6.2 for
/// 8.0 in f32, n = 252; 7.2 for 9.0 in f16, n = 512.
const DEEP_FROM: u64 = 32;
/// Rows of as many entries, on average, are taken by whole warps.
const LONG: u64 = 64;
/// Rows of as many are multiplied by two vectors of B to a lane where that leaves enough warps.
const IN_PAIRS: u64 = 128;
/// Rows of as many need all warps of the device before one of them takes a row alone.
const VERY_LONG: u64 = 256;
/// Rows of at most this many entries, on average, are items, several to a warp. There must be enough of them for this
/// many times the device's warps.
const TINY: u64 = 4;
const TINY_WAVES: u64 = 3;
/// Entries that a lane takes of a row, at most, where it has all columns.
const ENTRIES_OF_LANE: u64 = 8;
/// Warps of a block.
const BLOCK_WARPS: u32 = 8;
/// The most rows of a team, one after the other; of this many entries together at most, where they
/// are more than two; and the warps, for each that the device has at a time, from which a team takes one
/// row more. Where rows have at most `SHORT` entries on average, all teams are to begin at once: they take twice
/// as many rows, also where that leaves the device up to a ninth of its warps idle.
const MOST_TURNS: u64 = 4;
const ENTRIES_OF_TURNS: u64 = 64;
const WAVES: u64 = 2;
const SHORT: u64 = 8;
const AT_ONCE: (u64, u64) = (8, 9);
/// Long rows go to teams if these make so large a part of the device's warps, an eighth; fewer are items, which are cut.
/// Where there are fewer rows than that, [teams must make more](few_are_items).
const BUSY_PART: u64 = 8;
/// Tiles are a warp wide, or two vectors to a lane, if two fifths of the device's warps then have one, or, of very
/// long rows, all of them. In 16 bits, where a warp then adds up 256 columns, it takes half of the warps. On an H200, 2048
/// rows of 51 entries, n = 252: 18.4 µs by 16 lanes for 22.0; rows of 154, 25.7 for 26.5.
const ENOUGH: (u64, u64) = (2, 5);
const ENOUGH_OF_16_BITS: (u64, u64) = (1, 2);
/// Round trips of a row besides those to rows of B: where it begins, its entries, and what launching a warp
/// takes.
const TRIPS: u64 = 3;
/// What the end of a product counts for where not all warps begin at once, in parts of what the device's warps do at a
/// time: a quarter. The last are waited for by all others.
///
/// `nasa4704` (4704 rows of 22 entries) on an H200, microseconds by 8 and by 4 groups of lanes to a row, which make 1.1
/// times the device's warps and half of that; an event takes some 4 of them:
///
/// | value type | n | 8 groups | 4 groups |
/// |---|---|---|---|
/// | f16 | 17 | 16.3 | 14.4 |
/// | f16 | 24 | 12.8 | 10.7 |
/// | f16 | 33 | 15.9 | 14.6 |
/// | f16 | 64 | 13.2 | 12.5 |
/// | f32 | 24 | 12.4 | 11.5 |
const LAST: (u64, u64) = (1, 4);

/// Teams of products whose rows of B have 512 bytes or more. They are the same for all such n: else a product
/// would have other bits than its panels of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide {
    lanes: u32,
    groups: u32,
}

impl Wide {
    /// The order of additions of wide products of a matrix, if all its rows go to teams; `n` columns are
    /// expected.
    pub(crate) fn new(statistics: &Statistics, n: u64, dtype: DType, warps: u64) -> Option<Self> {
        if is_tiny(statistics, n, dtype, warps) {
            return None;
        }
        let columns = n.max(wide_columns(dtype));
        let lanes = lanes_of_wide(statistics, columns, dtype, warps);
        let groups = match statistics.mean() >= LONG {
            true => WARP / lanes,
            false => groups(statistics, lanes, tiles(dtype, columns, lanes), warps),
        };
        let wide = Self { lanes, groups };
        let (lanes, groups) = wide.lanes_and_groups(statistics, n, dtype, warps);
        let tiles = tiles(dtype, n, lanes);
        let needed = warps_needed(statistics, tiles, lanes * groups);
        let few = statistics.rows < warps / BUSY_PART;
        let cut = needed < warps / BUSY_PART || few && few_are_items(n, dtype, needed, warps);
        let cut = statistics.mean() >= LONG && cut;
        let steps = steps(statistics, lanes, tiles, warps);
        (!cut && is_even(statistics, steps, u64::from(groups))).then_some(wide)
    }

    /// The teams for products of `n` columns.
    pub(crate) fn teams(
        self,
        statistics: &Statistics,
        n: u64,
        dtype: DType,
        warps: u64,
    ) -> CsrTeams {
        let (lanes, groups) = self.lanes_and_groups(statistics, n, dtype, warps);
        let team = lanes * groups;
        let needed = warps_needed(statistics, tiles(dtype, n, lanes), team);
        let idle = lanes >= NARROW && statistics.longest >= DEEP_FROM && 2 * needed <= warps;
        let depth = if idle { DEEP } else { SHALLOW };
        let most = (ENTRIES_OF_TURNS / statistics.mean().max(1)).clamp(2, MOST_TURNS);
        let of_one = match statistics.mean() <= SHORT {
            true => (warps * AT_ONCE.0).div_ceil(AT_ONCE.1),
            false => warps * WAVES,
        };
        // Three in turn took longer than two or four.
        let turns = 1 << (needed / of_one.max(1)).clamp(1, most).ilog2();
        let halved = warps_needed(statistics, tiles(dtype, n, 2 * lanes), team);
        let is_wide = (lanes, team, depth) == (WARP, WARP, SHALLOW) && n > wide_columns(dtype);
        let in_pairs = is_wide
            && statistics.mean() >= IN_PAIRS
            && is_enough(statistics, halved, ENOUGH, warps);
        let vectors = if in_pairs { 2 } else { 1 };
        let warps = BLOCK_WARPS.min(most_warps(lanes, depth, vectors));
        CsrTeams { lanes, team, depth, vectors, warps, turns, panel_tiles: 1 }
    }

    fn lanes_and_groups(
        self,
        statistics: &Statistics,
        n: u64,
        dtype: DType,
        warps: u64,
    ) -> (u32, u32) {
        if n >= wide_columns(dtype) {
            return (self.lanes, self.groups);
        }
        let lanes = lanes(dtype, n).min(lanes_of_wide(statistics, n, dtype, warps));
        let groups = match statistics.mean() >= LONG && lanes >= NARROW {
            true => WARP / lanes,
            false => groups(statistics, lanes, tiles(dtype, n, lanes), warps),
        };
        (lanes, groups)
    }
}

/// Columns that a row of B has 512 bytes of.
fn wide_columns(dtype: DType) -> u64 {
    u64::from(WARP) * 16 / dtype.size() as u64
}

/// Lanes across a tile of wide products: a warp, or fewer where that would leave most warps of the device idle.
fn lanes_of_wide(statistics: &Statistics, n: u64, dtype: DType, warps: u64) -> u32 {
    let teams = |lanes| statistics.rows.saturating_mul(tiles(dtype, n, lanes));
    let part = |lanes| if (lanes, dtype.size()) == (WARP, 2) { ENOUGH_OF_16_BITS } else { ENOUGH };
    let busy = |lanes| is_enough(statistics, teams(lanes), part(lanes), warps);
    [WARP, WARP / 2].into_iter().find(|&lanes| busy(lanes)).unwrap_or(NARROW)
}

/// Whether as many teams of a warp or less are so large a part of the device's warps, or, of very long rows, all.
fn is_enough(statistics: &Statistics, teams: u64, (part, of): (u64, u64), warps: u64) -> bool {
    let (part, of) = if statistics.mean() >= VERY_LONG { (1, 1) } else { (part, of) };
    teams.saturating_mul(of) >= part * warps
}

/// Whether few long rows are items, where teams would need this many of the device's warps. The more columns a lane
/// has, the fewer teams there are, and the more each does. Items have wide tiles of columns: with many columns, teams
/// have more warps. Microseconds on an H200, 4 of them for an event:
///
/// | rows | entries of each | value type | n | teams, of 4224 | by teams | as items |
/// |---|---|---|---|---|---|---|
/// | 512 | 461 | f16 | 128 | 1024 | 28.2 | 16.8 |
/// | 512 | 461 | f16 | 252 | 2048 | 38.0 | 24.6 |
/// | 512 | 461 | f16 | 512 | 4096 | 42.1 | 38.4 |
/// | 256 | 461 | f16 | 512 | 2048 | 28.5 | 29.6 |
/// | 512 | 117 | f16 | 512 | 2048 | 20.8 | 17.3 |
/// | 512 | 461 | f32 | 64 | 1024 | 19.1 | 15.9 |
/// | 512 | 461 | f32 | 128 | 2048 | 21.3 | 22.2 |
/// | 256 | 461 | f32 | 128 | 1024 | 17.6 | 17.9 |
///
/// 64 rows of 128 entries in f32, n = 512, take 5.8 µs by 1024 teams and 8.3 as items.
fn few_are_items(n: u64, dtype: DType, needed: u64, warps: u64) -> bool {
    let row_bytes = n.saturating_mul(dtype.size() as u64);
    match dtype.part().size() {
        2 => row_bytes <= 1024 && needed < warps,
        4 => row_bytes <= 256 && needed < warps / 4,
        _ => false,
    }
}

/// Whether rows are so short and so numerous that runs of items take less time than teams: most of a row's time
/// is then what it takes besides its entries, and a run has that once for several rows.
fn is_tiny(statistics: &Statistics, n: u64, dtype: DType, warps: u64) -> bool {
    // Runs take tiles of two vectors a lane.
    let tiles = tiles(dtype, n, 2 * WARP);
    let runs = (statistics.rows / u64::from(RUN)).saturating_mul(tiles);
    lanes(dtype, n) == WARP && statistics.mean() <= TINY && runs >= TINY_WAVES * warps
}

/// Tiles of columns.
fn tiles(dtype: DType, n: u64, lanes: u32) -> u64 {
    n.div_ceil(u64::from(lanes) * 16 / dtype.size() as u64)
}

/// Warps that have a team of lanes for every row and tile.
fn warps_needed(statistics: &Statistics, tiles: u64, team: u32) -> u64 {
    statistics.rows.saturating_mul(tiles).saturating_mul(u64::from(team)) / u64::from(WARP)
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
fn groups(statistics: &Statistics, lanes: u32, tiles: u64, warps: u64) -> u32 {
    let cost = |groups: u32| {
        let needed = warps_needed(statistics, tiles, lanes * groups);
        let trips = TRIPS + statistics.mean().div_ceil(u64::from(groups * SHALLOW));
        let last = if needed > warps { warps * LAST.0 / LAST.1 } else { 0 };
        ((needed.max(warps) + last).saturating_mul(trips), groups)
    };
    // A lane that has all columns reads its entries by itself: with few lanes to a row, those lie far apart.
    let least = if lanes == 1 { statistics.mean().div_ceil(ENTRIES_OF_LANE) } else { 1 };
    let least = least.clamp(1, u64::from(WARP)).next_power_of_two().ilog2();
    let all = (least..=(WARP / lanes).ilog2()).map(|bit| 1 << bit);
    all.min_by_key(|&groups| cost(groups)).unwrap_or(1)
}
