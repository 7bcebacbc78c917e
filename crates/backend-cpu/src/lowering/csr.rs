//! How CSR is laid out, and what follows from it: which panels of B are packed, and whether rows of B are
//! prefetched.

use girih_simd::{GROUP_VECTORS, Isa, TILE_ROWS};

use super::packing::{self, PanelConfig};
use super::{Case, Construct, Decision, SortConfig, SortCounts, TileConfig, TileCounts, prefetch};
use crate::analyze::MatrixNumbers;
use crate::thresholds::{
    SLAB_ROWS, SORT_ENTRIES, SORT_PARTS_EACH, SORT_VECTORS, TILE_LOADS, TILE_LOADS_BY_VECTOR,
    TILE_LOADS_OF_CHANGE, TILE_LOADS_OF_GROUPS, TILE_LOADS_OF_VECTORS, TILE_LOADS_WIDE,
    TILE_NEAR_B, TILE_PARTS_EACH_IN_SLABS, TILE_ROWS_TOGETHER,
};

/// How the entries of A lie when they are multiplied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LayoutChoice {
    /// In the plan's own arrays.
    AsStored,
    /// In a copy with rows sorted by length.
    Sorted(SortConfig, SortCounts),
    /// In a copy with tiles of neighbouring rows.
    Tiles(TileConfig, TileCounts),
}

/// What is decided about a CSR matrix.
pub(super) struct CsrDecisions {
    pub(super) layout: Decision<LayoutChoice>,
    pub(super) packing: Decision<Option<PanelConfig>>,
    pub(super) prefetch_b: Decision<bool>,
}

/// Decides about a CSR matrix: tiles if rows share enough, else panels and prefetching, and by these whether
/// rows are sorted.
pub(super) fn decide(case: &Case, matrix: &mut impl Construct) -> CsrDecisions {
    let tiles = tiles(case, matrix).and_then(|(config, why)| match matrix.build_tiles(&config) {
        Some(counts) => Ok((config, counts, why)),
        None => Err("there is no memory for a copy in tiles".to_owned()),
    });
    let (packing, prefetch_b) = packing_and_prefetch(case, matrix, &tiles);
    let no_tiles = match tiles {
        Ok((config, counts, why)) => {
            let layout = Decision::new(LayoutChoice::Tiles(config, counts), why);
            return CsrDecisions { layout, packing, prefetch_b };
        }
        Err(why) => why,
    };
    let layout = sorted(case, matrix, packing.choice.is_some(), prefetch_b.choice, &no_tiles);
    let prefetch_b = match layout.choice {
        LayoutChoice::AsStored if prefetch_b.choice => {
            let why = format!("rows are not sorted, though {}", prefetch_b.why);
            Decision::new(false, why)
        }
        _ => prefetch_b,
    };
    CsrDecisions { layout, packing, prefetch_b }
}

/// Tiles with their counts and the reason for them, or the reason against tiles.
type TilesResult = Result<(TileConfig, TileCounts, String), String>;

/// Panels for slabs if there are any, else panels for rows. Rows of B are prefetched unless a slab's rows are
/// packed.
fn packing_and_prefetch(
    case: &Case,
    matrix: &mut impl Construct,
    tiles: &TilesResult,
) -> (Decision<Option<PanelConfig>>, Decision<bool>) {
    let mut no_slab_panels = None;
    if let Ok((TileConfig { slab_cols: Some(cols), .. }, counts, _)) = tiles {
        let rows = if case.m <= SLAB_ROWS { *cols } else { case.k };
        let panels = packing::for_slabs(case, rows, counts.loads / case.k);
        let packing = packing::allocate(panels, matrix);
        if packing.choice.is_some() {
            let why = "the rows of B of a slab are packed, and stay in a core's own caches";
            return (packing, Decision::new(false, why));
        }
        no_slab_panels = Some(packing.why);
    }
    let panels = packing::for_rows(case, matrix, tiles.is_ok());
    let mut packing = packing::allocate(panels, matrix);
    if let (None, Some(why)) = (packing.choice, no_slab_panels) {
        packing.why = format!("{}; by slabs: {why}", packing.why);
    }
    let row_bytes = match packing.choice {
        Some(panels) => case.row_bytes(panels.row_stride()),
        None => case.row_bytes(case.n),
    };
    let prefetch_b = prefetch::decide_for_b(case, matrix, row_bytes);
    (packing, prefetch_b)
}

/// How rows are tiled if that is profitable.
///
/// # Errors
/// The reason against tiles.
fn tiles(case: &Case, matrix: &impl MatrixNumbers) -> Result<(TileConfig, String), String> {
    let &Case { m, k, nnz, n, threads, .. } = case;
    if n == 1 {
        return Err("a single column is summed row by row".to_owned());
    }
    let (needed, of_change) = loads_needed(case)?;
    let vectors = n / case.lanes();
    if !matrix.rows_fit_u32() {
        return Err("rows can't be numbered in 32 bits".to_owned());
    }
    // Even rows that are all alike spare no more than three quarters of their loads.
    if nnz * TILE_ROWS < m * needed {
        let per_row = nnz as f64 / m.max(1) as f64;
        return Err(format!(
            "a tile of {TILE_ROWS} rows of {per_row:.1} entries can't spare {needed} loads of rows of B"
        ));
    }
    let sharing = matrix.row_sharing();
    let of_tile = |sum: usize| sum as f64 / sharing.tiles.max(1) as f64;
    let why = format!(
        "a tile of {TILE_ROWS} neighbouring rows spares {:.1} loads of rows of B; {:.0} are needed",
        of_tile(sharing.spared),
        needed as f64 + of_tile(sharing.changes * of_change)
    );
    if !sharing.spares(needed, of_change) {
        return Err(why);
    }
    let may_have_slabs = matrix.has_whole_rows() && vectors >= GROUP_VECTORS;
    let slab_cols = if may_have_slabs { sharing.slab_cols(m, k) } else { None };
    let (parts_each, joined_rows) = match slab_cols {
        Some(_) => (TILE_PARTS_EACH_IN_SLABS, TILE_ROWS_TOGETHER),
        None if case.machine.prefetches_rows_itself => (SORT_PARTS_EACH, 0),
        None => (SORT_PARTS_EACH, TILE_ROWS_TOGETHER),
    };
    let parts = least_parts(threads, parts_each);
    let spared = 100 * sharing.spared / (sharing.spared + sharing.cols).max(1);
    Ok((TileConfig { slab_cols, joined_rows, parts, spared }, why))
}

/// Loads that a tile has to spare, and how many more for each change of its patterns.
///
/// The processor guesses wrong where a pattern ends, once for all columns that go through it at once. So a tile has to spare
/// less where these are more. Tiles add in an order of their own, so no cache of the machine decides here.
///
/// # Errors
/// Why no tile spares enough.
fn loads_needed(case: &Case) -> Result<(usize, usize), String> {
    let (n, lanes) = (case.n, case.lanes());
    let b_bytes = case.k.saturating_mul(case.row_bytes(n));
    let needed = match (case.isa, n / lanes / GROUP_VECTORS) {
        (Isa::Avx2, 0) if 2 * n > lanes => {
            let (from, to) = (lanes / 2 + 1, GROUP_VECTORS * lanes - 1);
            return Err(format!("with AVX2, tiles spare too little for {from} to {to} columns"));
        }
        (Isa::Avx512, 0) if n > 2 * lanes && b_bytes <= TILE_NEAR_B => TILE_LOADS_OF_GROUPS,
        (Isa::Avx512, 0) if n > lanes => TILE_LOADS_OF_VECTORS,
        (_, 0) => return Ok((TILE_LOADS, TILE_LOADS_OF_CHANGE)),
        (Isa::Avx2, _) => TILE_LOADS_BY_VECTOR,
        (_, 1 | 2) => TILE_LOADS_OF_GROUPS,
        _ => TILE_LOADS_WIDE,
    };
    Ok((needed, 0))
}

/// The least number of parts in which all entries are multiplied: one for a single thread, `each` for each of
/// several, so that threads end at about the same time.
pub(crate) fn least_parts(threads: usize, each: usize) -> usize {
    if threads == 1 { 1 } else { threads * each }
}

/// Whether rows that are not tiled are sorted.
fn sorted(
    case: &Case,
    matrix: &mut impl Construct,
    packs: bool,
    prefetch_b: bool,
    no_tiles: &str,
) -> Decision<LayoutChoice> {
    let &Case { m, nnz, n, threads, .. } = case;
    let as_stored = |why: &str| Decision::new(LayoutChoice::AsStored, format!("{why}; {no_tiles}"));
    let is_narrow = n <= SORT_VECTORS * case.lanes();
    let why = if is_narrow {
        "n is up to two vectors, where wrong guesses of a row's end count"
    } else if prefetch_b {
        "rows of B are prefetched across rows of A"
    } else if packs {
        "panels of B go through all rows"
    } else {
        return as_stored("n is more than two vectors, and B is neither packed nor prefetched");
    };
    if nnz == 0 {
        return as_stored("there are no entries");
    }
    if nnz / m > SORT_ENTRIES {
        let per_row = nnz / m;
        return as_stored(&format!(
            "rows of {per_row} entries, more than {SORT_ENTRIES}, are not sorted"
        ));
    }
    if !matrix.rows_fit_u32() {
        return as_stored("rows can't be numbered in 32 bits");
    }
    let config = SortConfig { slices: is_narrow, threads, prefetch_b };
    match matrix.build_sorted(&config) {
        Some(counts) => {
            Decision::new(LayoutChoice::Sorted(config, counts), format!("{why}; {no_tiles}"))
        }
        None => as_stored("there is no memory for a copy in sorted rows"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::{CacheMisses, RowSharing};
    use crate::lowering::Kernel;
    use crate::lowering::testing::{FixedNumbers, case};
    use crate::machine::{Machine, Vendor};

    #[test]
    fn tiles_have_to_spare_less_where_more_columns_go_through_them_at_once() {
        let needed = |isa, k| {
            let of = move |n| loads_needed(&Case { isa, ..case(400, k, n, 1, amd()) }).ok();
            [4, 8, 16, 17, 32, 33, 63, 64, 191, 192, 1600].map(of)
        };
        let (one, loads) = (Some((18, 3)), |loads| Some((loads, 0)));
        let (six, eight, many) = (loads(6), loads(8), loads(16));
        let wide = [six, six, eight, eight];
        let found = needed(Isa::Avx512, 1000);
        assert_eq!(found, [&[one, one, one, many, many, six, six], &wide[..]].concat()[..]);
        // Rows of a large B are prefetched, which tiles of less than four vectors do not.
        let found = needed(Isa::Avx512, 100_000);
        assert_eq!(found, [&[one, one, one, many, many, many, many], &wide[..]].concat()[..]);
        let found = needed(Isa::Avx2, 1000);
        assert_eq!(found, [&[one, one][..], &[None; 5], &[loads(80); 4]].concat()[..]);
        assert_eq!(needed(Isa::Neon, 1000), [&[one; 7][..], &wide].concat()[..]);
    }

    /// 400 rows of 100 entries, of which a tile of four spares `spared` loads.
    fn numbers(spared: usize) -> FixedNumbers {
        let sharing = RowSharing {
            tiles: 100,
            cols: 40_000 - 100 * spared,
            spared: 100 * spared,
            changes: 200,
            slabs: [0; 4],
        };
        let misses = CacheMisses { used_rows: 1000, misses: 8000 };
        FixedNumbers { sharing, misses, unpredicted: 0.0, whole_rows: true, memory: [true; 3] }
    }

    fn decided(n: usize, machine: Machine, mut numbers: FixedNumbers) -> CsrDecisions {
        let case = Case { nnz: 40_000, stored: 40_000, ..case(400, 1000, n, 1, machine) };
        decide(&case, &mut numbers)
    }

    fn amd() -> Machine {
        Machine::with_caches(32 << 20, 1 << 20).with_vendor(Vendor::Amd)
    }

    #[test]
    fn rows_are_tiled_where_tiles_spare_enough_else_sorted_for_narrow_products() {
        let family = |n, spared| match decided(n, amd(), numbers(spared)).layout.choice {
            LayoutChoice::AsStored => Kernel::Rows,
            LayoutChoice::Sorted(..) => Kernel::Sorted,
            LayoutChoice::Tiles(..) => Kernel::Tiles,
        };
        assert_eq!(
            [1, 2, 64, 512].map(|n| family(n, 24)),
            [Kernel::Sorted, Kernel::Tiles, Kernel::Tiles, Kernel::Tiles]
        );
        assert_eq!(
            [2, 32, 33, 64].map(|n| family(n, 6)),
            [Kernel::Sorted, Kernel::Sorted, Kernel::Tiles, Kernel::Tiles]
        );
        assert_eq!(
            [128, 192, 512].map(|n| family(n, 7)),
            [Kernel::Tiles, Kernel::Rows, Kernel::Rows]
        );
    }

    #[test]
    fn what_there_is_no_memory_for_is_not_decided() {
        let layout = |memory| decided(16, amd(), FixedNumbers { memory, ..numbers(24) }).layout;
        assert!(matches!(layout([true; 3]).choice, LayoutChoice::Tiles(..)));
        let sorted = layout([false, true, true]);
        assert!(
            matches!(sorted.choice, LayoutChoice::Sorted(..)) && sorted.why.contains("no memory")
        );
        let stored = layout([false, false, true]);
        assert!(stored.choice == LayoutChoice::AsStored && stored.why.contains("no memory"));
        // B of 4 MB that a core fetches eight times over is packed.
        let small = Machine::with_caches(32 << 20, 256 << 10).with_vendor(Vendor::Intel);
        let panels = |memory| decided(1024, small, FixedNumbers { memory, ..numbers(0) }).packing;
        assert!(panels([true; 3]).choice.is_some());
        let none = panels([true, true, false]);
        assert!(none.choice.is_none() && none.why.contains("no memory"), "{}", none.why);
    }

    #[test]
    fn rows_of_b_are_prefetched_by_copies_alone() {
        // 13 MB of B are twelve times what a core holds.
        let copied_and_prefetched = |machine, memory| {
            let misses = CacheMisses { used_rows: 1000, misses: 1000 };
            let numbers = FixedNumbers { memory, misses, ..numbers(0) };
            let CsrDecisions { layout, prefetch_b, .. } = decided(3300, machine, numbers);
            (layout.choice != LayoutChoice::AsStored, prefetch_b.choice)
        };
        let far = Machine { b_budget: usize::MAX, ..amd() };
        assert_eq!(copied_and_prefetched(far, [true; 3]), (true, true));
        assert_eq!(copied_and_prefetched(far, [false, false, true]), (false, false));
        assert_eq!(
            copied_and_prefetched(Machine { gains_by_prefetch: false, ..far }, [true; 3]),
            (false, false)
        );
    }

    #[test]
    fn neighbouring_tasks_are_joined_unless_rows_of_b_are_better_read_whole() {
        let joined = |machine, slabs: [usize; 4]| {
            let mut numbers = numbers(24);
            numbers.sharing.slabs = slabs;
            match decided(64, machine, numbers).layout.choice {
                LayoutChoice::Tiles(TileConfig { slab_cols, joined_rows, .. }, _) => {
                    (slab_cols, joined_rows)
                }
                other => panic!("{other:?}"),
            }
        };
        let intel = amd().with_vendor(Vendor::Intel);
        assert_eq!([amd(), intel].map(|m| joined(m, [0; 4])), [(None, 1024), (None, 0)]);
        // Slabs are for many tiles: 37 600 columns in 300 slabs.
        assert_eq!(joined(intel, [300, 0, 0, 0]), (Some(256), 1024));
    }
}
