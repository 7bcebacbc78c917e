//! Products of complex values: right in any width and under any schedule, and the same on any number of threads,
//! in any layout and on every instruction set.

use girih_backend::{
    BackendError, ComplexProduct, DenseScalar, Rounding, SpmmBackend, Unsupported, verify_complex,
};
use girih_backend_cpu::{CpuBackend, Isa};
use girih_formats::{Complex, ComplexScalar, Csr, FormatSpec, PAD_ROW, RowLayout, Tiling};
use girih_generate::{fem_3d, power_law_rows, uniform};
use girih_planner::cost::LinearCost;
use girih_planner::{Plan, Schedule};
use ndarray::{Array2, ShapeBuilder};

const SPECS: [FormatSpec; 4] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 5, block_cols: 3 },
    FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
    FormatSpec::Bcsr { block_rows: 200, block_cols: 1 },
];

const COST: LinearCost = LinearCost { tile_col: 1.0, window_col: 1.0, fixed: 0.0, tile_again: 0.1 };
const ALPHA: Complex<f64> = Complex::new(0.5, -1.25);
const BETA: Complex<f64> = Complex::new(0.0, 2.0);

/// Shuffled rows with an empty slot, cut as `schedule` says.
fn plan<T: ComplexScalar>(
    a: &Csr<T>,
    spec: FormatSpec,
    schedule: impl Fn(&Plan) -> Schedule,
) -> Plan {
    let mut rows: Vec<u32> = (0..a.nrows() as u32).rev().collect();
    rows.insert(7, PAD_ROW);
    rows.resize(rows.len().next_multiple_of(spec.window_rows()), PAD_ROW);
    let layout = RowLayout::explicit(a.nrows(), spec.window_rows(), rows).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(a, spec, layout).unwrap());
    let schedule = schedule(&plan);
    plan.with_schedule(&schedule).unwrap()
}

/// The elements of B and of C before.
fn operands<T: ComplexScalar>(a: &Csr<T>, n: usize, col_major: bool) -> [Array2<T>; 2] {
    let number = |i: usize, j: usize| {
        let part = |seed: usize| ((i * 37 + j * 101 + seed) % 199) as f64 / 64.0 - 1.5;
        T::from_c64(Complex::new(part(0), part(57)))
    };
    let b = Array2::from_shape_fn((a.ncols(), n).set_f(col_major), |(i, j)| number(i, j));
    let before = Array2::from_shape_fn((a.nrows(), n).set_f(col_major), |(i, j)| number(j, i));
    [b, before]
}

fn product<T: DenseScalar + ComplexScalar>(
    backend: &CpuBackend,
    a: &Csr<T>,
    plan: &Plan,
    n: usize,
    col_major: bool,
) -> Array2<T> {
    let [b, mut c] = operands(a, n, col_major);
    let prepared = backend.prepare(plan).unwrap();
    let (from, into) = (T::erase(b.view()), T::erase_acc_mut(c.view_mut()));
    prepared.execute_complex(ALPHA, from, BETA, into).unwrap();
    c
}

/// A row-major [`product`], verified.
fn right_product<T: DenseScalar + ComplexScalar>(
    backend: &CpuBackend,
    a: &Csr<T>,
    plan: &Plan,
    n: usize,
) -> Array2<T> {
    let c = product(backend, a, plan, n, false);
    let [b, before] = operands(a, n, false);
    let added = Some((BETA, T::erase(before.view())));
    let product = ComplexProduct { alpha: ALPHA, b: T::erase(b.view()), added };
    let rounding = Rounding::exact_inputs(T::DTYPE);
    let verdict = verify_complex(a, plan, &product, &T::erase(c.view()), rounding).unwrap();
    assert!(verdict.passed(), "{} {}, n = {n}: {verdict:?}", plan.spec(), T::DTYPE);
    c
}

/// Every schedule, width and number of threads, beside one thread.
fn agrees<T: DenseScalar + ComplexScalar>(a: &Csr<T>) {
    type Cut = fn(&Plan) -> Schedule;
    let schedules: [Cut; 4] = [
        |plan| Schedule::by_window(plan.tiling()),
        |plan| Schedule::by_tiles(plan.tiling(), 40),
        |plan| Schedule::sm_aligned(plan.tiling(), 70, 7, &COST),
        |plan| Schedule::sm_aligned(plan.tiling(), 256, 2, &COST),
    ];
    for spec in SPECS {
        for (i, schedule) in schedules.into_iter().enumerate() {
            let plan = plan(a, spec, schedule);
            for n in [1, 16, 69, 300, 1100] {
                let one = right_product(&CpuBackend::new(), a, &plan, n);
                let at = format!("{spec} {}, n = {n}, schedule {i}", T::DTYPE);
                assert!(product(&CpuBackend::new(), a, &plan, n, true) == one, "{at}: layout");
                let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
                let other = pool.install(|| product(&CpuBackend::new(), a, &plan, n, false));
                assert!(other == one, "{at}: on other threads");
                let own = CpuBackend::new().with_threads(2).unwrap();
                assert!(product(&own, a, &plan, n, false) == one, "{at}: on threads of its own");
            }
        }
    }
}

#[test]
fn every_schedule_gives_right_products_and_threads_change_no_bit() {
    agrees::<Complex<f64>>(&power_law_rows(120, 300, 40, 3).unwrap());
    agrees::<Complex<f32>>(&fem_3d(4, 4, 4, 3, 1).unwrap());
}

#[test]
fn instruction_sets_that_fuse_agree() {
    let a: Csr<Complex<f32>> = uniform(150, 500, 30, 1).unwrap();
    for spec in SPECS {
        let plan = plan(&a, spec, |plan| Schedule::by_window(plan.tiling()));
        for n in [1, 3, 40] {
            let all = Isa::ALL.into_iter().filter_map(CpuBackend::with_isa);
            let products =
                all.map(|backend| (backend.isa(), right_product(&backend, &a, &plan, n)));
            let fused: Vec<_> = products.filter(|(isa, _)| *isa != Isa::Portable).collect();
            assert!(fused.windows(2).all(|pair| pair[0].1 == pair[1].1), "{spec}, n = {n}");
        }
    }
}

#[test]
fn a_lowering_says_that_there_are_two_products() {
    let a: Csr<Complex<f64>> = uniform(50, 60, 5, 1).unwrap();
    let plan = plan(&a, FormatSpec::Csr, |plan| Schedule::by_window(plan.tiling()));
    let lowering = CpuBackend::new().lower(&plan).unwrap();
    let kernel = lowering.choice("kernel").unwrap();
    assert!(kernel.contains("f64") && kernel.contains("imaginary"), "{lowering}");
}

#[test]
fn other_formats_are_refused_with_a_reason() {
    let a: Csr<Complex<f64>> = uniform(50, 60, 5, 1).unwrap();
    let spec = FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 };
    let plan = plan(&a, spec, |plan| Schedule::by_window(plan.tiling()));
    match CpuBackend::new().prepare(&plan) {
        Err(BackendError::Unsupported {
            reason: Unsupported::ValueType { reason, .. }, ..
        }) => {
            assert!(reason.contains("csr and bcsr"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}
