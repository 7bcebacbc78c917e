//! Faults in how `sm90_bmat_spmm` applies epilogues.

use girih_backend::{Activation, DenseScalar};
use girih_formats::{AnyTiling, FormatSpec, RowLayout, Tiling};
use girih_planner::schedule::Reduction;
use girih_planner::{Plan, Precision, Schedule};
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, random};
use half::f16;
use ptx_emu::report::Problem;

use crate::emulated::faults::{
    Fault, Finish, Multiply, Outcome, Sized, check, fault, multiply_plan, multiply_reversed,
};
use crate::emulated::{Emulated, Way};

/// Rows in the order of C's, or last first.
const SIZED: Sized = Sized {
    spec: FormatSpec::BMat { pattern_only: false },
    tiles_per_task: None,
    n: 36,
    beta: 0.5,
    b: Layout::RowMajor,
    c: Layout::PaddedRows,
    epilogue: Finish::PerRow(Activation::Relu),
};

/// Rows last first, a window in parts.
fn parts<T: DenseScalar<Acc: DenseScalar>>(
    device: &Emulated,
    way: Way,
    precision: Precision,
) -> (Outcome, String) {
    let a = matrices::where_(40, 1100, |i, j| {
        (i < 16 && (i * 5 + j) % 29 < 3 && j < 320) || (i * 11 + j) % 97 == 1
    });
    let cut = |tiles: &AnyTiling| Schedule::by_limit(tiles, 30, Reduction::TwoPass);
    multiply_reversed::<T>(device, way, &a.unwrap(), (cut, precision), SIZED)
}

fn in_parts(device: &Emulated, way: Way) -> (Outcome, String) {
    parts::<f16>(device, way, Precision::Tf32)
}

fn in_parts_of_f32(device: &Emulated, way: Way) -> (Outcome, String) {
    parts::<f32>(device, way, Precision::F32)
}

/// Columns of C for three tiles of them, one after the other.
fn wide(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(20, 30, |i, j| (i + j) % 7 == 0);
    let epilogue = Finish::PerColumn(Activation::Gelu);
    let sized = Sized { n: 1100, c: Layout::RowMajor, epilogue, ..SIZED };
    let cut = |tiles: &AnyTiling| Schedule::by_window(tiles);
    multiply_reversed::<f32>(device, way, &a.unwrap(), (cut, Precision::Tf32), sized)
}

/// NaN and Inf in B, where some rows of a window have an entry and others have none.
fn poisoned(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(45, 60, |i, j| (i * 7 + j * 3) % 11 < 2).unwrap().cast::<f16>();
    let layout = RowLayout::natural(a.nrows(), 16).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(&a, SIZED.spec, layout).unwrap());
    let mut columns = random::<f16>(a.ncols(), SIZED.n, 1);
    for (j, poison) in [(3, f16::NAN), (17, f16::INFINITY), (40, f16::NEG_INFINITY)] {
        columns.row_mut(j).iter_mut().step_by(3).for_each(|x| *x = poison);
    }
    multiply_plan(device, way, (&a, &plan), &columns, SIZED)
}

const FAULTS: &[Fault] = &[
    fault!("an epilogue is applied to a part of a split window", "sm90_bmat_spmm/consume.cuh":
        "const bool is_last = piece == kWhole;" => "const bool is_last = true;",
        in_parts, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("an epilogue is applied to a part in f32", "sm90_bmat_spmm/consume_rows.cuh":
        "const bool is_last = piece == kWhole;" => "const bool is_last = true;",
        in_parts_of_f32, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("split windows go without an epilogue", "sm90_bmat_spmm/sm90_bmat_spmm.cu":
        "p.beta, false, true, 0, p.epilogue}" => "p.beta, false, false, 0, p.epilogue}",
        in_parts, Outcome::Wrong),
    fault!("a bias is that of a slot, not of its row", "sm90_bmat_spmm/consume.cuh":
        "store_row(store, begin[i], row_of[i], first" =>
        "store_row(store, begin[i], window * kWindowRows + i * 8 + lane.row, first",
        in_parts, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("a bias in f32 is that of a slot", "sm90_bmat_spmm/consume_rows.cuh":
        "store.four(begin, row_of[r]" => "store.four(begin, team.first_row + r",
        in_parts_of_f32, Outcome::Wrong),
    fault!("a bias of a split window is that of a slot", "sm90_bmat_spmm/sm90_bmat_spmm.cu":
        "p.c_row_stride, row, column, sum);" =>
        "p.c_row_stride, split.window * kWindowRows + of_window, column, sum);",
        in_parts, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("columns of a bias count from a tile's first", "sm90_bmat_spmm/store.cuh":
        "epilogue(x, row, first + column)" => "epilogue(x, row, column)",
        wide, Outcome::Wrong),
    fault!("neighbouring columns have one bias", "sm90_bmat_spmm/store.cuh":
        "finish(out.x, row, column + i)" => "finish(out.x, row, column)",
        wide, Outcome::Wrong),
    fault!("what is computed once more has the bias of a lane's other row", "sm90_bmat_spmm/consume.cuh":
        "i == 0 ? row_of[0] : row_of[1], column" => "i == 0 ? row_of[1] : row_of[0], column",
        poisoned, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
];

#[test]
fn faults_in_epilogues_of_bmat_show() {
    check(&[in_parts as Multiply, in_parts_of_f32, wide, poisoned], FAULTS);
}
