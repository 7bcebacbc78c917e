//! The main job through the library: a matrix file in, a verified product out.

use girih::formats::io::{self, ReadOptions};
use girih::prelude::*;
use girih::{DenseScalar, Verification, verify};
use ndarray::Array2;

const SPECS: [FormatSpec; 6] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
    FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
    FormatSpec::BlockedEll { block_size: 16 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::TwoFour,
];

/// B with values that no two columns share.
fn operand<T: Scalar>(k: usize, n: usize) -> Array2<T> {
    Array2::from_shape_fn((k, n), |(i, j)| {
        T::from_c64((((i * 31 + j * 17) % 257) as f64 / 64.0 - 2.0).into())
    })
}

/// Multiplies on the best backend and compares with the matrix the plan was made from.
fn verified_product<T: DenseScalar>(a: &Csr<T>, plan: &Plan, n: usize) -> Verification {
    let backends = girih::backends();
    let backend = backends.best_for(plan).unwrap().backend;
    // On a machine with a GPU, that takes what it can.
    assert!(["cuda", "cpu"].contains(&backend.name()), "{}", backend.name());
    let prepared = backend.prepare(plan).unwrap();
    let b = operand::<T>(a.ncols(), n);
    let mut c = Array2::from_elem((a.nrows(), n), T::Acc::from_c64(f64::NAN.into()));
    prepared.execute(1.0, T::erase(b.view()), 0.0, T::erase_acc_mut(c.view_mut())).unwrap();
    let product = Product { alpha: 1.0, b: T::erase(b.view()), added: None };
    let found = T::erase_acc(c.view());
    verify(a, plan, &product, &found, backend.rounding(plan)).unwrap()
}

fn through_files<T: DenseScalar>() {
    let dir = tempfile::tempdir().unwrap();
    let matrix_file = dir.path().join("a.mtx.gz");
    // 2:4 can hold it, so every format can.
    let made: Csr<T> = girih_generate::two_four(203, 155, 7).unwrap();
    io::write(&matrix_file, &made).unwrap();
    let a: Csr<T> = io::read(&matrix_file, &ReadOptions::default()).unwrap();
    assert_eq!(a, made);
    for spec in SPECS {
        let options = PlanOptions::new(33).format(spec);
        let plan = Planner::new(options).plan(&a).unwrap();
        let plan_file = dir.path().join("a.girih");
        plan.save(&plan_file).unwrap();
        let plan = Plan::read(&plan_file).unwrap();
        assert_eq!(plan.spec(), spec);
        let verdict = verified_product(&a, &plan, 33);
        assert!(verdict.passed(), "{spec} {}: {verdict:?}", T::DTYPE);
    }
}

#[test]
fn a_file_becomes_a_verified_product_in_every_format_and_type() {
    through_files::<f32>();
    through_files::<f64>();
    through_files::<girih::formats::f16>();
    through_files::<girih::formats::bf16>();
}

#[test]
fn an_ordering_never_shows_in_c() {
    let a: Csr<f32> = girih_generate::rmat(10, 8, 3).unwrap();
    let order = girih::reorder::rcm(a.pattern()).unwrap();
    for spec in SPECS.into_iter().filter(|&s| s != FormatSpec::TwoFour) {
        let layout = order.to_row_layout(spec.window_rows()).unwrap();
        let options = PlanOptions::new(20).format(spec);
        let plan = Planner::new(options).plan_ordered(&a, &layout).unwrap();
        let verdict = verified_product(&a, &plan, 20);
        assert!(verdict.passed(), "{spec}: {verdict:?}");
    }
}

#[test]
fn a_chosen_plan_is_the_same_file_on_any_number_of_threads() {
    let a: Csr<f32> = girih_generate::rmat(12, 8, 5).unwrap();
    let bytes_on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let plan = Planner::new(PlanOptions::default()).plan(&a).unwrap();
            let mut bytes = Vec::new();
            plan.write_to(&mut bytes).unwrap();
            bytes
        })
    };
    let one = bytes_on(1);
    assert!([2, 3, 7].into_iter().all(|threads| bytes_on(threads) == one));
}

#[test]
fn a_sparse_product_equals_that_of_sprs() {
    let a: Csr<f64> = girih_generate::uniform(300, 200, 9, 11).unwrap();
    let theirs: sprs::CsMatI<f64, u32, u64> = a.clone().into();
    let b = operand::<f64>(200, 5);
    let expected = &theirs * &b;
    let plan = Planner::new(PlanOptions::new(5)).plan(&a).unwrap();
    let prepared = girih::backends().best_for(&plan).unwrap().backend.prepare(&plan).unwrap();
    let mut c = Array2::<f64>::zeros((300, 5));
    prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into()).unwrap();
    let worst = c.iter().zip(&expected).fold(0f64, |m, (x, y)| m.max((x - y).abs()));
    // Nine products per row, each below 4 in magnitude: far above any rounding, far below a fault.
    assert!(worst < 1e-12, "{worst}");
}
