//! A backend of one function: it conforms, takes new values, and refuses by its capabilities.

use girih_backend::{
    BackendError, Capabilities, Operands, PreparedSpmm, SpmmBackend, Unsupported, prepare_fn,
};
use girih_formats::{Csr, DType, FormatKind, FormatSpec, Tiling};
use girih_planner::{Plan, PlanOptions, Planner};
use girih_testkit::conformance::{run, run_refusals};

/// Multiplies every format, row by row. It claims f32 and f64 of CSR and BCSR; what it has is f64.
#[derive(Debug)]
struct RowByRow;

impl SpmmBackend for RowByRow {
    fn name(&self) -> &str {
        "row-by-row"
    }

    fn capabilities(&self) -> Result<Capabilities, BackendError> {
        let formats = [FormatKind::Csr, FormatKind::Bcsr];
        Ok(Capabilities::new(formats, [DType::F32, DType::F64], "one thread"))
    }

    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        prepare_fn(self, plan, |a: &Tiling<f64>, operands: Operands<'_, f64>| {
            let Operands { alpha, b, beta, mut c } = operands;
            for slot in 0..a.layout().n_slots() {
                let Some(row) = a.layout().row(slot) else { continue };
                let mut c = c.row_mut(row);
                c.mapv_inplace(|x| if beta == 0.0 { 0.0 } else { beta * x });
                if alpha != 0.0 {
                    a.visit_stored(slot, |col, a| c.scaled_add(alpha * a, &b.row(col)));
                }
            }
        })
    }
}

#[test]
fn it_conforms_and_takes_new_values() {
    for format in [FormatKind::Csr, FormatKind::Bcsr] {
        let report = run(&RowByRow, format, DType::F64);
        assert!(report.passed() && report.refreshed > 0, "{report}");
    }
    let refusals = run_refusals(&RowByRow);
    assert!(refusals.passed(), "{refusals}");
}

fn planned<T: girih_formats::Scalar>(spec: FormatSpec) -> Plan {
    let a = Csr::<T>::identity(5).unwrap();
    Planner::new(PlanOptions::new(2).format(spec)).plan(&a).unwrap()
}

#[test]
fn what_is_not_claimed_is_refused_with_a_reason() {
    let refused = |plan: &Plan| RowByRow.supports(plan).unwrap_err();
    let wcsr = refused(&planned::<f64>(FormatSpec::Wcsr { window_rows: 2, pad_cols: 2 }));
    assert!(matches!(wcsr, Unsupported::Format { format: FormatKind::Wcsr, .. }), "{wcsr:?}");
    assert_eq!(wcsr.to_string(), "it multiplies csr, bcsr, not wcsr");
    let half = refused(&planned::<half::f16>(FormatSpec::Csr));
    assert!(matches!(half, Unsupported::ValueType { dtype: DType::F16, .. }), "{half:?}");
    assert_eq!(half.to_string(), "it takes values in f32, f64, not in f16");
    // Claimed, but not what the function multiplies.
    let single = RowByRow.prepare(&planned::<f32>(FormatSpec::Csr)).unwrap_err();
    assert_eq!(single.to_string(), "A is f32 where the plan needs f64");
}
