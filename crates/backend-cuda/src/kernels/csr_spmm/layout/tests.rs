use super::super::kernels;
use super::*;
use crate::launch::Machine;

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
        locality: None,
        cta_order: None,
    }
}

/// Of rows that are all alike.
fn alike(dtype: DType, rows: u64, average: u64, n: u64, warps: u64) -> Problem {
    let statistics =
        Statistics { rows, entries: rows * average, longest: average, heavy_entries: 0 };
    let order = Order::new(None, &statistics, n, dtype, warps);
    Problem { statistics, warps, order, ..problem(dtype, rows, average, rows) }
}

/// Rows of the pattern as warps take them, on a device whose second-level cache holds a megabyte.
fn with_locality(a: &girih_formats::Csr<f32>, n: u64) -> Problem {
    let machine = Machine {
        multiprocessors: 132,
        cache_bytes: 1 << 20,
        memory_bandwidth: 28,
        cache_bandwidth: 68,
        csr_layout: None,
        cta_order: None,
        copies_b: false,
    };
    let (rows, of_a) = (a.nrows() as u64, (a.nnz() as u64 * 8, a.nrows() as u64));
    let average = a.nnz() as u64 / rows;
    let locality = Locality::new(a.pattern(), None, of_a, (4, 4), &machine);
    Problem { locality, ..alike(DType::F32, rows, average, n, 64) }
}

#[test]
fn rows_in_no_order_have_tiles_that_the_cache_holds() {
    let scattered = with_locality(&girih_generate::uniform(4096, 4096, 16, 1).unwrap(), 512);
    let layout = Layout::new(&scattered, 512);
    assert_eq!(layout.stored(operation(16, true)).entry().1, "csr_spmm_rows_8x4");
    let (order, why) = layout.order();
    assert_eq!(
        (order.in_words(512), why),
        ("all rows for each of 16 tiles of columns".to_owned(), NARROWER,)
    );
    // 32 rows of 8 lanes to a block of 8 warps, as many in turn as before.
    let (grid, of_warps) = (layout.grid(512, DType::F32).unwrap(), scattered.order);
    let Order::Alike(wide) = of_warps else { panic!("{of_warps:?}") };
    let turns = u64::from(wide.teams(&scattered.statistics, 512, DType::F32, 64).turns);
    assert_eq!(u64::from(grid.blocks.0), 4096 / (32 * turns));
    assert_eq!((grid.blocks.1, grid.panel_tiles), (16, 1));
    // As many groups of lanes add up a row.
    assert_eq!((layout.lanes, layout.team), (8, 8));
    // In parts of vectors and element by element too.
    assert_eq!(layout.stored(operation(8, false)).entry().1, "csr_spmm_rows_word_pairs_8x4");
    assert_eq!(layout.stored(operation(4, false)).entry().1, "csr_spmm_rows_words_8x4");
    assert_eq!(layout.stored(operation(0, false)).entry().1, "csr_spmm_elements_8x1");

    let band = with_locality(&girih_generate::banded(4096, 4096, 8, 7, 1).unwrap(), 512);
    let layout = Layout::new(&band, 512);
    assert_eq!(layout.stored(operation(16, true)).entry().1, "csr_spmm_rows_32x4");
    assert_eq!(layout.order(), (CtaOrder::by_tiles(128), OF_TILES));
    // What options say goes first.
    let order = CtaOrder { tile_columns: 64, panel_tiles: 3 };
    let forced = Problem { cta_order: Some(order), ..scattered };
    assert_eq!(Layout::new(&forced, 512).order(), (order, FORCED));
}

fn operation(b_load_bytes: u64, c_whole: bool) -> Operation {
    Operation { b_load_bytes, c_whole, b_row_bytes: 1 << 12, c_in_vectors: c_whole }
}

/// What comes after `csr_spmm_` for items.
fn items_entry(layout: &Layout, dtype: DType, bytes: u64) -> String {
    let (n, size, tile) =
        (layout.n, dtype.size() as u64, format!("{}x{}", layout.lanes, layout.vectors));
    let narrow = match n {
        1 if size <= 8 => Some("column"),
        2 if size <= 4 => Some("pair"),
        3 | 4 if size == 2 => Some("quad"),
        _ => None,
    };
    match (narrow, bytes) {
        (Some("column"), _) => "elements_column".to_owned(),
        (Some(narrow), _) if bytes >= n.next_power_of_two() * size => narrow.to_owned(),
        (Some(narrow), _) => format!("elements_{narrow}"),
        (None, 16) => format!("vectors_{tile}"),
        (None, 8) if size <= 4 => format!("word_pairs_{tile}"),
        (None, 4) if size == 2 && layout.lanes > 1 => format!("words_{tile}"),
        (None, _) => format!("elements_{tile}"),
    }
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
                for bytes in
                    [0, 2, 4, 8, 16].into_iter().filter(|&b| b == 0 || b >= dtype.size() as u64)
                {
                    for c_whole in [false, true] {
                        let stored = layout.stored(operation(bytes, c_whole));
                        let expected = match stored.way {
                            Way::Runs => format!("runs_{lanes}x{vectors}"),
                            Way::Items => items_entry(&layout, dtype, bytes),
                            Way::Rows(_) => unreachable!("there are items"),
                        };
                        let (kernel, entry) = stored.entry();
                        assert_eq!(entry, format!("csr_spmm_{expected}"), "{dtype}, n = {n}");
                        // A column of c64 is read in vectors wherever it lies.
                        if dtype != DType::C64 || n > 1 {
                            let there = kernels(dtype)[kernel].budget.entries;
                            assert!(there.contains(&entry), "{dtype}, n = {n}: {entry}");
                        }
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

/// Bytes of a row of B decide, whatever they are: complex columns are laid out as twice as many real ones, whose
/// vectors have as many bytes. A row of fewer than 16 bytes is a vector either way.
#[test]
fn complex_columns_are_laid_out_as_twice_as_many_real_ones() {
    for (complex, part) in [(DType::C32, DType::F32), (DType::C64, DType::F64)] {
        for (rows, average) in [(9, 1), (1 << 20, 2), (1 << 20, 7), (1 << 16, 40), (1000, 70)] {
            for n in (2..300).chain([1000, 1 << 14]) {
                for warps in [32, 4224] {
                    let of = |dtype, n| {
                        let items = Layout::new(&problem(dtype, 1 << 16, average, rows), n);
                        let teams = Layout::new(&alike(dtype, rows, average, n, warps), n);
                        [items, teams].map(|layout| {
                            let Layout { lanes, vectors, team, .. } = layout;
                            let grid = layout.grid(n, dtype).map(|grid| (grid.blocks, grid.turns));
                            (lanes, vectors, team, layout.entry(), grid)
                        })
                    };
                    assert_eq!(
                        of(complex, n),
                        of(part, 2 * n),
                        "{rows} rows of {average}, n = {n}"
                    );
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
    assert_eq!(lanes(DType::C32, 2), (1, 1, 8));
    assert_eq!(lanes(DType::C64, 1), (1, 1, 8));
    assert_eq!(lanes(DType::C64, 2), (2, 1, 8));
    assert_eq!(lanes(DType::C64, 33), (32, 2, 32));
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
    let entry = |layout: Layout| layout.stored(operation(16, true)).entry().1;
    assert_eq!(entry(f32(128, 1 << 20, 5, 1 << 20)), "csr_spmm_runs_32x1");
    assert_eq!(entry(f32(512, 1 << 20, 5, 1 << 20)), "csr_spmm_runs_32x2");
    assert_eq!(entry(f32(128, 1 << 20, 5, 60)), "csr_spmm_vectors_32x1");
    assert_eq!(
        f32(128, 1000, 5, 1 << 20).stored(operation(16, false)).entry().1,
        "csr_spmm_vectors_32x1"
    );
    // Without locality, a tile of B is to stay in the cache.
    assert_eq!(entry(f32(512, 1 << 16, 16, 1 << 16)), "csr_spmm_vectors_32x1");
    assert_eq!(entry(f32(512, 1 << 12, 16, 1 << 16)), "csr_spmm_vectors_32x2");
}

#[test]
fn blocks_and_warps_that_take_an_item_alone_come_first() {
    let items = ItemCounts { by_block: 5, by_warp: 6, rest: 20, empty_rows: 0 };
    let grid = |n, rest_entries| {
        let problem = Problem { items, rest_entries, ..problem(DType::F32, 1000, 0, 0) };
        let layout = Layout::new(&problem, n).stored(operation(16, true));
        layout.grid(n, DType::F32).unwrap().blocks
    };
    // Teams of 8 lanes, 4 to a warp: 6 + 5 warps. A warp to an item: 6 + 20.
    assert_eq!(grid(32, 100), (5 + 3, 1));
    assert_eq!(grid(512, 100), (5 + 7, 2));
    // Rows without entries come last: two lanes to each make 16 to a warp, a warp to each at least eight.
    let grid = |n, empty_rows| {
        let items = ItemCounts { empty_rows, ..items };
        let problem = Problem { items, rest_entries: 100, ..problem(DType::F32, 1000, 0, 0) };
        let layout = Layout::new(&problem, n).stored(operation(16, true));
        (layout.first_empty_warp(), layout.grid(n, DType::F32).unwrap().blocks.0)
    };
    assert_eq!([grid(8, 16), grid(8, 17)], [(6 + 5, 5 + 3), (6 + 5, 5 + 4)]);
    assert_eq!([grid(512, 16), grid(512, 17)], [(6 + 20, 5 + 7), (6 + 20, 5 + 8)]);
    // Without any others, the few that are left are long.
    let items = ItemCounts { by_block: 5, ..ItemCounts::default() };
    let problem = Problem { items, ..problem(DType::F32, 1 << 20, 0, 0) };
    let layout = Layout::new(&problem, 512).stored(operation(16, true));
    assert_eq!(layout.entry().1, "csr_spmm_vectors_32x1");
    assert_eq!(layout.grid(512, DType::F32).unwrap().blocks, (5, 4));
}

#[test]
fn too_many_items_for_a_grid_are_noticed() {
    let grid = |rest| Layout::new(&problem(DType::F32, 1000, 0, rest), 128).grid(128, DType::F32);
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
    for dtype in DType::REAL {
        for n in (5..700).chain([1 << 20]) {
            for (average, rows) in [(1, 1 << 20), (9, 1000), (70, 1000), (300, 5000)] {
                let problem = alike(dtype, rows, average, n, 4224);
                let layout = Layout::new(&problem, n);
                if problem.order.has_items() {
                    continue;
                }
                let Layout { lanes, vectors, .. } = layout;
                let stored = layout.stored(operation(16, true));
                let grid = stored.grid(n, dtype);
                if let Way::Rows(teams) = stored.way {
                    assert!(teams.is_valid(), "{teams}");
                    let in_pairs = if vectors == 2 { "x2" } else { "" };
                    let name = format!("csr_spmm_rows_{lanes}x{}{in_pairs}", teams.depth);
                    assert_eq!(stored.entry(), (0, name.as_str()));
                    let grid = grid.unwrap();
                    assert!(grid.threads <= 512 && grid.turns == teams.turns);
                    let (x, y) = (u64::from(grid.blocks.0), u64::from(grid.blocks.1));
                    let blocks = x / u64::from(grid.panel_tiles);
                    assert!(blocks * teams.rows_of_block() >= rows);
                    let tiles = y * u64::from(grid.panel_tiles);
                    assert!(tiles * u64::from(lanes * vectors * 16) >= n * dtype.size() as u64);
                }
                let wide = |bytes| Operation { b_row_bytes: 1 << 32, ..operation(bytes, true) };
                let size = dtype.size();
                let of_teams = if size <= 4 { "word_pairs" } else { "words" };
                let mut others = vec![
                    (operation(16, false), stored.entry().1.to_owned()),
                    (operation(0, true), format!("csr_spmm_elements_{lanes}x{vectors}")),
                    (wide(16), format!("csr_spmm_elements_{lanes}x{vectors}")),
                    (wide(8), format!("csr_spmm_elements_{lanes}x{vectors}")),
                    (operation(8, true), format!("csr_spmm_rows_{of_teams}_{lanes}x4")),
                ];
                if size <= 4 {
                    others.push((wide(4), format!("csr_spmm_elements_{lanes}x{vectors}")));
                    others.push((operation(4, true), format!("csr_spmm_rows_words_{lanes}x4")));
                }
                if size == 2 {
                    others.push((operation(2, true), format!("csr_spmm_rows_halves_{lanes}x4")));
                }
                for (operation, name) in others {
                    let other = layout.stored(operation);
                    let (kernel, entry) = other.entry();
                    assert_eq!(entry, name, "{dtype}, n = {n}, {average}: {operation:?}");
                    assert!(kernels(dtype)[kernel].budget.entries.contains(&entry));
                    assert_eq!(other.team / other.lanes, layout.team / lanes);
                    // Panels are as wide, whatever tiles are.
                    if let Way::Rows(_) = other.way {
                        let columns =
                            |of: &Layout| of.order().0.tile_columns * of.order().0.panel_tiles;
                        assert_eq!(columns(&other), columns(&layout));
                        assert!(other.grid(n, dtype).is_some());
                    }
                }
            }
        }
    }
}

#[test]
fn a_lane_has_all_of_a_few_columns() {
    for (dtype, n, bytes, entry) in [
        (DType::F32, 1, 4, "rows_column"),
        (DType::F32, 2, 8, "rows_pair"),
        (DType::F32, 2, 4, "rows_words_1x4"),
        (DType::F32, 3, 4, "rows_words_1x4"),
        (DType::F32, 4, 16, "rows_1x4"),
        (DType::F16, 2, 4, "rows_pair"),
        (DType::F16, 3, 2, "rows_halves_quad"),
        (DType::F16, 4, 8, "rows_quad"),
        (DType::F32, 4, 8, "rows_word_pairs_1x4"),
        (DType::F16, 6, 8, "rows_word_pairs_1x4"),
        (DType::F16, 6, 4, "rows_words_1x4"),
        (DType::F16, 7, 2, "rows_halves_1x4"),
        (DType::F16, 8, 16, "rows_1x4"),
        (DType::F64, 1, 8, "rows_column"),
        (DType::F64, 2, 8, "rows_words_1x4"),
        (DType::C32, 1, 8, "rows_column"),
        (DType::C64, 1, 16, "rows_1x4"),
        (DType::F32, 3, 0, "elements_1x1"),
    ] {
        let problem = alike(dtype, 1 << 16, 14, 512, 4224);
        assert!(matches!(problem.order, Order::Alike(_)));
        let stored = Layout::new(&problem, n).stored(operation(bytes, true));
        let (kernel, found) = stored.entry();
        assert_eq!(found, format!("csr_spmm_{entry}"), "{dtype}, n = {n}, {bytes} bytes");
        assert!(kernels(dtype)[kernel].budget.entries.contains(&found));
        // Two lanes to a row of 14.
        assert_eq!((stored.lanes, stored.team), (1, 2));
        assert_eq!(stored.order().0.in_words(stored.n), "rows");
    }
}

#[test]
fn what_is_forced_is_launched() {
    let teams =
        CsrTeams { lanes: 16, team: 32, depth: 8, vectors: 1, warps: 4, turns: 2, panel_tiles: 3 };
    let statistics = Statistics::default();
    let order = |forced| Order::new(Some(forced), &statistics, 512, DType::F32, 4224);
    let of = |forced| Problem { order: order(forced), ..problem(DType::F32, 1000, 9, 1000) };
    let layout = Layout::new(&of(CsrLayout::Teams(teams)), 512).stored(operation(16, true));
    let grid = layout.grid(512, DType::F32).unwrap();
    assert_eq!((layout.entry().1, layout.team), ("csr_spmm_rows_16x8", 32));
    // 4 rows in each of 2 turns; 8 tiles in 3 panels.
    assert_eq!((grid.blocks, grid.threads, grid.panel_tiles), ((125 * 3, 3), 128, 3));
    assert_eq!((grid.shared, grid.turns), (4 * 32 * 8, 2));
    let layout = Layout::new(&of(CsrLayout::Items { panel_tiles: 2 }), 512);
    assert_eq!(layout.grid(512, DType::F32).unwrap().panel_tiles, 2);
    assert!(layout.order().0.in_words(layout.n).contains("all 2 tiles"), "{layout:?}");
}
