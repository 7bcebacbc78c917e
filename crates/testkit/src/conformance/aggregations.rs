//! Maxima, minima and means over the entries of a row.

use girih_backend::{
    Aggregation, BackendError, DenseScalar, PreparedSpmm, Unsupported, verify_aggregation,
};
use girih_formats::{Csr, Real, RealNumber};
use girih_planner::Plan;
use ndarray::Array2;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::problem::{Planned, before, bits};
use super::rows::RowOrder;
use super::{Suite, specs};
use crate::matrices::typed;
use crate::operands::{Layout, Placed, random};

/// Rows of every length, rows without entries, and entries that are zero.
const CASES: [&str; 6] = [
    "many windows",
    "one dense row",
    "long rows",
    "explicit zeros",
    "empty rows and windows at the end",
    "no entries",
];

/// One column, less than a vector, more than one, and a group of them with a vector and a part of one after it.
const COLUMNS: [usize; 4] = [1, 7, 33, 83];

/// Pools of one, two and three threads, made once: a pool costs more than most of these aggregations.
struct Pools(Vec<ThreadPool>);

impl Pools {
    fn new() -> Result<Self, ThreadPoolBuildError> {
        let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build();
        Ok(Self((1..=3).map(pool).collect::<Result<_, _>>()?))
    }

    /// That of a turn.
    fn of(&self, turn: usize) -> &ThreadPool {
        &self.0[turn % self.0.len()]
    }
}

impl Suite<'_> {
    /// Every aggregation for every size, operands of all layouts and row orders in turns, NaN and Inf in B, and
    /// other threads. A backend may refuse: by a typed error, and with C untouched. Of the plans of a size whose
    /// aggregations are all refused, one takes the check.
    pub(super) fn aggregations<T: DenseScalar + Real>(&mut self) {
        let pools = match Pools::new() {
            Ok(pools) => pools,
            Err(error) => return self.report.fail("making pools of threads", error),
        };
        let cases: Vec<_> = self
            .named(&CASES)
            .into_iter()
            .map(|case| (typed::<T>(&case.matrix), case.name))
            .collect();
        let mut turn = 0;
        for spec in specs(self.kind) {
            let mut was_refused = false;
            for (a, case) in &cases {
                for (rows, permutes_b, tiles_per_task) in [
                    (RowOrder::Natural, false, None),
                    (RowOrder::Shuffled, false, Some(3)),
                    (RowOrder::Natural, true, None),
                ] {
                    // Columns that moved are not two of four.
                    if permutes_b && self.kind == girih_formats::FormatKind::TwoFour {
                        continue;
                    }
                    let planned = Planned { spec, rows, permutes_b, tiles_per_task };
                    let what = format!("{spec} {}, {case:?}, {planned:?}", T::DTYPE);
                    let plan = match planned.plan(a) {
                        Ok(plan) => plan,
                        Err(error) => {
                            self.report.fail(&what, error);
                            continue;
                        }
                    };
                    let backend = self.backend;
                    let refused = |by| backend.supports_aggregation(&plan, by).is_err();
                    if backend.supports(&plan).is_ok() && Aggregation::ALL.into_iter().all(refused)
                    {
                        if was_refused {
                            continue;
                        }
                        was_refused = true;
                    }
                    self.with_prepared(&what, a, &plan, |suite, a, plan, prepared| {
                        let is_due = suite.turn(Aggregation::ALL.len());
                        for (i, aggregation) in Aggregation::ALL.into_iter().enumerate() {
                            turn += 1;
                            if is_due(i) {
                                let what = format!("{what}, aggregation {aggregation:?}");
                                let pool = pools.of(turn / 2);
                                suite.aggregated(
                                    &what,
                                    turn,
                                    pool,
                                    aggregation,
                                    a,
                                    (plan, prepared),
                                );
                            }
                        }
                    });
                }
            }
        }
    }

    fn aggregated<T: DenseScalar + Real>(
        &mut self,
        what: &str,
        turn: usize,
        pool: &ThreadPool,
        aggregation: Aggregation,
        a: &Csr<T>,
        (plan, prepared): (&Plan, &dyn PreparedSpmm),
    ) {
        self.report.checks += 1;
        let n = COLUMNS[turn % COLUMNS.len()];
        let [b_layout, c_layout] =
            [turn, turn / 2].map(|at| Layout::WRITABLE[at % Layout::WRITABLE.len()]);
        let mut b = random::<T>(a.ncols(), n, turn as u64);
        if turn.is_multiple_of(5) {
            for (k, mut row) in b.rows_mut().into_iter().enumerate().step_by(5) {
                let poison = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][k % 3];
                row[k % n] = T::from_f64(poison);
            }
        }
        let what = format!("{what}, n = {n}, B {b_layout:?}, C {c_layout:?}");
        let placed = Placed::new(&b, b_layout);
        let untouched = before::<T>(a.nrows(), n, 0.0);
        let mut c = Placed::new(&untouched, c_layout);
        let done = prepared.aggregate(
            aggregation,
            T::erase(placed.view()),
            T::erase_acc_mut(c.view_mut()),
        );
        if self.backend.supports_aggregation(plan, aggregation).is_err() {
            let typed = matches!(
                done,
                Err(BackendError::Unsupported { reason: Unsupported::Aggregation { .. }, .. })
            );
            if !typed || bits(&c.view().to_owned()) != bits(&untouched) {
                self.report.fail(&what, format!("refused, but computed or not typed: {done:?}"));
            }
            return;
        }
        if let Err(error) = done {
            return self.report.fail(&what, error);
        }
        let rounding = self.backend.rounding(plan);
        let (b, found) = (T::erase(placed.view()), T::erase_acc(c.view()));
        match verify_aggregation(a, plan, aggregation, &b, &found, rounding) {
            Ok(verdict) if verdict.passed() && c.is_intact() => self.report.aggregated += 1,
            Ok(verdict) => {
                self.report.fail(&what, format!("intact: {}, {verdict:?}", c.is_intact()));
            }
            Err(error) => self.report.fail(&what, error),
        }
        let found = c.view().to_owned();
        self.same_aggregation(&what, aggregation, &placed, &found, (pool, prepared));
        self.operand_that_does_not_fit::<T>(&what, aggregation, a, prepared);
    }

    /// The same bits on other threads and into rows next to each other.
    fn same_aggregation<T: DenseScalar + Real>(
        &mut self,
        what: &str,
        aggregation: Aggregation,
        b: &Placed<T>,
        found: &Array2<T::Acc>,
        (pool, prepared): (&ThreadPool, &dyn PreparedSpmm),
    ) {
        let threads = pool.current_num_threads();
        let again = || {
            let mut c = before::<T>(found.nrows(), found.ncols(), 0.0);
            let into = T::erase_acc_mut(c.view_mut());
            let done = prepared.aggregate(aggregation, T::erase(b.view()), into);
            done.map(|()| c)
        };
        let again = match pool.install(again) {
            Ok(again) => again,
            Err(error) => return self.report.fail(what, error),
        };
        // The bits of a NaN are not promised.
        let same = |(x, y): (&T::Acc, &T::Acc)| {
            let (x, y) = (x.to_f64(), y.to_f64());
            x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
        };
        if !again.iter().zip(found).all(same) {
            self.report.fail(what, format!("other bits on {threads} threads"));
        }
    }

    fn operand_that_does_not_fit<T: DenseScalar + Real>(
        &mut self,
        what: &str,
        aggregation: Aggregation,
        a: &Csr<T>,
        prepared: &dyn PreparedSpmm,
    ) {
        let b = random::<T>(a.ncols() + 1, 3, 1);
        let mut c = random::<T::Acc>(a.nrows(), 3, 2);
        let untouched = bits(&c);
        let into = T::erase_acc_mut(c.view_mut());
        let done = prepared.aggregate(aggregation, T::erase(b.view()), into);
        let right = matches!(done, Err(BackendError::Shape { operand: "B", .. }));
        if !right || bits(&c) != untouched {
            self.report.fail(what, format!("a B with a row too many: {done:?}"));
        }
    }
}
