//! The value types, as types: what is stored, and what it is accumulated in.

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Mul, Sub};

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;

use crate::compiled::Compiled;
use crate::dtype::DType;
use crate::tilings::{AnyTiling, Tiling};

mod sealed {
    use num_complex::Complex;

    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for half::f16 {}
    impl Sealed for half::bf16 {}
    impl Sealed for Complex<f32> {}
    impl Sealed for Complex<f64> {}
}

/// A value a matrix can store: a [`Real`] one (`f16`, `bf16`, `f32`, `f64`) or a complex one (`Complex<f32>`,
/// `Complex<f64>`).
///
/// Sealed: kernels, plan files and the error bound know these six.
pub trait Scalar:
    sealed::Sealed + Compiled + Pod + PartialEq + Default + Debug + Display + Send + Sync
{
    /// The run-time name of this type.
    const DTYPE: DType;
    /// Zero.
    const ZERO: Self;
    /// One: what an entry of a pattern matrix stands for.
    const ONE: Self;
    /// What products of this type are accumulated in.
    type Acc: Accumulator;
    /// The type of the real and of the imaginary part: of a real type the type itself.
    type Part: Real;

    /// Widens to the accumulator, exactly.
    fn to_acc(self) -> Self::Acc;
    /// Widens to a complex number of two `f64`, exactly.
    fn to_c64(self) -> Complex<f64>;
    /// Rounds each part to the nearest value of this type's parts, ties to even. A real type takes the real
    /// part alone.
    fn from_c64(x: Complex<f64>) -> Self;
    /// The complex conjugate: of a real value the value itself.
    #[must_use]
    fn conj(self) -> Self;
    /// The tiling with its value type known at run time only: what [`AnyTiling::from`] gives.
    fn erase_tiling(tiling: Tiling<Self>) -> AnyTiling;

    /// Whether this is a zero, whatever the signs of its parts. NaN is not.
    #[inline]
    fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    /// Whether no part is infinite or NaN.
    #[inline]
    fn is_finite(self) -> bool {
        self.to_c64().is_finite()
    }
}

/// A real number: it has an order, and is an `f64`. What [`Real`] values and their accumulators have in common.
pub trait RealNumber: Scalar<Part = Self> + PartialOrd {
    /// Widens to `f64`, exactly.
    fn to_f64(self) -> f64;
    /// Rounds an `f64` to the nearest value of this type, ties to even.
    fn from_f64(x: f64) -> Self;
}

/// A real value: `f16`, `bf16`, `f32` or `f64`. Its sums are real too.
pub trait Real: RealNumber + Scalar<Acc: RealAccumulator> {}

/// An accumulation type: `f32`, `f64` or a complex number of two of these.
pub trait Accumulator:
    Scalar<Acc = Self> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + AddAssign
{
}

/// A real accumulation type: `f32` or `f64`.
pub trait RealAccumulator: Accumulator + RealNumber {
    /// `self * a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
}

/// A complex value: `Complex<f32>` or `Complex<f64>`.
pub trait ComplexScalar: Accumulator<Part: RealAccumulator> {
    /// The number of these parts.
    fn new(re: Self::Part, im: Self::Part) -> Self;
    /// The real part.
    fn re(self) -> Self::Part;
    /// The imaginary part.
    fn im(self) -> Self::Part;
}

macro_rules! real {
    ($t:ty, $dtype:ident, $acc:ty, $zero:expr, $one:expr, $to_acc:expr, $to_f64:expr, $from_f64:expr) => {
        impl Scalar for $t {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            type Acc = $acc;
            type Part = Self;

            #[inline(always)]
            fn to_acc(self) -> $acc {
                $to_acc(self)
            }
            #[inline(always)]
            fn to_c64(self) -> Complex<f64> {
                Complex::new($to_f64(self), 0.0)
            }
            #[inline(always)]
            fn from_c64(x: Complex<f64>) -> Self {
                $from_f64(x.re)
            }
            #[inline(always)]
            fn conj(self) -> Self {
                self
            }
            fn erase_tiling(tiling: Tiling<Self>) -> AnyTiling {
                AnyTiling::$dtype(tiling)
            }
        }

        impl Real for $t {}

        impl RealNumber for $t {
            #[inline(always)]
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                $from_f64(x)
            }
        }
    };
}

real!(f32, F32, f32, 0.0, 1.0, |x| x, f64::from, |x| x as f32);
real!(f64, F64, f64, 0.0, 1.0, |x| x, |x| x, |x| x);
real!(f16, F16, f32, f16::ZERO, f16::ONE, f16::to_f32, f16::to_f64, |x| f16::from_f32(
    round_to_odd(x)
));
real!(bf16, Bf16, f32, bf16::ZERO, bf16::ONE, bf16::to_f32, bf16::to_f64, |x| bf16::from_f32(
    round_to_odd(x)
));

macro_rules! complex {
    ($part:ty, $dtype:ident) => {
        impl Scalar for Complex<$part> {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = Complex::new(0.0, 0.0);
            const ONE: Self = Complex::new(1.0, 0.0);
            type Acc = Self;
            type Part = $part;

            #[inline(always)]
            fn to_acc(self) -> Self {
                self
            }
            #[inline(always)]
            fn to_c64(self) -> Complex<f64> {
                Complex::new(self.re.to_f64(), self.im.to_f64())
            }
            #[inline(always)]
            fn from_c64(x: Complex<f64>) -> Self {
                Complex::new(<$part>::from_f64(x.re), <$part>::from_f64(x.im))
            }
            #[inline(always)]
            fn conj(self) -> Self {
                Complex::new(self.re, -self.im)
            }
            fn erase_tiling(tiling: Tiling<Self>) -> AnyTiling {
                AnyTiling::$dtype(tiling)
            }
        }

        impl Accumulator for Complex<$part> {}

        impl ComplexScalar for Complex<$part> {
            #[inline(always)]
            fn new(re: $part, im: $part) -> Self {
                Complex { re, im }
            }
            #[inline(always)]
            fn re(self) -> $part {
                self.re
            }
            #[inline(always)]
            fn im(self) -> $part {
                self.im
            }
        }
    };
}

complex!(f32, C32);
complex!(f64, C64);

/// Narrows to `f32` by rounding to odd: a second rounding to a format of at most 22 bits then gives
/// what one rounding from `f64` would (Boldo & Melquiond 2008). `half`'s own `from_f64` drops the
/// low 32 bits first and breaks such ties wrongly.
#[inline]
fn round_to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let widened = f64::from(nearest);
    if widened == x || x.is_nan() {
        return nearest;
    }
    let toward_zero = nearest.to_bits() - u32::from(widened.abs() > x.abs());
    f32::from_bits(toward_zero | 1)
}

impl Accumulator for f32 {}

impl RealAccumulator for f32 {
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        f32::mul_add(self, a, b)
    }
}

impl Accumulator for f64 {}

impl RealAccumulator for f64 {
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        f64::mul_add(self, a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_rounds_to_nearest_even() {
        // 1 + 2^-8 lies halfway between two bf16 values; the even one is 1.
        assert_eq!(<bf16 as RealNumber>::from_f64(1.0 + 2f64.powi(-8)), bf16::ONE);
        assert_eq!(
            <bf16 as RealNumber>::from_f64(1.0 + 3.0 * 2f64.powi(-8)).to_f64(),
            1.0 + 2f64.powi(-6)
        );
        assert_eq!(<f16 as RealNumber>::from_f64(1.0 + 2f64.powi(-11)), f16::ONE);
        // A tie broken by a bit far below f32's precision must not be rounded twice.
        let just_above_tie = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        assert_eq!(<bf16 as RealNumber>::from_f64(just_above_tie).to_f64(), 1.0 + 2f64.powi(-7));
    }

    #[test]
    fn narrowing_agrees_with_single_rounding_near_every_tie() {
        // Around the midpoint of neighbouring values, nudged by one f64 ulp either way.
        for bits in (0..0x7c00u16).step_by(7) {
            let (low, high) = (f16::from_bits(bits), f16::from_bits(bits + 1));
            if !high.is_finite() {
                continue;
            }
            let middle = (low.to_f64() + high.to_f64()) / 2.0;
            let even = if bits % 2 == 0 { low } else { high };
            assert_eq!(<f16 as RealNumber>::from_f64(middle), even, "{middle}");
            assert_eq!(<f16 as RealNumber>::from_f64(middle.next_up()), high, "{middle}");
            assert_eq!(<f16 as RealNumber>::from_f64(-middle.next_down()), -low, "{middle}");
        }
        assert_eq!(<f16 as RealNumber>::from_f64(1e300), f16::INFINITY);
        assert!(<bf16 as RealNumber>::from_f64(f64::NAN).is_nan());
    }

    #[test]
    fn zeros_of_both_signs_are_zero_and_nan_is_not() {
        assert!((-0.0f32).is_zero());
        assert!(!f32::NAN.is_zero());
        assert!(f16::NEG_ZERO.is_zero());
    }
}
