//! The value types: what is stored, and what it is accumulated in.

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Mul};
use std::str::FromStr;

use bytemuck::Pod;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use crate::compiled::Compiled;
use crate::error::FormatError;
use crate::tilings::{AnyTiling, Tiling};

/// A value type, as data: what plan files and run-time choices carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DType {
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: the upper half of an `f32`.
    Bf16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl DType {
    /// Every value type, narrowest first.
    pub const ALL: [Self; 4] = [Self::F16, Self::Bf16, Self::F32, Self::F64];

    /// Bytes per element.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The type products are accumulated in, and C is stored in: f64 for f64, f32 for the rest.
    #[must_use]
    pub const fn accumulator(self) -> Self {
        match self {
            Self::F64 => Self::F64,
            _ => Self::F32,
        }
    }

    /// The field's name: `f16`, `bf16`, `f32`, `f64`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = FormatError;

    fn from_str(s: &str) -> Result<Self, FormatError> {
        Self::ALL.into_iter().find(|d| d.name() == s).ok_or_else(|| FormatError::UnknownName {
            what: "dtype",
            found: s.to_owned(),
            expected: "f16, bf16, f32 or f64",
        })
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for half::f16 {}
    impl Sealed for half::bf16 {}
}

/// A value a matrix can store: `f16`, `bf16`, `f32` or `f64`.
///
/// Sealed: kernels, plan files and the error bound know these four.
pub trait Scalar:
    sealed::Sealed + Compiled + Pod + PartialEq + PartialOrd + Default + Debug + Display + Send + Sync
{
    /// The run-time name of this type.
    const DTYPE: DType;
    /// Zero.
    const ZERO: Self;
    /// One: what an entry of a pattern matrix stands for.
    const ONE: Self;
    /// What products of this type are accumulated in.
    type Acc: Accumulator;

    /// Widens to the accumulator, exactly.
    fn to_acc(self) -> Self::Acc;
    /// Widens to `f64`, exactly.
    fn to_f64(self) -> f64;
    /// Rounds an `f64` to the nearest value of this type, ties to even.
    fn from_f64(x: f64) -> Self;
    /// The tiling with its value type known at run time only: what [`AnyTiling::from`] gives.
    fn erase_tiling(tiling: Tiling<Self>) -> AnyTiling;

    /// Whether this is a zero of either sign. NaN is not.
    #[inline]
    fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

/// An accumulation type: `f32` or `f64`.
pub trait Accumulator:
    Scalar<Acc = Self> + Add<Output = Self> + Mul<Output = Self> + AddAssign
{
    /// `self * a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
}

macro_rules! scalar {
    ($t:ty, $dtype:ident, $acc:ty, $zero:expr, $one:expr, $to_acc:expr, $to_f64:expr, $from_f64:expr) => {
        impl Scalar for $t {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            type Acc = $acc;

            #[inline(always)]
            fn to_acc(self) -> $acc {
                $to_acc(self)
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                $from_f64(x)
            }
            fn erase_tiling(tiling: Tiling<Self>) -> AnyTiling {
                AnyTiling::$dtype(tiling)
            }
        }
    };
}

scalar!(f32, F32, f32, 0.0, 1.0, |x| x, f64::from, |x| x as f32);
scalar!(f64, F64, f64, 0.0, 1.0, |x| x, |x| x, |x| x);
scalar!(f16, F16, f32, f16::ZERO, f16::ONE, f16::to_f32, f16::to_f64, |x| f16::from_f32(
    round_to_odd(x)
));
scalar!(bf16, Bf16, f32, bf16::ZERO, bf16::ONE, bf16::to_f32, bf16::to_f64, |x| bf16::from_f32(
    round_to_odd(x)
));

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

impl Accumulator for f32 {
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        f32::mul_add(self, a, b)
    }
}

impl Accumulator for f64 {
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        f64::mul_add(self, a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse::<DType>().unwrap(), dtype);
        }
        assert!("double".parse::<DType>().is_err());
    }

    #[test]
    fn narrowing_rounds_to_nearest_even() {
        // 1 + 2^-8 lies halfway between two bf16 values; the even one is 1.
        assert_eq!(<bf16 as Scalar>::from_f64(1.0 + 2f64.powi(-8)), bf16::ONE);
        assert_eq!(
            <bf16 as Scalar>::from_f64(1.0 + 3.0 * 2f64.powi(-8)).to_f64(),
            1.0 + 2f64.powi(-6)
        );
        assert_eq!(<f16 as Scalar>::from_f64(1.0 + 2f64.powi(-11)), f16::ONE);
        // A tie broken by a bit far below f32's precision must not be rounded twice.
        let just_above_tie = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        assert_eq!(<bf16 as Scalar>::from_f64(just_above_tie).to_f64(), 1.0 + 2f64.powi(-7));
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
            assert_eq!(<f16 as Scalar>::from_f64(middle), even, "{middle}");
            assert_eq!(<f16 as Scalar>::from_f64(middle.next_up()), high, "{middle}");
            assert_eq!(<f16 as Scalar>::from_f64(-middle.next_down()), -low, "{middle}");
        }
        assert_eq!(<f16 as Scalar>::from_f64(1e300), f16::INFINITY);
        assert!(<bf16 as Scalar>::from_f64(f64::NAN).is_nan());
    }

    #[test]
    fn zeros_of_both_signs_are_zero_and_nan_is_not() {
        assert!((-0.0f32).is_zero());
        assert!(!f32::NAN.is_zero());
        assert!(f16::NEG_ZERO.is_zero());
    }
}
