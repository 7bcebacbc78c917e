//! Plans of a matrix's transpose.

use girih_formats::{AnyTiling, Csr, FormatSpec, Tiling};
use girih_planner::{DeviceSpec, FormatChoice, Op, Plan, PlanOptions, Planner};

fn options(format: impl Into<FormatChoice>) -> PlanOptions {
    PlanOptions::new(32).format(format).target(DeviceSpec::cpu()).keep_slot_map(true)
}

#[test]
fn a_plan_with_the_operation_is_the_plan_of_the_transpose() {
    let a = girih_generate::uniform::<f32>(300, 200, 7, 1).unwrap();
    let renewed = a.with_values::<f32>((0..a.nnz()).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    let blocks = FormatSpec::Bcsr { block_rows: 4, block_cols: 4 };
    for format in [FormatChoice::Auto, FormatSpec::Csr.into(), blocks.into()] {
        let by_op = Planner::new(options(format).op(Op::Transpose));
        let by_hand = Planner::new(options(format));
        let (mut plan, of_transpose) = (by_op.plan(&a).unwrap(), by_hand.plan(&a.t()).unwrap());
        assert_eq!((plan.nrows(), plan.ncols(), plan.options().op), (200, 300, Op::Transpose));
        assert!(plan.tiling() == of_transpose.tiling());
        assert_eq!(plan.fingerprint(), of_transpose.fingerprint());
        assert_eq!(by_op.candidates(&a).unwrap(), by_hand.candidates(&a.t()).unwrap());

        // The file says so, and only if it is so.
        let file = |plan: &Plan| {
            let mut bytes = Vec::new();
            plan.write_to(&mut bytes).unwrap();
            bytes
        };
        assert!(Plan::read_from(&file(&plan)[..]).unwrap() == plan);
        let says = |plan: &Plan| file(plan).windows(9).any(|bytes| bytes == b"Transpose");
        assert_eq!((says(&plan), says(&of_transpose)), (true, false));

        // New values come as the matrix that was planned.
        plan.refresh_values(&renewed).unwrap();
        assert!(plan == by_op.plan(&renewed).unwrap());
    }
}

#[test]
fn a_symmetric_matrix_is_not_copied() {
    let a = girih_generate::laplacian_5pt::<f32>(20, 20).unwrap();
    let held = |plan: &Plan| match plan.tiling() {
        AnyTiling::F32(Tiling::Csr(rows)) => rows.csr().clone(),
        _ => unreachable!("CSR was requested"),
    };
    let plan = |a: &Csr<f32>| {
        held(&Planner::new(options(FormatSpec::Csr).op(Op::Transpose)).plan(a).unwrap())
    };
    assert_eq!(plan(&a).values().as_ptr(), a.values().as_ptr());
    let mut odd = a.clone();
    odd.values_mut()[1] = 7.0;
    assert_eq!(plan(&odd), odd.t());
}
