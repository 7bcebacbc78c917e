//! How CSR is laid out, with what follows from it: which panels are packed, and whether rows of B are prefetched.

use serde::{Deserialize, Serialize};

use super::packing::{self, Panels};
use super::{Case, Decided, Facts, prefetch};
use crate::kernels::patterns::TILE_ROWS;
use crate::operands::GROUP_LINES;
use crate::thresholds::*;

/// How the entries of A lie when they are multiplied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In the plan's own arrays.
    AsStored,
    /// Rows sorted by length.
    Sorted(Sorting, SortingMade),
    /// Tiles of neighbouring rows.
    Tiles(Tiles, TilesMade),
}

/// How rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sorting {
    /// Whether rows that repeat the one before them a column later share their column indices.
    pub(crate) slices: bool,
    pub(crate) threads: usize,
    /// Whether rows of B are prefetched.
    pub(crate) prefetch_b: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SortingMade {
    /// Rows of which the column indices are shared.
    pub(crate) sliced_rows: usize,
    /// In how many parts each task is multiplied.
    pub(crate) parts: usize,
    /// Whether nearly all rows follow the one before them.
    pub(crate) consecutive: bool,
}

/// How rows are tiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tiles {
    /// Columns of a slab, if there are several.
    pub(crate) slab_cols: Option<usize>,
    /// Tasks that are neighbours are joined up to so many rows, and one of so many parts of all entries.
    pub(crate) joined_rows: usize,
    pub(crate) parts: usize,
    /// Loads of rows of B that a tile spares, in hundredths, of the tasks that were looked at.
    pub(crate) spared: usize,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TilesMade {
    pub(crate) tiles: usize,
    /// Columns of all tiles: loads of rows of B.
    pub(crate) loads: usize,
}

type OfCsr = (Decided<Layout>, Decided<Option<Panels>>, Decided<bool>);

/// What is decided about a CSR matrix. `facts` makes it, so that what there is no memory for is not decided.
pub(crate) fn of_csr(case: &Case, facts: &mut impl Facts) -> OfCsr {
    let tiles = match tiles(case, facts) {
        Ok((tiles, why)) => match facts.make_tiles(&tiles) {
            Some(made) => Ok((tiles, made, why)),
            None => Err("there is no memory for a copy in tiles".to_owned()),
        },
        Err(why) => Err(why),
    };
    let in_slabs = match &tiles {
        Ok((Tiles { slab_cols: Some(cols), .. }, made, _)) => {
            let rows = if case.m <= SLAB_ROWS { *cols } else { case.k };
            let panels = packing::for_slabs(case, rows, made.loads / case.k);
            Some(packing::made(panels, facts))
        }
        _ => None,
    };
    let (packing, prefetch_b) = match in_slabs {
        Some(packing @ Decided { choice: Some(_), .. }) => {
            let why = "the rows of B of a slab are packed, and stay in a core's own caches";
            (packing, Decided::new(false, why))
        }
        of_slabs => {
            let panels = packing::for_rows(case, facts, tiles.is_ok());
            let mut packing = packing::made(panels, facts);
            if let (None, Some(of_slabs)) = (packing.choice, of_slabs) {
                packing.why = format!("{}; by slabs: {}", packing.why, of_slabs.why);
            }
            let row_bytes = match packing.choice {
                Some(panels) => case.row_bytes(panels.row_stride()),
                None => case.row_bytes(case.n),
            };
            let prefetch = prefetch::of_b(case, facts, row_bytes);
            (packing, prefetch)
        }
    };
    match tiles {
        Ok((tiles, made, why)) => {
            (Decided::new(Layout::Tiles(tiles, made), why), packing, prefetch_b)
        }
        Err(why) => {
            let packs = packing.choice.is_some();
            let layout = sorted(case, facts, packs, prefetch_b.choice, &why);
            let prefetch_b = match layout.choice {
                Layout::AsStored if prefetch_b.choice => {
                    let why = format!("rows are not sorted, though {}", prefetch_b.why);
                    Decided::new(false, why)
                }
                _ => prefetch_b,
            };
            (layout, packing, prefetch_b)
        }
    }
}

/// How rows are tiled where that is profitable, and why; else why it is not.
fn tiles(case: &Case, facts: &impl Facts) -> Result<(Tiles, String), String> {
    let &Case { m, k, nnz, n, threads, .. } = case;
    if n == 1 {
        return Err("a single column is summed row by row".to_owned());
    }
    let lines = n / case.lanes();
    let needed = loads_needed(lines);
    if !facts.is_numbered() {
        return Err("rows can't be numbered in 32 bits".to_owned());
    }
    // Even rows that are all alike spare no more than three quarters of their loads.
    if nnz * TILE_ROWS < m * needed {
        let per_row = nnz as f64 / m.max(1) as f64;
        return Err(format!(
            "a tile of {TILE_ROWS} rows of {per_row:.1} entries can't spare {needed} loads of rows of B"
        ));
    }
    let sharing = facts.sharing();
    let spared = sharing.spared as f64 / sharing.tiles.max(1) as f64;
    let spares = format!(
        "a tile of {TILE_ROWS} neighbouring rows spares {spared:.1} loads of rows of B; {needed} are needed"
    );
    if !sharing.spares(needed) {
        return Err(spares);
    }
    let wanted = facts.has_whole_rows() && lines >= GROUP_LINES;
    let slab_cols = if wanted { sharing.slab_cols(m, k) } else { None };
    let (each, joined_rows) = match slab_cols {
        Some(_) => (TILE_PARTS_EACH_IN_SLABS, TILE_ROWS_TOGETHER),
        None if case.machine.follows_rows => (SORT_PARTS_EACH, 0),
        None => (SORT_PARTS_EACH, TILE_ROWS_TOGETHER),
    };
    let parts = parts(threads, each);
    let spared = 100 * sharing.spared / (sharing.spared + sharing.cols).max(1);
    Ok((Tiles { slab_cols, joined_rows, parts, spared }, spares))
}

/// Loads that a tile has to spare for so many whole lines of columns.
fn loads_needed(lines: usize) -> usize {
    match lines / GROUP_LINES {
        0 => TILE_LOADS,
        1 | 2 => TILE_LOADS_OF_GROUPS,
        _ => TILE_LOADS_WIDE,
    }
}

/// In how many parts at the least all entries are multiplied: one by a single thread, `each` by each of several,
/// so that threads end at about the same time.
pub(crate) fn parts(threads: usize, each: usize) -> usize {
    if threads == 1 { 1 } else { threads * each }
}

/// Whether rows that are not tiled are sorted.
fn sorted(
    case: &Case,
    facts: &mut impl Facts,
    packs: bool,
    prefetch_b: bool,
    no_tiles: &str,
) -> Decided<Layout> {
    let &Case { m, nnz, n, threads, .. } = case;
    let is_narrow = n <= SORT_LINES * case.lanes();
    let why = if is_narrow {
        "n is up to two lines, where wrong guesses of a row's end count"
    } else if prefetch_b {
        "rows of B are prefetched across rows of A"
    } else if packs {
        "panels of B go through all rows"
    } else {
        let why = "n is more than two lines, and B is neither packed nor prefetched";
        return Decided::new(Layout::AsStored, format!("{why}; {no_tiles}"));
    };
    let as_stored = |why: String| Decided::new(Layout::AsStored, format!("{why}; {no_tiles}"));
    if nnz == 0 {
        return as_stored("there are no entries".to_owned());
    }
    if nnz / m > SORT_ENTRIES {
        return as_stored(format!(
            "rows of {} entries, more than {SORT_ENTRIES}, are not sorted",
            nnz / m
        ));
    }
    if !facts.is_numbered() {
        return as_stored("rows can't be numbered in 32 bits".to_owned());
    }
    let sorting = Sorting { slices: is_narrow, threads, prefetch_b };
    match facts.make_sorted(&sorting) {
        Some(made) => Decided::new(Layout::Sorted(sorting, made), format!("{why}; {no_tiles}")),
        None => as_stored("there is no memory for a copy in sorted rows".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::Fetches;
    use crate::analyze::Sharing;
    use crate::lowering::Kernel;
    use crate::lowering::facts::testing::{Numbers, case};
    use crate::machine::{Machine, Vendor};

    #[test]
    fn tiles_have_to_spare_less_where_whole_groups_of_columns_are_multiplied() {
        assert_eq!([0, 3, 4, 11, 12, 100].map(loads_needed), [24, 24, 6, 6, 8, 8]);
    }

    /// 400 rows of 100 entries, of which tiles of four spare so many loads, in 64-column lines.
    fn numbers(spared: usize) -> Numbers {
        let sharing = Sharing {
            tiles: 100,
            cols: 40_000 - 100 * spared,
            spared: 100 * spared,
            slabs: [0; 4],
        };
        let fetches = Fetches { met: 1000, fetched: 8000 };
        Numbers { sharing, fetches, unpredicted: 0.0, whole_rows: true, memory: [true; 3] }
    }

    fn decided(n: usize, machine: Machine, mut numbers: Numbers) -> OfCsr {
        let case = Case { nnz: 40_000, stored: 40_000, ..case(400, 1000, n, 1, machine) };
        of_csr(&case, &mut numbers)
    }

    fn amd() -> Machine {
        Machine::of(32 << 20, 1 << 20).made_by(Vendor::Amd)
    }

    #[test]
    fn rows_are_tiled_where_tiles_spare_enough_else_sorted_for_narrow_products() {
        let family = |n, spared| match decided(n, amd(), numbers(spared)).0.choice {
            Layout::AsStored => Kernel::Rows,
            Layout::Sorted(..) => Kernel::Sorted,
            Layout::Tiles(..) => Kernel::Tiles,
        };
        assert_eq!(
            [1, 2, 64, 512].map(|n| family(n, 24)),
            [Kernel::Sorted, Kernel::Tiles, Kernel::Tiles, Kernel::Tiles]
        );
        assert_eq!(
            [2, 32, 48, 64].map(|n| family(n, 6)),
            [Kernel::Sorted, Kernel::Sorted, Kernel::Rows, Kernel::Tiles]
        );
        assert_eq!(
            [128, 192, 512].map(|n| family(n, 7)),
            [Kernel::Tiles, Kernel::Rows, Kernel::Rows]
        );
    }

    #[test]
    fn what_there_is_no_memory_for_is_not_decided() {
        let of = |memory| decided(16, amd(), Numbers { memory, ..numbers(24) }).0;
        assert!(matches!(of([true; 3]).choice, Layout::Tiles(..)));
        let sorted = of([false, true, true]);
        assert!(matches!(sorted.choice, Layout::Sorted(..)) && sorted.why.contains("no memory"));
        let stored = of([false, false, true]);
        assert!(stored.choice == Layout::AsStored && stored.why.contains("no memory"));
        // B of 4 MB that a core fetches eight times over is packed.
        let small = Machine::of(32 << 20, 256 << 10).made_by(Vendor::Intel);
        let panels = |memory| decided(1024, small, Numbers { memory, ..numbers(0) }).1;
        assert!(panels([true; 3]).choice.is_some());
        let none = panels([true, true, false]);
        assert!(none.choice.is_none() && none.why.contains("no memory"), "{}", none.why);
    }

    #[test]
    fn rows_of_b_are_prefetched_by_copies_alone() {
        // 13 MB of B are twelve times what a core holds.
        let of = |machine, memory| {
            let fetches = Fetches { met: 1000, fetched: 1000 };
            let numbers = Numbers { memory, fetches, ..numbers(0) };
            let (layout, _, prefetch) = decided(3300, machine, numbers);
            (layout.choice != Layout::AsStored, prefetch.choice)
        };
        let far = Machine { b: usize::MAX, ..amd() };
        assert_eq!(of(far, [true; 3]), (true, true));
        assert_eq!(of(far, [false, false, true]), (false, false));
        assert_eq!(of(Machine { asks: false, ..far }, [true; 3]), (false, false));
    }

    #[test]
    fn neighbouring_tasks_are_joined_unless_rows_of_b_are_better_read_whole() {
        let joined = |machine, slabs: [usize; 4]| {
            let mut numbers = numbers(24);
            numbers.sharing.slabs = slabs;
            match decided(64, machine, numbers).0.choice {
                Layout::Tiles(Tiles { slab_cols, joined_rows, .. }, _) => (slab_cols, joined_rows),
                other => panic!("{other:?}"),
            }
        };
        let intel = amd().made_by(Vendor::Intel);
        assert_eq!([amd(), intel].map(|m| joined(m, [0; 4])), [(None, 1024), (None, 0)]);
        // Slabs are for many tiles: 37 600 columns in 300 slabs.
        assert_eq!(joined(intel, [300, 0, 0, 0]), (Some(256), 1024));
    }
}
