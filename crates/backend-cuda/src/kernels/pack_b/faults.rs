//! Faults in `pack_b`.

use girih_formats::FormatSpec;
use girih_testkit::matrices;
use girih_testkit::operands::Layout;
use half::f16;
use ptx_emu::report::Problem;

use crate::emulated::faults::{Fault, Finish, Multiply, Outcome, Sized, check, fault, multiply};
use crate::emulated::{Emulated, Way};

const SIZED: Sized = Sized {
    spec: FormatSpec::Csr,
    tiles_per_task: None,
    n: 70,
    beta: 0.0,
    b: Layout::RowMajor,
    c: Layout::RowMajor,
    epilogue: Finish::Nothing,
};

/// Rows that are no whole vectors, in two tiles of columns and more than one of rows.
fn rows(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(40, 90, |i, j| (i * 5 + j) % 7 < 4).unwrap();
    multiply::<f16>(&device.copying_b(), way, &a, SIZED)
}

/// Columns one after the other.
fn columns(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(40, 90, |i, j| (i * 5 + j) % 7 < 4).unwrap();
    multiply::<f64>(&device.copying_b(), way, &a, Sized { n: 19, b: Layout::ColMajor, ..SIZED })
}

const FAULTS: &[Fault] = &[
    fault!("columns beyond the last are read", "pack_b/pack_b.cu":
        "row < p.rows && column < p.cols" => "row < p.rows", rows,
        Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("vectors beyond the last column are written", "pack_b/pack_b.cu":
        "row < p.rows && column < p.pitch" => "row < p.rows", rows,
        Outcome::Wrong | Outcome::Report(Problem::Race { .. })),
    fault!("a tile is written before all of it is read", "pack_b/pack_b.cu":
        "    __syncthreads();\n" => "", rows,
        Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("tiles of columns are taken to be tiles of rows", "pack_b/pack_b.cu":
        "blockIdx.x % p.tiles_of_columns * kColumns" => "blockIdx.x / p.tiles_of_columns * kColumns",
        rows, Outcome::Wrong | Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("columns are read as rows", "pack_b/pack_b.cu":
        "row * p.row_stride + column * p.col_stride" => "row * p.col_stride + column * p.row_stride",
        columns, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("lanes along columns write along rows", "pack_b/pack_b.cu":
        "tile[along_rows ? at / kColumns : at % kRows]" => "tile[at / kColumns]",
        columns, Outcome::Wrong | Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
];

#[test]
fn faults_in_copies_of_b_show() {
    check(&[rows as Multiply, columns], FAULTS);
}
