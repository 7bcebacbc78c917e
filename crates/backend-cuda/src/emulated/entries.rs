//! Every entry point of every kernel is executed, and what it computes is right.

use std::collections::BTreeSet;

use girih_backend::{
    Aggregation, DenseScalar, PreparedSpmm, Product, SpmmBackend, verify, verify_aggregation,
};
use girih_formats::{AnyTiling, Complex, Csr, FormatSpec, Real, RowLayout, Tiling};
use girih_planner::cost::LinearCost;
use girih_planner::schedule::{ColRange, Columns, Reduction, Task};
use girih_planner::{Plan, Precision, Schedule};
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, Placed, random};
use half::{bf16, f16};
use ndarray::s;

use super::Emulated;
use super::operands::Placing;
use crate::kernels::sm90_bmat_spmm::Arithmetic;
use crate::kernels::{Kernel, csr_spmm, sm90_bmat_spmm, sm90_wcsr_spmm};
use crate::{CsrLayout, CsrTeams};

/// A matrix with rows of 0 to 20 entries and one that is split.
fn matrix() -> Csr<f64> {
    matrices::where_(9, 530, |i, j| i == 4 || (i * 3 + j) % (29 * i + 1) == 1).unwrap()
}

/// Many short rows.
fn short_rows() -> Csr<f64> {
    matrices::where_(90, 60, |i, j| (i * 7 + j) % 19 == i % 5).unwrap()
}

/// Lanes, depth and vectors of every kernel for rows that are alike.
const TEAMS: [(u32, u32, u32); 10] = [
    (1, 4, 1),
    (2, 4, 1),
    (4, 4, 1),
    (8, 4, 1),
    (16, 4, 1),
    (32, 4, 1),
    (8, 8, 1),
    (16, 8, 1),
    (32, 8, 1),
    (32, 4, 2),
];

fn teams(lanes: u32, team: u32, depth: u32, vectors: u32) -> CsrTeams {
    CsrTeams { lanes, team, depth, vectors, warps: 3, turns: 3, panel_tiles: 2 }
}

fn csr<T: DenseScalar>() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    products::<T>(&device, &matrix(), &[1, 2, 4, 8, 16, 32, 33]);
    // Short rows are all alike, and would be no items.
    let items = device.with_csr_layout(CsrLayout::Items { panel_tiles: 2 });
    products::<T>(&items, &short_rows(), &[32, 33]);
    products_in_parts::<T>(&device, &matrix(), &[1, 2, 4, 8, 16, 32, 33]);
    let mut executed = device.executed();
    executed.extend(items.executed());
    for (lanes, depth, vectors) in TEAMS {
        for team in [lanes, 32] {
            let teams = teams(lanes, team, depth, vectors);
            assert!(teams.is_valid());
            let teams = device.with_csr_layout(CsrLayout::Teams(teams));
            products::<T>(&teams, &matrix(), &[1, 2, 9]);
            products::<T>(&teams, &short_rows(), &[(lanes * vectors) as usize + 1]);
            products_in_parts::<T>(&teams, &short_rows(), &[lanes as usize]);
            executed.extend(teams.executed());
        }
    }
    for kernel in csr_spmm::kernels(T::DTYPE) {
        all_executed(&executed, &kernel);
    }
}

/// Every entry of both kernels of aggregations.
fn csr_aggregations<T: DenseScalar + Real>() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let per_vector = 16 / size_of::<T>();
    let widths = [1, 2, 4, 8, 16, 32, 33].map(|vectors| vectors * per_vector);
    let in_parts = widths.map(|n| n - per_vector / 2);
    aggregations::<T>(&device, &matrix(), &[&[1][..], &widths, &in_parts].concat());
    let mut executed = device.executed();
    for (lanes, depth, vectors) in TEAMS {
        let team = if lanes == 8 { 16 } else { lanes };
        let teams = teams(lanes, team, depth, vectors);
        let teams = device.with_csr_layout(CsrLayout::Teams(teams));
        let n = lanes as usize * per_vector;
        aggregations::<T>(&teams, &short_rows(), &[n * vectors as usize, n - 1, n - 2, 1, 2]);
        executed.extend(teams.executed());
    }
    for aggregation in [Aggregation::Max, Aggregation::Mean] {
        for kernel in csr_spmm::kernels(T::DTYPE) {
            all_executed(&executed, &kernel.with_aggregation(aggregation));
        }
    }
}

/// Aggregations of these numbers of columns, and of a vector of columns that begins in the middle of one.
fn aggregations<T: DenseScalar + Real>(device: &Emulated, a: &Csr<f64>, widths: &[usize]) {
    let a = a.cast::<T>();
    let layout = RowLayout::natural(a.nrows(), 1).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap());
    let prepared = device.prepare(&plan).unwrap();
    let per_vector = 16 / size_of::<T>();
    let products = widths.iter().map(|&n| (0, n)).chain([(per_vector / 2, per_vector)]);
    for (skipped, n) in products {
        for layout in [Layout::RowMajor, Layout::ColMajor] {
            for aggregation in [Aggregation::Max, Aggregation::Mean] {
                let placed = Placed::new(&random::<T>(a.ncols(), skipped + n, 1), layout);
                let b = placed.view().slice_move(s![.., skipped..]);
                let mut c = Placed::new(&random::<T::Acc>(a.nrows(), n, 2), Layout::RowMajor);
                let into = T::erase_acc_mut(c.view_mut());
                prepared.aggregate(aggregation, T::erase(b), into).unwrap();
                let (b, found) = (T::erase(b), T::erase_acc(c.view()));
                let rounding = device.rounding(&plan);
                let verdict = verify_aggregation(&a, &plan, aggregation, &b, &found, rounding);
                let verdict = verdict.unwrap();
                assert!(verdict.passed(), "{aggregation:?}, n = {n}, {layout:?}: {verdict:?}");
            }
        }
    }
}

/// Products as wide as these numbers of vectors, and of one column.
fn products<T: DenseScalar>(device: &Emulated, a: &Csr<f64>, widths: &[usize]) {
    let a = matrices::typed::<T>(a);
    let layout = RowLayout::natural(a.nrows(), 1).unwrap();
    let tiling = Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap();
    let plan = Plan::from_tiling(tiling);
    let prepared = device.prepare(&plan).unwrap();
    // As many vectors as lanes are used, up to two for each of 32.
    let per_vector = 16 / size_of::<T>();
    for vectors in widths {
        for layout in [Layout::RowMajor, Layout::ColMajor] {
            product::<T>(device, &*prepared, &a, &plan, (vectors * per_vector, 1.0), layout);
        }
    }
    product::<T>(device, &*prepared, &a, &plan, (1, 1.0), Layout::ColMajor);
    product::<T>(device, &*prepared, &a, &plan, (1, 0.0), Layout::RowMajor);
}

/// Products of a row-major B whose rows begin on half a vector, on a word and on a value, up to as wide as these numbers of
/// vectors; and those of a few columns.
fn products_in_parts<T: DenseScalar>(device: &Emulated, a: &Csr<f64>, widths: &[usize]) {
    let a = matrices::typed::<T>(a);
    let layout = RowLayout::natural(a.nrows(), 1).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap());
    let prepared = device.prepare(&plan).unwrap();
    let per_vector = 16 / size_of::<T>();
    let wide = widths.iter().flat_map(|vectors| {
        [per_vector / 2, 2, 1].map(|less| (vectors * per_vector).saturating_sub(less))
    });
    for n in wide.filter(|&n| n > per_vector / 2) {
        product::<T>(device, &*prepared, &a, &plan, (n, 1.0), Layout::RowMajor);
    }
    product_after::<T>(
        device,
        &*prepared,
        &a,
        &plan,
        (per_vector / 2, per_vector, 1.0),
        Layout::RowMajor,
    );
    for n in [2, 3, 4].into_iter().filter(|n| 2 * n <= per_vector + 2) {
        for layout in [Layout::RowMajor, Layout::PaddedRows, Layout::ColMajor] {
            product::<T>(device, &*prepared, &a, &plan, (n, 1.0), layout);
        }
    }
}

/// Checks that every entry point of a kernel has run.
pub(super) fn all_executed(executed: &BTreeSet<(String, String)>, kernel: &Kernel) {
    let name = kernel.to_string();
    let ran = |entry: &str| executed.iter().any(|(of, ran)| *of == name && ran == entry);
    let missing: Vec<_> = kernel.budget.entries.iter().filter(|entry| !ran(entry)).collect();
    assert!(missing.is_empty(), "{name}: not executed: {missing:?}");
}

/// Windows of all heights, in parts, times as many columns as every width of tiles takes.
fn wcsr<T: DenseScalar>() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    for window_rows in (8..=64).step_by(8) {
        let a = matrices::where_(2 * window_rows + 3, 150, |i, j| (i * 7 + j) % 5 == 0).unwrap();
        let a = a.cast::<T>();
        let layout = RowLayout::natural(a.nrows(), window_rows).unwrap();
        let spec = FormatSpec::Wcsr { window_rows, pad_cols: 16 };
        let tiling = AnyTiling::from(Tiling::from_csr(&a, spec, layout).unwrap());
        let schedule = Schedule::by_tiles(&tiling, 4);
        let atomic = schedule.tasks().clone();
        let atomic = Schedule::try_from_parts(atomic, None, Reduction::Atomic, &tiling).unwrap();
        assert!(schedule.split_windows() > 0);
        let plan = Plan::from_tiling(tiling).with_schedule(&schedule).unwrap();
        let atomic = plan.clone().with_schedule(&atomic).unwrap();
        let prepared = device.prepare(&plan).unwrap();
        for n in [72, 200, 304] {
            product::<T>(&device, &*prepared, &a, &plan, (n, 1.0), Layout::RowMajor);
        }
        product::<T>(&device, &*prepared, &a, &plan, (37, 1.0), Layout::ColMajor);
        product::<T>(&device, &*prepared, &a, &plan, (40, 0.0), Layout::RowMajor);
        let added = device.prepare(&atomic).unwrap();
        product::<T>(&device, &*added, &a, &atomic, (40, 1.0), Layout::RowMajor);
        product::<T>(&device, &*added, &a, &atomic, (37, 1.0), Layout::ColMajor);
        all_executed(&device.executed(), &sm90_wcsr_spmm::kernel(T::DTYPE, window_rows));
    }
}

/// Windows at once, in parts and in partitions, times as many columns as every width of tiles takes.
fn bmat<T: DenseScalar>(precision: Precision) {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let a = matrices::where_(67, 150, |i, j| !(16..32).contains(&i) && (i * 7 + j) % 5 == 0);
    let a = a.unwrap().cast::<T>();
    for pattern_only in [false, true] {
        let layout = RowLayout::natural(a.nrows(), 16).unwrap();
        let spec = FormatSpec::BMat { pattern_only };
        let tiling = AnyTiling::from(Tiling::from_csr(&a, spec, layout).unwrap());
        let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
        let parts = Schedule::by_tiles(&tiling, 4);
        assert!(parts.split_windows() > 0);
        for schedule in [
            parts,
            Schedule::by_window(&tiling),
            Schedule::sm_aligned(&tiling, 200, 4, &cost),
            Schedule::sm_aligned(&tiling, 37, 19, &cost),
            strips(&tiling),
        ] {
            let plan = Plan::from_tiling(tiling.clone()).with_schedule(&schedule).unwrap();
            let plan = plan.with_precision(precision);
            let prepared = device.prepare(&plan).unwrap();
            for n in [24, 56, 72, 200, 304] {
                product::<T>(&device, &*prepared, &a, &plan, (n, 1.0), Layout::RowMajor);
            }
            product::<T>(&device, &*prepared, &a, &plan, (37, 1.0), Layout::ColMajor);
            product::<T>(&device, &*prepared, &a, &plan, (40, 0.0), Layout::RowMajor);
        }
        let arithmetic = Arithmetic::of(T::DTYPE, precision);
        all_executed(&device.executed(), &sm90_bmat_spmm::kernel(arithmetic, pattern_only));
    }
}

/// The first window in strips of columns that begin anywhere, one of them in parts; the others whole.
fn strips(windows: &AnyTiling) -> Schedule {
    let (first, all) = (windows.tile_ptr(1), windows.tile_ptr(windows.n_windows()));
    let of_first =
        |tile_start, tile_end| Task { window_start: 0, window_end: 1, tile_start, tile_end };
    let others = Task {
        window_start: 1,
        window_end: windows.n_windows() as u64,
        tile_start: first,
        tile_end: all,
    };
    let tasks = vec![of_first(0, first), of_first(0, 3), of_first(3, first), others];
    let ranges = [(0, 27), (27, 90), (27, 90), (0, 90)].map(|(start, end)| ColRange { start, end });
    let columns = Columns {
        cut_for: 90,
        ranges: ranges.to_vec().into(),
        partition_ptr: vec![0, 2, 4].into(),
    };
    Schedule::try_from_parts(tasks, Some(columns), Reduction::TwoPass, windows).unwrap()
}

fn product<T: DenseScalar>(
    device: &Emulated,
    prepared: &dyn PreparedSpmm,
    a: &Csr<T>,
    plan: &Plan,
    (n, alpha): (usize, f64),
    layout: Layout,
) {
    product_after(device, prepared, a, plan, (0, n, alpha), layout);
}

/// A product of the last `n` columns of a B that has `skipped` more.
fn product_after<T: DenseScalar>(
    device: &Emulated,
    prepared: &dyn PreparedSpmm,
    a: &Csr<T>,
    plan: &Plan,
    (skipped, n, alpha): (usize, usize, f64),
    layout: Layout,
) {
    let placed = Placed::new(&random::<T>(a.ncols(), skipped + n, 1), layout);
    let b = placed.view().slice_move(s![.., skipped..]);
    let before = random::<T::Acc>(a.nrows(), n, 2);
    let mut c = before.clone();
    let beta = 0.5;
    prepared
        .execute(alpha, T::erase(b), beta, T::erase_acc_mut(c.view_mut()))
        .unwrap_or_else(|error| panic!("n = {n}, {layout:?}: {}", explain(&error)));
    let added = Some((beta, T::erase_acc(before.view())));
    let product = Product { alpha, b: T::erase(b), added };
    let found = T::erase_acc(c.view());
    let verdict = verify(a, plan, &product, &found, device.rounding(plan)).unwrap();
    assert!(verdict.passed(), "n = {n}, {layout:?}: {verdict:?}");
}

fn explain(error: &dyn std::error::Error) -> String {
    let source = error.source().map(|source| format!(": {}", explain(source)));
    format!("{error}{}", source.unwrap_or_default())
}

#[test]
fn csr_in_f16() {
    csr::<f16>();
}

#[test]
fn csr_in_bf16() {
    csr::<bf16>();
}

#[test]
fn csr_in_f32() {
    csr::<f32>();
}

#[test]
fn csr_in_f64() {
    csr::<f64>();
}

#[test]
fn csr_in_c32() {
    csr::<Complex<f32>>();
}

#[test]
fn csr_in_c64() {
    csr::<Complex<f64>>();
}

#[test]
fn csr_aggregations_in_f32() {
    csr_aggregations::<f32>();
}

#[test]
fn bmat_in_f16() {
    bmat::<f16>(Precision::Tf32);
}

#[test]
fn bmat_in_bf16() {
    bmat::<bf16>(Precision::Tf32);
}

#[test]
fn bmat_in_tf32() {
    bmat::<f32>(Precision::Tf32);
}

#[test]
fn bmat_in_3xtf32() {
    bmat::<f32>(Precision::ThreeTf32);
}

#[test]
fn bmat_in_f32() {
    bmat::<f32>(Precision::F32);
}

#[test]
fn wcsr_in_f16() {
    wcsr::<f16>();
}

#[test]
fn wcsr_in_bf16() {
    wcsr::<bf16>();
}

#[test]
fn wcsr_in_tf32() {
    wcsr::<f32>();
}
