//! The end of a product of complex values: two real products become one.

use girih_formats::{ComplexScalar, Scalar};

use crate::operands::{Output, RowMap};

/// Stores `α·(P + i·Q) + β·C` in rows of C, where P and Q are the products of A's real and of its imaginary parts
/// with the rows of a complex B: what they say of an element of C is a pair of numbers each.
///
/// A factor without an imaginary part multiplies part by part; β = 0 reads no C. This is plain Rust for every
/// instruction set: it passes over C once, while products pass over rows of B for each entry.
///
/// # Safety
/// The rows of C in `map` are valid for `width` columns, and no other thread accesses them.
///
/// # Panics
/// If `p` or `q` does not have `map.len()` rows of `width` elements.
pub unsafe fn store_complex<T: ComplexScalar>(
    p: &[T],
    q: &[T],
    out: &Output<T>,
    map: RowMap<'_>,
    width: usize,
) {
    let (alpha, beta) = (out.alpha, out.beta);
    for i in 0..map.len() {
        let Some(row) = map.row(i) else { continue };
        let sums = p[i * width..][..width].iter().zip(&q[i * width..][..width]);
        let sums = sums.map(|(&p, &q)| T::new(p.re() - q.im(), p.im() + q.re()));
        let to = out.row(row);
        if out.col_stride == 1 {
            // SAFETY: the row has as many elements next to each other, and no other thread accesses them.
            let to = unsafe { std::slice::from_raw_parts_mut(to, width) };
            if beta.is_zero() && alpha.im().is_zero() {
                to.iter_mut().zip(sums).for_each(|(to, sum)| *to = scaled(alpha.re(), sum));
            } else {
                to.iter_mut().zip(sums).for_each(|(to, sum)| *to = finished(alpha, sum, beta, *to));
            }
        } else {
            for (j, sum) in sums.enumerate() {
                let at = to.wrapping_offset(j as isize * out.col_stride);
                // SAFETY: the row has this element, and no other thread accesses it.
                unsafe { *at = finished(alpha, sum, beta, *at) };
            }
        }
    }
}

#[inline(always)]
fn finished<T: ComplexScalar>(alpha: T, sum: T, beta: T, before: T) -> T {
    let product = times(alpha, sum);
    if beta.is_zero() { product } else { product + times(beta, before) }
}

/// A factor times a number: part by part if the factor is real.
#[inline(always)]
fn times<T: ComplexScalar>(factor: T, x: T) -> T {
    if factor.im().is_zero() { scaled(factor.re(), x) } else { factor * x }
}

#[inline(always)]
fn scaled<T: ComplexScalar>(factor: T::Part, x: T) -> T {
    T::new(factor * x.re(), factor * x.im())
}

#[cfg(test)]
mod tests {
    use girih_formats::Complex;
    use ndarray::{Array2, ShapeBuilder, array};

    use super::*;

    type C = Complex<f32>;

    fn stored(alpha: C, beta: C, mut c: Array2<C>) -> Array2<C> {
        let (p, q) = ([C::new(1.0, 2.0), C::new(3.0, 4.0)], [C::new(0.5, 1.0), C::new(0.0, 8.0)]);
        let out = Output::new(&mut c.view_mut(), alpha, beta);
        let map = RowMap::Consecutive { first: 1, len: 1 };
        // SAFETY: C has row 1 and two columns.
        unsafe { store_complex(&p, &q, &out, map, 2) };
        c
    }

    /// P + iQ is (1 − 1) + (2 + 0.5)i and (3 − 8) + (4 + 0)i.
    #[test]
    fn two_products_worked_out_by_hand_become_one() {
        let c = C::new;
        let (one, zero) = (c(1.0, 0.0), c(0.0, 0.0));
        let nan = c(f32::NAN, f32::NAN);
        for order in [false, true] {
            let before = |x: C| Array2::from_elem((2, 2).set_f(order), x);
            let row = |c: Array2<C>| [c[[1, 0]], c[[1, 1]]];
            assert_eq!(row(stored(one, zero, before(nan))), [c(0.0, 2.5), c(-5.0, 4.0)]);
            assert_eq!(row(stored(c(0.0, 2.0), zero, before(nan))), [c(-5.0, 0.0), c(-8.0, -10.0)]);
            let added = row(stored(one, c(0.0, 1.0), before(c(10.0, 20.0))));
            assert_eq!(added, [c(-20.0, 12.5), c(-25.0, 14.0)]);
            // A real β leaves the parts apart.
            let infinite = row(stored(one, c(1.0, 0.0), before(c(f32::INFINITY, 1.0))));
            assert_eq!(infinite[0], c(f32::INFINITY, 3.5));
        }
        assert_eq!(stored(one, zero, array![[nan, one], [nan, nan]])[[0, 1]], one);
    }
}
