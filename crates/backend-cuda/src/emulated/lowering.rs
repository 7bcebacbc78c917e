//! What a lowering says is launched is what is launched.

use std::collections::BTreeSet;

use girih_backend::{DenseScalar, Lowering, SpmmBackend};
use girih_formats::{AnyTiling, Complex, Csr, DType, FormatSpec, RowLayout, ScalesPer, Tiling};
use girih_planner::explanation::{Outcome, ScheduleKind};
use girih_planner::kernels::{KernelCatalog, KernelWork};
use girih_planner::schedule::Reduction;
use girih_planner::{DeviceSpec, FormatChoice, Plan, PlanOptions, Precision, Schedule};
use girih_testkit::matrices;
use girih_testkit::operands::random;
use half::{bf16, f16};

use super::operands::Placing;
use super::{Emulated, MULTIPROCESSORS, machine};
use crate::CudaKernels;
use crate::kernels::sm90_dense_gemm::FullBlocks;
use crate::prepared::device_plan;
use crate::prepared::lowering::{Recorded, repeated};

/// Rows of 0 to some 40 entries and one that is split.
fn matrix() -> Csr<f64> {
    matrices::where_(70, 530, |i, j| i == 4 || (i * 3 + j) % (11 * (i % 9) + 13) == 1).unwrap()
}

/// Rows of two entries in every other group of four columns.
fn two_four(m: usize) -> Csr<f64> {
    matrices::where_(m, 133, |i, j| (i + j / 4) % 2 == 0 && (i + j) % 2 == 0).unwrap()
}

fn wcsr(window_rows: usize, dtype: DType) -> FormatSpec {
    FormatSpec::Wcsr { window_rows, pad_cols: 32 / dtype.size() }
}

/// Entries in every block.
fn full(nrows: usize, ncols: usize) -> Csr<f64> {
    matrices::where_(nrows, ncols, |i, j| (i * 7 + j * 3).is_multiple_of(11)).unwrap()
}

const BMAT: FormatSpec = FormatSpec::BMat { pattern_only: false };

const BCSR: FormatSpec = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };

/// A plan with windows of at most `limit` tiles to a task.
fn plan<T: DenseScalar>(a: &Csr<f64>, spec: FormatSpec, limit: u64, reduction: Reduction) -> Plan {
    let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
    let tiling = AnyTiling::from(Tiling::from_csr(&a.cast::<T>(), spec, layout).unwrap());
    let schedule = Schedule::by_limit(&tiling, limit, reduction);
    Plan::from_tiling(tiling).with_schedule(&schedule).unwrap()
}

/// The launches that a lowering names.
fn named(lowering: &Lowering) -> Vec<String> {
    let launches = lowering.decisions.iter().filter(|decision| decision.what == "launch");
    launches.map(|decision| decision.choice.clone()).collect()
}

/// The entry points, with their kernels, that are compiled with a plan for products with `n` columns.
fn entries(plan: &Plan, n: usize) -> BTreeSet<(String, String)> {
    let prepared = device_plan(plan, machine(MULTIPROCESSORS), FullBlocks::Fastest.into());
    let of = |(kernel, entry): (usize, String)| (prepared.kernels[kernel].to_string(), entry);
    prepared.entries(n).unwrap().into_iter().map(of).collect()
}

/// Those that launches name.
fn names(launches: &[Recorded]) -> BTreeSet<(String, String)> {
    launches.iter().map(|launch| (launch.kernel.clone(), launch.entry.clone())).collect()
}

/// The launches that were executed, in the words of a lowering.
fn executed(launches: &[Recorded]) -> Vec<String> {
    let in_words = |(launch, times): (&Recorded, usize)| match times {
        1 => launch.to_string(),
        _ => format!("{times} times {launch}"),
    };
    repeated(launches).into_iter().map(in_words).collect()
}

fn launches_are_those_named<T: DenseScalar>(specs: &[FormatSpec]) {
    launches_of_are_those_named::<T>(&matrix(), specs);
}

fn launches_of_are_those_named<T: DenseScalar>(a: &Csr<f64>, specs: &[FormatSpec]) {
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    for &spec in specs {
        for reduction in [Reduction::TwoPass, Reduction::Atomic] {
            let plan = plan::<T>(a, spec, 40, reduction);
            if device.supports(&plan).is_err() {
                assert_eq!(reduction, Reduction::Atomic, "{spec} {}", T::DTYPE);
                continue;
            }
            let prepared = device.prepare(&plan).unwrap();
            for n in [1, 8, 64, 512] {
                let lowering = prepared.lowering(n);
                let b = random::<T>(a.ncols(), n, 1);
                let mut c = random::<T::Acc>(a.nrows(), n, 2);
                let c = T::erase_acc_mut(c.view_mut());
                prepared.execute(1.0, T::erase(b.view()), 0.0, c).unwrap();
                let launches = device.launches();
                assert!(!launches.is_empty());
                assert_eq!(entries(&plan, n), names(&launches), "{spec} {}", T::DTYPE);
                assert_eq!(
                    named(&lowering),
                    executed(&launches),
                    "{spec} {}: {lowering}",
                    T::DTYPE
                );
            }
        }
    }
}

#[test]
fn launches_of_csr_are_those_named() {
    launches_are_those_named::<f16>(&[FormatSpec::Csr]);
    launches_are_those_named::<bf16>(&[FormatSpec::Csr]);
    launches_are_those_named::<f32>(&[FormatSpec::Csr]);
    launches_are_those_named::<f64>(&[FormatSpec::Csr]);
    launches_are_those_named::<Complex<f32>>(&[FormatSpec::Csr]);
    launches_are_those_named::<Complex<f64>>(&[FormatSpec::Csr]);
}

#[test]
fn launches_of_wcsr_are_those_named() {
    launches_are_those_named::<f16>(&[wcsr(16, DType::F16)]);
    launches_are_those_named::<bf16>(&[wcsr(8, DType::Bf16)]);
    launches_are_those_named::<f32>(&[wcsr(16, DType::F32), wcsr(64, DType::F32)]);
}

#[test]
fn launches_of_hybrids_are_those_named() {
    let hybrid = |window_rows, pad_cols, tile_entries| FormatSpec::Hybrid {
        window_rows,
        pad_cols,
        tile_entries,
    };
    launches_are_those_named::<f16>(&[hybrid(16, 16, 40)]);
    launches_are_those_named::<bf16>(&[hybrid(8, 16, 30)]);
    launches_are_those_named::<f32>(&[hybrid(16, 8, 20), hybrid(64, 8, 30)]);
}

#[test]
fn launches_of_bmat_are_those_named() {
    launches_are_those_named::<f16>(&[BMAT]);
    launches_are_those_named::<bf16>(&[FormatSpec::BMat { pattern_only: true }]);
    launches_are_those_named::<f32>(&[BMAT]);
}

#[test]
fn launches_of_bcsr_are_those_named() {
    launches_are_those_named::<f16>(&[BCSR]);
    launches_are_those_named::<bf16>(&[BCSR]);
    launches_are_those_named::<f32>(&[BCSR]);
}

#[test]
fn launches_of_full_blocks_are_those_named() {
    launches_of_are_those_named::<f16>(&full(330, 170), &[BCSR]);
    launches_of_are_those_named::<f32>(&full(330, 170), &[BCSR]);
}

#[test]
fn a_lowering_says_which_kernel_and_why() {
    let said = |n| {
        let plan = plan::<bf16>(&full(1000, 330), BCSR, u64::MAX, Reduction::TwoPass);
        let device_plan = device_plan(&plan, machine(132), FullBlocks::Fastest.into());
        device_plan.describe(Lowering::new("cuda", "a device", n)).to_string()
    };
    let (wide, narrow) = (said(4096), said(8));
    for words in ["dense", "all 16×6 blocks are there", "cycles dense", "sm90_dense_gemm_rows"] {
        assert!(wide.contains(words), "{words}: {wide}");
    }
    for words in ["for blocks", "all 16×6 blocks are there", "sm90_bcsr_spmm_rows"] {
        assert!(narrow.contains(words), "{words}: {narrow}");
    }
}

const E4M3: FormatSpec = FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row };

#[test]
fn launches_of_two_four_are_those_named() {
    for m in [70, 200] {
        let a = two_four(m);
        launches_of_are_those_named::<f16>(&a, &[FormatSpec::TwoFour]);
        launches_of_are_those_named::<bf16>(&a, &[FormatSpec::TwoFour]);
        launches_of_are_those_named::<f32>(&a, &[E4M3]);
    }
}

/// What a planner knows of a product on a device, and what is launched there.
fn told_is_launched<T: DenseScalar>(a: &Csr<f64>, spec: FormatSpec, workers: u32) {
    told_is_launched_in::<T>(a, spec, workers, Precision::Tf32);
}

/// The same in a precision.
fn told_is_launched_in<T: DenseScalar>(
    a: &Csr<f64>,
    spec: FormatSpec,
    workers: u32,
    precision: Precision,
) {
    let kernels = girih_planner::Kernels::new(CudaKernels).in_precision(precision);
    let target = DeviceSpec::builtin("h200").unwrap().with(|device| device.workers = workers);
    for limit in [1, 7, 40, u64::MAX] {
        for reduction in [Reduction::TwoPass, Reduction::Atomic] {
            let plan = plan::<T>(a, spec, limit, reduction).with_precision(precision);
            if crate::kernels::supported::supports(&plan, None).is_err() {
                continue;
            }
            let (tiling, tasks) = (plan.tiling(), plan.schedule().tasks());
            let device_plan = device_plan(&plan, machine(workers), FullBlocks::Fastest.into());
            for n in [1, 8, 64, 128, 129, 300, 512, 1024] {
                let tasks = kernels.blocks(&target, (spec, T::DTYPE), tiling, tasks);
                let tiles = tiling.tile_ptr(tiling.n_windows());
                let ncols = a.ncols();
                let work = KernelWork { spec, dtype: T::DTYPE, n, tasks, tiles, ncols };
                let described = kernels.config(&target, &work).unwrap();
                let launches = device_plan.outline().launches(&*device_plan.sequence, n).unwrap();
                let multiply = |launch: &&Recorded| {
                    ["spmm", "gemm"].iter().any(|of| launch.entry.contains(of))
                };
                let launched = launches.iter().find(multiply).unwrap();
                let what = format!("{spec} {}, {workers} workers, n = {n}", T::DTYPE);
                assert_eq!(described.entry, launched.entry, "{what}");
                assert_eq!(described.threads, launched.threads, "{what}");
                assert_eq!(described.shared_bytes, u64::from(launched.dynamic_shared), "{what}");
                if launched.entry.contains("dense") {
                    // Blocks of threads take tiles in turns.
                    assert!(
                        launched.grid[1] == 1
                            && launched.grid[0] <= workers.max(2) * described.blocks_per_worker
                    );
                    continue;
                }
                // As many columns at a time as parts are kept of.
                let passes: u32 = launches.iter().filter(multiply).map(|one| one.grid[1]).sum();
                // Block rows that share columns are taken three at a time, which a planner does not know.
                let is_grouped = spec == BCSR && u64::from(launched.grid[0]) == tasks.div_ceil(3);
                let blocks = if is_grouped { tasks } else { u64::from(launched.grid[0]) };
                assert_eq!((blocks, passes), (tasks, described.passes(n)), "{what}");
            }
        }
    }
}

#[test]
fn what_a_planner_is_told_is_what_is_launched() {
    let (a, long) =
        (matrix(), matrices::where_(70, 4000, |i, j| (i + j) % (i % 7 + 2) == 0).unwrap());
    for workers in [MULTIPROCESSORS, 20, 132] {
        for a in [&a, &long] {
            for window_rows in [8, 16, 32, 64] {
                told_is_launched::<f32>(a, wcsr(window_rows, DType::F32), workers);
                told_is_launched::<f16>(a, wcsr(window_rows, DType::F16), workers);
            }
            // Fewer columns to a tile than to a step.
            told_is_launched::<bf16>(a, FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 }, workers);
        }
        told_is_launched::<f32>(&a, BCSR, workers);
        for full in [full(330, 170), full(1000, 330)] {
            told_is_launched::<f32>(&full, BCSR, workers);
            told_is_launched::<bf16>(&full, BCSR, workers);
        }

        for precision in Precision::ALL {
            told_is_launched_in::<f32>(&a, BMAT, workers, precision);
        }
        told_is_launched::<f16>(&long, FormatSpec::BMat { pattern_only: true }, workers);
        for m in [70, 200, 300, 2000] {
            told_is_launched::<bf16>(&two_four(m), FormatSpec::TwoFour, workers);
            told_is_launched::<f16>(&two_four(m), E4M3, workers);
        }
    }
}

/// Partitions of the planner's own, for as many workers as the device has, are executed: by as many blocks as
/// their multiprocessors hold.
#[test]
fn partitions_that_are_planned_are_launched() {
    let a = matrices::where_(700, 530, |i, j| (i * 3 + j) % (11 * (i % 9) + 13) == 1).unwrap();
    let a = a.cast::<f32>();
    for n in [8, 128, 300, 1024] {
        let target = DeviceSpec::builtin("h200").unwrap();
        let kernels = girih_planner::Kernels::new(CudaKernels);
        let format = FormatChoice::Fixed(BMAT);
        let options = PlanOptions::new(n).target(target).kernels(kernels).format(format);
        let plan = girih_planner::Planner::new(options.clone()).plan(&a).unwrap();
        let explained = plan.explanation().schedules.iter().map(|option| option.kind);
        let kinds: Vec<_> = explained.collect();
        assert!(kinds.contains(&ScheduleKind::Partitions), "{kinds:?}");
        let columns = plan.schedule().columns().expect("partitions are the shortest");
        let device_plan = device_plan(&plan, machine(132), FullBlocks::Fastest.into());
        let launches = device_plan.outline().launches(&*device_plan.sequence, n).unwrap();
        let tiles = plan.tiling().tile_ptr(plan.tiling().n_windows());
        let tasks = plan.schedule().tasks().len() as u64;
        let work =
            KernelWork { spec: BMAT, dtype: DType::F32, ncols: plan.ncols(), n, tasks, tiles };
        let described = CudaKernels.config(&options.target, &work).unwrap();
        let [launch] = &launches[..] else { panic!("{launches:?}") };
        let blocks = columns.n_partitions() as u32 * described.blocks_per_worker;
        assert_eq!(
            (launch.entry.clone(), launch.grid),
            (described.entry, [blocks, 1, 1]),
            "n = {n}"
        );
    }
}

#[test]
fn a_plan_is_lowered_for_its_target_without_a_device() {
    let target = DeviceSpec::builtin("h100-pcie").unwrap();
    let kernels = girih_planner::Kernels::new(CudaKernels);
    let options = PlanOptions::new(64).target(target).kernels(kernels);
    let a = matrix().cast::<f32>();
    let plan = girih_planner::Planner::new(options).plan(&a).unwrap();
    let lowering = crate::CudaBackend::default().lower(&plan).unwrap();
    assert!(lowering.machine.contains("sm_90a, 114 multiprocessors"), "{lowering}");
    assert_eq!(lowering.n, 64);
    assert!(lowering.choice("launch").is_some(), "{lowering}");
}

/// The planner knows no kernel: it finds that of 2:4 by the catalogue, where a matrix is 2:4.
#[test]
fn a_planner_finds_two_four_where_a_matrix_is() {
    let plan = |a: &Csr<f16>, format| {
        let (target, kernels) =
            (DeviceSpec::builtin("h200").unwrap(), girih_planner::Kernels::new(CudaKernels));
        let options = PlanOptions::new(2048).target(target).kernels(kernels).format(format);
        girih_planner::Planner::new(options).plan(a)
    };
    let a = girih_generate::two_four::<f16>(1024, 2048, 1).unwrap();
    let fixed = plan(&a, FormatChoice::Fixed(FormatSpec::TwoFour)).unwrap();
    let lowering = crate::CudaBackend::default().lower(&fixed).unwrap();
    let launch = lowering.choice("launch").unwrap();
    assert!(launch.contains("sm90_two_four_spmm_rows"), "{lowering}");
    let free = plan(&a, FormatChoice::Auto).unwrap();
    assert_eq!(free.spec(), FormatSpec::TwoFour, "{}", free.explanation());

    // e4m3 rounds, and is planned where it is named.
    let narrow = plan(&a, FormatChoice::Fixed(E4M3)).unwrap();
    let mut file = Vec::new();
    narrow.write_to(&mut file).unwrap();
    let loaded = Plan::read_from(&file[..]).unwrap();
    assert_eq!(loaded.spec(), E4M3);
    assert!(loaded.tiling() == narrow.tiling());
    assert!(narrow.tile_bytes() < 3 * fixed.tile_bytes() / 4, "a byte for two");
    let lowering = crate::CudaBackend::default().lower(&loaded).unwrap();
    assert_eq!(lowering.choice("values"), Some("e4m3"), "{lowering}");

    let crowded = girih_generate::uniform::<f16>(256, 256, 64, 1).unwrap();
    let free = plan(&crowded, FormatChoice::Auto).unwrap();
    assert_ne!(free.spec(), FormatSpec::TwoFour);
    let candidates = &free.explanation().candidates;
    let two_four = candidates.iter().find(|one| one.spec == FormatSpec::TwoFour).unwrap();
    assert!(matches!(&two_four.outcome, Outcome::Rejected { reason } if reason.contains("2:4")));
    assert!(plan(&crowded, FormatChoice::Fixed(FormatSpec::TwoFour)).is_err());
}
