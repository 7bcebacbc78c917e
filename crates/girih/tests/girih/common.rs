//! Products judged by the oracle.

use girih::ndarray::{Array2, Array3, ArrayView2};
use girih::prelude::*;
use girih::{DenseScalar, ReferenceBackend, Rounding};

/// Numbers with fractions, in [−1, 1).
pub(crate) fn number(i: usize, j: usize) -> f64 {
    let mixed = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (j as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

pub(crate) fn dense<T: Scalar>(rows: usize, cols: usize) -> Array2<T> {
    Array2::from_shape_fn((rows, cols), |(i, j)| T::from_c64(number(i, j).into()))
}

pub(crate) fn batch<T: Scalar>(batch: usize, rows: usize, cols: usize) -> Array3<T> {
    Array3::from_shape_fn((batch, rows, cols), |(t, i, j)| {
        T::from_c64(number(i + 1000 * t, j).into())
    })
}

/// A matrix with rows of 0 to 8 entries.
pub(crate) fn ragged<T: Scalar>(m: usize, k: usize) -> Csr<T> {
    let entries = (0..m).flat_map(|i| (0..i % 9).map(move |e| (i, (i * 7 + e * 11) % k)));
    let at = |(i, j): (usize, usize)| (i, j, T::from_c64((number(i, j) + 0.25).into()));
    Csr::from_triplets(m, k, entries.map(at)).unwrap()
}

/// Whether every element is within its error bound of `α·A·B + β·C₀`.
#[expect(clippy::needless_pass_by_value, reason = "views")]
#[track_caller]
pub(crate) fn assert_product<T: DenseScalar>(
    a: &Csr<T>,
    alpha: f64,
    b: ArrayView2<'_, T>,
    added: Option<(f64, ArrayView2<'_, T::Acc>)>,
    c: ArrayView2<'_, T::Acc>,
) {
    let plan = a.plan(PlanOptions::new(b.ncols()).format(FormatSpec::Csr)).unwrap();
    let added = added.map(|(beta, c)| (beta, T::erase_acc(c)));
    let product = Product { alpha, b: T::erase(b), added };
    let rounding = Rounding::exact_inputs(T::DTYPE);
    let verdict = verify(a, &plan, &product, &T::erase_acc(c), rounding).unwrap();
    assert!(verdict.passed(), "{verdict:?}");
}

/// The backends that need nothing but the processor.
pub(crate) fn backends() -> Vec<Box<dyn SpmmBackend>> {
    vec![
        Box::new(ReferenceBackend),
        #[cfg(feature = "cpu-portable")]
        Box::new(girih::CpuBackend::new()),
        #[cfg(feature = "cpu-portable")]
        Box::new(girih::CpuBackend::new().with_threads(3).unwrap()),
    ]
}
