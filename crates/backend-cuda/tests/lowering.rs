//! What products of plans for an H200 and an H100 execute, pinned: no device is at hand, and none needed.

use std::fs;
use std::path::Path;

use girih_backend::{BackendError, Rounding, SpmmBackend, Unsupported};
use girih_backend_cuda::{CudaBackend, CudaKernels};
use girih_formats::{Complex, Csr, DType, FormatSpec, Scalar};
use girih_generate::{banded, dense_row, laplacian_7pt, rmat, uniform};
use girih_planner::cost::LinearCost;
use girih_planner::schedule::Reduction;
use girih_planner::{
    DeviceSpec, FormatChoice, Kernels, Plan, PlanOptions, Planner, Precision, Schedule,
};
use half::f16;

fn plan<T: Scalar>(a: &Csr<T>, device: &str, spec: FormatSpec, n: usize) -> Plan {
    plan_in(a, device, spec, n, Precision::Tf32)
}

fn plan_in<T: Scalar>(
    a: &Csr<T>,
    device: &str,
    spec: FormatSpec,
    n: usize,
    precision: Precision,
) -> Plan {
    let target = DeviceSpec::builtin(device).unwrap();
    let format = FormatChoice::Fixed(spec);
    let kernels = Kernels::new(CudaKernels);
    let options = PlanOptions::new(n).format(format).target(target);
    let options = options.kernels(kernels).precision(precision);
    Planner::new(options).plan(a).unwrap()
}

/// The plan with windows cut at `limit` tiles: the planner's own cuts are no business of these tests.
fn cut(plan: Plan, limit: u64, reduction: Reduction) -> Plan {
    let schedule = Schedule::by_limit(plan.tiling(), limit, reduction);
    plan.with_schedule(&schedule).unwrap()
}

/// The plan in partitions for the workers that it is for.
fn partitioned(plan: Plan) -> Plan {
    let (n, workers) = (plan.options().n, plan.options().target.workers as usize);
    let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
    let schedule = Schedule::sm_aligned(plan.tiling(), n, workers, &cost);
    plan.with_schedule(&schedule).unwrap()
}

const BMAT: FormatSpec = FormatSpec::BMat { pattern_only: false };

fn wcsr(window_rows: usize, dtype: DType) -> FormatSpec {
    FormatSpec::Wcsr { window_rows, pad_cols: 32 / dtype.size() }
}

/// Compares with the file, which `cargo test -p girih-backend-cuda --test lowering -- --ignored` writes.
fn snapshot(device: &str) -> String {
    let backend = CudaBackend::default();
    let graph = rmat::<f32>(12, 16, 1).unwrap();
    let band = banded::<f32>(6000, 6000, 40, 20, 1).unwrap().cast::<f16>();
    let row = dense_row::<f64>(500, 20_000, 3, 7, 1).unwrap();
    let scattered = uniform::<f32>(100_000, 100_000, 8, 1).unwrap();
    let bcsr = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    let phases = graph.cast::<Complex<f32>>();
    let waves = band.cast::<Complex<f64>>();
    let mut text = String::new();
    for (name, plan) in [
        (
            "a graph in csr",
            cut(plan(&graph, device, FormatSpec::Csr, 8), 1 << 20, Reduction::TwoPass),
        ),
        (
            "a graph in csr",
            cut(plan(&graph, device, FormatSpec::Csr, 512), 1 << 20, Reduction::TwoPass),
        ),
        ("rows in no order in csr", plan(&scattered, device, FormatSpec::Csr, 512)),
        (
            "a long row in csr",
            cut(plan(&row, device, FormatSpec::Csr, 64), 4096, Reduction::TwoPass),
        ),
        (
            "a complex graph in csr",
            cut(plan(&phases, device, FormatSpec::Csr, 8), 1 << 20, Reduction::TwoPass),
        ),
        (
            "a complex band in csr",
            cut(plan(&waves, device, FormatSpec::Csr, 64), 1 << 20, Reduction::TwoPass),
        ),
        (
            "a graph in wcsr",
            cut(plan(&graph, device, wcsr(16, DType::F32), 64), 64, Reduction::TwoPass),
        ),
        (
            "a graph in wcsr",
            cut(plan(&graph, device, wcsr(64, DType::F32), 512), 40, Reduction::Atomic),
        ),
        (
            "a band in wcsr",
            cut(plan(&band, device, wcsr(32, DType::F16), 512), 64, Reduction::TwoPass),
        ),
        ("a graph in bmat", partitioned(plan(&graph, device, BMAT, 512))),
        ("a band in bmat", partitioned(plan(&band, device, BMAT, 128))),
        ("a graph in bmat", cut(plan(&graph, device, BMAT, 64), 100, Reduction::TwoPass)),
        (
            "a graph in bmat, in f32",
            partitioned(plan_in(&graph, device, BMAT, 512, Precision::F32)),
        ),
        (
            "a graph in bmat, in f32",
            cut(plan_in(&graph, device, BMAT, 32, Precision::F32), 100, Reduction::TwoPass),
        ),
        (
            "a graph in bmat, in 3xtf32",
            partitioned(plan_in(&graph, device, BMAT, 512, Precision::ThreeTf32)),
        ),
        ("a band in bcsr", cut(plan(&band, device, bcsr, 512), 64, Reduction::TwoPass)),
    ] {
        let what = format!("{} of {}", plan.spec(), plan.dtype());
        let lowering = backend.lower(&plan).unwrap();
        text += &format!("# {name}: {what}\n{lowering}\n\n");
    }
    text
}

fn path(device: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    folder.join(format!("{device}.txt"))
}

fn is_as_pinned(device: &str) {
    let pinned = fs::read_to_string(path(device)).unwrap();
    let found = snapshot(device);
    for (found, pinned) in found.lines().zip(pinned.lines()) {
        assert_eq!(found, pinned, "on {device}");
    }
    assert_eq!(found.lines().count(), pinned.lines().count(), "on {device}:\n{found}");
}

#[test]
fn an_h200_executes_what_is_pinned() {
    is_as_pinned("h200");
}

#[test]
fn an_h100_executes_what_is_pinned() {
    is_as_pinned("h100-sxm");
}

#[test]
fn a_smaller_h100_executes_what_is_pinned() {
    is_as_pinned("h100-pcie");
}

#[test]
#[ignore = "it writes what the others compare with"]
fn write_what_is_pinned() {
    for device in ["h200", "h100-sxm", "h100-pcie"] {
        fs::write(path(device), snapshot(device)).unwrap();
    }
}

/// The tiles that `bench/records/cta-orders-h100.md` has as the fastest, or as close to it, in bytes of a row of B.
#[test]
fn tiles_are_those_that_were_measured_to_be_fast() {
    fn tile<T: Scalar>(a: &Csr<T>) -> u32 {
        let plan = plan(a, "h100-sxm", FormatSpec::Csr, 512);
        let lowering = CudaBackend::default().lower(&plan).unwrap();
        let launch = lowering.choice("launch").unwrap();
        let lanes = launch.strip_prefix("csr_spmm_rows_").and_then(|rest| rest.split_once("x4 "));
        16 * lanes.unwrap_or_else(|| panic!("{launch}")).0.parse::<u32>().unwrap()
    }
    assert_eq!(tile(&uniform::<f32>(40_000, 40_000, 16, 1).unwrap()), 512);
    assert_eq!(tile(&uniform::<f32>(65_536, 65_536, 16, 1).unwrap()), 256);
    let scattered = uniform::<f32>(131_072, 131_072, 16, 1).unwrap();
    assert_eq!(tile(&scattered), 128);
    assert_eq!(tile(&scattered.cast::<f16>()), 128);
    assert_eq!(tile(&laplacian_7pt::<f32>(64, 64, 64).unwrap()), 512);
}

#[test]
fn orders_that_no_kernel_obeys_are_refused_before_execution() {
    let backend = CudaBackend::default();
    let row = dense_row::<f32>(500, 20_000, 3, 7, 1).unwrap();
    let bcsr = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    for (spec, obeys) in
        [(FormatSpec::Csr, false), (bcsr, false), (BMAT, false), (wcsr(16, DType::F32), true)]
    {
        let planned = plan(&row, "h200", spec, 64);
        let atomic = cut(planned.clone(), 16, Reduction::Atomic);
        assert!(atomic.schedule().split_windows() > 0);
        let said = backend.supports(&atomic);
        assert_eq!(said.is_ok(), obeys, "{spec}: {said:?}");
        if let Err(refused) = said {
            let Unsupported::Schedule { reason } = refused else { panic!("{refused:?}") };
            assert!(reason.contains("two-pass"), "{reason}");
        }
        // What adds nothing up needs no order.
        backend.supports(&cut(planned.clone(), u64::MAX, Reduction::Atomic)).unwrap();
        backend.supports(&cut(planned.clone(), 16, Reduction::TwoPass)).unwrap();
        // Only BMat's kernels walk through columns of a window.
        let said = backend.supports(&partitioned(planned));
        assert_eq!(said.is_ok(), spec == BMAT, "{spec}: {said:?}");
    }
}

/// A precision that was requested is honoured, or the plan is refused with what stands against it.
#[test]
fn plans_that_would_be_rounded_further_are_refused_before_execution() {
    let backend = CudaBackend::default();
    let graph = rmat::<f32>(8, 8, 1).unwrap();
    let bcsr = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    for precision in [Precision::ThreeTf32, Precision::F32] {
        for spec in [wcsr(16, DType::F32), bcsr] {
            let plan = plan(&graph, "h200", spec, 64).with_precision(precision);
            let Unsupported::Precision { precision: of, reason } =
                backend.supports(&plan).unwrap_err()
            else {
                panic!("{spec}")
            };
            assert_eq!(of, precision);
            assert!(reason.contains(precision.name()) && reason.contains("TF32"), "{reason}");
            let BackendError::Unsupported { .. } = backend.lower(&plan).unwrap_err() else {
                panic!("{spec}")
            };
        }
        for spec in [FormatSpec::Csr, BMAT] {
            let plan = plan_in(&graph, "h200", spec, 64, precision);
            backend.supports(&plan).unwrap();
            assert!(backend.rounding(&plan).input_unit < 2f64.powi(-21), "{spec}");
        }
    }
    let exact = plan_in(&graph, "h200", BMAT, 64, Precision::F32);
    assert_eq!(backend.rounding(&exact), Rounding::exact_inputs(DType::F32));
}
