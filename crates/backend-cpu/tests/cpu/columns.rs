//! Schedules that cut windows by columns of C: right for every format and number of columns, the same
//! on any number of threads, and refused where they can't be run.

use girih_backend::{BackendError, Product, Rounding, SpmmBackend, Unsupported, verify};
use girih_backend_cpu::CpuBackend;
use girih_formats::{Csr, DType, FormatSpec, PAD_ROW, RowLayout, Tiling};
use girih_generate::{power_law_rows, two_four};
use girih_planner::cost::LinearCost;
use girih_planner::schedule::{ColRange, Columns, Reduction, Task};
use girih_planner::{Plan, Schedule};
use ndarray::{Array2, ShapeBuilder};

const SPECS: [FormatSpec; 6] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 5, block_cols: 3 },
    FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
    FormatSpec::BlockedEll { block_size: 8 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::TwoFour,
];

const COST: LinearCost = LinearCost { tile_col: 1.0, window_col: 1.0, fixed: 0.0, tile_again: 0.1 };

fn matrix(spec: FormatSpec) -> Csr<f32> {
    match spec {
        FormatSpec::TwoFour => two_four(50, 300, 3).unwrap(),
        _ => power_law_rows(120, 300, 40, 3).unwrap(),
    }
}

fn product(a: &Csr<f32>, plan: &Plan, n: usize, threads: usize, col_major: bool) -> Array2<f32> {
    let prepared = CpuBackend::new().prepare(plan).unwrap();
    let b = Array2::from_shape_fn((a.ncols(), n).set_f(col_major), |(i, j)| {
        ((i * 37 + j * 101) % 199) as f32 - 99.5
    });
    let mut c = Array2::from_elem((a.nrows(), n), f32::NAN);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into())).unwrap();
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let rounding = Rounding::exact_inputs(DType::F32);
    let verdict = verify(a, plan, &product, &c.view().into(), rounding).unwrap();
    assert!(verdict.passed(), "{}, n = {n}: {verdict:?}", plan.spec());
    c
}

#[test]
fn partitions_multiply_as_any_schedule_does() {
    for spec in SPECS {
        let a = matrix(spec);
        let mut rows: Vec<u32> = (0..a.nrows() as u32).rev().collect();
        rows.insert(7, PAD_ROW);
        rows.resize(rows.len().next_multiple_of(spec.window_rows()), PAD_ROW);
        let layouts = [
            RowLayout::natural(a.nrows(), spec.window_rows()).unwrap(),
            RowLayout::explicit(a.nrows(), spec.window_rows(), rows).unwrap(),
        ];
        for layout in layouts {
            let plan = Plan::from_tiling(Tiling::from_csr(&a, spec, layout).unwrap());
            for (cut_for, workers) in [(1, 3), (70, 7), (256, 2)] {
                let schedule = Schedule::sm_aligned(plan.tiling(), cut_for, workers, &COST);
                let plan = plan.clone().with_schedule(&schedule).unwrap();
                for n in [1, 16, 69, 70, 71, 300] {
                    let one = product(&a, &plan, n, 1, false);
                    let same =
                        |threads, col_major| product(&a, &plan, n, threads, col_major) == one;
                    assert!(same(3, false), "{spec}: other bits on other threads");
                    assert!(same(1, true), "{spec}: other bits in another layout");
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_run_is_refused_with_a_reason() {
    let a = matrix(FormatSpec::Csr);
    let layout = RowLayout::natural(a.nrows(), 1).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap());
    let mut tasks = Schedule::by_window(plan.tiling()).tasks().to_vec();
    let longest = (0..tasks.len()).max_by_key(|&i| tasks[i].tiles().len()).unwrap();
    let whole = tasks[longest];
    let cut = whole.tile_start + 1;
    tasks.insert(longest, Task { tile_end: cut, ..whole });
    tasks[longest + 1] = Task { tile_start: cut, ..whole };
    let columns = Columns {
        cut_for: 8,
        ranges: vec![ColRange { start: 0, end: 8 }; tasks.len()].into(),
        partition_ptr: vec![0, tasks.len() as u64].into(),
    };
    let schedule =
        Schedule::try_from_parts(tasks, Some(columns), Reduction::TwoPass, plan.tiling()).unwrap();
    let plan = plan.with_schedule(&schedule).unwrap();
    match CpuBackend::new().prepare(&plan) {
        Err(BackendError::Unsupported { reason: Unsupported::Schedule { reason }, .. }) => {
            assert!(reason.contains("by columns and by tiles"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}
