//! Plans for a single product.

use girih_formats::{Csr, FormatSpec};
use girih_planner::file::LoadOptions;
use girih_planner::{DeviceSpec, Op, Plan, PlanError, PlanOptions, Planner};
use girih_reorder::Method;

use crate::choice::{plan, scattered};

fn once() -> PlanOptions {
    PlanOptions::new(8).once(true).target(DeviceSpec::cpu())
}

#[test]
fn a_single_product_is_in_csr_and_nothing_is_estimated() {
    let a = scattered();
    let made = plan(&a, once()).unwrap();
    assert_eq!((made.spec(), made.nnz()), (FormatSpec::Csr, a.nnz()));
    assert!(made.explanation().candidates.is_empty() && made.fingerprint().is_none());
    assert!(made.explanation().reason.contains("single product"));
    made.schedule().check(made.tiling()).unwrap();
    // It is cut as a plan for many is.
    let many = plan(&a, once().once(false).format(FormatSpec::Csr)).unwrap();
    assert_eq!(made.schedule(), many.schedule());
    let turned = plan(&a, once().op(Op::Transpose)).unwrap();
    assert_eq!((turned.nrows(), turned.ncols()), (a.ncols(), a.nrows()));
}

#[test]
fn a_file_holds_that_it_is_for_one() {
    let plan = plan(&scattered(), once()).unwrap();
    let mut bytes = Vec::new();
    plan.write_to(&mut bytes).unwrap();
    let read: Plan = LoadOptions::default().read_bytes(&bytes).unwrap();
    assert!(read.options().once);
    assert_eq!(read, plan);
}

#[test]
fn what_one_product_does_not_wait_for_is_refused() {
    let blocks = FormatSpec::Bcsr { block_rows: 8, block_cols: 8 };
    for options in [once().format(blocks), once().reorder(Method::Rcm), once().keep_slot_map(true)]
    {
        let error = plan(&scattered(), options);
        assert!(matches!(error, Err(PlanError::Options { option: "once", .. })), "{error:?}");
    }
    let error = plan(&scattered(), once().memory_limit(1000)).unwrap_err();
    assert!(matches!(error, PlanError::Refused { spec: FormatSpec::Csr, .. }), "{error}");
    let order = Method::Reverse.order(scattered().pattern()).unwrap();
    let given = Planner::new(once()).plan_reordered(&scattered(), &order);
    assert!(matches!(given, Err(PlanError::Options { option: "once", .. })), "{given:?}");
}

#[test]
fn a_matrix_without_rows_or_entries_has_a_plan() {
    for (m, k) in [(0, 0), (0, 5), (5, 0), (5, 5)] {
        let made = plan(&Csr::empty(m, k).unwrap(), once()).unwrap();
        assert_eq!((made.nrows(), made.ncols(), made.nnz()), (m, k, 0));
    }
}
