//! How a product is laid over lanes and blocks.

use girih_formats::DType;

use super::teams::Wide;
use super::{CsrLayout, CsrTeams, ENTRIES, Statistics, THREADS, WARP, WARPS};

/// Most blocks of a grid in y.
const MAX_GRID_Y: u64 = 65535;
/// The fewest entries of an item, on average, for each lane of a team that is larger than it must be, where
/// all warps are busy anyway. Where some would be idle, one is enough.
const ENTRIES_PER_LANE: u64 = 8;
/// Items of as few entries, on average, are multiplied several to a warp, where there are as many as this
/// (or, where they are emulated, fewer) and a row of B fills a warp.
const SHORT: u64 = 10;
const MANY: u64 = if cfg!(test) { 64 } else { 1 << 15 };
/// How many to a warp.
const RUN: u32 = 8;
/// Of the second-level cache, the part in 25 that a tile of B may take which is two vectors wide.
const CACHED: u64 = 24;
/// The fewest lanes to an item: they stage as many entries at a time.
const MIN_TEAM: u32 = 8;

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
}

/// What layouts need to know of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// Whether rows of B can be read in vectors.
    pub(crate) b_in_vectors: bool,
    /// Whether rows of C are whole vectors.
    pub(crate) c_whole: bool,
    /// Bytes from one row of B to the next.
    pub(crate) b_row_bytes: u64,
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
    /// Tiles of a panel of columns.
    panel: Panel,
}

/// How B is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Elements,
    Vectors,
    /// In vectors, by a warp that goes through several items as if they were one.
    Runs,
    /// In vectors, by teams that take rows without a list of items.
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
        let &Problem { dtype, statistics, warps, order, .. } = problem;
        match order {
            Order::Items { panel_tiles } => Self::of_items(problem, n, panel_tiles),
            Order::Alike(wide) if lanes(dtype, n) > 1 => {
                let why =
                    "a tile of B stays in the second-level cache longer than whole rows of it";
                Self::of_teams(problem, n, wide.teams(&statistics, n, dtype, warps), why)
            }
            Order::Forced(teams) if lanes(dtype, n) > 1 => {
                Self::of_teams(problem, n, teams, "the options say so")
            }
            // A lane has a vector of columns to itself: that needs no team.
            Order::Alike(_) | Order::Forced(_) => Self::of_items(problem, n, 1),
        }
    }

    fn of_teams(problem: &Problem, n: u64, teams: CsrTeams, why: &'static str) -> Self {
        let &Problem { dtype, items, .. } = problem;
        Self {
            lanes: teams.lanes,
            vectors: 1,
            per_vector: 16 / dtype.size() as u32,
            team: teams.team,
            n,
            items,
            way: Way::Rows(teams),
            panel: Panel { tiles: teams.panel_tiles, why },
        }
    }

    fn of_items(problem: &Problem, n: u64, panel_tiles: u32) -> Self {
        let &Problem { dtype, k, items, rest_entries, warps, cache, .. } = problem;
        let per_vector = 16 / dtype.size() as u32;
        let vectors_of_row = n.div_ceil(u64::from(per_vector));
        let lanes = lanes(dtype, n);
        let average = rest_entries.checked_div(items.rest).unwrap_or(u64::MAX);
        // A tile of two vectors halves what is read of A and, unless it outgrows the cache, costs nothing.
        let cached = k.saturating_mul(2 * 16 * u64::from(WARP)) <= cache / 25 * CACHED;
        let wide = vectors_of_row > u64::from(WARP) && (cached || average <= SHORT);
        let vectors = if wide { 2 } else { 1 };
        let idle = (warps * u64::from(WARP)).checked_div(items.rest).unwrap_or(1);
        let wanted = (average / ENTRIES_PER_LANE).max(idle.min(average));
        let wanted = wanted.clamp(1, u64::from(WARP)) as u32;
        let team = (1 << wanted.ilog2()).clamp(lanes.max(MIN_TEAM), WARP);
        let short = lanes == WARP && average <= SHORT && items.rest >= MANY;
        let way = if short { Way::Runs } else { Way::Vectors };
        let panel =
            Panel { tiles: panel_tiles, why: "rows differ in length, and long ones come first" };
        Self { lanes, vectors, per_vector, team, n, items, way, panel }
    }

    /// The layout for operands as they lie in memory.
    pub(crate) fn stored(self, operation: Operation) -> Self {
        let Operation { b_in_vectors, c_whole, b_row_bytes } = operation;
        match self.way {
            _ if !b_in_vectors => Self { way: Way::Elements, ..self },
            Way::Runs if c_whole => Self { team: RUN, ..self },
            // Teams reckon with 32 bits, and take one tile.
            Way::Rows(_) if b_row_bytes <= u64::from(u32::MAX) && self.takes_all_tiles() => self,
            _ => Self { way: Way::Vectors, ..self },
        }
    }

    /// Whether there is a block for every tile.
    fn takes_all_tiles(&self) -> bool {
        self.tiles(self.n) <= MAX_GRID_Y * u64::from(self.panel.tiles)
    }

    /// The entry point.
    pub(crate) fn entry(&self) -> &'static str {
        let by_lanes = if self.vectors == 2 { 6 } else { self.lanes.ilog2() as usize };
        match self.way {
            Way::Vectors => ENTRIES[by_lanes],
            Way::Elements if self.n == 1 => ENTRIES[7],
            Way::Elements => ENTRIES[8 + by_lanes],
            Way::Runs => ENTRIES[14 + self.vectors as usize],
            Way::Rows(teams) if teams.depth == 4 => ENTRIES[16 + by_lanes],
            Way::Rows(_) => ENTRIES[19 + by_lanes],
        }
    }

    /// Columns of a block, for people.
    pub(crate) fn tile_in_words(&self) -> String {
        let Self { lanes, vectors, per_vector, .. } = *self;
        let each = match (self.way, vectors * per_vector) {
            (Way::Elements, each) => format!("{each} columns to a lane, element by element"),
            (_, each) => format!("{each} columns to a lane, in vectors of 16 bytes"),
        };
        format!("{} columns: {lanes} lanes, {each}", lanes * vectors * per_vector)
    }

    /// Who takes the rows that neither a block nor a warp takes alone, for people.
    pub(crate) fn team_in_words(&self) -> String {
        match self.way {
            Way::Runs => format!("by a warp for every {}", self.team),
            Way::Rows(CsrTeams { depth, warps, turns, .. }) => format!(
                "by {} lanes each, {turns} one after the other, {depth} rows of B at a time; {} neighbours \
                 to a block",
                self.team,
                warps * WARP / self.team,
            ),
            _ => format!("by {} lanes each", self.team),
        }
    }

    /// In which order blocks go through rows and columns, for people, and why.
    pub(crate) fn order_in_words(&self) -> (String, &'static str) {
        let tiles = self.tiles(self.n);
        let panel = u64::from(self.panel.tiles).min(tiles);
        let order = match (tiles, panel) {
            (1, _) => return ("rows".to_owned(), "there is one tile of columns"),
            (_, 1) => format!("all rows for each of {tiles} tiles of columns"),
            (_, panel) if panel == tiles => {
                format!("all {tiles} tiles of columns for each block of rows")
            }
            (_, panel) => format!("all rows for each panel of {panel} of {tiles} tiles of columns"),
        };
        (order, self.panel.why)
    }

    fn tiles(&self, columns: u64) -> u64 {
        columns.div_ceil(u64::from(self.lanes * self.vectors * self.per_vector))
    }

    /// The grid for `width` of the columns: blocks of items times tiles of a panel, and panels.
    ///
    /// `None` if there are more blocks than a grid has.
    pub(crate) fn grid(&self, width: u64, dtype: DType) -> Option<Grid> {
        let ItemCounts { by_block, by_warp, rest } = self.items;
        let of_warps = |per_warp: u32| {
            let warps = by_warp + rest.div_ceil(u64::from(per_warp));
            by_block + warps.div_ceil(WARPS)
        };
        let (blocks, threads, shared, turns) = match self.way {
            Way::Rows(teams) => {
                let blocks = rest.div_ceil(teams.rows_of_block());
                (blocks, teams.warps * WARP, teams.shared_bytes(dtype), teams.turns)
            }
            Way::Runs => (of_warps(self.team), THREADS, 0, 1),
            _ => (of_warps(WARP / self.team), THREADS, 0, 1),
        };
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

/// Lanes that lie across a tile of `n` columns, or of as many of them as a warp takes.
pub(crate) fn lanes(dtype: DType, n: u64) -> u32 {
    let vectors_of_row = n.div_ceil(16 / dtype.size() as u64);
    vectors_of_row.min(u64::from(WARP)).next_power_of_two() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of items that neither a block nor a warp takes alone.
    fn problem(dtype: DType, k: u64, average: u64, rest: u64) -> Problem {
        let items = ItemCounts { rest, ..ItemCounts::default() };
        let order = Order::Items { panel_tiles: 1 };
        Problem {
            dtype,
            k,
            items,
            rest_entries: rest * average,
            warps: 1,
            cache: 50 << 20,
            statistics: Statistics::default(),
            order,
        }
    }

    /// Of rows that are all alike.
    fn alike(dtype: DType, rows: u64, average: u64, n: u64, warps: u64) -> Problem {
        let statistics =
            Statistics { rows, entries: rows * average, longest: average, heavy_entries: 0 };
        let order = Order::new(None, &statistics, n, dtype, warps);
        Problem { statistics, warps, order, ..problem(dtype, rows, average, rows) }
    }

    fn operation(b_in_vectors: bool, c_whole: bool) -> Operation {
        Operation { b_in_vectors, c_whole, b_row_bytes: 1 << 12 }
    }

    #[test]
    fn every_layout_has_its_entry_points() {
        for dtype in DType::ALL {
            for n in (1..700).chain([1 << 20, 1 << 40]) {
                for (average, items) in [(0, 9), (1, 1 << 20), (9, 1000), (70, 1000), (4000, 5)] {
                    let layout = Layout::new(&problem(dtype, 1 << 16, average, items), n);
                    assert!(layout.team >= layout.lanes && layout.team <= WARP, "{layout:?}");
                    assert!(layout.team.is_power_of_two());
                    let Layout { lanes, vectors, .. } = layout;
                    for b_in_vectors in [false, true] {
                        for c_whole in [false, true] {
                            let stored = layout.stored(operation(b_in_vectors, c_whole));
                            let how = match stored.way {
                                Way::Runs => "runs",
                                Way::Vectors => "vectors",
                                Way::Elements => "elements",
                                Way::Rows(_) => unreachable!("there are items"),
                            };
                            let tile = format!("{lanes}x{vectors}");
                            let tile = if how == "elements" && n == 1 { "column" } else { &tile };
                            assert_eq!(stored.entry(), format!("csr_spmm_{how}_{tile}"));
                            assert_eq!(how == "elements", !b_in_vectors);
                            // The order of additions is that of the layout.
                            assert_eq!(stored.lanes, layout.lanes);
                            assert!(layout.lanes == WARP || stored.team == layout.team);
                            let (blocks, tiles) = stored.grid(n, dtype).unwrap().blocks;
                            let per_warp = match stored.way {
                                Way::Runs => RUN,
                                _ => WARP / stored.team,
                            };
                            assert!(u64::from(blocks) * WARPS * u64::from(per_warp) >= items);
                            assert!((1..=65535).contains(&tiles));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn lanes_cover_the_columns() {
        let lanes = |dtype, n| {
            let layout = Layout::new(&problem(dtype, 1000, 64, 10), n);
            (layout.lanes, layout.vectors, layout.team)
        };
        assert_eq!(lanes(DType::F32, 1), (1, 1, 8));
        assert_eq!(lanes(DType::F32, 32), (8, 1, 8));
        assert_eq!(lanes(DType::F32, 128), (32, 1, 32));
        assert_eq!(lanes(DType::F32, 129), (32, 2, 32));
        assert_eq!(lanes(DType::F64, 64), (32, 1, 32));
        assert_eq!(lanes(DType::Bf16, 256), (32, 1, 32));
        assert_eq!(lanes(DType::F16, 100), (16, 1, 16));
    }

    #[test]
    fn long_rows_have_large_teams_and_short_ones_share_warps() {
        let f32 = |n, k, average, items| Layout::new(&problem(DType::F32, k, average, items), n);
        assert_eq!(f32(8, 1000, 300, 1000).team, 32);
        assert_eq!(f32(8, 1000, 54, 1000).team, 8);
        // Unless warps would be idle.
        let idle = |average, items| {
            let problem = Problem { warps: 4096, ..problem(DType::F32, 1000, average, items) };
            Layout::new(&problem, 32).team
        };
        assert_eq!(
            [(54, 1000), (20, 1000), (54, 8000), (54, 20000)]
                .map(|(average, items)| idle(average, items)),
            [32, 16, 16, 8]
        );
        let entry = |layout: Layout| layout.stored(operation(true, true)).entry();
        assert_eq!(entry(f32(128, 1 << 20, 5, 1 << 20)), "csr_spmm_runs_32x1");
        assert_eq!(entry(f32(512, 1 << 20, 5, 1 << 20)), "csr_spmm_runs_32x2");
        assert_eq!(entry(f32(128, 1 << 20, 5, 60)), "csr_spmm_vectors_32x1");
        assert_eq!(
            f32(128, 1000, 5, 1 << 20).stored(operation(true, false)).entry(),
            "csr_spmm_vectors_32x1"
        );
        // Without locality, a tile of B is to stay in the cache.
        assert_eq!(entry(f32(512, 1 << 16, 16, 1 << 16)), "csr_spmm_vectors_32x1");
        assert_eq!(entry(f32(512, 1 << 12, 16, 1 << 16)), "csr_spmm_vectors_32x2");
    }

    #[test]
    fn blocks_and_warps_that_take_an_item_alone_come_first() {
        let items = ItemCounts { by_block: 5, by_warp: 6, rest: 20 };
        let grid = |n, rest_entries| {
            let problem = Problem { items, rest_entries, ..problem(DType::F32, 1000, 0, 0) };
            let layout = Layout::new(&problem, n).stored(operation(true, true));
            layout.grid(n, DType::F32).unwrap().blocks
        };
        // Teams of 8 lanes, 4 to a warp: 6 + 5 warps. A warp to an item: 6 + 20.
        assert_eq!(grid(32, 100), (5 + 3, 1));
        assert_eq!(grid(512, 100), (5 + 7, 2));
        // Without any others, the few that are left are long.
        let items = ItemCounts { by_block: 5, ..ItemCounts::default() };
        let problem = Problem { items, ..problem(DType::F32, 1 << 20, 0, 0) };
        let layout = Layout::new(&problem, 512).stored(operation(true, true));
        assert_eq!(layout.entry(), "csr_spmm_vectors_32x1");
        assert_eq!(layout.grid(512, DType::F32).unwrap().blocks, (5, 4));
    }

    #[test]
    fn too_many_items_for_a_grid_are_noticed() {
        let grid =
            |rest| Layout::new(&problem(DType::F32, 1000, 0, rest), 128).grid(128, DType::F32);
        assert!(grid(u64::from(u32::MAX)).is_some());
        assert!(grid(1 << 40).is_none());
        // As many tiles to a panel are as many times the blocks, unless these would be too many.
        let panels = |panel_tiles, rest| {
            let order = Order::Items { panel_tiles };
            let problem = Problem { order, ..problem(DType::F32, 1000, 0, rest) };
            Layout::new(&problem, 512).grid(512, DType::F32).map(|grid| grid.blocks)
        };
        assert_eq!(panels(1, 1 << 32), Some((1 << 25, 2)));
        assert_eq!(panels(2, 1 << 32), Some((1 << 26, 1)));
        assert_eq!(panels(2, 1 << 37), Some((1 << 30, 2)));
    }

    #[test]
    fn rows_that_are_alike_have_entry_points_and_the_same_groups_whatever_the_operands() {
        for dtype in DType::ALL {
            for n in (5..700).chain([1 << 20]) {
                for (average, rows) in [(1, 1 << 20), (9, 1000), (70, 1000), (300, 5000)] {
                    let problem = alike(dtype, rows, average, n, 4224);
                    let layout = Layout::new(&problem, n);
                    if problem.order.has_items() {
                        continue;
                    }
                    let lanes = layout.lanes;
                    let stored = layout.stored(operation(true, true));
                    let grid = stored.grid(n, dtype);
                    if let Way::Rows(teams) = stored.way {
                        assert!(teams.is_valid(), "{teams}");
                        let name = format!("csr_spmm_rows_{lanes}x{}", teams.depth);
                        assert_eq!(stored.entry(), name);
                        let grid = grid.unwrap();
                        assert!(grid.threads <= 512 && grid.turns == teams.turns);
                        let (x, y) = (u64::from(grid.blocks.0), u64::from(grid.blocks.1));
                        let blocks = x / u64::from(grid.panel_tiles);
                        assert!(blocks * teams.rows_of_block() >= rows);
                        let tiles = y * u64::from(grid.panel_tiles);
                        assert!(tiles * u64::from(lanes * 16) >= n * dtype.size() as u64);
                    }
                    for (operation, name) in [
                        (operation(true, false), stored.entry().to_owned()),
                        (operation(false, true), format!("csr_spmm_elements_{lanes}x1")),
                        (
                            Operation { b_row_bytes: 1 << 32, ..operation(true, true) },
                            format!("csr_spmm_vectors_{lanes}x1"),
                        ),
                    ] {
                        let other = layout.stored(operation);
                        assert_eq!(
                            other.entry(),
                            name,
                            "{dtype}, n = {n}, {average}: {operation:?}"
                        );
                        assert_eq!(other.team / other.lanes, layout.team / lanes);
                    }
                }
            }
        }
    }

    #[test]
    fn a_vector_of_columns_needs_no_team() {
        let problem = alike(DType::F32, 1 << 16, 9, 512, 4224);
        assert!(matches!(problem.order, Order::Alike(_)));
        let layout = Layout::new(&problem, 4).stored(operation(true, true));
        assert_eq!(layout.entry(), "csr_spmm_vectors_1x1");
        assert_eq!(layout.order_in_words().0, "rows");
    }

    #[test]
    fn what_is_forced_is_launched() {
        let teams = CsrTeams { lanes: 16, team: 32, depth: 8, warps: 4, turns: 2, panel_tiles: 3 };
        let statistics = Statistics::default();
        let order = |forced| Order::new(Some(forced), &statistics, 512, DType::F32, 4224);
        let of = |forced| Problem { order: order(forced), ..problem(DType::F32, 1000, 9, 1000) };
        let layout = Layout::new(&of(CsrLayout::Teams(teams)), 512).stored(operation(true, true));
        let grid = layout.grid(512, DType::F32).unwrap();
        assert_eq!((layout.entry(), layout.team), ("csr_spmm_rows_16x8", 32));
        // 4 rows in each of 2 turns; 8 tiles in 3 panels.
        assert_eq!((grid.blocks, grid.threads, grid.panel_tiles), ((125 * 3, 3), 128, 3));
        assert_eq!((grid.shared, grid.turns), (4 * 32 * 8, 2));
        let layout = Layout::new(&of(CsrLayout::Items { panel_tiles: 2 }), 512);
        assert_eq!(layout.grid(512, DType::F32).unwrap().panel_tiles, 2);
        assert!(layout.order_in_words().0.contains("all 2 tiles"), "{layout:?}");
    }
}
