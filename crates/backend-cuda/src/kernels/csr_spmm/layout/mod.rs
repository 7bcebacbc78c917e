//! How a product is laid over lanes and blocks.

mod stored;
#[cfg(test)]
mod tests;
mod words;

use girih_formats::DType;

use super::wide::Wide;
use crate::CtaOrder;
use crate::cta_order::OF_TILES;
use crate::kernels::locality::Locality;

use super::{CsrLayout, CsrTeams, RUN, Statistics, THREADS, WARP, WARPS};
use stored::Load;
pub(crate) use stored::Operation;

/// Most blocks of a grid in y.
const MAX_GRID_Y: u64 = 65535;
/// The fewest entries of an item, on average, for each lane of a team that is larger than it must be, where
/// all warps are busy anyway. Where some would be idle, one is enough.
const ENTRIES_PER_LANE: u64 = 8;
/// Items of as few entries, on average, are multiplied several to a warp, where there are as many as this
/// (or, in tests, fewer) and a row of B fills a warp.
const SHORT: u64 = 10;
const MANY: u64 = if cfg!(test) { 64 } else { 1 << 15 };
/// Of the second-level cache, the part in 25 that a tile of B may take which is two vectors wide.
const CACHED: u64 = 24;
/// How many rows without entries a warp takes at least, as in CUDA.
const EMPTY_ROWS: u64 = 8;
/// The fewest lanes to an item: they stage as many entries at a time.
const MIN_TEAM: u32 = 8;

/// Why panels are as they are.
const FORCED: &str = "the options say so";
const NARROWER: &str = "wider tiles of B would not stay in the second-level cache, which costs more than reading A again";

/// What a product is laid out for, besides its columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Problem {
    pub(crate) dtype: DType,
    /// Columns of the matrix.
    pub(crate) k: u64,
    pub(crate) items: ItemCounts,
    /// Entries of the items that neither a block nor a warp takes alone.
    pub(crate) rest_entries: u64,
    /// Warps of the device that wait for rows of B at the same time, about.
    pub(crate) warps: u64,
    /// Bytes of the device's second-level cache.
    pub(crate) cache: u64,
    pub(crate) statistics: Statistics,
    pub(crate) order: Order,
    /// What prices tiles narrower than a warp takes, where those do not stay in the second-level cache.
    pub(crate) locality: Option<Locality>,
    /// In place of the tiles and panels that would be chosen.
    pub(crate) cta_order: Option<CtaOrder>,
}

/// Who takes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// They are items, by their lengths.
    Items {
        /// Tiles of a panel.
        panel_tiles: u32,
    },
    /// All are alike, and go to teams.
    Alike(Wide),
    /// All go to these teams, whatever they are like.
    Forced(CsrTeams),
}

impl Order {
    /// Who takes the rows of a matrix of these statistics; `n` columns are expected.
    pub(crate) fn new(
        forced: Option<CsrLayout>,
        statistics: &Statistics,
        n: u64,
        dtype: DType,
        warps: u64,
    ) -> Self {
        match forced {
            Some(CsrLayout::Items { panel_tiles }) => {
                Self::Items { panel_tiles: panel_tiles.max(1) }
            }
            Some(CsrLayout::Teams(teams)) => Self::Forced(teams),
            None => match Wide::new(statistics, n, dtype, warps) {
                Some(wide) => Self::Alike(wide),
                None => Self::Items { panel_tiles: 1 },
            },
        }
    }

    /// Whether there is a list of items.
    pub(crate) fn has_items(self) -> bool {
        matches!(self, Self::Items { .. })
    }
}

/// How many items there are, by who takes one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ItemCounts {
    /// A block.
    pub(crate) by_block: u64,
    /// A warp.
    pub(crate) by_warp: u64,
    /// A team of lanes, or a warp several.
    pub(crate) rest: u64,
    /// Some lanes of a warp: rows without entries, which are no items.
    pub(crate) empty_rows: u64,
}

/// How a product is laid over lanes. The order in which an element of C is
/// summed follows from its item, from `lanes`, and where these are not the whole warp from `team`: so from
/// the plan, the value type, n and the device alone, never from the strides or the alignment of the operands.
/// Where there are no items, it follows from how many times `lanes` fit into `team` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Lanes across a tile of columns.
    lanes: u32,
    /// 16-byte vectors that a lane holds.
    vectors: u32,
    /// Columns of such a vector.
    per_vector: u32,
    /// Of the items that neither a block nor a warp takes alone: lanes to an item; where a warp takes
    /// several, how many.
    pub(crate) team: u32,
    n: u64,
    items: ItemCounts,
    way: Way,
    load: Load,
    /// Whether lanes exchange sums before they are stored.
    exchanges: bool,
    /// Tiles of a panel of columns.
    panel: Panel,
}

/// Who takes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Lanes that have an item each, or a warp, or a block.
    Items,
    /// A warp that goes through several items as if they were one, in vectors.
    Runs,
    /// Teams that take rows without a list of items.
    Rows(CsrTeams),
}

/// Tiles of columns that neighbouring blocks take of the same rows, and why as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Panel {
    tiles: u32,
    why: &'static str,
}

/// What is launched, besides the entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) blocks: (u32, u32),
    pub(crate) threads: u32,
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
    pub(crate) panel_tiles: u32,
    pub(crate) turns: u32,
}

impl Layout {
    /// The layout for `n` columns, at least one.
    pub(crate) fn new(problem: &Problem, n: u64) -> Self {
        let &Problem { dtype, statistics, warps, order, cta_order, locality, .. } = problem;
        match order {
            Order::Items { panel_tiles } => Self::of_items(problem, n, panel_tiles),
            Order::Alike(wide) => {
                let teams = wide.teams(&statistics, n, dtype, warps);
                let narrower = || locality?.better(teams.order(dtype), teams.narrower(dtype), n);
                let (order, why) = match cta_order {
                    Some(order) if n > u64::from(order.tile_columns) => (order, FORCED),
                    Some(_) => (teams.order(dtype), OF_TILES),
                    None => narrower().map_or((teams.order(dtype), OF_TILES), |it| (it, NARROWER)),
                };
                Self::of_teams(problem, n, teams.in_order(order, dtype), why)
            }
            Order::Forced(teams) if teams.lanes == 1 || lanes(dtype, n) > 1 => {
                Self::of_teams(problem, n, teams, FORCED)
            }
            // There is no more than a lane would have.
            Order::Forced(_) => Self::of_items(problem, n, 1),
        }
    }

    fn of_teams(problem: &Problem, n: u64, teams: CsrTeams, why: &'static str) -> Self {
        let &Problem { dtype, items, .. } = problem;
        Self {
            lanes: teams.lanes,
            vectors: teams.vectors,
            per_vector: 16 / dtype.size() as u32,
            team: teams.team,
            n,
            items,
            way: Way::Rows(teams),
            load: Load::Vectors,
            exchanges: false,
            panel: Panel { tiles: teams.panel_tiles, why },
        }
    }

    fn of_items(problem: &Problem, n: u64, panel_tiles: u32) -> Self {
        let &Problem { dtype, k, items, rest_entries, warps, cache, cta_order, .. } = problem;
        let per_vector = 16 / dtype.size() as u32;
        let vectors_of_row = n.div_ceil(u64::from(per_vector));
        let tile = cta_order.map(|order| order.tile_columns / per_vector);
        let lanes = lanes(dtype, n).min(tile.unwrap_or(WARP));
        let panel_tiles = cta_order.map_or(panel_tiles, |order| order.panel_tiles);
        let average = rest_entries.checked_div(items.rest).unwrap_or(u64::MAX);
        // A tile of two vectors halves what is read of A and, unless it outgrows the cache, costs nothing.
        let cached = k.saturating_mul(2 * 16 * u64::from(WARP)) <= cache / 25 * CACHED;
        let wide = match tile {
            Some(tile) => tile > WARP,
            None => cached || average <= SHORT,
        };
        let wide = vectors_of_row > u64::from(WARP) && wide;
        let vectors = if wide { 2 } else { 1 };
        let idle = (warps * u64::from(WARP)).checked_div(items.rest).unwrap_or(1);
        let wanted = (average / ENTRIES_PER_LANE).max(idle.min(average));
        let wanted = wanted.clamp(1, u64::from(WARP)) as u32;
        let team = (1 << wanted.ilog2()).clamp(lanes.max(MIN_TEAM), WARP);
        let short = lanes == WARP && average <= SHORT && items.rest >= MANY;
        let way = if short { Way::Runs } else { Way::Items };
        let load = Load::Vectors;
        let panel =
            Panel { tiles: panel_tiles, why: "rows differ in length, and long ones come first" };
        Self { lanes, vectors, per_vector, team, n, items, way, load, exchanges: false, panel }
    }

    fn tiles(&self, columns: u64) -> u64 {
        columns.div_ceil(u64::from(self.lanes * self.vectors * self.per_vector))
    }

    /// The first warp, of those that take no part of a block's item, that takes rows without entries.
    pub(crate) fn first_empty_warp(&self) -> u64 {
        let per_warp = if self.way == Way::Runs { self.team } else { WARP / self.team };
        self.items.by_warp + self.items.rest.div_ceil(u64::from(per_warp))
    }

    /// The grid for `width` of the columns: blocks of items times tiles of a panel, and panels.
    ///
    /// `None` if there are more blocks than a grid has.
    pub(crate) fn grid(&self, width: u64, dtype: DType) -> Option<Grid> {
        let ItemCounts { by_block, rest, empty_rows, .. } = self.items;
        let of_warps = || {
            let rows_of_warp = u64::from(WARP / self.lanes).max(EMPTY_ROWS);
            let warps = self.first_empty_warp() + empty_rows.div_ceil(rows_of_warp);
            by_block + warps.div_ceil(WARPS)
        };
        let (blocks, threads, staged, turns) = match self.way {
            Way::Rows(teams) => {
                let blocks = rest.div_ceil(teams.rows_of_block());
                (blocks, teams.warps * WARP, teams.shared_bytes(dtype), teams.turns)
            }
            _ => (of_warps(), THREADS, 0, 1),
        };
        let exchanges = self.exchanges && matches!(self.way, Way::Rows(_));
        let shared = staged + if exchanges { threads * exchanged_bytes(dtype) } else { 0 };
        let tiles = self.tiles(width);
        // As many blocks as a grid has, however wide panels were to be.
        let most = i32::MAX as u64 / blocks.max(1);
        let panel_tiles = u64::from(self.panel.tiles).clamp(1, tiles.max(1)).min(most);
        if panel_tiles == 0 {
            return None;
        }
        let panels = tiles.div_ceil(panel_tiles);
        // Teams take one tile; all others go on to the next that no block has.
        if matches!(self.way, Way::Rows(_)) && panels > MAX_GRID_Y {
            return None;
        }
        let blocks = ((blocks * panel_tiles) as u32, panels.min(MAX_GRID_Y) as u32);
        Some(Grid { blocks, threads, shared, panel_tiles: panel_tiles as u32, turns })
    }
}

/// Bytes of shared memory through which lanes exchange sums, for each: those of a vector of columns.
pub(super) fn exchanged_bytes(dtype: DType) -> u32 {
    16 / dtype.size() as u32 * dtype.accumulator().size() as u32
}

/// Whether there are tiles of as many columns: 8 to 32 vectors, or two to a lane.
pub(crate) fn has_tiles_of(dtype: DType, columns: u32) -> bool {
    let vectors = columns * dtype.size() as u32 / 16;
    columns.is_power_of_two() && (MIN_TEAM..=2 * WARP).contains(&vectors)
}

/// Lanes that lie across a tile of `n` columns, or of as many of them as a warp takes.
pub(crate) fn lanes(dtype: DType, n: u64) -> u32 {
    let vectors_of_row = n.div_ceil(16 / dtype.size() as u64);
    vectors_of_row.min(u64::from(WARP)).next_power_of_two() as u32
}
