//! Faults in how kernels store a C of 16 bits.

use girih_formats::{Csr, FormatSpec};
use girih_testkit::matrices;
use girih_testkit::operands::Layout;
use half::{bf16, f16};

use crate::emulated::faults::{
    Fault, Finish, Multiply, Outcome, Sized, check, fault, multiply_into,
};
use crate::emulated::{Emulated, Way};
use crate::kernels::csr_spmm::faults::all_lengths;

const SIZED: Sized = Sized {
    spec: FormatSpec::Csr,
    tiles_per_task: None,
    n: 40,
    beta: 0.5,
    b: Layout::RowMajor,
    c: Layout::RowMajor,
    epilogue: Finish::Nothing,
};

/// Rows of all lengths by teams and items, one of them in pieces, in fours of columns.
fn csr(device: &Emulated, way: Way) -> (Outcome, String) {
    multiply_into::<f16, f16>(device, way, &all_lengths(), SIZED)
}

/// The same in pairs of columns.
fn csr_pairs(device: &Emulated, way: Way) -> (Outcome, String) {
    multiply_into::<bf16, bf16>(device, way, &all_lengths(), Sized { n: 38, ..SIZED })
}

/// Windows of 16 rows, one of them in parts.
fn wcsr(device: &Emulated, way: Way) -> (Outcome, String) {
    let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
    let sized = Sized { spec, tiles_per_task: Some(48), ..SIZED };
    multiply_into::<bf16, bf16>(device, way, &windows(), sized)
}

/// The same tile by tile, with columns that fill no four.
fn bmat(device: &Emulated, way: Way) -> (Outcome, String) {
    let spec = FormatSpec::BMat { pattern_only: false };
    let sized = Sized { spec, tiles_per_task: Some(9), n: 35, ..SIZED };
    multiply_into::<f16, f16>(device, way, &windows(), sized)
}

fn windows() -> Csr<f64> {
    matrices::where_(40, 1100, |i, j| {
        (i < 16 && (i * 5 + j) % 29 < 3 && j < 320) || (i * 11 + j) % 97 == 1
    })
    .unwrap()
}

/// Blocks, whose sums of f32 go through shared memory; f32 becomes f16.
fn bcsr(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(100, 150, |i, j| (i * 7 + j) % 23 < 2).unwrap();
    let spec = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    multiply_into::<f32, f16>(device, way, &a, Sized { spec, ..SIZED })
}

const FAULTS: &[Fault] = &[
    fault!("sums are cut off", "shared/narrow.cuh":
        "asm(\"cvt.rn.f16x2.f32" => "asm(\"cvt.rz.f16x2.f32",
        csr, Outcome::Wrong),
    fault!("C before is taken by its bits", "shared/element_of_c.cuh":
        "return Narrow::widen(element);" => "return static_cast<float>(element);",
        bcsr, Outcome::Wrong),
    fault!("halves of a word change places", "shared/element_of_c.cuh":
        "return Narrow::round(first, second);" => "return Narrow::round(second, first);",
        csr_pairs, Outcome::Wrong),
    fault!("the second pair of a vector is the first", "csr_spmm/store.cuh":
        "rounded_pair(sums.sum[2], sums.sum[3])" => "rounded_pair(sums.sum[0], sums.sum[1])",
        csr, Outcome::Wrong),
    fault!("parts are stored in C, and windows as parts", "sm90_wcsr_spmm/store.cuh":
        "if (kRoundsC && finish.is_last) {" => "if (kRoundsC && !finish.is_last) {",
        wcsr, Outcome::Wrong | Outcome::Report(_)),
    fault!("parts are stored in C, and windows as parts", "sm90_bmat_spmm/store.cuh":
        "            four_of(static_cast<OfC*>(begin)" => "            four_of(static_cast<float*>(begin)",
        bmat, Outcome::Wrong | Outcome::Report(_)),
];

#[test]
fn faults_in_rounding_show() {
    check(&[csr as Multiply, csr_pairs, wcsr, bmat, bcsr], FAULTS);
}
