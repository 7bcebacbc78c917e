//! Faults in `put_values`.

use girih_backend::{DenseScalar, SpmmBackend};
use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
use girih_planner::Plan;
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, Placed, random};
use half::f16;
use ptx_emu::report::Problem;

use crate::emulated::faults::{Fault, Multiply, Outcome, check, failed, fault};
use crate::emulated::operands::Placing;
use crate::emulated::{Emulated, Way};
use crate::kernels::sm90_dense_gemm::FullBlocks;

/// New values, laid out so, beside what packing makes of them.
fn put<T: DenseScalar>(
    (device, way): (&Emulated, Way),
    spec: FormatSpec,
    layout: Layout,
) -> (Outcome, String) {
    let a: Csr<f64> = matrices::where_(70, 190, |i, j| (i * 3 + j) % 7 == 1).unwrap();
    let a = matrices::typed::<T>(&a);
    let slots = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(&a, spec, slots).unwrap());
    device.supports(&plan).unwrap();
    let prepared = device.prepare_with(&plan, 1, FullBlocks::Fastest);
    let values = Placed::new(&random::<T>(a.nnz(), 1, 5), layout);
    let values = T::erase(values.view());
    let mut source = prepared.source.clone();
    let renewed = source.renewed("emulated", values.reborrow()).unwrap();
    match prepared.put_values(way, &values) {
        Ok(put) if put.iter().all(|(part, bytes)| renewed.parts[*part].bytes() == &bytes[..]) => {
            (Outcome::Right, "the parts are those that packing makes".to_owned())
        }
        Ok(_) => (Outcome::Wrong, "a part is not what packing makes".to_owned()),
        Err(failure) => failed(failure),
    }
}

const WCSR: FormatSpec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
const BCSR: FormatSpec = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };

/// Padded tiles.
fn padded(device: &Emulated, way: Way) -> (Outcome, String) {
    put::<f16>((&device.with_placing(Placing::AsSent), way), WCSR, Layout::RowMajor)
}

/// Blocks that are rounded.
fn rounded(device: &Emulated, way: Way) -> (Outcome, String) {
    put::<f32>((device, way), BCSR, Layout::RowMajor)
}

/// Values that are not next to each other.
fn apart(device: &Emulated, way: Way) -> (Outcome, String) {
    put::<f32>((device, way), FormatSpec::Csr, Layout::PaddedRows)
}

const FAULTS: &[Fault] = &[
    fault!("padding keeps what it had", "put_values/put_values.cu":
        "if (at < p.count) static_cast<Element*>" => "if (at < p.count && p.from[at] != 0) static_cast<Element*>",
        padded, Outcome::Wrong),
    fault!("entries are counted from 0", "put_values/put_values.cu":
        "values[(from - 1) * p.stride]" => "values[from * p.stride]",
        padded, Outcome::Wrong | Outcome::Report(_)),
    fault!("values are taken to be next to each other", "put_values/put_values.cu":
        "(from - 1) * p.stride" => "(from - 1)",
        apart, Outcome::Wrong | Outcome::Report(_)),
    fault!("the map is read beyond its end", "put_values/put_values.cu":
        "at < p.count ? p.from[at] : 0" => "p.from[at]",
        apart, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("elements beyond the last are written", "put_values/put_values.cu":
        "if (at < p.count) static_cast" => "static_cast",
        padded, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("a block begins with the last elements of the one before", "put_values/put_values.cu":
        "(kThreads * kEach) + threadIdx.x" => "(kThreads * kEach - kThreads) + threadIdx.x",
        rounded, Outcome::Wrong | Outcome::Report(_)),
    fault!("f32 is cut to TF32", "put_values/put_values.cu":
        "(x + 0x1000u) & ~0x1fffu" => "x & ~0x1fffu",
        rounded, Outcome::Wrong),
    fault!("f32 is not rounded", "put_values/put_values.cu":
        "PUT_VALUES(4_tf32, u32, RoundedToTf32)" => "PUT_VALUES(4_tf32, u32, Exact)",
        rounded, Outcome::Wrong),
];

#[test]
fn faults_in_putting_values_show() {
    check(&[padded as Multiply, rounded, apart], FAULTS);
}
