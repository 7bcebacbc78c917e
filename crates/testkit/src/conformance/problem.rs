//! One product: set up, computed, compared.

use std::error::Error;
use std::fmt;

use girih_backend::{DenseScalar, Epilogue, PreparedSpmm, Product, verify_with};
use girih_formats::{AnyTiling, Complex, Csr, FormatSpec, Scalar, Tiling};
use girih_planner::{Plan, PlanError, Schedule};
use girih_reorder::simple;
use ndarray::Array2;

use super::rows::RowOrder;
use super::{Report, Suite};
use crate::matrices::{self, Case, typed};
use crate::operands::{Layout, Placed, random};

/// How a matrix is planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) spec: FormatSpec,
    pub(super) rows: RowOrder,
    /// Whether the tiles hold the columns in another order, so that rows of B must be permuted.
    pub(super) permutes_b: bool,
    /// Tiles per task; `None` for the schedule a plan comes with.
    pub(super) tiles_per_task: Option<u64>,
}

impl Planned {
    pub(super) fn natural(spec: FormatSpec) -> Self {
        Self { spec, rows: RowOrder::Natural, permutes_b: false, tiles_per_task: None }
    }

    pub(super) fn plan<T: DenseScalar>(self, a: &Csr<T>) -> Result<Plan, PlanError> {
        let layout = self.rows.layout(a.nrows(), self.spec.window_rows())?;
        let cols = self.permutes_b.then(|| simple::random(a.ncols(), 5)).transpose()?;
        let held = cols.as_ref().map(|cols| cols.apply_cols(a)).transpose()?;
        let tiling = Tiling::from_csr(held.as_ref().unwrap_or(a), self.spec, layout)?;
        let tiling = AnyTiling::from(tiling);
        let schedule = self.tiles_per_task.map(|tiles| Schedule::by_tiles(&tiling, tiles));
        let mut plan = Plan::from_tiling(tiling);
        if let Some(cols) = cols {
            plan = plan.with_columns(cols)?;
        }
        match schedule {
            None => Ok(plan),
            Some(schedule) => Ok(plan.with_schedule(&schedule)?),
        }
    }
}

/// How the planned matrix is multiplied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) n: usize,
    pub(super) alpha: f64,
    pub(super) beta: f64,
    pub(super) b: Layout,
    pub(super) c: Layout,
}

impl Run {
    /// C = A·B, row-major.
    pub(super) fn plain(n: usize) -> Self {
        Self { n, alpha: 1.0, beta: 0.0, b: Layout::RowMajor, c: Layout::RowMajor }
    }
}

/// Everything about a check, for messages.
pub(super) struct Described<'a, T> {
    pub(super) case: &'a str,
    pub(super) planned: Planned,
    pub(super) run: Run,
    pub(super) value: std::marker::PhantomData<T>,
}

impl<T: Scalar> fmt::Display for Described<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Planned { spec, rows, permutes_b, tiles_per_task }, run) = (self.planned, self.run);
        write!(f, "{spec} {}, {:?}, rows {rows:?}", T::DTYPE, self.case)?;
        if permutes_b {
            write!(f, ", columns shuffled")?;
        }
        if let Some(tiles) = tiles_per_task {
            write!(f, ", {tiles} tiles per task")?;
        }
        let Run { n, alpha, beta, b, c } = run;
        write!(f, ", n = {n}, α = {alpha}, β = {beta}, B {b:?}, C {c:?}")
    }
}

impl Suite<'_> {
    /// Plans a case and hands it, prepared, to `check`. A plan that the backend refuses is noted.
    pub(super) fn with_plan<T: DenseScalar>(
        &mut self,
        case: &Case,
        planned: Planned,
        check: impl FnOnce(&mut Self, &Csr<T>, &Plan, &dyn PreparedSpmm),
    ) {
        let a = typed::<T>(&case.matrix);
        let what = format!("{} {}, {:?}, {planned:?}", planned.spec, T::DTYPE, case.name);
        match planned.plan(&a) {
            Ok(plan) => self.with_prepared(&what, &a, &plan, check),
            Err(error) => self.report.fail(&what, error),
        }
    }

    /// Hands a plan, prepared, to `check`. One that the backend refuses is noted.
    pub(super) fn with_prepared<T: DenseScalar>(
        &mut self,
        what: &str,
        a: &Csr<T>,
        plan: &Plan,
        check: impl FnOnce(&mut Self, &Csr<T>, &Plan, &dyn PreparedSpmm),
    ) {
        if let Err(unsupported) = self.backend.supports(plan) {
            return self.report.unsupported.push(format!("{what}: {unsupported}"));
        }
        match self.backend.prepare(plan) {
            Ok(prepared) => check(self, a, plan, &*prepared),
            Err(error) => {
                let error = with_causes(&error);
                self.report.fail(what, format!("supported, but not prepared: {error}"));
            }
        }
    }

    /// Plans, multiplies random operands and compares, for each of `runs`.
    pub(super) fn check_runs<T: DenseScalar>(
        &mut self,
        case: &Case,
        planned: Planned,
        runs: &[Run],
    ) {
        self.with_plan::<T>(case, planned, |suite, a, plan, prepared| {
            let is_due = suite.turn(runs.len());
            for (_, &run) in runs.iter().enumerate().filter(|&(i, _)| is_due(i)) {
                let b = random::<T>(a.ncols(), run.n, 1);
                let value = std::marker::PhantomData::<T>;
                let what = Described { case: case.name, planned, run, value };
                suite.check_product(&what, a, plan, prepared, &b);
            }
        });
    }

    /// Multiplies and compares; C holds NaN before if β = 0.
    pub(super) fn check_product<T: DenseScalar>(
        &mut self,
        what: &Described<'_, T>,
        a: &Csr<T>,
        plan: &Plan,
        prepared: &dyn PreparedSpmm,
        b: &Array2<T>,
    ) {
        self.check_run(&what.to_string(), what.run, a, plan, prepared, b);
    }

    /// [`check_product`](Self::check_product) of a plan made otherwise.
    pub(super) fn check_run<T: DenseScalar>(
        &mut self,
        what: &str,
        run: Run,
        a: &Csr<T>,
        plan: &Plan,
        prepared: &dyn PreparedSpmm,
        b: &Array2<T>,
    ) {
        self.report.checks += 1;
        let none = Epilogue::new();
        match self.judge(run, a, plan, prepared, b, &none) {
            Ok((error_over_bound, _)) => {
                let worst = &mut self.report.max_error_over_bound;
                *worst = worst.max(error_over_bound);
            }
            Err(reason) => {
                let finite = with_finite_first_row(plan, b);
                if finite.is_some_and(|b| self.judge(run, a, plan, prepared, &b, &none).is_ok()) {
                    self.report.fail_by_first_row(what, reason);
                } else {
                    self.report.fail(what, reason);
                }
            }
        }
    }

    /// Multiplies and compares: the largest error over its bound, and the bits of C.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn judge<T: DenseScalar>(
        &self,
        run: Run,
        a: &Csr<T>,
        plan: &Plan,
        prepared: &dyn PreparedSpmm,
        b: &Array2<T>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(f64, Vec<u8>), String> {
        let before = before::<T>(a.nrows(), run.n, run.beta);
        let b = Placed::new(b, run.b);
        let mut c = Placed::new(&before, run.c);
        let (b, rounding) = (T::erase(b.view()), self.backend.rounding(plan));
        let into = T::erase_acc_mut(c.view_mut());
        let executed = match epilogue.is_none() {
            true => prepared.execute(run.alpha, b.reborrow(), run.beta, into),
            false => prepared.execute_with(run.alpha, b.reborrow(), run.beta, into, epilogue),
        };
        executed.map_err(|error| with_causes(&error))?;
        let added = (run.beta != 0.0).then(|| (run.beta, T::erase_acc(before.view())));
        let product = Product { alpha: run.alpha, b, added };
        let verdict = verify_with(a, plan, &product, epilogue, &T::erase_acc(c.view()), rounding);
        let verdict = verdict.map_err(|error| error.to_string())?;
        if !c.is_intact() {
            return Err("something was written between C's elements".to_owned());
        }
        if verdict.passed() {
            Ok((verdict.max_error_over_bound, bits(&c.view().to_owned())))
        } else {
            Err(format!("{verdict:?}"))
        }
    }
}

/// B with finite values in the row that tiles number 0; `None` if they are finite.
fn with_finite_first_row<T: DenseScalar>(plan: &Plan, b: &Array2<T>) -> Option<Array2<T>> {
    let number = |row| plan.b_permutation().map_or(row, |order| order.new_index(row));
    let first = (0..b.nrows()).find(|&row| number(row) == 0)?;
    if b.row(first).iter().all(|x| x.is_finite()) {
        return None;
    }
    let mut finite = b.clone();
    finite.row_mut(first).fill(T::ZERO);
    Some(finite)
}

/// An error and what it came from, in one line.
fn with_causes(error: &dyn Error) -> String {
    match error.source() {
        None => error.to_string(),
        Some(cause) => format!("{error}: {}", with_causes(cause)),
    }
}

/// C before a product: NaN where β = 0, which must not read it.
pub(super) fn before<T: DenseScalar>(m: usize, n: usize, beta: f64) -> Array2<T::Acc> {
    if beta == 0.0 {
        Array2::from_elem((m, n), T::Acc::from_c64(Complex::new(f64::NAN, f64::NAN)))
    } else {
        random::<T::Acc>(m, n, 2)
    }
}

/// The product of a prepared plan with random operands, row-major.
pub(super) fn multiply<T: DenseScalar>(
    prepared: &dyn PreparedSpmm,
    a: &Csr<T>,
    n: usize,
    (alpha, beta): (f64, f64),
    report: &mut Report,
) -> Array2<T::Acc> {
    let b = random::<T>(a.ncols(), n, 1);
    let mut c = before::<T>(a.nrows(), n, beta);
    let done = prepared.execute(alpha, T::erase(b.view()), beta, T::erase_acc_mut(c.view_mut()));
    if let Err(error) = done {
        report.fail("executing", error);
    }
    c
}

/// The bits of a result: what must not change from one execution to the next.
pub(super) fn bits<A: Scalar>(c: &Array2<A>) -> Vec<u8> {
    c.iter().flat_map(|x| bytemuck::bytes_of(x).to_vec()).collect()
}

/// A small plan of any value type.
pub(super) fn small_plan<T: DenseScalar>(spec: FormatSpec) -> Result<Plan, PlanError> {
    let matrix = matrices::where_(8, 8, |i, j| (i + j) % 4 < 2)?;
    let matrix = matrices::fit(&matrix, spec.kind())?;
    Planned::natural(spec).plan(&typed::<T>(&matrix))
}
