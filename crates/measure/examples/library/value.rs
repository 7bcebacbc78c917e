//! The value types that every side multiplies.

use girih::formats::interop::sprs::MulAcc;
use girih::ndarray::{Array2, LinalgScalar};
use girih::{Csr, DenseScalar, Plan, Product, Real, Rounding, verify};
use girih_generate::SplitMix64;

use crate::Failure;

/// f32 or f64.
pub(crate) trait Value: DenseScalar<Acc = Self> + Real + LinalgScalar + MulAcc {}

impl Value for f32 {}
impl Value for f64 {}

/// A matrix of seeded values, normally distributed before they are rounded.
pub(crate) fn random<T: Value>(rows: usize, cols: usize, seed: u64) -> Array2<T> {
    let mut rng = SplitMix64::new(seed, 0);
    Array2::from_shape_fn((rows, cols), |_| T::from_f64(rng.normal()))
}

/// Fails unless every element of `c` is within its error bound of A·B; `plan` is one of A.
pub(crate) fn check_product<T: Value>(
    what: &str,
    a: &Csr<T>,
    plan: &Plan,
    b: &Array2<T>,
    c: &Array2<T>,
) -> Result<(), Failure> {
    let product = Product { alpha: 1.0, b: T::erase(b.view()), added: None };
    let found = T::erase_acc(c.view());
    let verdict = verify(a, plan, &product, &found, Rounding::exact_inputs(T::DTYPE))?;
    match verdict.passed() {
        true => Ok(()),
        false => Err(format!("a product of {what} is wrong: {verdict:?}").into()),
    }
}

/// Fails unless two matrices are equal but for roundings: the largest difference as a share of the largest element.
pub(crate) fn check_close<T: Value>(
    what: &str,
    found: &Array2<T>,
    expected: &Array2<T>,
    share: f64,
) -> Result<(), String> {
    let largest = |x: &Array2<T>| x.iter().fold(0.0f64, |most, x| most.max(x.to_f64().abs()));
    let apart = (found - expected).iter().fold(0.0, |most: f64, x| {
        let apart = x.to_f64().abs();
        if apart > most || apart.is_nan() { apart } else { most }
    });
    let allowed = share * largest(expected);
    if found.dim() == expected.dim() && apart <= allowed {
        return Ok(());
    }
    Err(format!("{what} is wrong: off by {apart:.1e}, where {allowed:.1e} is allowed"))
}
