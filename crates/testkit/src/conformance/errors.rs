//! Operands that do not fit: the right error, and C untouched.

use girih_backend::{BackendError, DenseScalar, DenseView, DenseViewMut};
use girih_formats::DType;
use ndarray::Array2;

use super::Suite;
use super::problem::{Planned, bits};
use crate::operands::random;

impl Suite<'_> {
    pub(super) fn errors<T: DenseScalar>(&mut self) {
        for case in self.named(&["sparse", "no columns", "no rows"]) {
            let spec = self.spec::<T>();
            self.with_plan::<T>(&case, Planned::natural(spec), |suite, a, _, prepared| {
                let (m, k, n) = (a.nrows(), a.ncols(), 5);
                let b = |rows, cols| random::<T>(rows, cols, 1);
                let c = |rows, cols| random::<T::Acc>(rows, cols, 2);
                for (what, b, mut c, operand) in [
                    ("B has a row too many", b(k + 1, n), c(m, n), "B"),
                    ("B is empty", b(k + 1, 0), c(m, 0), "B"),
                    ("C has a row too many", b(k, n), c(m + 1, n), "C"),
                    ("C has a column too many", b(k, n), c(m, n + 1), "C"),
                    ("C has a column too few", b(k, n), c(m, n - 1), "C"),
                ] {
                    let before = bits(&c);
                    let c_view = T::erase_acc_mut(c.view_mut());
                    let result = prepared.execute(1.0, T::erase(b.view()), 0.5, c_view);
                    let right = matches!(result,
                        Err(BackendError::Shape { operand: o, .. }) if o == operand);
                    suite.expect::<T>(what, right, &result, before == bits(&c));
                }
                let (b, mut c) = (b(k, n), c(m, n));
                for b in &wrong_type(T::DTYPE, k, n) {
                    let before = bits(&c);
                    let c_view = T::erase_acc_mut(c.view_mut());
                    let result = prepared.execute(1.0, b.view(), 0.5, c_view);
                    let right = matches!(result, Err(BackendError::DType { operand: "B", .. }));
                    suite.expect::<T>("B of another type", right, &result, before == bits(&c));
                }
                let b = T::erase(b.view());
                let (result, untouched) = match T::DTYPE.accumulator() {
                    DType::F64 => into_other::<f32>(m, n, |c| prepared.execute(1.0, b, 0.5, c)),
                    _ => into_other::<f64>(m, n, |c| prepared.execute(1.0, b, 0.5, c)),
                };
                let right = matches!(result, Err(BackendError::DType { operand: "C", .. }));
                suite.expect::<T>("C of another type", right, &result, untouched);
            });
        }
    }

    fn expect<T: DenseScalar>(
        &mut self,
        what: &str,
        right: bool,
        result: &Result<(), BackendError>,
        untouched: bool,
    ) {
        self.report.checks += 1;
        let what = format!("{} {}, {what}", self.kind, T::DTYPE);
        if !right {
            self.report.fail(&what, format!("not the error it should be: {result:?}"));
        }
        if !untouched {
            self.report.fail(&what, "C was written");
        }
    }
}

/// B of some type.
enum AnyB {
    F16(Array2<half::f16>),
    F32(Array2<f32>),
    F64(Array2<f64>),
}

impl AnyB {
    fn view(&self) -> DenseView<'_> {
        match self {
            Self::F16(b) => b.view().into(),
            Self::F32(b) => b.view().into(),
            Self::F64(b) => b.view().into(),
        }
    }
}

/// B in every type but `right`, and one of its size among them.
fn wrong_type(right: DType, k: usize, n: usize) -> Vec<AnyB> {
    let all = [AnyB::F16(random(k, n, 1)), AnyB::F32(random(k, n, 1)), AnyB::F64(random(k, n, 1))];
    all.into_iter().filter(|b| b.view().dtype() != right).collect()
}

/// Executes into a C of another type, and says whether it was left alone.
fn into_other<A: DenseScalar<Acc = A>>(
    m: usize,
    n: usize,
    execute: impl FnOnce(DenseViewMut<'_>) -> Result<(), BackendError>,
) -> (Result<(), BackendError>, bool) {
    let mut c = random::<A>(m, n, 2);
    let before = bits(&c);
    let result = execute(A::erase_acc_mut(c.view_mut()));
    (result, bits(&c) == before)
}
