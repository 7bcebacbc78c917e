//! A backend of one's own, in one file, and proof that it is right: the conformance suite.
//!
//! `cargo run -p girih --example own_backend`

#![expect(clippy::print_stdout, reason = "an example")]

use girih::backend::with_b_permutation;
use girih::prelude::*;
use girih::{
    AnyTiling, Capabilities, DenseView, DenseViewMut, FormatError, Lowering, ProductShape,
    Unsupported,
};
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

    fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
        match plan.tiling() {
            AnyTiling::F64(Tiling::Csr(_)) => Ok(()),
            other => Err(Unsupported::Format {
                format: other.kind(),
                reason: format!(
                    "it multiplies csr in f64, not {} in {}",
                    other.spec(),
                    other.dtype()
                ),
            }),
        }
    }

    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        self.supports(plan).map_err(|reason| reason.by(self.name()))?;
        let AnyTiling::F64(tiling) = plan.tiling().clone() else { unreachable!("it is supported") };
        // A plan may hold columns in another order than B: this copies rows of B where one does.
        with_b_permutation(
            self.name(),
            plan,
            Box::new(Ready { tiling, shape: ProductShape::of(plan) }),
        )
    }
}

/// The tiles, shared with the plan.
#[derive(Debug)]
struct Ready {
    tiling: Tiling<f64>,
    shape: ProductShape,
}

impl PreparedSpmm for Ready {
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        self.shape.check_operands(&b, &c)?;
        let (DenseView::F64(b), DenseViewMut::F64(mut c)) = (b, c) else { unreachable!("checked") };
        let layout = self.tiling.layout();
        for slot in 0..layout.n_slots() {
            // Slots may be empty, and rows in any order.
            let Some(row) = layout.row(slot) else { continue };
            let mut c = c.row_mut(row);
            // With β = 0, C may hold NaN, and with α = 0, B.
            c.mapv_inplace(|x| if beta == 0.0 { 0.0 } else { beta * x });
            if alpha != 0.0 {
                self.tiling.visit_stored(slot, |col, a| c.scaled_add(alpha * a, &b.row(col)));
            }
        }
        Ok(())
    }

    fn lowering(&self, n: usize) -> Lowering {
        Lowering::new("row-by-row", "one thread", n).with("kernel", "row by row", "")
    }
}

fn main() -> Result<(), FormatError> {
    assert_conforms(&RowByRow, FormatKind::Csr, DType::F64, Coverage::EverySpec);
    assert!(run_refusals(&RowByRow).failures.is_empty());
    // From here on it is one of the backends that are chosen at run time.
    let names: Vec<_> =
        girih::backends().prefer(RowByRow).iter().map(|b| b.name().to_owned()).collect();
    println!("conforms; backends here: {}", names.join(", "));
    Ok(())
}
