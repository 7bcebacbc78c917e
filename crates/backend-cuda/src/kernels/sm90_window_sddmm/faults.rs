//! Faults in `sm90_window_sddmm`.

use girih_backend::{DenseScalar, Rounding, SampledProduct, verify_sddmm};
use girih_formats::{Csr, Real};
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, Placed, random};
use half::{bf16, f16};
use ptx_emu::report::Problem;

use crate::emulated::faults::{Fault, Multiply, Outcome, check, failed, fault};
use crate::emulated::operands::Placing;
use crate::emulated::sampled_windows::Order;
use crate::emulated::{Emulated, Way};

/// A window of 170 tiles, one of two columns, an empty one, and one that is not full.
fn pattern() -> Csr<f64> {
    let entry = |i: usize, j: usize| match i / 16 {
        0 => (i + j).is_multiple_of(3) || i == 4,
        1 => j == 3 || j == 77 && i == 20,
        2 => false,
        _ => (i * 7 + j) % 41 == 1,
    };
    matrices::where_(55, 1360, entry).unwrap()
}

/// A sampled product of X and Y with `d` columns, laid out so. It is judged as products on CUDA cores are.
fn sample<T: DenseScalar + Real>(
    device: &Emulated,
    way: Way,
    d: usize,
    (beta, layout, order): (f64, Layout, Order),
) -> (Outcome, String) {
    let a = pattern();
    let x = Placed::new(&random::<T>(a.nrows(), d, 1), layout);
    let y = Placed::new(&random::<T>(a.ncols(), d, 2), layout);
    let before = random::<T::Acc>(a.nnz(), 1, 3);
    let mut s = Placed::new(&before, Layout::RowMajor);
    let (x, y) = (T::erase(x.view()), T::erase(y.view()));
    let (into, windows) = (T::erase_acc_mut(s.view_mut()), Some(order.layout(a.nrows())));
    match device.sample(way, a.pattern(), windows, (-2.5, beta), (&x, &y), into) {
        Ok(()) => {
            let added = (beta != 0.0).then(|| (beta, T::erase_acc(before.view())));
            let product = SampledProduct { alpha: -2.5, x, y, added };
            let (found, exact) = (T::erase_acc(s.view()), Rounding::exact_inputs(T::DTYPE));
            let verdict = verify_sddmm::<T>(a.pattern(), &product, &found, exact).unwrap();
            let outcome = if verdict.passed() { Outcome::Right } else { Outcome::Wrong };
            (outcome, format!("{verdict:?}"))
        }
        Err(failure) => failed(failure),
    }
}

/// The last vector is half there, and what follows is NaN.
fn ragged(device: &Emulated, way: Way) -> (Outcome, String) {
    let device = device.with_placing(Placing::AsSent);
    sample::<f16>(&device, way, 35, (0.5, Layout::RowMajor, Order::Natural))
}

/// Whole vectors, rows last first, and S that is not read.
fn reversed(device: &Emulated, way: Way) -> (Outcome, String) {
    sample::<bf16>(device, way, 64, (0.0, Layout::RowMajor, Order::Reversed))
}

/// Two panels of columns.
fn panels(device: &Emulated, way: Way) -> (Outcome, String) {
    sample::<f16>(device, way, 544, (0.5, Layout::RowMajor, Order::Natural))
}

/// Element by element.
fn elements(device: &Emulated, way: Way) -> (Outcome, String) {
    sample::<f16>(device, way, 18, (0.5, Layout::ColMajor, Order::Natural))
}

const FAULTS: &[Fault] = &[
    fault!("what follows a row of Y is multiplied", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "if (is_ragged) keep(y[i], columns_there(at, width));" => "",
        ragged, Outcome::Wrong),
    fault!("an odd column takes its neighbour along", "sm90_window_sddmm/access.cuh":
        "count == 2 * i + 1 ? 0xffffu : 0" => "count == 2 * i + 1 ? 0xffffffffu : 0",
        ragged, Outcome::Wrong),
    fault!("vectors beyond the last column are read", "sm90_window_sddmm/access.cuh":
        "row + (count == 0 ? 0 : first)" => "row + first",
        ragged, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("elements beyond the last column are read", "sm90_window_sddmm/access.cuh":
        "(i < count ? first + i : 0)" => "(first + i)",
        elements, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("X is multiplied before it is there", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "width, shared);\n                __syncthreads();" => "width, shared);",
        ragged, Outcome::Wrong | Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("a panel of X comes while the one before is read", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "                __syncthreads();\n                stage" => "                stage",
        panels, Outcome::Wrong | Outcome::Report(Problem::Race { .. })),
    fault!("X stays that of the first panel", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "if (first == 0 || p.d > kPanel)" => "if (first == 0 && panel == 0)",
        panels, Outcome::Wrong | Outcome::Report(_)),
    fault!("X is that of the last panel where tiles are many", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "if (first == 0 || p.d > kPanel)" => "if (first == 0)",
        panels, Outcome::Wrong | Outcome::Report(_)),
    fault!("rows of X beyond the matrix are read", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "row == kNoRow ? 0 : columns_there" => "columns_there",
        ragged, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("a slot's number is taken for its row of X", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "const u32 row = row_of_slot(p, u64(window) * kWindowRows + of_window);\n    const Stored" =>
        "const u32 row = window * kWindowRows + of_window < p.m ? window * kWindowRows + of_window : kNoRow;\n    const Stored",
        reversed, Outcome::Wrong),
    fault!("a slot's number is taken for its row of S", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "p.row_ptr + row)" => "p.row_ptr + window * kWindowRows + lane / 4 + 8 * half)",
        reversed, Outcome::Wrong | Outcome::Stray | Outcome::Report(_)),
    fault!("rows of X in registers are four apart, not eight", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "x_at + 8 * kPitch" => "x_at + 4 * kPitch",
        reversed, Outcome::Wrong),
    fault!("X and Y give k's places to other columns", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "{x[0][0], x[1][0], x[0][1], x[1][1]}" => "{x[0][0], x[1][0], x[0][2], x[1][2]}",
        reversed, Outcome::Wrong),
    fault!("the next step's rows of Y are this one's", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "panel, at + kDepth, width, next)" => "panel, at, width, next)",
        reversed, Outcome::Wrong),
    fault!("tiles beyond the last are read", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "min(first + i * kWarps + warp, n_tiles - 1)" => "first + i * kWarps + warp",
        ragged, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("tiles beyond the last are stored", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "if (number < n_tiles) store_tile" => "store_tile",
        ragged, Outcome::Wrong | Outcome::Stray | Outcome::Report(_)),
    fault!("entries of a row before this tile are forgotten", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "row_begin[half] + before + __popc" => "row_begin[half] + __popc",
        reversed, Outcome::Wrong | Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("entries of a tile before this lane's are forgotten", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "__popc(mask & ((1u << first) - 1))" => "0",
        reversed, Outcome::Wrong | Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("inner products beside entries are stored too", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "const u32 own = mask >> first & 3;" => "const u32 own = mask >> first & 3 ? 3 : 0;",
        reversed, Outcome::Wrong | Outcome::Stray | Outcome::Report(_)),
    fault!("a lane's second entry is stored where its first would be", "sm90_window_sddmm/sm90_window_sddmm.cu":
        "entry + (own & 1)," => "entry,",
        reversed, Outcome::Wrong | Outcome::Report(_)),
    fault!("S is read with beta = 0", "sm90_window_sddmm/params.cuh":
        "p.beta == 0.0f ? p.alpha * sum : " => "",
        reversed, Outcome::Report(Problem::Poison { .. })),
];

#[test]
fn faults_in_sampling_by_windows_show() {
    check(&[ragged as Multiply, reversed, panels, elements], FAULTS);
}
