//! Plans with rows and columns in every ordering, in the caller's space and the permuted one.

use girih_formats::{Csr, FormatError, FormatKind};
use girih_planner::{Plan, PlanError, PlanOptions, Planner, Space};
use girih_reorder::Method;

use super::problem::{Planned, Run};
use super::rows::RowOrder;
use super::{Suite, specs};
use crate::matrices::typed;
use crate::operands::{Layout, random};
use girih_backend::DenseScalar;

/// Square and rectangular, disconnected, with dense rows and columns, with nothing in them.
const CASES: [&str; 10] = [
    "0×0",
    "no rows",
    "no columns",
    "no entries",
    "tall",
    "wide",
    "one dense row",
    "one dense column",
    "skewed graph",
    "finite elements",
];

const METHODS: [Method; 5] = [
    Method::Rcm,
    Method::Window { window_rows: None },
    Method::Degree,
    Method::Reverse,
    Method::Random { seed: 3 },
];

impl Suite<'_> {
    /// Every ordering a planner knows: cases and sizes of a format take them in turn.
    pub(super) fn orderings<T: DenseScalar>(&mut self) {
        let runs = [Run::plain(33), Run { alpha: -2.5, beta: 0.5, ..Run::plain(7) }];
        for (i, case) in self.named(&CASES).into_iter().enumerate() {
            let a = typed::<T>(&case.matrix);
            for (j, spec) in specs(self.kind).into_iter().enumerate() {
                let method = METHODS[(i + j) % METHODS.len()];
                for space in [Space::Caller, Space::Permuted] {
                    let what = format!("{spec} {}, {:?}, {method}, {space:?}", T::DTYPE, case.name);
                    let planner = Planner::new(
                        PlanOptions::new(33).format(spec).reorder(method).space(space),
                    );
                    match planner.plan(&a) {
                        Ok(plan) => self.check_ordered(&what, &a, &plan, &runs),
                        // Two of four columns are not two of four others.
                        Err(PlanError::Format(FormatError::NotTwoFour { .. }))
                            if space == Space::Permuted => {}
                        Err(error) => self.report.fail(&what, error),
                    }
                }
            }
        }
    }

    fn check_ordered<T: DenseScalar>(&mut self, what: &str, a: &Csr<T>, plan: &Plan, runs: &[Run]) {
        let held = match plan.space() {
            Space::Caller => Ok(a.clone()),
            Space::Permuted => plan.hold(a),
        };
        let held = match held {
            Ok(held) => held,
            Err(error) => return self.report.fail(what, error),
        };
        self.with_prepared(what, &held, plan, |suite, held, plan, prepared| {
            let is_due = suite.turn(runs.len());
            for (_, &run) in runs.iter().enumerate().filter(|&(i, _)| is_due(i)) {
                let b = random::<T>(held.ncols(), run.n, 1);
                let what = format!("{what}, n = {}, β = {}", run.n, run.beta);
                suite.check_run(&what, run, held, plan, prepared, &b);
            }
        });
    }

    /// Columns in another order than the caller's: rows of B must be permuted, however it is laid out.
    pub(super) fn permuted_b<T: DenseScalar>(&mut self) {
        if self.kind == FormatKind::TwoFour {
            return;
        }
        let runs = [
            Run::plain(0),
            Run::plain(1),
            // More columns than the workspace of a plan for 256 holds.
            Run { beta: 0.5, ..Run::plain(300) },
            Run { alpha: 0.0, beta: -1.0, ..Run::plain(7) },
            Run { b: Layout::ColMajor, c: Layout::ColMajor, ..Run::plain(33) },
        ];
        for (i, case) in self.named(&CASES).into_iter().enumerate() {
            for (j, spec) in specs(self.kind).into_iter().enumerate() {
                let rows = [RowOrder::Natural, RowOrder::Shuffled][(i + j) % 2];
                let planned = Planned { rows, permutes_b: true, ..Planned::natural(spec) };
                self.check_runs::<T>(&case, planned, &runs);
            }
        }
    }
}
