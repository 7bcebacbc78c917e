//! New values in prepared plans: the bits of plans that are made and prepared anew.

use girih_backend::{BackendError, DenseScalar, PreparedSpmm, SpmmBackend};
use girih_backend_cpu::CpuBackend;
use girih_formats::{Csr, FormatKind, FormatSpec, Real, RealNumber, Scalar};
use girih_generate::{fem_3d, laplacian_5pt, power_law_rows, two_four, uniform};
use girih_planner::{Op, Plan, PlanError, PlanOptions, Planner, Space};
use girih_reorder::Method;
use girih_testkit::conformance;
use half::{bf16, f16};
use ndarray::Array2;

fn bits<T: DenseScalar + Real>(prepared: &dyn PreparedSpmm, plan: &Plan, n: usize) -> Vec<u64> {
    let b = Array2::from_shape_fn((plan.ncols(), n), |(i, j)| {
        T::from_f64(((i * 37 + j * 101) % 199) as f64 / 64.0 - 1.5)
    });
    let mut c = Array2::from_elem((plan.nrows(), n), T::Acc::ONE);
    prepared.execute(1.25, T::erase(b.view()), -0.5, T::erase_acc_mut(c.view_mut())).unwrap();
    c.iter().map(|&x| x.to_f64().to_bits()).collect()
}

fn renewed<T: DenseScalar + Real>(a: &Csr<T>) -> Csr<T> {
    let value = |i| T::from_f64(((i * 31) % 61) as f64 / 8.0 - 3.0);
    a.with_values::<T>((0..a.nnz()).map(value).collect::<Vec<T>>()).unwrap()
}

/// Refreshes a plan of `a` and compares with a plan of other values, also in a pool of three threads.
fn check<T: DenseScalar + Real>(a: &Csr<f64>, options: &PlanOptions, what: &str) {
    let a = a.cast::<T>();
    let new = renewed(&a);
    let backend = CpuBackend::new();
    let how = format!("{:?} {:?}", options.op, options.reorder);
    let planner = Planner::new(options.clone());
    let mut plan = planner.plan(&a).unwrap();
    let anew = planner.plan(&new).unwrap();
    let expected = backend.prepare(&anew).unwrap();
    let before = backend.prepare(&plan).unwrap();
    for saved in [false, true] {
        if saved {
            let Some(layout) = backend.layout(&plan).unwrap() else { continue };
            plan.attach(layout).unwrap();
        }
        let mut prepared = backend.prepare(&plan).unwrap();
        let refresh = |prepared: &mut Box<dyn PreparedSpmm>, a: &Csr<T>| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            pool.install(|| prepared.refresh(a.values().as_slice().into()).unwrap());
        };
        for n in [options.n, 1, 40] {
            refresh(&mut prepared, &new);
            let same = bits::<T>(&*prepared, &plan, n) == bits::<T>(&*expected, &plan, n);
            assert!(same, "{what}, {}, {how}, n = {n}, saved: {saved}", T::DTYPE);
            refresh(&mut prepared, &a);
            let same = bits::<T>(&*prepared, &plan, n) == bits::<T>(&*before, &plan, n);
            assert!(same, "{what}, {}, back, n = {n}, saved: {saved}", T::DTYPE);
        }
        // The plan keeps its values.
        let again = backend.prepare(&plan).unwrap();
        assert!(bits::<T>(&*again, &plan, 5) == bits::<T>(&*before, &plan, 5), "{what}");
    }
}

#[test]
fn copies_of_csr_take_new_values() {
    for (what, a) in [
        ("stencil", laplacian_5pt::<f64>(60, 61).unwrap()),
        ("finite elements", fem_3d(7, 7, 7, 3, 1).unwrap()),
        ("uniform", uniform(3000, 5000, 12, 1).unwrap()),
        ("long rows, split", power_law_rows(60, 3000, 400, 3).unwrap()),
    ] {
        for n in [1, 2, 8, 64, 300] {
            let options = PlanOptions::new(n).format(FormatSpec::Csr);
            check::<f32>(&a, &options, what);
            check::<bf16>(&a, &options, what);
            check::<f64>(&a, &options.clone().reorder(Method::Random { seed: 3 }), what);
            check::<f32>(&a, &options.op(Op::Transpose), what);
        }
    }
}

#[test]
fn every_format_takes_new_values_in_every_order() {
    let specs = FormatKind::ALL.into_iter().flat_map(conformance::specs);
    for spec in specs.filter(|&spec| spec != (FormatSpec::BMat { pattern_only: true })) {
        let a: Csr<f64> = match spec {
            FormatSpec::TwoFour => two_four(50, 300, 3).unwrap(),
            _ => power_law_rows(90, 90, 9, 3).unwrap(),
        };
        let options = PlanOptions::new(16).format(spec);
        let what = spec.to_string();
        check::<f16>(&a, &options, &what);
        check::<f32>(&a, &options.clone().reorder(Method::Reverse), &what);
        if spec != FormatSpec::TwoFour {
            check::<f64>(&a, &options.clone().reorder(Method::Rcm).space(Space::Permuted), &what);
            check::<f32>(&a, &options.clone().op(Op::Transpose).keep_slot_map(true), &what);
        }
    }
}

#[test]
fn zeros_among_the_entries_of_dense_tiles_need_a_slot_map() {
    let a = Csr::from_triplets(4, 4, [(0, 0, 1.0f32), (1, 2, 0.0), (3, 3, 2.0)]).unwrap();
    let spec = FormatSpec::Bcsr { block_rows: 2, block_cols: 2 };
    let prepared = |options: PlanOptions| -> Result<_, PlanError> {
        let plan = Planner::new(options.format(spec)).plan(&a)?;
        Ok(CpuBackend::new().prepare(&plan).unwrap())
    };
    let values = &[5.0f32, 6.0, 7.0][..];
    let mut without = prepared(PlanOptions::new(8)).unwrap();
    let error = without.refresh(values.into()).unwrap_err();
    assert!(matches!(error, BackendError::NewValues { .. }), "{error}");
    assert!(error.to_string().contains("slot map"), "{error}");
    let mut with = prepared(PlanOptions::new(8).keep_slot_map(true)).unwrap();
    with.refresh(values.into()).unwrap();
    let mut c = vec![0.0f32; 4];
    with.execute(1.0, (&[1.0f32; 4][..]).into(), 0.0, (&mut c).into()).unwrap();
    assert_eq!(c, [5.0, 6.0, 0.0, 7.0]);
}
