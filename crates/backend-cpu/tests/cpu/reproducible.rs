//! The same bits whatever runs them: instruction set, threads, strides, nesting.

use girih_backend::{DenseScalar, Product, Rounding, SpmmBackend, verify};
use girih_backend_cpu::{CpuBackend, Isa};
use girih_formats::{Csr, DType, FormatSpec, PAD_ROW, Real, RealNumber, RowLayout, Scalar, Tiling};
use girih_generate::{fem_3d, laplacian_5pt, power_law_rows, two_four, uniform};
use girih_planner::{Plan, PlanOptions, Planner, Schedule};
use half::{bf16, f16};
use ndarray::{Array2, ArrayViewMut2, ShapeBuilder};
use rayon::prelude::*;

const SPECS: [FormatSpec; 6] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 5, block_cols: 3 },
    FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
    FormatSpec::BlockedEll { block_size: 8 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::TwoFour,
];

/// Widths on either side of every group of columns, and with one column left beyond a panel's.
const WIDTHS: [usize; 8] = [1, 16, 29, 48, 65, 77, 257, 290];

/// A plan with windows in several parts, some of them longer than any buffer on the stack.
fn plan<T: DenseScalar + Real>(spec: FormatSpec) -> Plan {
    let csr: Csr<f64> = match spec {
        FormatSpec::TwoFour => two_four(5, 5000, 3).unwrap(),
        _ => power_law_rows(40, 3000, 400, 3).unwrap(),
    };
    let layout = RowLayout::natural(csr.nrows(), spec.window_rows()).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(&csr.cast::<T>(), spec, layout).unwrap());
    let schedule = Schedule::by_tiles(plan.tiling(), 900);
    plan.with_schedule(&schedule).unwrap()
}

/// B, the same in any layout.
fn b<T: DenseScalar + Real>(k: usize, n: usize, col_major: bool) -> Array2<T> {
    Array2::from_shape_fn((k, n).set_f(col_major), |(i, j)| {
        T::from_f64(((i * 37 + j * 101) % 199) as f64 / 64.0 - 1.5)
    })
}

pub(crate) fn product<T: DenseScalar + Real>(
    backend: &CpuBackend,
    plan: &Plan,
    n: usize,
    col_major: bool,
) -> Vec<u64> {
    product_with_beta::<T>(backend, plan, n, col_major, -0.5)
}

pub(crate) fn product_with_beta<T: DenseScalar + Real>(
    backend: &CpuBackend,
    plan: &Plan,
    n: usize,
    col_major: bool,
    beta: f64,
) -> Vec<u64> {
    let prepared = backend.prepare(plan).unwrap();
    let b = b::<T>(plan.ncols(), n, col_major);
    let ones = T::Acc::ONE;
    let mut c = Array2::from_elem((plan.nrows(), n).set_f(col_major), ones);
    prepared.execute(1.25, T::erase(b.view()), beta, T::erase_acc_mut(c.view_mut())).unwrap();
    bits::<T>(&c)
}

fn bits<T: DenseScalar + Real>(c: &Array2<T::Acc>) -> Vec<u64> {
    c.iter().map(|&x| x.to_f64().to_bits()).collect()
}

fn for_every_value_type(f: [fn(FormatSpec); 4]) {
    for spec in SPECS {
        f.iter().for_each(|f| f(spec));
    }
}

/// All that fuse agree; those that don't are only compared with themselves.
fn across_isas<T: DenseScalar + Real>(spec: FormatSpec) {
    let plan = plan::<T>(spec);
    let fused = |isa: &Isa| *isa != Isa::Portable || cfg!(target_arch = "aarch64");
    for n in WIDTHS {
        let mut all = Isa::ALL.into_iter().filter(fused).filter_map(CpuBackend::with_isa);
        let Some(first) = all.next().map(|backend| product::<T>(&backend, &plan, n, false)) else {
            return;
        };
        for backend in all {
            let same = product::<T>(&backend, &plan, n, false) == first;
            assert!(same, "{spec} {} n = {n}: {backend:?}", T::DTYPE);
        }
    }
}

#[test]
fn instruction_sets_agree() {
    for_every_value_type([
        across_isas::<f16>,
        across_isas::<bf16>,
        across_isas::<f32>,
        across_isas::<f64>,
    ]);
}

fn across_layouts<T: DenseScalar + Real>(spec: FormatSpec) {
    let plan = plan::<T>(spec);
    for n in WIDTHS {
        let row_major = product::<T>(&CpuBackend::new(), &plan, n, false);
        let col_major = product::<T>(&CpuBackend::new(), &plan, n, true);
        assert!(row_major == col_major, "{spec} {} n = {n}", T::DTYPE);
    }
}

#[test]
fn strides_do_not_matter() {
    for_every_value_type([
        across_layouts::<f16>,
        across_layouts::<bf16>,
        across_layouts::<f32>,
        across_layouts::<f64>,
    ]);
}

fn across_threads<T: DenseScalar + Real>(spec: FormatSpec) {
    let plan = plan::<T>(spec);
    for n in [1, 77, 290] {
        let one = product::<T>(&CpuBackend::new(), &plan, n, false);
        for threads in [1, 2, 3, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let c = pool.install(|| product::<T>(&CpuBackend::new(), &plan, n, false));
            assert!(c == one, "{spec} {} n = {n} on {threads} threads", T::DTYPE);
            let own = CpuBackend::new().with_threads(threads).unwrap();
            let c = product::<T>(&own, &plan, n, false);
            assert!(c == one, "{spec} {} n = {n} on {threads} threads of its own", T::DTYPE);
        }
    }
}

#[test]
fn threads_do_not_matter() {
    for_every_value_type([
        across_threads::<f16>,
        across_threads::<bf16>,
        across_threads::<f32>,
        across_threads::<f64>,
    ]);
}

/// Products of one preparation inside tasks of the pool that they run on. Others, and frames of their own
/// stack, use the scratch for split sums and for a copy of B. They must neither wait nor differ.
#[test]
fn nested_products_neither_wait_nor_differ() {
    for spec in SPECS {
        let plan = plan::<f32>(spec);
        let prepared = CpuBackend::new().prepare(&plan).unwrap();
        for (n, col_major) in [(77, false), (257, false), (257, true)] {
            let b = b::<f32>(plan.ncols(), n, col_major);
            let run = || {
                let mut c = Array2::zeros((plan.nrows(), n));
                prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into()).unwrap();
                bits::<f32>(&c)
            };
            let alone = run();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            let all: Vec<_> = pool.install(|| (0..8).into_par_iter().map(|_| run()).collect());
            assert!(all.iter().all(|c| *c == alone), "{spec}, n = {n}");
        }
    }
}

/// Neighbouring rows with equal columns are multiplied together, for some n on some instruction sets. Whether they are
/// right, the bound says. Where all take tiles or none does, bits are the same.
#[test]
fn rows_are_right_on_every_instruction_set_and_the_same_where_all_tile_them() {
    let equal: Csr<f32> = fem_3d(3, 4, 4, 6, 1).unwrap();
    let unlike: Csr<f32> = uniform(80, 1000, 9, 1).unwrap();
    for (a, n, is_same) in [
        (&equal, 8, true),
        (&equal, 17, false),
        (&equal, 32, false),
        (&equal, 77, true),
        (&unlike, 8, true),
        (&unlike, 17, true),
        (&unlike, 32, true),
        (&unlike, 77, true),
    ] {
        let plan = csr_plan(a, &RowLayout::natural(a.nrows(), 1).unwrap(), n);
        let b = b::<f32>(a.ncols(), n, false);
        let mut first: Option<Vec<u64>> = None;
        for isa in Isa::ALL {
            let Some(backend) = CpuBackend::with_isa(isa) else { continue };
            let mut c = Array2::zeros((a.nrows(), n));
            let prepared = backend.prepare(&plan).unwrap();
            prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into()).unwrap();
            let product = Product { alpha: 1.0, b: b.view().into(), added: None };
            let rounding = Rounding::exact_inputs(DType::F32);
            let verdict = verify(a, &plan, &product, &c.view().into(), rounding).unwrap();
            assert!(verdict.passed(), "{isa}, n = {n}: {verdict:?}");
            if is_same && isa != Isa::Portable {
                let first = first.get_or_insert_with(|| bits::<f32>(&c));
                assert!(*first == bits::<f32>(&c), "{isa}, n = {n}");
            }
        }
    }
}

/// A large C whose rows are aligned is written past the caches; one that is not aligned is not: in
/// whole cache lines, in parts of a cache line next to each other, row by row and in tiles.
#[test]
fn streamed_results_are_the_same() {
    let stencil: Csr<f32> = laplacian_5pt(260, 260).unwrap();
    let mesh: Csr<f32> = fem_3d(20, 20, 20, 3, 1).unwrap();
    let in_rows = |a: &Csr<f32>, n| csr_plan(a, &RowLayout::natural(a.nrows(), 1).unwrap(), n);
    let in_windows = |a: &Csr<f32>| {
        let layout = RowLayout::natural(a.nrows(), 16).unwrap();
        let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
        Plan::from_tiling(Tiling::from_csr(a, spec, layout).unwrap())
    };
    for (a, plan, n) in [
        (&stencil, in_rows(&stencil, 8), 8),
        (&stencil, in_rows(&stencil, 32), 32),
        (&stencil, in_rows(&stencil, 128), 128),
        (&mesh, in_rows(&mesh, 48), 48),
        (&stencil, in_windows(&stencil), 48),
    ] {
        let b = b::<f32>(a.ncols(), n, false);
        for isa in Isa::ALL {
            let Some(backend) = CpuBackend::with_isa(isa) else { continue };
            let prepared = backend.prepare(&plan).unwrap();
            let run = |skip: usize| {
                let mut memory = vec![f32::NAN; a.nrows() * n + 32];
                let start = (64 - memory.as_ptr().addr() % 64) % 64 / 4 + skip;
                let c = &mut memory[start..start + a.nrows() * n];
                let mut c = ArrayViewMut2::from_shape((a.nrows(), n), c).unwrap();
                prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into()).unwrap();
                c.to_owned()
            };
            let streamed = run(0);
            assert!(streamed == run(1), "{isa}, n = {n}");
        }
    }
}

/// A plan for narrow products sorts its rows, and lays those of a stencil across lanes; one for wide
/// products does not. The bits are the same, on every instruction set, in any layout of the rows, and
/// whatever the strides.
fn sorted_rows_agree<T: DenseScalar + Real>() {
    let stencil: Csr<f64> = laplacian_5pt(90, 70).unwrap();
    let uneven: Csr<f64> = power_law_rows(900, 800, 3, 3).unwrap();
    for a in [stencil.cast::<T>(), uneven.cast::<T>()] {
        let reversed: Vec<u32> = (0..a.nrows() as u32).rev().collect();
        let layouts = [
            RowLayout::natural(a.nrows(), 1).unwrap(),
            RowLayout::explicit(a.nrows(), 1, reversed).unwrap(),
        ];
        for layout in layouts {
            let wide = csr_plan(&a, &layout, 256);
            for n in [1, 2, 8, 16, 24, 32] {
                let narrow = csr_plan(&a, &layout, n);
                for isa in Isa::ALL {
                    let Some(backend) = CpuBackend::with_isa(isa) else { continue };
                    for col_major in [false, true] {
                        let sorted = product::<T>(&backend, &narrow, n, col_major);
                        let direct = product::<T>(&backend, &wide, n, col_major);
                        assert!(sorted == direct, "{isa}, n = {n}");
                    }
                }
            }
        }
    }
}

#[test]
fn sorting_rows_changes_no_bit() {
    sorted_rows_agree::<f32>();
    sorted_rows_agree::<f64>();
    sorted_rows_agree::<bf16>();
}

/// Runs of many rows of two to four entries have code of their own, where a single column is overwritten.
fn many_short_rows_agree<T: DenseScalar + Real>() {
    let lens = |row: u64| [2, 3, 1, 4, 2, 5, 3][row as usize % 7];
    let row_ptr: Vec<u64> = (0..=4000).map(|rows| (0..rows).map(lens).sum()).collect();
    let cols =
        (0..4000).flat_map(|row| (0..lens(row)).map(move |i| ((row * 11) % 90 + 100 * i) as u32));
    let cols: Vec<u32> = cols.collect();
    let value = |i| T::from_f64((i % 53) as f64 / 8.0 - 3.0);
    let values: Vec<T> = (0..cols.len()).map(value).collect();
    let a = Csr::try_new(4000, 500, row_ptr, cols, values).unwrap();
    let layout = RowLayout::natural(a.nrows(), 1).unwrap();
    let b = b::<T>(a.ncols(), 1, false);
    for isa in Isa::ALL {
        let Some(backend) = CpuBackend::with_isa(isa) else { continue };
        let product = |n| {
            let prepared = backend.prepare(&csr_plan(&a, &layout, n)).unwrap();
            let mut c = Array2::from_elem((a.nrows(), 1), T::Acc::ONE);
            let into = T::erase_acc_mut(c.view_mut());
            prepared.execute(1.25, T::erase(b.view()), 0.0, into).unwrap();
            bits::<T>(&c)
        };
        let (sorted, direct) = (product(1), product(256));
        assert!(sorted == direct, "{isa}");
    }
}

#[test]
fn many_short_rows_by_one_column_have_the_same_bits() {
    many_short_rows_agree::<f32>();
    many_short_rows_agree::<f64>();
    many_short_rows_agree::<f16>();
}

pub(crate) fn csr_plan<T: DenseScalar + Real>(a: &Csr<T>, layout: &RowLayout, n: usize) -> Plan {
    let options = PlanOptions::new(n).format(FormatSpec::Csr);
    Planner::new(options).plan_ordered(a, layout).unwrap()
}

/// Rows that share columns are tiled, for any number of columns and any order of the rows, slots
/// without a row among them.
#[test]
fn tiled_rows_are_right_in_any_layout() {
    let a: Csr<f32> = fem_3d(5, 4, 4, 3, 1).unwrap();
    let mut slots: Vec<u32> = (0..a.nrows() as u32).rev().collect();
    slots.insert(7, PAD_ROW);
    slots.extend([PAD_ROW; 3]);
    let layouts = [
        RowLayout::natural(a.nrows(), 1).unwrap(),
        RowLayout::explicit(a.nrows(), 1, slots).unwrap(),
    ];
    for (layout, n) in layouts.iter().flat_map(|layout| [2, 8, 20, 77].map(|n| (layout, n))) {
        let plan = csr_plan(&a, layout, n);
        let b = b::<f32>(a.ncols(), n, false);
        let mut c = Array2::from_elem((a.nrows(), n), f32::NAN);
        let prepared = CpuBackend::new().prepare(&plan).unwrap();
        prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into()).unwrap();
        let product = Product { alpha: 1.0, b: b.view().into(), added: None };
        let rounding = Rounding::exact_inputs(DType::F32);
        let verdict = verify(&a, &plan, &product, &c.view().into(), rounding).unwrap();
        assert!(verdict.passed(), "n = {n}: {verdict:?}");
    }
}
