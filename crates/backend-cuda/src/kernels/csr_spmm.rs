//! Host twin of `cuda/kernels/csr_spmm.cu`: its parameters, its entry points, and which of them a
//! product runs.

use bytemuck::{Pod, Zeroable};
use girih_formats::DType;

use super::{Budget, Kernel};

/// Warps of a block.
const WARPS: u64 = 4;
/// Lanes of a warp.
const WARP: u32 = 32;
/// Threads of a block that multiplies.
pub(crate) const THREADS: u32 = WARPS as u32 * WARP;
/// Threads of a block of the kernels that work element by element.
pub(crate) const ELEMENT_THREADS: u32 = 256;
/// Most blocks of a grid in y.
const MAX_GRID_Y: u64 = 65535;
/// The fewest entries of an item, on average, for each lane of a team that is larger than it must be.
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

/// By how B is read: in vectors, by their lanes; a single column; element by element, by lanes again; in
/// vectors by several items to a warp, by how many.
const ENTRIES: [&str; 19] = [
    "csr_spmm_vectors_1x1",
    "csr_spmm_vectors_2x1",
    "csr_spmm_vectors_4x1",
    "csr_spmm_vectors_8x1",
    "csr_spmm_vectors_16x1",
    "csr_spmm_vectors_32x1",
    "csr_spmm_vectors_32x2",
    "csr_spmm_elements_column",
    "csr_spmm_elements_1x1",
    "csr_spmm_elements_2x1",
    "csr_spmm_elements_4x1",
    "csr_spmm_elements_8x1",
    "csr_spmm_elements_16x1",
    "csr_spmm_elements_32x1",
    "csr_spmm_elements_32x2",
    "csr_spmm_runs_32x1",
    "csr_spmm_runs_32x2",
    COMBINE,
    SCALE,
];

/// Adds up the pieces of split rows.
pub(crate) const COMBINE: &str = "csr_combine";
/// Multiplies C by β.
pub(crate) const SCALE: &str = "csr_scale";

/// The kernel for a value type.
#[must_use]
pub(crate) fn kernel(dtype: DType) -> Kernel {
    let value = match dtype {
        DType::F16 => "F16",
        DType::Bf16 => "Bf16",
        DType::F32 => "F32",
        DType::F64 => "F64",
    };
    Kernel {
        stem: "csr_spmm",
        config: dtype.name().to_owned(),
        source: include_str!("../../cuda/kernels/csr_spmm.cu"),
        defines: vec![("VALUE", value.to_owned())],
        only: None,
        budget: Budget {
            registers: 96,
            shared: 2048,
            dynamic_shared: 0,
            entries: &ENTRIES,
            instructions: &["LDG.E.128", "STG.E.128", "LDS", "SHFL"],
        },
    }
}

/// Entries of one row that a team of lanes multiplies: `Item` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Item {
    /// The first entry.
    pub(crate) begin: u64,
    /// How many there are.
    pub(crate) length: u32,
    /// The row of C; of a piece, that of the sums.
    pub(crate) row: u32,
}

/// A row in pieces: `SplitRow` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SplitRow {
    /// The first of its pieces.
    pub(crate) first_piece: u64,
    /// How many there are, in order.
    pub(crate) n_pieces: u32,
    /// The row of C.
    pub(crate) row: u32,
}

/// What the entry points are passed: `Params` in CUDA. Addresses are of device memory, strides count
/// elements.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    pub(crate) items: u64,
    pub(crate) splits: u64,
    pub(crate) col_idx: u64,
    pub(crate) values: u64,
    pub(crate) b: u64,
    pub(crate) c: u64,
    pub(crate) partials: u64,
    pub(crate) n_items: u64,
    pub(crate) n_pieces: u64,
    pub(crate) n_splits: u64,
    pub(crate) m: u64,
    pub(crate) n: u64,
    pub(crate) b_row_stride: u64,
    pub(crate) b_col_stride: u64,
    pub(crate) c_row_stride: u64,
    pub(crate) c_col_stride: u64,
    pub(crate) partial_stride: u64,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) team: u32,
    pub(crate) c_in_vectors: u32,
}

const _: () = assert!(size_of::<Item>() == 16 && size_of::<SplitRow>() == 16);
const _: () = assert!(size_of::<Params>() == 160);

/// How a product with so many columns is laid over lanes. The order in which an element of C is
/// summed follows from `lanes`, and where these are not the whole warp from `team`: so from the matrix,
/// the value type and n alone, never from the strides or the alignment of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Lanes across a tile of columns.
    lanes: u32,
    /// 16-byte vectors that a lane holds.
    vectors: u32,
    /// Columns of such a vector.
    per_vector: u32,
    /// Lanes to an item; where a warp takes several, how many.
    pub(crate) team: u32,
    n: u64,
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
    /// The layout for `n` columns (at least one) of a matrix with `k` columns and so many entries in so
    /// many items.
    pub(crate) fn new(dtype: DType, n: u64, k: u64, entries: u64, items: u64) -> Self {
        let per_vector = 16 / dtype.size() as u32;
        let vectors_of_row = n.div_ceil(u64::from(per_vector));
        let lanes = vectors_of_row.min(u64::from(WARP)).next_power_of_two() as u32;
        let average = entries / items.max(1);
        // A tile of two vectors halves what is read of A and, unless it outgrows the cache, costs nothing.
        let cached = k.saturating_mul(2 * 16 * u64::from(WARP)) <= CACHED;
        let wide = vectors_of_row > u64::from(WARP) && (cached || average <= SHORT);
        let vectors = if wide { 2 } else { 1 };
        let worth = (average / ENTRIES_PER_LANE).clamp(1, u64::from(WARP)) as u32;
        let team = (1 << worth.ilog2()).clamp(lanes.max(MIN_TEAM), WARP);
        let short = lanes == WARP && average <= SHORT && items >= MANY;
        let way = if short { Way::Runs } else { Way::Vectors };
        Self { lanes, vectors, per_vector, team, n, way }
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

    /// The grid for so many items and `width` of the columns: blocks of items, and tiles of columns.
    ///
    /// `None` if there are more blocks than a grid has.
    pub(crate) fn grid(&self, items: u64, width: u64) -> Option<(u32, u32)> {
        let per_warp = if self.way == Way::Runs { self.team } else { WARP / self.team };
        let per_block = WARPS * u64::from(per_warp);
        let tile = u64::from(self.lanes * self.vectors * self.per_vector);
        let blocks =
            u32::try_from(items.div_ceil(per_block)).ok().filter(|&x| x <= i32::MAX as u32)?;
        Some((blocks, width.div_ceil(tile).min(MAX_GRID_Y) as u32))
    }
}

/// The grid of a kernel that goes through `elements` one by one, in turns where there are too many.
pub(crate) fn element_grid(elements: u64) -> u32 {
    elements.div_ceil(u64::from(ELEMENT_THREADS)).clamp(1, 1 << 20) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_has_its_entry_points() {
        for dtype in DType::ALL {
            for n in (1..700).chain([1 << 20, 1 << 40]) {
                for (average, items) in [(0, 9), (1, 1 << 20), (9, 1000), (70, 1000), (4000, 5)] {
                    let layout = Layout::new(dtype, n, 1 << 16, items * average, items);
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
                            let (blocks, tiles) = stored.grid(items, n).unwrap();
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
            let layout = Layout::new(dtype, n, 1000, 640, 10);
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
        let f32 = |n, k, average, items| Layout::new(DType::F32, n, k, average * items, items);
        assert_eq!(f32(8, 1000, 300, 1000).team, 32);
        assert_eq!(f32(8, 1000, 54, 1000).team, 8);
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
    fn too_many_items_for_a_grid_are_noticed() {
        let layout = Layout::new(DType::F32, 128, 1000, 0, 1);
        assert!(layout.grid(u64::from(u32::MAX), 128).is_some());
        assert!(layout.grid(1 << 40, 128).is_none());
    }
}
