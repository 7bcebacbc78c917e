//! Faults in both kernels that would show in hybrids: rows of C that belong to the other's part.

use girih_backend::Activation;
use girih_formats::{AnyTiling, Csr, FormatSpec};
use girih_planner::schedule::Reduction;
use girih_planner::{Precision, Schedule};
use girih_testkit::matrices;
use girih_testkit::operands::Layout;
use ptx_emu::report::Problem;

use crate::emulated::faults::{
    Fault, Finish, Multiply, Outcome, Sized, check, fault, multiply, multiply_reversed,
};
use crate::emulated::{Emulated, Way};

const SIZED: Sized = Sized {
    spec: FormatSpec::Hybrid { window_rows: 16, pad_cols: 8, tile_entries: 24 },
    tiles_per_task: Some(5),
    n: 36,
    beta: 0.5,
    b: Layout::RowMajor,
    c: Layout::PaddedRows,
    epilogue: Finish::Nothing,
};

/// Windows by turns: rows that share a third of the columns, and rows of six entries each, some of none.
fn by_turns() -> Csr<f64> {
    let is_entry = |i: usize, j: usize| match (i / 16) % 2 {
        0 => j.is_multiple_of(3),
        _ => j % 50 == i * 7 % 50 && i % 16 != 4,
    };
    matrices::where_(70, 300, is_entry).unwrap()
}

/// The same with rows of many lengths, one of which is cut.
fn of_all_lengths() -> Csr<f64> {
    let is_entry = |i: usize, j: usize| match (i / 16) % 2 {
        0 => j.is_multiple_of(40),
        _ => (i == 18 && j > 9) || (j + i) % (i * i + 1) == 3,
    };
    matrices::where_(70, 1200, is_entry).unwrap()
}

fn even(device: &Emulated, way: Way) -> (Outcome, String) {
    multiply::<f32>(device, way, &by_turns(), SIZED)
}

fn uneven(device: &Emulated, way: Way) -> (Outcome, String) {
    multiply::<half::f16>(device, way, &of_all_lengths(), Sized { beta: 0.0, ..SIZED })
}

/// Rows last first, with a bias for each.
fn per_row(device: &Emulated, way: Way) -> (Outcome, String) {
    let cut: fn(&AnyTiling) -> Schedule = |tiles| Schedule::by_limit(tiles, 5, Reduction::TwoPass);
    let sized = Sized { epilogue: Finish::PerRow(Activation::Relu), ..SIZED };
    multiply_reversed::<f32>(device, way, &by_turns(), (cut, Precision::Tf32), sized)
}

const FAULTS: &[Fault] = &[
    fault!("packed windows are taken to be the first rows", "sm90_wcsr_spmm/params.cuh":
        "return p.rows != nullptr ? ptx::load_constant_32(p.rows + slot) : slot < p.m ? slot : kNoRow;" =>
        "return slot < p.m ? slot : kNoRow;",
        even, Outcome::Wrong),
    fault!("rows beside packed windows are taken to be the first rows", "csr_spmm/params.cuh":
        "return p.rows == nullptr ? static_cast<u32>(slot) : ptx::load_constant_32(p.rows + slot);" =>
        "return static_cast<u32>(slot);",
        even, Outcome::Wrong),
    fault!("the last part of a packed window is left out", "sm90_wcsr_spmm/sm90_wcsr_spmm.cu":
        "split.n_pieces, float4{}" => "split.n_pieces - 1, float4{}",
        even, Outcome::Wrong),
    fault!("the last piece of a row is left out", "csr_spmm/block.cuh":
        "split.n_pieces, sum[0]" => "split.n_pieces - 1, sum[0]",
        uneven, Outcome::Wrong),
    fault!("a bias of a split window is that of a slot", "sm90_wcsr_spmm/sm90_wcsr_spmm.cu":
        "store(finish, begin, row, column, sum.x" =>
        "store(finish, begin, split.window * kWindowRows + of_window, column, sum.x",
        per_row, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
];

#[test]
fn faults_in_hybrids_show() {
    check(&[even as Multiply, uneven, per_row], FAULTS);
}
