//! New values on the pattern of a prepared plan: the bits that planning and preparing anew gives.

use girih_backend::{BackendError, DenseScalar, PreparedSpmm};
use girih_formats::{Csr, DType, FormatError, FormatKind, FormatSpec};
use girih_planner::{Op, PlanError, PlanOptions, Planner, Space};
use girih_reorder::Method;

use super::problem::{bits, multiply};
use super::{Suite, specs};
use crate::matrices::{Case, typed};
use crate::operands::random;

/// Many windows, rows of all lengths, zeros among the entries, a pattern that is symmetric.
const CASES: [&str; 5] =
    ["many windows", "one dense row", "explicit zeros", "skewed graph", "finite elements"];

const SCALE: (f64, f64) = (-2.5, 0.5);
/// The cases that each way but the first is tested with; the first is tested with all of them.
const FEW: usize = 2;

/// Plans whose tiles hold values in other orders.
fn options(spec: FormatSpec) -> [(&'static str, PlanOptions); 5] {
    let of = |n| PlanOptions::new(n).format(spec);
    [
        ("as they are", of(33)),
        ("with a slot map", of(1).keep_slot_map(true)),
        ("rows shuffled", of(8).reorder(Method::Random { seed: 3 })),
        ("permuted", of(33).reorder(Method::Reverse).space(Space::Permuted).keep_slot_map(true)),
        ("transposed", of(33).op(Op::Transpose)),
    ]
}

impl Suite<'_> {
    /// Refreshes prepared plans, and compares with plans that are made and prepared anew. A backend may refuse
    /// new values, by [`BackendError::NewValues`]; products are then as they were.
    pub(super) fn new_values<T: DenseScalar>(&mut self) {
        let cases = self.named(&CASES);
        for spec in specs(self.kind) {
            for (way, (how, options)) in options(spec).into_iter().enumerate() {
                let n_cases = if way == 0 { cases.len() } else { FEW };
                for case in cases.iter().cycle().skip(way).take(n_cases) {
                    // Columns of the transpose, or moved ones, are not two of four.
                    if self.kind != FormatKind::TwoFour || options.op == Op::None {
                        let what =
                            format!("{spec} {}, {:?}, new values, {how}", T::DTYPE, case.name);
                        self.refreshed::<T>(&what, case, options.clone());
                    }
                }
            }
        }
    }

    fn refreshed<T: DenseScalar>(&mut self, what: &str, case: &Case, options: PlanOptions) {
        let a = typed::<T>(&case.matrix);
        let mut values = random::<T>(a.nnz(), 1, 6).into_raw_vec_and_offset().0;
        values.iter_mut().skip(3).step_by(5).for_each(|value| *value = T::ZERO);
        let Ok(renewed) = a.with_values::<T>(values) else { unreachable!("as many as entries") };
        let planner = Planner::new(options);
        let plans = planner.plan(&a).and_then(|plan| Ok((plan, planner.plan(&renewed)?)));
        let (plan, anew) = match plans {
            Ok(plans) => plans,
            Err(PlanError::Format(FormatError::NotTwoFour { .. } | FormatError::NoValues)) => {
                return;
            }
            Err(error) => return self.report.fail(what, error),
        };
        if let Err(unsupported) = self.backend.supports(&plan) {
            return self.report.unsupported.push(format!("{what}: {unsupported}"));
        }
        let prepared = self.backend.prepare(&plan);
        let both = prepared.and_then(|prepared| Ok((prepared, self.backend.prepare(&anew)?)));
        match both {
            Ok((mut prepared, anew)) => {
                let shape = Csr::<T>::empty(plan.nrows(), plan.ncols());
                let Ok(shape) = shape else { unreachable!("a plan's shape is one of a matrix") };
                self.compare::<T>(what, &shape, [&a, &renewed], &mut *prepared, &*anew);
            }
            Err(error) => self.report.fail(what, format!("supported, but not prepared: {error}")),
        }
    }

    /// Refreshes there and back. `shape` has the shape of the product's matrix.
    fn compare<T: DenseScalar>(
        &mut self,
        what: &str,
        shape: &Csr<T>,
        [old, new]: [&Csr<T>; 2],
        prepared: &mut dyn PreparedSpmm,
        anew: &dyn PreparedSpmm,
    ) {
        let report = &mut self.report;
        let products = |prepared: &dyn PreparedSpmm, report: &mut super::Report| {
            bits(&multiply(prepared, shape, 33, SCALE, report))
        };
        let before = products(prepared, report);
        let expected = products(anew, report);
        let one_more = vec![T::ONE; new.nnz() + 1];
        for (fault, values) in [
            ("a value too many", one_more[..].into()),
            (
                "values of another type",
                if T::DTYPE == DType::F64 {
                    (&[1.0f32][..]).into()
                } else {
                    (&[1.0f64][..]).into()
                },
            ),
        ] {
            report.checks += 1;
            let refused = matches!(
                prepared.refresh(values),
                Err(BackendError::Shape { .. }
                    | BackendError::DType { .. }
                    | BackendError::NewValues { .. })
            );
            if !refused {
                report.fail(what, format!("{fault} is not refused"));
            }
        }
        if products(prepared, report) != before {
            report.fail(what, "what was refused changes products");
        }
        for (values, expected) in [(new, &expected), (old, &before)] {
            report.checks += 1;
            match prepared.refresh(values.values().as_slice().into()) {
                Ok(()) if products(prepared, report) == *expected => report.refreshed += 1,
                Ok(()) => report.fail(what, "other bits than those of a new plan"),
                Err(BackendError::NewValues { .. }) => {
                    if products(prepared, report) != before {
                        report.fail(what, "refused, but products changed");
                    }
                }
                Err(error) => report.fail(what, error),
            }
        }
    }
}
