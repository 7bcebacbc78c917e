//! Teams of matrices that were counted.

use super::super::limits::resident_warps;
use super::*;

const H200: u32 = 132;

/// (rows, entries, longest row, entries of heavy rows) of matrices that were counted.
const WAVE: (u64, u64, u64, u64) = (156_317, 2_118_662, 44, 6000);
const BCSSTK33: (u64, u64, u64, u64) = (8738, 591_904, 141, 700);
const SHELL: (u64, u64, u64, u64) = (4704, 104_756, 42, 0);
const VIBROBOX: (u64, u64, u64, u64) = (12_328, 330_250, 120, 51_000);
const GNUTELLA: (u64, u64, u64, u64) = (62_586, 147_892, 78, 6200);
const PRUNED: (u64, u64, u64, u64) = (256, 117_964, 647, 0);
const ROADS: (u64, u64, u64, u64) = (114_599, 239_332, 6, 0);
const TRIANGLES: (u64, u64, u64, u64) = (15_606, 91_756, 10, 0);
const CONSTRAINTS: (u64, u64, u64, u64) = (3136, 144_848, 48, 0);
const FLUID: (u64, u64, u64, u64) = (1651, 49_533, 62, 25_000);
const WEIGHTS: (u64, u64, u64, u64) = (2048, 314_572, 192, 0);
const ASTRO: (u64, u64, u64, u64) = (16_706, 242_502, 360, 133_000);

fn statistics((rows, entries, longest, heavy_entries): (u64, u64, u64, u64)) -> Statistics {
    Statistics { rows, entries, longest, heavy_entries }
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
fn meshes_have_a_warp_to_a_row_and_up_to_four_rows_in_turn() {
    assert_eq!(teams(WAVE, 512).unwrap(), "32/32 x4, 8 warps, 4 turns, panels of 1");
    assert_eq!(teams(WAVE, 8).unwrap(), "2/2 x4, 8 warps, 1 turns, panels of 1");
    assert_eq!(teams(VIBROBOX, 512).unwrap(), "32/32 x4, 8 warps, 2 turns, panels of 1");
    assert_eq!(teams(BCSSTK33, 128).unwrap(), "32/32 x4, 8 warps, 1 turns, panels of 1");
}

#[test]
fn warps_that_would_be_idle_share_a_row() {
    assert_eq!(teams(BCSSTK33, 8).unwrap(), "2/16 x4, 8 warps, 1 turns, panels of 1");
    assert_eq!(teams(BCSSTK33, 16).unwrap(), "4/16 x4, 8 warps, 1 turns, panels of 1");
    // As many groups of lanes as make hardly more warps than the device has at a time are too many.
    assert_eq!(teams(SHELL, 24).unwrap(), "8/16 x4, 8 warps, 1 turns, panels of 1");
    assert_eq!(teams(PRUNED, 512).unwrap(), "8/32 x4, 8 warps, 1 turns, panels of 1");
    assert_eq!(teams(PRUNED, 128).unwrap(), "8/32 x8, 8 warps, 1 turns, panels of 1");
}

#[test]
fn lanes_wait_for_more_rows_of_b_where_the_longest_row_is_long_and_warps_are_idle() {
    let of = |longest| teams((2003, 83_883, longest, 4000), 128).unwrap();
    assert_eq!(of(48), "32/32 x8, 8 warps, 1 turns, panels of 1");
    let of = |longest| teams((1024, 1024 * longest, longest, 0), 128).unwrap();
    assert_eq!(of(32), "16/32 x8, 8 warps, 1 turns, panels of 1");
    assert_eq!(of(31), "16/32 x4, 8 warps, 1 turns, panels of 1");
    // All warps are busy.
    assert_eq!(teams(BCSSTK33, 128).unwrap(), "32/32 x4, 8 warps, 1 turns, panels of 1");
}

#[test]
fn a_long_row_of_a_small_matrix_is_an_item() {
    // Two groups of lanes would go through 64 entries each while others go through three.
    for n in [17, 32, 64, 128] {
        assert_eq!(teams((1856, 11_550, 128, 128), n), None, "n = {n}");
        assert!(teams((1856, 11_550, 32, 128), n).is_some(), "n = {n}");
    }
}

#[test]
fn a_warp_takes_a_row_where_that_leaves_enough_warps() {
    assert_eq!(teams(CONSTRAINTS, 128).unwrap(), "32/32 x4, 8 warps, 1 turns, panels of 1");
    assert_eq!(teams(WEIGHTS, 128).unwrap(), "32/32 x8, 8 warps, 1 turns, panels of 1");
}

#[test]
fn few_long_rows_are_items_where_lanes_have_many_columns() {
    const FEW_LONG: (u64, u64, u64, u64) = (512, 235_929, 620, 0);
    const TINY: (u64, u64, u64, u64) = (64, 8192, 170, 0);
    let warps = resident_warps(H200);
    let are_items = |of, n, dtype| Wide::new(&statistics(of), n, dtype, warps).is_none();
    for n in [64, 128, 252, 512] {
        assert!(are_items(FEW_LONG, n, DType::F16), "n = {n}");
        assert!(!are_items(WEIGHTS, n, DType::F16), "n = {n}");
    }
    assert!(are_items(FEW_LONG, 64, DType::F32) && !are_items(FEW_LONG, 128, DType::F32));
    assert!(!are_items(TINY, 512, DType::F32) && !are_items(FEW_LONG, 64, DType::F64));
}

#[test]
fn a_warp_adds_up_256_columns_where_half_of_them_have_a_row() {
    let lanes = |rows, n, dtype| {
        let (statistics, warps) = (statistics((rows, 51 * rows, 100, 0)), resident_warps(H200));
        Wide::new(&statistics, n, dtype, warps).unwrap().teams(&statistics, n, dtype, warps).lanes
    };
    assert_eq!([2048, 2112].map(|rows| lanes(rows, 252, DType::F16)), [16, 32]);
    assert_eq!([1600, 1700].map(|rows| lanes(rows, 128, DType::F32)), [16, 32]);
    assert_eq!(lanes(2048, 128, DType::F16), 16);
}

#[test]
fn teams_of_short_rows_begin_at_once() {
    assert_eq!(teams(TRIANGLES, 32).unwrap(), "8/8 x4, 8 warps, 1 turns, panels of 1");
    assert_eq!(teams(TRIANGLES, 64).unwrap(), "16/16 x4, 8 warps, 2 turns, panels of 1");
    assert_eq!(teams(TRIANGLES, 128).unwrap(), "32/32 x4, 8 warps, 4 turns, panels of 1");
}

#[test]
fn a_warp_takes_a_long_row_where_its_columns_are_128_bytes() {
    assert_eq!(teams(BCSSTK33, 32).unwrap(), "8/32 x4, 8 warps, 1 turns, panels of 1");
    assert_eq!(teams(BCSSTK33, 64).unwrap(), "16/32 x4, 8 warps, 1 turns, panels of 1");
}

#[test]
fn warps_hold_two_vectors_of_long_rows_where_that_leaves_enough_of_them() {
    for n in [256, 512, 1024] {
        assert_eq!(teams(WEIGHTS, n).unwrap(), "32/32 x4 x2, 8 warps, 1 turns, panels of 1");
    }
    assert_eq!(teams(BCSSTK33, 512).unwrap(), "32/32 x4, 8 warps, 2 turns, panels of 1");
    assert_eq!(teams(CONSTRAINTS, 512).unwrap(), "32/32 x4, 8 warps, 1 turns, panels of 1");
    assert_eq!(
        teams((1024, 157_000, 192, 0), 256).unwrap(),
        "32/32 x8, 8 warps, 1 turns, panels of 1"
    );
}

#[test]
fn rows_that_differ_go_to_teams_too_where_no_warp_has_much_to_do() {
    assert_eq!(teams(FLUID, 128).unwrap(), "16/32 x4, 8 warps, 1 turns, panels of 1");
    let longer = (FLUID.0, FLUID.1, 200, FLUID.3);
    assert_eq!(teams(longer, 128), None);
}

#[test]
fn rows_of_two_or_three_entries_are_items_where_there_are_many() {
    assert_eq!(teams(ROADS, 128), None);
    assert_eq!(teams(ROADS, 1024), None);
    // Too few columns for a warp, and too few rows for the device.
    assert_eq!(teams(ROADS, 64).unwrap(), "16/16 x4, 8 warps, 4 turns, panels of 1");
    assert!(teams((10_000, 21_000, 6, 0), 128).is_some());
}

#[test]
fn rows_that_differ_are_items() {
    assert_eq!(teams(ASTRO, 512), None);
    assert_eq!(teams(GNUTELLA, 32), None);
    // Too few warps for rows so long.
    assert_eq!(teams(PRUNED, 32), None);
    assert_eq!(teams(PRUNED, 8), None);
    assert_eq!(teams((1, 1 << 20, 1 << 20, 0), 512), None);
}

#[test]
fn wide_products_of_a_plan_are_added_up_in_one_order() {
    for of in [WAVE, BCSSTK33, VIBROBOX, PRUNED] {
        let statistics = statistics(of);
        for dtype in DType::REAL {
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
