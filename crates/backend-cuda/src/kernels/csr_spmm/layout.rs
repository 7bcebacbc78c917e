//! How a product is laid over lanes and blocks.

use girih_formats::DType;

use super::{ENTRIES, WARP, WARPS};

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
/// Bytes of a tile of B that second-level caches hold.
const CACHED: u64 = 48 << 20;
/// The fewest lanes to an item: they stage as many entries at a time.
const MIN_TEAM: u32 = 8;

/// What a product is laid out for, besides its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) dtype: DType,
    /// Columns of the matrix.
    pub(crate) k: u64,
    pub(crate) items: ItemCounts,
    /// Entries of the items that neither a block nor a warp takes alone.
    pub(crate) rest_entries: u64,
    /// Warps of the device that wait for rows of B at the same time, about.
    pub(crate) warps: u64,
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

/// How a product with so many columns is laid over lanes. The order in which an element of C is
/// summed follows from its item, from `lanes`, and where these are not the whole warp from `team`: so from
/// the plan, the value type, n and the device alone, never from the strides or the alignment of the operands.
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
}

/// How B is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Elements,
    Vectors,
    /// In vectors, by a warp that goes through several items as if they were one.
    Runs,
}

impl Layout {
    /// The layout for `n` columns, at least one.
    pub(crate) fn new(problem: &Problem, n: u64) -> Self {
        let &Problem { dtype, k, items, rest_entries, warps } = problem;
        let per_vector = 16 / dtype.size() as u32;
        let vectors_of_row = n.div_ceil(u64::from(per_vector));
        let lanes = lanes(dtype, n);
        let average = rest_entries.checked_div(items.rest).unwrap_or(u64::MAX);
        // A tile of two vectors halves what is read of A and, unless it outgrows the cache, costs nothing.
        let cached = k.saturating_mul(2 * 16 * u64::from(WARP)) <= CACHED;
        let wide = vectors_of_row > u64::from(WARP) && (cached || average <= SHORT);
        let vectors = if wide { 2 } else { 1 };
        let idle = (warps * u64::from(WARP)).checked_div(items.rest).unwrap_or(1);
        let worth = (average / ENTRIES_PER_LANE).max(idle.min(average));
        let worth = worth.clamp(1, u64::from(WARP)) as u32;
        let team = (1 << worth.ilog2()).clamp(lanes.max(MIN_TEAM), WARP);
        let short = lanes == WARP && average <= SHORT && items.rest >= MANY;
        let way = if short { Way::Runs } else { Way::Vectors };
        Self { lanes, vectors, per_vector, team, n, items, way }
    }

    /// The layout where rows of B can be read in vectors, or not, and rows of C are whole vectors, or not.
    pub(crate) fn stored(self, b_in_vectors: bool, c_whole: bool) -> Self {
        match self.way {
            _ if !b_in_vectors => Self { way: Way::Elements, ..self },
            Way::Runs if c_whole => Self { team: RUN, ..self },
            _ => Self { way: Way::Vectors, ..self },
        }
    }

    /// The entry point.
    pub(crate) fn entry(&self) -> &'static str {
        let by_lanes = if self.vectors == 2 { 6 } else { self.lanes.ilog2() as usize };
        match self.way {
            Way::Vectors => ENTRIES[by_lanes],
            Way::Elements if self.n == 1 => ENTRIES[7],
            Way::Elements => ENTRIES[8 + by_lanes],
            Way::Runs => ENTRIES[14 + self.vectors as usize],
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
            _ => format!("by {} lanes each", self.team),
        }
    }

    /// The grid for `width` of the columns: blocks of items, and tiles of columns.
    ///
    /// `None` if there are more blocks than a grid has.
    pub(crate) fn grid(&self, width: u64) -> Option<(u32, u32)> {
        let per_warp = if self.way == Way::Runs { self.team } else { WARP / self.team };
        let ItemCounts { by_block, by_warp, rest } = self.items;
        let warps = by_warp + rest.div_ceil(u64::from(per_warp));
        let blocks = by_block + warps.div_ceil(WARPS);
        let blocks = u32::try_from(blocks).ok().filter(|&x| x <= i32::MAX as u32)?;
        let tile = u64::from(self.lanes * self.vectors * self.per_vector);
        Some((blocks, width.div_ceil(tile).min(MAX_GRID_Y) as u32))
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
        Problem { dtype, k, items, rest_entries: rest * average, warps: 1 }
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
                            let stored = layout.stored(b_in_vectors, c_whole);
                            let how = match stored.way {
                                Way::Runs => "runs",
                                Way::Vectors => "vectors",
                                Way::Elements => "elements",
                            };
                            let tile = format!("{lanes}x{vectors}");
                            let tile = if how == "elements" && n == 1 { "column" } else { &tile };
                            assert_eq!(stored.entry(), format!("csr_spmm_{how}_{tile}"));
                            assert_eq!(how == "elements", !b_in_vectors);
                            // The order of additions is that of the layout.
                            assert_eq!(stored.lanes, layout.lanes);
                            assert!(layout.lanes == WARP || stored.team == layout.team);
                            let (blocks, tiles) = stored.grid(n).unwrap();
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
        let entry = |layout: Layout| layout.stored(true, true).entry();
        assert_eq!(entry(f32(128, 1 << 20, 5, 1 << 20)), "csr_spmm_runs_32x1");
        assert_eq!(entry(f32(512, 1 << 20, 5, 1 << 20)), "csr_spmm_runs_32x2");
        assert_eq!(entry(f32(128, 1 << 20, 5, 60)), "csr_spmm_vectors_32x1");
        assert_eq!(f32(128, 1000, 5, 1 << 20).stored(true, false).entry(), "csr_spmm_vectors_32x1");
        // Without locality, a tile of B is to stay in the cache.
        assert_eq!(entry(f32(512, 1 << 16, 16, 1 << 16)), "csr_spmm_vectors_32x1");
        assert_eq!(entry(f32(512, 1 << 12, 16, 1 << 16)), "csr_spmm_vectors_32x2");
    }

    #[test]
    fn blocks_and_warps_that_take_an_item_alone_come_first() {
        let items = ItemCounts { by_block: 5, by_warp: 6, rest: 20 };
        let grid = |n, rest_entries| {
            let problem = Problem { dtype: DType::F32, k: 1000, items, rest_entries, warps: 1 };
            Layout::new(&problem, n).stored(true, true).grid(n).unwrap()
        };
        // Teams of 8 lanes, 4 to a warp: 6 + 5 warps. A warp to an item: 6 + 20.
        assert_eq!(grid(32, 100), (5 + 3, 1));
        assert_eq!(grid(512, 100), (5 + 7, 2));
        // Without any others, the few that are left are long.
        let items = ItemCounts { by_block: 5, ..ItemCounts::default() };
        let problem = Problem { dtype: DType::F32, k: 1 << 20, items, rest_entries: 0, warps: 1 };
        let layout = Layout::new(&problem, 512).stored(true, true);
        assert_eq!(layout.entry(), "csr_spmm_vectors_32x1");
        assert_eq!(layout.grid(512), Some((5, 4)));
    }

    #[test]
    fn too_many_items_for_a_grid_are_noticed() {
        let grid = |rest| Layout::new(&problem(DType::F32, 1000, 0, rest), 128).grid(128);
        assert!(grid(u64::from(u32::MAX)).is_some());
        assert!(grid(1 << 40).is_none());
    }
}
