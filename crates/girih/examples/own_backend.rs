//! A backend of one's own, in one file, and proof that it is right: the conformance suite.
//!
//! `cargo run -p girih --example own_backend`

#![expect(clippy::print_stdout, reason = "an example")]

use girih::Capabilities;
use girih::backend::{Operands, prepare_fn};
use girih::prelude::*;
use girih_testkit::conformance::{Coverage, assert_conforms, run_refusals};

/// Multiplies CSR in f64 with one thread, row by row.
#[derive(Debug)]
struct RowByRow;

impl SpmmBackend for RowByRow {
    fn name(&self) -> &str {
        "row-by-row"
    }

    fn capabilities(&self) -> Result<Capabilities, BackendError> {
        Ok(Capabilities::new([FormatKind::Csr], [DType::F64], "one thread"))
    }

    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        prepare_fn(self, plan, multiply)
    }
}

/// `C = α·A·B + β·C`, for operands that were checked.
fn multiply(a: &Tiling<f64>, operands: Operands<'_, f64>) {
    let Operands { alpha, b, beta, mut c } = operands;
    for slot in 0..a.layout().n_slots() {
        // Slots may be empty, and rows in any order.
        let Some(row) = a.layout().row(slot) else { continue };
        let mut c = c.row_mut(row);
        // With β = 0, C may hold NaN, and with α = 0, B.
        c.mapv_inplace(|x| if beta == 0.0 { 0.0 } else { beta * x });
        if alpha != 0.0 {
            a.visit_stored(slot, |col, a| c.scaled_add(alpha * a, &b.row(col)));
        }
    }
}

fn main() {
    assert_conforms(&RowByRow, FormatKind::Csr, DType::F64, Coverage::EverySpec);
    assert!(run_refusals(&RowByRow).failures.is_empty());
    // From here on it is one of the backends that are chosen at run time.
    let backends = girih::backends().prefer(RowByRow);
    let names: Vec<_> = backends.iter().map(SpmmBackend::name).collect();
    println!("conforms; backends here: {}", names.join(", "));
}
