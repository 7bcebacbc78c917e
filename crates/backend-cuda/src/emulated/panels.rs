//! Products in panels of columns have the bits of whole ones.

use girih_backend::{DenseScalar, SpmmBackend};
use girih_formats::{AnyTiling, Csr, FormatSpec, RowLayout, ScalesPer, Tiling};
use girih_planner::schedule::Reduction;
use girih_planner::{Plan, Schedule};
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, Placed, random};
use half::{bf16, f16};
use ndarray::s;

use super::Emulated;
use super::operands::Placing;
use crate::{CsrLayout, CsrTeams, CtaOrder};

/// Multiplies all columns at once, and in two panels that begin where the narrowest may.
fn bits_are_the_same<T: DenseScalar>(a: &Csr<f64>, spec: FormatSpec, limit: u64)
where
    T::Acc: PartialEq,
{
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    of_device::<T>(&device, a, spec, limit);
}

fn of_device<T: DenseScalar>(device: &Emulated, a: &Csr<f64>, spec: FormatSpec, limit: u64)
where
    T::Acc: PartialEq,
{
    let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
    let tiling = AnyTiling::from(Tiling::from_csr(&a.cast::<T>(), spec, layout).unwrap());
    let schedule = Schedule::by_limit(&tiling, limit, Reduction::TwoPass);
    let plan = Plan::from_tiling(tiling).with_schedule(&schedule).unwrap();
    let prepared = device.prepare(&plan).unwrap();
    // 512 bytes of a row of B, and no whole number of vectors more.
    let unit = 512 / size_of::<T>();
    let n = 2 * unit + 13;
    let (b, before) = (random::<T>(a.ncols(), n, 1), random::<T::Acc>(a.nrows(), n, 2));
    // From each column to the next one.
    let multiply = |ends: &[usize]| {
        let mut c = before.clone();
        for panel in ends.windows(2) {
            let b = b.slice(s![.., panel[0]..panel[1]]);
            let c = c.slice_mut(s![.., panel[0]..panel[1]]);
            prepared.execute(-2.5, T::erase(b), 0.5, T::erase_acc_mut(c)).unwrap();
        }
        c
    };
    let whole = multiply(&[0, n]);
    assert!(whole != before);
    assert!(multiply(&[0, unit, n]) == whole, "{spec} of {}", T::DTYPE);
}

/// A few rows of many lengths, one of them in pieces.
fn long_rows() -> Csr<f64> {
    matrices::where_(20, 530, |i, j| i == 4 || (i * 3 + j) % (11 * (i % 9) + 7) == 1).unwrap()
}

/// Many short rows.
fn short_rows() -> Csr<f64> {
    matrices::where_(90, 60, |i, j| (i * 7 + j) % 19 == i % 5).unwrap()
}

#[test]
fn of_csr() {
    for a in [long_rows(), short_rows()] {
        bits_are_the_same::<f16>(&a, FormatSpec::Csr, 100);
        bits_are_the_same::<f32>(&a, FormatSpec::Csr, 100);
        bits_are_the_same::<f64>(&a, FormatSpec::Csr, 100);
    }
}

/// Short rows as items, several to a warp: by themselves they would go to teams.
#[test]
fn of_csr_in_runs() {
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    let items = device.with_csr_layout(CsrLayout::Items { panel_tiles: 2 });
    of_device::<f16>(&items, &short_rows(), FormatSpec::Csr, 100);
    of_device::<f32>(&items, &short_rows(), FormatSpec::Csr, 100);
}

/// C by a layout, with B and C as they are.
fn product(
    device: &Emulated,
    layout: CsrLayout,
    (b, c): (Layout, Layout),
) -> (Vec<u32>, Vec<String>) {
    let a = short_rows().cast::<f32>();
    let rows = RowLayout::explicit(90, 1, (0..90).rev().collect::<Vec<u32>>()).unwrap();
    let plan =
        Plan::from_tiling(AnyTiling::from(Tiling::from_csr(&a, FormatSpec::Csr, rows).unwrap()));
    let device = device.with_csr_layout(layout);
    let prepared = device.prepare(&plan).unwrap();
    let b = Placed::new(&random::<f32>(a.ncols(), 150, 1), b);
    let mut c = Placed::new(&random::<f32>(a.nrows(), 150, 2), c);
    let (view, c_view) = (f32::erase(b.view()), f32::erase_acc_mut(c.view_mut()));
    prepared.execute(1.5, view, 0.5, c_view).unwrap();
    let bits = c.view().iter().map(|x| x.to_bits()).collect();
    (bits, device.executed().into_iter().map(|(_, entry)| entry).collect())
}

#[test]
fn csr_has_the_same_bits_by_every_layout_that_adds_in_one_order() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let aligned = (Layout::RowMajor, Layout::RowMajor);
    // 150 columns of a row are no whole number of vectors: so rows are on 16 bytes only where they are sent.
    let Some(sent) = Emulated::new(Placing::AsSent) else { return };
    for groups in [1, 2] {
        let mut all = Vec::new();
        let kernels = [(1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (32, 1), (32, 2)];
        for (lanes, vectors) in kernels.into_iter().filter(|(lanes, _)| lanes * groups <= 32) {
            for (warps, turns, panel_tiles) in [(1, 1, 1), (5, 3, 2)] {
                let team = lanes * groups;
                let teams = CsrTeams { lanes, team, depth: 4, vectors, warps, turns, panel_tiles };
                let layout = CsrLayout::Teams(teams);
                let (bits, entries) = product(&sent, layout, aligned);
                let (twice, times) = if vectors == 2 { ("x2", "x2") } else { ("", "x1") };
                assert_eq!(entries, [format!("csr_spmm_rows_{lanes}x4{twice}")]);
                all.push(bits);
                for (operands, entry) in [
                    ((Layout::ColMajor, Layout::RowMajor), format!("elements_{lanes}{times}")),
                    ((Layout::PaddedRows, Layout::Strided), format!("rows_words_{lanes}x4")),
                    (aligned, format!("rows_word_pairs_{lanes}x4")),
                ] {
                    let (bits, entries) = product(&device, layout, operands);
                    assert_eq!(entries, [format!("csr_spmm_{entry}")]);
                    all.push(bits);
                }
            }
        }
        // A warp to a row, and a warp to several.
        if groups == 1 {
            for panel_tiles in [1, 2] {
                all.push(product(&sent, CsrLayout::Items { panel_tiles }, aligned).0);
            }
        }
        assert!(all.iter().all(|bits| *bits == all[0]), "{groups} groups of lanes");
    }
}

/// C of 600 columns by an order, and the entries that ran.
fn ordered<T: DenseScalar>(
    device: &Emulated,
    spec: FormatSpec,
    order: Option<CtaOrder>,
) -> (Vec<u32>, Vec<String>)
where
    T::Acc: Into<f64>,
{
    let a = long_rows().cast::<T>();
    let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
    let tiling = AnyTiling::from(Tiling::from_csr(&a, spec, layout).unwrap());
    let schedule = Schedule::by_limit(&tiling, 40, Reduction::TwoPass);
    let plan = Plan::from_tiling(tiling).with_schedule(&schedule).unwrap();
    let device =
        order.map_or(device.with_placing(Placing::AsSent), |order| device.with_cta_order(order));
    let b = random::<T>(a.ncols(), 600, 1);
    let mut c = random::<T::Acc>(a.nrows(), 600, 2);
    let prepared = device.prepare(&plan).unwrap();
    prepared.execute(1.5, T::erase(b.view()), 0.5, T::erase_acc_mut(c.view_mut())).unwrap();
    let bits = c.iter().map(|&x| (x.into() as f32).to_bits()).collect();
    (bits, device.executed().into_iter().map(|(_, entry)| entry).collect())
}

/// Every width of a tile and every panel of it, some of whose tiles are beyond the last.
#[test]
fn wcsr_has_the_same_bits_in_every_order() {
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    let all: [(_, &[&str]); 2] = [
        (FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 }, &["narrow", "middle", "wide"]),
        (FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 }, &["narrow", "wide"]),
    ];
    for (spec, entries) in all {
        let own = ordered::<f32>(&device, spec, None).0;
        for (tile_columns, entry) in [128, 256, 512].into_iter().zip(entries) {
            for panel_tiles in [1, 2, 3, 1 << 20] {
                let order = CtaOrder { tile_columns, panel_tiles };
                let (bits, executed) = ordered::<f32>(&device, spec, Some(order));
                assert_eq!(bits, own, "{spec}, {order}");
                assert!(executed.contains(&format!("wcsr_spmm_{entry}")), "{order}: {executed:?}");
            }
        }
    }
}

/// Rows in no order, whose tiles of 512 bytes the emulated cache does not hold: by price, and by teams of a warp.
#[test]
fn csr_has_the_same_bits_by_tiles_that_the_cache_holds() {
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    let a = girih_generate::uniform::<f32>(200, 200, 12, 1).unwrap();
    let layout = RowLayout::natural(200, 1).unwrap();
    let tiling = AnyTiling::from(Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap());
    let plan = Plan::from_tiling(tiling);
    let of = |device: &Emulated| {
        let b = random::<f32>(200, 200, 1);
        let mut c = random::<f32>(200, 200, 2);
        let prepared = device.prepare(&plan).unwrap();
        let (b, c_view) = (f32::erase(b.view()), f32::erase_acc_mut(c.view_mut()));
        prepared.execute(1.5, b, 0.5, c_view).unwrap();
        c.mapv(f32::to_bits)
    };
    let found = of(&device);
    let executed: Vec<_> = device.executed().into_iter().map(|(_, entry)| entry).collect();
    assert_eq!(executed, ["csr_spmm_rows_8x4"]);
    let teams =
        CsrTeams { lanes: 32, team: 32, depth: 4, vectors: 1, warps: 8, turns: 2, panel_tiles: 1 };
    assert_eq!(of(&device.with_csr_layout(CsrLayout::Teams(teams))), found);
}

/// Long rows and items: by tiles of fewer lanes, entries are added up in another order, which no panel changes.
#[test]
fn csr_has_the_same_bits_in_every_panel() {
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    for tile_columns in [32, 64, 128, 256] {
        let of = |panel_tiles| {
            let order = CtaOrder { tile_columns, panel_tiles };
            ordered::<f32>(&device, FormatSpec::Csr, Some(order)).0
        };
        let by_tiles = of(1);
        assert!([2, 3, 1 << 20].into_iter().all(|panel| of(panel) == by_tiles), "{tile_columns}");
    }
}

#[test]
fn of_wcsr() {
    let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
    bits_are_the_same::<f32>(&long_rows(), spec, 30);
    bits_are_the_same::<bf16>(&long_rows(), spec, u64::MAX);
}

#[test]
fn of_hybrids() {
    let spec = FormatSpec::Hybrid { window_rows: 16, pad_cols: 8, tile_entries: 20 };
    // Dense windows between others, some rows of which are long.
    let has = |i: usize, j: usize| match (i / 16) % 2 {
        0 => j % 5 == 1,
        _ => i == 20 || (i * 3 + j) % (11 * (i % 9) + 13) == 1,
    };
    let a = matrices::where_(70, 900, has).unwrap();
    bits_are_the_same::<f32>(&a, spec, 7);
    bits_are_the_same::<bf16>(&a, spec, u64::MAX);
}

#[test]
fn of_bcsr() {
    // Three block rows that share columns, and so are taken together where the product is wide.
    let has = |i: usize, j: usize| (i * 7 + j * 3).is_multiple_of(11);
    let a = matrices::where_(192, 256, has).unwrap();
    let spec = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    bits_are_the_same::<f16>(&a, spec, u64::MAX);
    bits_are_the_same::<f32>(&a, spec, u64::MAX);
}

#[test]
fn of_two_four() {
    let a = matrices::where_(200, 260, |i, j| (i + j / 4) % 3 != 0 && (i + j) % 2 == 0).unwrap();
    bits_are_the_same::<f16>(&a, FormatSpec::TwoFour, u64::MAX);
    bits_are_the_same::<bf16>(&a, FormatSpec::TwoFour, u64::MAX);
    bits_are_the_same::<f16>(&a, FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row }, u64::MAX);
}
