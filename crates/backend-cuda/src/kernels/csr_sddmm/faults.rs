//! Faults in `csr_sddmm`.

use girih_backend::{DenseScalar, Rounding, SampledProduct, verify_sddmm};
use girih_formats::{Csr, Real};
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, Placed, random};
use half::f16;
use ptx_emu::report::Problem;

use crate::emulated::faults::{Fault, Multiply, Outcome, check, fault};
use crate::emulated::operands::Placing;
use crate::emulated::{Emulated, Failure, Way};

/// Rows of 0 to 30 entries, so that runs end in rows and rows in runs.
fn pattern() -> Csr<f64> {
    let entry = |i: usize, j: usize| i == 4 || (i % 6 != 2 && (i * 3 + j) % (7 * (i % 5) + 3) == 1);
    matrices::where_(23, 90, entry).unwrap()
}

/// A sampled product of X and Y with `d` columns, laid out so.
fn sample<T: DenseScalar + Real>(
    device: &Emulated,
    way: Way,
    d: usize,
    beta: f64,
    layout: Layout,
) -> (Outcome, String) {
    let a = pattern();
    let x = Placed::new(&random::<T>(a.nrows(), d, 1), layout);
    let y = Placed::new(&random::<T>(a.ncols(), d, 2), layout);
    let before = random::<T::Acc>(a.nnz(), 1, 3);
    let mut s = Placed::new(&before, Layout::RowMajor);
    let (x, y) = (T::erase(x.view()), T::erase(y.view()));
    let into = T::erase_acc_mut(s.view_mut());
    match device.sample(way, a.pattern(), None, (-2.5, beta), (&x, &y), into) {
        Ok(()) => {
            let added = (beta != 0.0).then(|| (beta, T::erase_acc(before.view())));
            let product = SampledProduct { alpha: -2.5, x, y, added };
            let (found, exact) = (T::erase_acc(s.view()), Rounding::exact_inputs(T::DTYPE));
            let verdict = verify_sddmm::<T>(a.pattern(), &product, &found, exact).unwrap();
            let outcome = if verdict.passed() { Outcome::Right } else { Outcome::Wrong };
            (outcome, format!("{verdict:?}"))
        }
        Err(Failure::Fault { kernel, fault }) => {
            let text = format!("{kernel}: {fault}");
            (Outcome::Report(fault.first.problem), text)
        }
        Err(failure @ Failure::Stray(_)) => (Outcome::Stray, failure.to_string()),
        Err(failure) => (Outcome::Refused, failure.to_string()),
    }
}

/// Some of a team's lanes have columns, one of them half of its vector, and what follows is NaN.
fn ragged(device: &Emulated, way: Way) -> (Outcome, String) {
    sample::<f32>(&device.with_placing(Placing::AsSent), way, 18, 0.5, Layout::RowMajor)
}

/// The same in 16 bits, with an odd column.
fn ragged_half(device: &Emulated, way: Way) -> (Outcome, String) {
    sample::<f16>(&device.with_placing(Placing::AsSent), way, 35, 0.5, Layout::RowMajor)
}

/// Several sums to a lane, and S that is not read.
fn narrow(device: &Emulated, way: Way) -> (Outcome, String) {
    sample::<f32>(device, way, 8, 0.0, Layout::RowMajor)
}

/// Two panels of columns.
fn panels(device: &Emulated, way: Way) -> (Outcome, String) {
    sample::<f32>(device, way, 300, 0.5, Layout::RowMajor)
}

/// Element by element.
fn elements(device: &Emulated, way: Way) -> (Outcome, String) {
    sample::<f32>(device, way, 18, 0.5, Layout::ColMajor)
}

const FAULTS: &[Fault] = &[
    fault!("a row of X is kept when the next begins", "csr_sddmm/csr_sddmm.cu":
        "row = next;\n                    if (!PANELS) load_x<Access, LANES, VECTORS>(p, row.row, columns, is_ragged, x);" =>
        "row = next;",
        ragged, Outcome::Wrong),
    fault!("the row after the next is taken for it", "csr_sddmm/csr_sddmm.cu":
        "        next = load_row(p, ++number);\n        row_end" =>
        "        number += 2;\n        next = load_row(p, number);\n        row_end",
        panels, Outcome::Wrong | Outcome::Report(_)),
    fault!("teams beyond the last entry look for their row", "csr_sddmm/csr_sddmm.cu":
        "min(team * p.run, p.nnz - 1)" => "team * p.run",
        narrow, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("every run begins in the first row", "csr_sddmm/csr_sddmm.cu":
        "p.first_row + begin / kGroup" => "p.first_row",
        ragged, Outcome::Wrong | Outcome::Report(_)),
    fault!("entries of the next row are taken for this one's", "csr_sddmm/csr_sddmm.cu":
        "n = min(row_end - done, kUnroll);" => "n = min(length - done, kUnroll);",
        narrow, Outcome::Wrong | Outcome::Report(_)),
    fault!("what follows a row of Y is multiplied", "csr_sddmm/csr_sddmm.cu":
        "if (is_ragged) {" => "if (false) {",
        ragged, Outcome::Wrong),
    fault!("an odd column of 16 bits takes its neighbour along", "csr_sddmm/access.cuh":
        "bytes <= 0 ? 0 : 0xffffu" => "bytes <= 0 ? 0 : 0xffffffffu",
        ragged_half, Outcome::Wrong),
    fault!("what follows a row of X is multiplied", "csr_sddmm/csr_sddmm.cu":
        "        if (is_ragged) Access::keep(loaded[i], columns.count(i));\n" => "",
        ragged, Outcome::Wrong),
    fault!("vectors beyond the last column are read", "csr_sddmm/access.cuh":
        "row + (count == 0 ? 0 : first)" => "row + first",
        ragged, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("elements beyond the last column are read", "csr_sddmm/access.cuh":
        "(i < count ? first + i : 0)" => "(first + i)",
        elements, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("columns of entries beyond the last are read", "csr_sddmm/csr_sddmm.cu":
        "min(done + u, last)" => "done + u",
        ragged, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("lanes add up in a step too few", "csr_sddmm/access.cuh":
        "apart = LANES / 2" => "apart = LANES / 4",
        ragged, Outcome::Wrong),
    fault!("lanes part the entries the wrong way round", "csr_sddmm/access.cuh":
        "(lane & apart) != 0" => "(lane & apart) == 0",
        narrow, Outcome::Wrong),
    fault!("the second sum of a lane is not stored", "csr_sddmm/csr_sddmm.cu":
        "i < kHeld" => "i < 1",
        narrow, Outcome::Wrong | Outcome::Stray | Outcome::Report(_)),
    fault!("S is read with beta = 0", "csr_sddmm/params.cuh":
        "p.beta == Acc(0) ? p.alpha * sum :" => "",
        narrow, Outcome::Report(Problem::Poison { .. })),
    fault!("X stays that of the first panel", "csr_sddmm/csr_sddmm.cu":
        "if (PANELS) load_x" => "if (PANELS && columns.panel == 0) load_x",
        panels, Outcome::Wrong),
    fault!("the next entries' columns are taken too early", "csr_sddmm/csr_sddmm.cu":
        "if (is_last) load_columns" => "load_columns",
        panels, Outcome::Wrong),
];

#[test]
fn faults_in_sampling_show() {
    check(&[ragged as Multiply, ragged_half, narrow, panels, elements], FAULTS);
}
