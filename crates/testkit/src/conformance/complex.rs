//! Complex values: factors with an imaginary part, and what is for real values alone.

use girih_backend::{
    Aggregation, BackendError, ComplexProduct, DenseScalar, Epilogue, Unsupported, verify_complex,
};
use girih_formats::{Complex, ComplexScalar, Scalar};

use super::problem::{Planned, before, bits};
use super::{Suite, specs};
use crate::operands::{Layout, Placed, random};

/// Real and imaginary factors, and factors of two parts; exact in f32 and not.
const FACTORS: [Complex<f64>; 6] = [
    Complex::new(0.0, 0.0),
    Complex::new(1.0, 0.0),
    Complex::new(0.0, 1.0),
    Complex::new(-2.5, 0.0),
    Complex::new(0.5, -1.5),
    Complex::new(0.1, 0.3),
];

impl Suite<'_> {
    /// Every α with every β, in some layout of B and C each.
    pub(super) fn complex_scaling<T: DenseScalar + ComplexScalar>(&mut self) {
        for case in self.named(&["no entries", "no columns", "many windows", "one dense row"]) {
            for spec in specs(self.kind) {
                let planned = Planned { tiles_per_task: Some(7), ..Planned::natural(spec) };
                self.with_plan::<T>(&case, planned, |suite, a, plan, prepared| {
                    let pairs = FACTORS.iter().flat_map(|&alpha| FACTORS.map(|beta| (alpha, beta)));
                    for (i, (alpha, beta)) in pairs.enumerate() {
                        let n = [1, 33][i % 2];
                        let layouts = Layout::WRITABLE;
                        let (b_layout, c_layout) = (layouts[i % 7], layouts[(i / 5) % 7]);
                        let old = before::<T>(a.nrows(), n, f64::from(u8::from(!beta.is_zero())));
                        let b = Placed::new(&random::<T>(a.ncols(), n, 1), b_layout);
                        let mut c = Placed::new(&old, c_layout);
                        let (b, into) = (T::erase(b.view()), T::erase_acc_mut(c.view_mut()));
                        suite.report.checks += 1;
                        let done = prepared.execute_complex(alpha, b.reborrow(), beta, into);
                        let added = (!beta.is_zero()).then(|| (beta, T::erase(old.view())));
                        let product = ComplexProduct { alpha, b, added };
                        let rounding = suite.backend.rounding(plan);
                        let verdict = done.and_then(|()| {
                            verify_complex(a, plan, &product, &T::erase(c.view()), rounding)
                        });
                        let right = matches!(&verdict, Ok(verdict) if verdict.passed());
                        if !right || !c.is_intact() {
                            let what = format!(
                                "{spec} {}, {:?}, n = {n}, α = {alpha}, β = {beta}, B {b_layout:?}, C {c_layout:?}",
                                T::DTYPE, case.name
                            );
                            suite.report.fail(&what, format!("{verdict:?}"));
                        }
                    }
                });
            }
        }
    }

    /// Activations and maxima are of real numbers: both are refused, and leave C as it was.
    pub(super) fn refuses_what_is_real<T: DenseScalar + ComplexScalar>(&mut self) {
        for case in self.named(&["sparse"]) {
            let planned = Planned::natural(self.spec::<T>());
            self.with_plan::<T>(&case, planned, |suite, a, plan, prepared| {
                let (b, mut c) = (random::<T>(a.ncols(), 5, 1), random::<T>(a.nrows(), 5, 2));
                let untouched = bits(&c);
                let relu = Epilogue::from(girih_backend::Activation::Relu);
                let b = T::erase(b.view());
                let into = T::erase_acc_mut(c.view_mut());
                let finished = prepared.execute_with(1.0, b.reborrow(), 0.0, into, &relu);
                let largest =
                    prepared.aggregate(Aggregation::Max, b, T::erase_acc_mut(c.view_mut()));
                let of = |result: &Result<(), BackendError>| match result {
                    Err(BackendError::Unsupported { reason, .. }) => Some(reason.clone()),
                    _ => None,
                };
                suite.report.checks += 2;
                if !matches!(of(&finished), Some(Unsupported::Epilogue { .. }))
                    || suite.backend.supports_epilogue(plan, &relu).is_ok()
                {
                    suite.report.fail("an activation of complex values", format!("{finished:?}"));
                }
                if !matches!(of(&largest), Some(Unsupported::Aggregation { .. }))
                    || suite.backend.supports_aggregation(plan, Aggregation::Max).is_ok()
                {
                    suite.report.fail("maxima of complex values", format!("{largest:?}"));
                }
                if bits(&c) != untouched {
                    suite.report.fail("what is for real values alone", "C was written");
                }
            });
        }
    }
}
