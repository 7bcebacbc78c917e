//! Bias and activation in the store: once for every element, after everything else.

use girih_backend::{Activation, BackendError, DenseScalar, Epilogue, PreparedSpmm, Unsupported};
use girih_formats::{Csr, FormatSpec, Real, RealNumber, Scalar};
use girih_planner::Plan;
use ndarray::Array2;

use super::problem::{Planned, Run, before, bits};
use super::rows::RowOrder;
use super::{Suite, specs};
use crate::operands::{Layout, random};

/// Rows without entries, windows cut into tasks, and sums long enough to be scaled.
pub(super) const CASES: [&str; 5] = [
    "many windows",
    "one dense row",
    "long rows",
    "empty rows and windows at the end",
    "no entries",
];

/// Where a bias comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BiasKind {
    None,
    PerRow,
    PerColumn,
}

impl BiasKind {
    const ALL: [Self; 3] = [Self::None, Self::PerRow, Self::PerColumn];

    fn with<T: DenseScalar + Real>(self, values: &Array2<T::Acc>) -> Epilogue<'_> {
        let values = T::erase_acc(values.view());
        match self {
            Self::None => Epilogue::new(),
            Self::PerRow => Epilogue::new().bias_per_row(values),
            Self::PerColumn => Epilogue::new().bias_per_column(values),
        }
    }

    /// Values for an m×n C.
    fn values<A: Scalar + RealNumber>(self, m: usize, n: usize) -> Array2<A> {
        let len = if self == Self::PerRow { m } else { n };
        // Up to 3, so that both signs stay before an activation.
        random::<A>(len, 1, 8).mapv(|x| A::from_f64(3.0 * x.to_f64()))
    }
}

impl Suite<'_> {
    /// Every bias with every activation, for every size; operands of all layouts, scales and row orders in
    /// turns. A backend may refuse epilogues: by a typed error, and with C untouched.
    pub(super) fn epilogues<T: DenseScalar + Real>(&mut self) {
        let mut turn = 0;
        for case in self.named(&CASES) {
            for spec in specs(self.kind) {
                for (rows, tiles_per_task) in
                    [(RowOrder::Natural, None), (RowOrder::Shuffled, Some(3))]
                {
                    let planned = Planned { rows, tiles_per_task, ..Planned::natural(spec) };
                    self.with_plan::<T>(&case, planned, |suite, a, plan, prepared| {
                        suite.every_epilogue::<T>(case.name, planned, a, plan, prepared, &mut turn);
                    });
                }
            }
        }
        self.permuted_b_with_epilogue::<T>();
        self.non_finite_with_epilogue::<T>();
    }

    fn every_epilogue<T: DenseScalar + Real>(
        &mut self,
        case: &str,
        planned: Planned,
        a: &Csr<T>,
        plan: &Plan,
        prepared: &dyn PreparedSpmm,
        turn: &mut usize,
    ) {
        let is_due = self.turn(BiasKind::ALL.len() * Activation::ALL.len());
        let mut count = 0;
        for bias in BiasKind::ALL {
            for activation in Activation::ALL {
                (*turn, count) = (*turn + 1, count + 1);
                if !is_due(count) {
                    continue;
                }
                let [n, m] = [[1, 7, 33, 70][*turn % 4], a.nrows()];
                let (alpha, beta) =
                    [(1.0, 0.0), (-2.5, 0.5), (0.0, 0.0), (1.0, 1.0)][*turn / 2 % 4];
                let c = Layout::WRITABLE[*turn % Layout::WRITABLE.len()];
                let run = Run { alpha, beta, c, ..Run::plain(n) };
                let values = bias.values::<T::Acc>(m, n);
                let epilogue = bias.with::<T>(&values).activation(activation);
                let what = format!(
                    "{} {}, {case:?}, rows {:?}, epilogue {bias:?} {activation:?}, {run:?}",
                    planned.spec,
                    T::DTYPE,
                    planned.rows,
                );
                self.check_epilogue::<T>(&what, run, a, plan, prepared, &epilogue);
            }
        }
        self.bias_that_does_not_fit::<T>(planned.spec, a, plan, prepared);
    }

    /// Multiplies and compares, or sees that the backend refuses; a second product, whatever the first's layout of C,
    /// must have the same bits.
    fn check_epilogue<T: DenseScalar + Real>(
        &mut self,
        what: &str,
        run: Run,
        a: &Csr<T>,
        plan: &Plan,
        prepared: &dyn PreparedSpmm,
        epilogue: &Epilogue<'_>,
    ) {
        let b = random::<T>(a.ncols(), run.n, 1);
        self.check_epilogue_of(what, run, a, plan, prepared, epilogue, &b);
    }

    #[expect(clippy::too_many_arguments, reason = "a product has as many parts")]
    fn check_epilogue_of<T: DenseScalar + Real>(
        &mut self,
        what: &str,
        run: Run,
        a: &Csr<T>,
        plan: &Plan,
        prepared: &dyn PreparedSpmm,
        epilogue: &Epilogue<'_>,
        b: &Array2<T>,
    ) {
        self.report.checks += 1;
        let again = || {
            let mut c = before::<T>(a.nrows(), run.n, run.beta);
            let into = T::erase_acc_mut(c.view_mut());
            let b = T::erase(b.view());
            let done = prepared.execute_with(run.alpha, b, run.beta, into, epilogue);
            (done, bits(&c))
        };
        if let Err(unsupported) = self.backend.supports_epilogue(plan, epilogue) {
            let untouched = bits(&before::<T>(a.nrows(), run.n, run.beta));
            let (done, found) = again();
            let typed = matches!(unsupported, Unsupported::Epilogue { .. })
                && matches!(
                    done,
                    Err(BackendError::Unsupported { reason: Unsupported::Epilogue { .. }, .. })
                );
            if !typed || found != untouched {
                self.report.fail(what, format!("refused, but computed or not typed: {done:?}"));
            }
            return;
        }
        match self.judge(run, a, plan, prepared, b, epilogue) {
            Ok((error_over_bound, first)) => {
                self.report.finished += usize::from(!epilogue.is_none());
                let worst = &mut self.report.max_error_over_bound;
                *worst = worst.max(error_over_bound);
                if again().1 != first {
                    self.report.fail(
                        what,
                        "other bits the second time, into rows of C next to each other",
                    );
                }
            }
            Err(reason) => self.report.fail(what, reason),
        }
    }

    /// A bias for rows that is as long as a column count, and one of another type.
    fn bias_that_does_not_fit<T: DenseScalar + Real>(
        &mut self,
        spec: FormatSpec,
        a: &Csr<T>,
        plan: &Plan,
        prepared: &dyn PreparedSpmm,
    ) {
        let (m, n) = (a.nrows(), 9);
        let (long, wrong_type) = (vec![T::Acc::ONE; m + 1], vec![0u16; m]);
        let wrong_type: Vec<half::f16> = wrong_type.into_iter().map(half::f16::from_bits).collect();
        let long = Array2::from_shape_vec((m + 1, 1), long);
        let Ok(long) = long else { unreachable!("as many elements as the shape has") };
        for (what, epilogue) in [
            ("a bias too many", Epilogue::new().bias_per_row(T::erase_acc(long.view()))),
            ("rows' bias for columns", Epilogue::new().bias_per_column(T::erase_acc(long.view()))),
            ("a bias of another type", Epilogue::new().bias_per_row(&wrong_type)),
        ] {
            if self.backend.supports_epilogue(plan, &epilogue).is_err() || m + 1 == n {
                continue;
            }
            self.report.checks += 1;
            let (b, mut c) = (random::<T>(a.ncols(), n, 1), random::<T::Acc>(m, n, 2));
            let untouched = bits(&c);
            let into = T::erase_acc_mut(c.view_mut());
            let done = prepared.execute_with(1.0, T::erase(b.view()), 0.5, into, &epilogue);
            let right = matches!(
                done,
                Err(BackendError::Shape { operand: "bias", .. }
                    | BackendError::DType { operand: "bias", .. })
            );
            if !right || bits(&c) != untouched {
                self.report.fail(&format!("{spec} {}, {what}", T::DTYPE), format!("{done:?}"));
            }
        }
    }

    /// Panels of columns, where rows of B are copied into another order, have their part of the bias.
    fn permuted_b_with_epilogue<T: DenseScalar + Real>(&mut self) {
        if self.kind == girih_formats::FormatKind::TwoFour {
            return;
        }
        for case in self.named(&["many windows"]) {
            let spec = self.spec::<T>();
            let planned = Planned { permutes_b: true, ..Planned::natural(spec) };
            self.with_plan::<T>(&case, planned, |suite, a, plan, prepared| {
                for bias in BiasKind::ALL {
                    let run = Run { beta: 0.5, ..Run::plain(300) };
                    let values = bias.values::<T::Acc>(a.nrows(), run.n);
                    let epilogue = bias.with::<T>(&values).activation(Activation::Relu);
                    let what = format!("{spec} {}, columns shuffled, epilogue {bias:?}", T::DTYPE);
                    suite.check_epilogue::<T>(&what, run, a, plan, prepared, &epilogue);
                }
            });
        }
    }

    /// NaN stays NaN, and −Inf becomes 0 where the activation says so.
    fn non_finite_with_epilogue<T: DenseScalar + Real>(&mut self) {
        for case in self.named(&["sparse"]) {
            let spec = self.spec::<T>();
            self.with_plan::<T>(&case, Planned::natural(spec), |suite, a, plan, prepared| {
                for (i, activation) in Activation::ALL.into_iter().enumerate() {
                    let mut b = random::<T>(a.ncols(), 18, 1);
                    for (j, mut row) in b.rows_mut().into_iter().enumerate() {
                        let poison = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][j % 3];
                        row[(i + j) % 18] = T::from_f64(poison);
                    }
                    let values = BiasKind::PerColumn.values::<T::Acc>(a.nrows(), 18);
                    let epilogue = BiasKind::PerColumn.with::<T>(&values).activation(activation);
                    let what = format!("{spec} {}, NaN and Inf, epilogue {activation:?}", T::DTYPE);
                    let run = Run::plain(18);
                    suite.check_epilogue_of(&what, run, a, plan, prepared, &epilogue, &b);
                }
            });
        }
    }
}
