//! C of f16 or bf16: what f32 would hold, rounded once. The matrices are those of [epilogues](super::epilogue).

use girih_backend::{
    Activation, BackendError, DenseScalar, Epilogue, PreparedSpmm, Product, Unsupported,
    verify_with,
};
use girih_formats::{Csr, DType, Real};
use girih_planner::Plan;
use half::{bf16, f16};
use ndarray::Array2;

use super::epilogue::CASES;
use super::problem::{Planned, Run, bits};
use super::rows::RowOrder;
use super::{Suite, specs};
use crate::operands::{Layout, Placed, random};

/// Columns, α and β, and whether a bias and an activation come before the rounding.
const PRODUCTS: [(usize, (f64, f64), bool); 6] = [
    (1, (1.0, 0.0), false),
    (7, (-2.5, 0.5), false),
    (64, (1.0, 0.0), false),
    (33, (1.0, 1.0), true),
    (70, (1.0, 0.0), true),
    (24, (0.0, 0.5), false),
];

impl Suite<'_> {
    /// Products whose C has 16 bits, for every size; layouts of C, scales, row orders and epilogues in turns. A backend
    /// may refuse such a C: by a typed error, and with C untouched.
    pub(super) fn outputs<T: DenseScalar + Real>(&mut self) {
        match T::DTYPE {
            DType::Bf16 => self.rounded::<T, bf16>(),
            _ => self.rounded::<T, f16>(),
        }
    }

    fn rounded<T: DenseScalar + Real, C: DenseScalar + Real>(&mut self) {
        let mut turn = 0;
        for case in self.named(&CASES) {
            for spec in specs(self.kind) {
                for (rows, tiles_per_task) in
                    [(RowOrder::Natural, None), (RowOrder::Shuffled, Some(3))]
                {
                    let planned = Planned { rows, tiles_per_task, ..Planned::natural(spec) };
                    self.with_plan::<T>(&case, planned, |suite, a, plan, prepared| {
                        let is_due = suite.turn(PRODUCTS.len());
                        for (i, (n, (alpha, beta), finishes)) in PRODUCTS.into_iter().enumerate() {
                            turn += 1;
                            if !is_due(i) {
                                continue;
                            }
                            let c = Layout::WRITABLE[turn % Layout::WRITABLE.len()];
                            let run = Run { alpha, beta, c, ..Run::plain(n) };
                            let what = format!(
                                "{spec} {}, {:?}, rows {rows:?}, C of {}, epilogue {finishes}, {run:?}",
                                T::DTYPE,
                                case.name,
                                C::DTYPE,
                            );
                            // Every other product leaves the range of f16.
                            let scale = if turn % 2 == 0 { 8192.0 } else { 1.0 };
                            let b = random::<T>(a.ncols(), n, 1);
                            let b = b.mapv(|x| T::from_f64(scale * x.to_f64()));
                            suite.check_rounded::<T, C>(&what, (run, finishes), a, plan, prepared, &b);
                        }
                    });
                }
            }
        }
    }

    /// Multiplies and compares, or sees that the backend refuses.
    fn check_rounded<T: DenseScalar + Real, C: DenseScalar + Real>(
        &mut self,
        what: &str,
        (run, finishes): (Run, bool),
        a: &Csr<T>,
        plan: &Plan,
        prepared: &dyn PreparedSpmm,
        b: &Array2<T>,
    ) {
        let bias = random::<T::Acc>(run.n, 1, 8);
        let epilogue = match finishes {
            true => Epilogue::new()
                .bias_per_column(T::erase_acc(bias.view()))
                .activation(Activation::Relu),
            false => Epilogue::new(),
        };
        if self.backend.supports_epilogue(plan, &epilogue).is_err() {
            return;
        }
        self.report.checks += 1;
        let before = match run.beta == 0.0 {
            true => Array2::from_elem((a.nrows(), run.n), C::from_f64(f64::NAN)),
            false => random::<C>(a.nrows(), run.n, 2),
        };
        let multiply = |layout| {
            let mut c = Placed::new(&before, layout);
            let (b, into) = (T::erase(b.view()), C::erase_mut(c.view_mut()));
            let done = prepared.execute_with(run.alpha, b, run.beta, into, &epilogue);
            (done, c)
        };
        let (done, c) = multiply(run.c);
        if let Err(unsupported) = self.backend.supports_output(plan, C::DTYPE) {
            // A backend that knows of no such C calls its type wrong.
            let typed = matches!(unsupported, Unsupported::Output { .. })
                && matches!(
                    done,
                    Err(BackendError::DType { operand: "C", .. }
                        | BackendError::Unsupported { reason: Unsupported::Output { .. }, .. })
                );
            if !typed || bits(&c.view().to_owned()) != bits(&before) || !c.is_intact() {
                self.report.fail(what, format!("refused, but computed or not typed: {done:?}"));
            }
            return;
        }
        if let Err(error) = done {
            return self.report.fail(what, error);
        }
        if !c.is_intact() {
            return self.report.fail(what, "something was written between C's elements");
        }
        let added = (run.beta != 0.0).then(|| (run.beta, C::erase(before.view())));
        let product = Product { alpha: run.alpha, b: T::erase(b.view()), added };
        let rounding = self.backend.rounding(plan);
        match verify_with(a, plan, &product, &epilogue, &C::erase(c.view()), rounding) {
            Err(error) => self.report.fail(what, error),
            Ok(verdict) if !verdict.passed() => self.report.fail(what, format!("{verdict:?}")),
            Ok(verdict) => {
                self.report.rounded += 1;
                let worst = &mut self.report.max_error_over_bound;
                *worst = worst.max(verdict.max_error_over_bound);
                let again = multiply(Layout::RowMajor).1;
                if bits(&again.view().to_owned()) != bits(&c.view().to_owned()) {
                    self.report.fail(what, "other bits the second time, into a row-major C");
                }
            }
        }
    }
}
