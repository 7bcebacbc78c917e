//! Inner products of one dense row with several others.

use girih_formats::{RealAccumulator, Scalar};

use crate::isa::{Vector, VectorsFor, Widen};

/// Rows that are multiplied at once: each has a chain of its own.
const CHAINS: usize = 4;

/// Accumulators of 64 bytes, the most that a vector has.
const MOST_LANES: usize = 16;

/// Writes to `out` the inner products of `x` with rows `rows` of Y.
///
/// An inner product is summed lane by lane in one chain of vectors, and then over the lanes of the
/// vector by halves: in an order that depends on the length alone.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. `y` is valid for reads of `x.len()` elements from `y + row · stride` on, for every row of `rows`.
/// 3. `out` is as long as `rows`, at the least.
pub(crate) unsafe fn dots<I: VectorsFor<T>, T: Scalar>(
    x: &[T::Acc],
    y: *const T,
    stride: isize,
    rows: &[u32],
    out: &mut [T::Acc],
) {
    let lanes = const { <I::Vector as Vector>::LANES };
    // SAFETY: the instruction set by point 1. Loads of a vector stop before the end of `x`, and the mask has
    // the elements that are left: all of them lie in `x`, and in each row of Y by point 2.
    unsafe {
        I::call(
            #[inline(always)]
            move || {
                let whole = x.len() / lanes * lanes;
                let mask = I::Vector::mask(x.len() - whole);
                for (rows, out) in rows.chunks(CHAINS).zip(out.chunks_mut(CHAINS)) {
                    // A last group that is not whole has its last row several times.
                    let row = |r: usize| rows[r.min(rows.len() - 1)] as isize * stride;
                    let from = [0, 1, 2, 3].map(|r| y.wrapping_offset(row(r)));
                    let mut sums = [I::Vector::splat(T::Acc::ZERO); CHAINS];
                    let mut at = 0;
                    while at < whole {
                        let x = I::Vector::load(x.as_ptr().add(at));
                        for r in 0..CHAINS {
                            let y: I::Vector = Widen::<T>::widen(from[r].wrapping_add(at));
                            sums[r] = x.mul_add(y, sums[r]);
                        }
                        at += lanes;
                    }
                    if at < x.len() {
                        let x = I::Vector::load_masked(x.as_ptr().add(at), mask);
                        for r in 0..CHAINS {
                            let y: I::Vector =
                                Widen::<T>::widen_masked(from[r].wrapping_add(at), mask);
                            sums[r] = x.mul_add(y, sums[r]);
                        }
                    }
                    for (out, sum) in out.iter_mut().zip(sums) {
                        *out = total(sum);
                    }
                }
            },
        );
    }
}

/// The sum of a vector's lanes, by halves.
///
/// # Safety
/// The machine has the vector's instruction set.
#[inline(always)]
unsafe fn total<V: Vector>(sum: V) -> V::Acc {
    const { assert!(V::LANES <= MOST_LANES) };
    let mut lanes = [V::Acc::ZERO; MOST_LANES];
    // SAFETY: the instruction set by the function's condition, and there are as many elements as lanes.
    unsafe { sum.store(lanes.as_mut_ptr()) };
    let mut width = V::LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = plus(lanes[i], lanes[i + width]);
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn plus<A: RealAccumulator>(a: A, b: A) -> A {
    a + b
}
