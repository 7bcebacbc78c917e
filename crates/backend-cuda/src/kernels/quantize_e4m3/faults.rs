//! Faults in `quantize_e4m3`.

use girih_formats::{FormatSpec, RowLayout, ScalesPer, Tiling};
use girih_planner::Plan;
use girih_testkit::operands::{Layout, random};
use half::bf16;
use ndarray::s;

use crate::emulated::faults::{
    Fault, Finish, Multiply, Outcome, Sized, check, fault, multiply, multiply_plan,
};
use crate::emulated::{Emulated, Way};
use crate::kernels::sm90_two_four_spmm::matrix;

const SIZED: Sized = Sized {
    spec: FormatSpec::TwoFourE4m3 { scales: ScalesPer::Tensor },
    tiles_per_task: None,
    n: 45,
    beta: 0.0,
    b: Layout::RowMajor,
    c: Layout::RowMajor,
    epilogue: Finish::Nothing,
};

/// B in rows, two parts of k, of which the second has what is large.
fn rows(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrix(20, 700).cast::<bf16>();
    let layout = RowLayout::natural(20, 1).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(&a, SIZED.spec, layout).unwrap());
    let mut b = random::<bf16>(700, SIZED.n, 1);
    b.slice_mut(s![600.., ..]).mapv_inplace(|x| bf16::from_f32(64.0 * x.to_f32()));
    multiply_plan(device, way, (&a, &plan), &b, SIZED)
}

/// B in columns.
fn columns(device: &Emulated, way: Way) -> (Outcome, String) {
    multiply::<bf16>(device, way, &matrix(20, 700), Sized { b: Layout::ColMajor, ..SIZED })
}

const FAULTS: &[Fault] = &[
    fault!("only the first part is looked at", "quantize_e4m3/quantize_e4m3.cu":
        "part < p.n_parts && column < p.n;" => "part < 1 && column < p.n;",
        rows, Outcome::Wrong),
    fault!("magnitudes are read before all are there", "quantize_e4m3/quantize_e4m3.cu":
        "        atomicMax(&largest[lane], own);\n    } else {" =>
        "        largest[lane] = own;\n    } else {",
        rows, Outcome::Report(_)),
    fault!("rows beyond the last are read for magnitudes", "quantize_e4m3/quantize_e4m3.cu":
        "const u64 end = begin + p.part_rows < p.k ? begin + p.part_rows : p.k;" =>
        "const u64 end = begin + p.part_rows;",
        columns, Outcome::Report(_)),
    fault!("elements beyond the last row are read", "quantize_e4m3/quantize_e4m3.cu":
        "if (at < p.k && first + column < p.n) {" => "if (first + column < p.n) {",
        rows, Outcome::Report(_)),
    fault!("codes are stored before all are in the tile", "quantize_e4m3/quantize_e4m3.cu":
        "<< 16;\n        }\n        __syncthreads();\n" => "<< 16;\n        }\n",
        columns, Outcome::Report(_)),
    fault!("pairs of codes are exchanged", "quantize_e4m3/quantize_e4m3.cu":
        "ptx::narrow_e4m3(x[1], x[0])" => "ptx::narrow_e4m3(x[0], x[1])",
        rows, Outcome::Wrong),
    fault!("elements are not scaled", "quantize_e4m3/quantize_e4m3.cu":
        "                                     scales[column]);" => "                                     1.0f);",
        columns, Outcome::Wrong),
];

#[test]
fn faults_in_quantize_show() {
    check(&[rows as Multiply, columns], FAULTS);
}
