//! What rounding to a value type does to values besides costing digits.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use girih_parallel::prelude::*;
use serde::Serialize;

use crate::dtype::DType;
use crate::scalar::Scalar;

/// Values counted at once by one thread.
const CHUNK: usize = 1 << 14;

/// Counts of values that rounding to a value type changes in kind: to infinity, to zero, or to a
/// subnormal number.
///
/// Every other value becomes a normal number, off by half a unit in the last place
/// at most. Zeros are not counted at all, for no type changes them. A complex value counts once, as the part
/// that fares worse.
///
/// ```
/// use girih_formats::{DType, Narrowing};
///
/// // The largest f16 is 65504, the least normal one 2⁻¹⁴, the least subnormal one 2⁻²⁴.
/// let found = Narrowing::of(&[1.0f64, 0.0, 1e6, 1e-5, -1e-9, f64::NAN], DType::F16);
/// let counts = (found.overflowed, found.vanished, found.subnormal, found.non_finite);
/// assert_eq!((found.nonzeros, counts), (5, (1, 1, 1, 1)));
/// assert!(!found.is_harmless());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Narrowing {
    /// Values that were not zero, NaN and infinities included.
    pub nonzeros: u64,
    /// Finite values that become infinite.
    pub overflowed: u64,
    /// Values other than zero that become zero.
    pub vanished: u64,
    /// Values that become subnormal numbers, which have fewer significant digits the smaller they are.
    /// Those that were subnormal before count too.
    pub subnormal: u64,
    /// Values that were NaN or infinite before.
    pub non_finite: u64,
}

impl Narrowing {
    /// What rounding `values` to `into` does: O(len), in parallel.
    #[must_use]
    pub fn of<T: Scalar>(values: &[T], into: DType) -> Self {
        let limits = Limits::of(into);
        let count = |chunk: &[T]| {
            let mut counts = Self::default();
            chunk.iter().for_each(|v| counts.count(limits.kind_of(*v), 1));
            counts
        };
        values.par_chunks(CHUNK).map(count).sum()
    }

    /// Whether every value is zero, or a normal number of the type: there is nothing to tell.
    #[must_use]
    pub fn is_harmless(&self) -> bool {
        self.overflowed == 0 && self.vanished == 0 && self.subnormal == 0 && self.non_finite == 0
    }

    /// Counts a value `times` times.
    #[inline(always)]
    pub(crate) fn count(&mut self, kind: Kind, times: u64) {
        match kind {
            Kind::Zero => return,
            Kind::Normal => {}
            Kind::Overflowed => self.overflowed += times,
            Kind::Vanished => self.vanished += times,
            Kind::Subnormal => self.subnormal += times,
            Kind::NonFinite => self.non_finite += times,
        }
        self.nonzeros += times;
    }
}

impl Add for Narrowing {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            nonzeros: self.nonzeros + other.nonzeros,
            overflowed: self.overflowed + other.overflowed,
            vanished: self.vanished + other.vanished,
            subnormal: self.subnormal + other.subnormal,
            non_finite: self.non_finite + other.non_finite,
        }
    }
}

impl AddAssign for Narrowing {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Narrowing {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), Self::add)
    }
}

/// What a value type makes of a value; what is worse is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Zero,
    Normal,
    Subnormal,
    Vanished,
    Overflowed,
    NonFinite,
}

/// The magnitudes at which rounding to nearest even changes what becomes of a value.
///
/// A type of `p` significant bits has numbers `2^(least − p + 1)` apart below `2^least`, its least normal
/// number. Half that is a tie between 0 and the least subnormal number, and goes to 0, which is even; half
/// that below `2^least` is a tie between the largest subnormal number, which is odd, and `2^least`. The
/// largest number is odd too, so the tie beyond it goes to infinity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    /// The largest magnitude that becomes 0.
    vanishes: f64,
    /// The least magnitude that becomes a normal number.
    normal: f64,
    /// The least magnitude that becomes infinite.
    overflows: f64,
}

impl Limits {
    pub(crate) const fn of(dtype: DType) -> Self {
        match dtype.part() {
            DType::F16 => Self::ieee(11, -14, 15),
            DType::Bf16 => Self::ieee(8, -126, 127),
            DType::F32 => Self::ieee(24, -126, 127),
            // What comes is an f64 already.
            _ => Self { vanishes: 0.0, normal: f64::MIN_POSITIVE, overflows: f64::INFINITY },
        }
    }

    /// A type of `precision` significant bits whose normal numbers have exponents from `least` to `most`.
    const fn ieee(precision: i32, least: i32, most: i32) -> Self {
        let half_step = power_of_two(least - precision);
        Self {
            vanishes: half_step,
            normal: power_of_two(least) - half_step,
            overflows: power_of_two(most) * (2.0 - power_of_two(-precision)),
        }
    }

    /// Those of e4m3: what it rounds to 0 or to a normal number, and what lies beyond its largest number, 448, once
    /// rounded. The tie with 480, which would be next, goes to 448.
    pub(crate) const fn e4m3() -> Self {
        let beyond = f64::from_bits(464f64.to_bits() + 1);
        Self { overflows: beyond, ..Self::ieee(4, -6, 8) }
    }

    /// The kind of a value: of a complex one that of the part which fares worse.
    #[inline(always)]
    pub(crate) fn kind_of<T: Scalar>(&self, value: T) -> Kind {
        let value = value.to_c64();
        match T::DTYPE.is_complex() {
            true => self.kind(value.re).max(self.kind(value.im)),
            false => self.kind(value.re),
        }
    }

    #[inline(always)]
    pub(crate) fn kind(&self, x: f64) -> Kind {
        let magnitude = x.abs();
        if self.normal <= magnitude && magnitude < self.overflows {
            Kind::Normal
        } else if magnitude == 0.0 {
            Kind::Zero
        } else if !magnitude.is_finite() {
            Kind::NonFinite
        } else if magnitude >= self.overflows {
            Kind::Overflowed
        } else if magnitude <= self.vanishes {
            Kind::Vanished
        } else {
            Kind::Subnormal
        }
    }
}

/// `2^exponent`, a normal f64.
const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use proptest::prelude::*;

    use super::*;
    use crate::scalar::Real;

    fn kind(x: f64, into: DType) -> Kind {
        assert_eq!(Limits::of(into).kind(-x), Limits::of(into).kind(x));
        Limits::of(into).kind(x)
    }

    #[test]
    fn f16_by_hand() {
        let kind = |x| kind(x, DType::F16);
        // 65504 is the largest; 65520 lies halfway to 65536, which would be next.
        assert_eq!(kind(65504.0), Kind::Normal);
        assert_eq!(kind(65520f64.next_down()), Kind::Normal);
        assert_eq!(kind(65520.0), Kind::Overflowed);
        assert_eq!(kind(f64::MAX), Kind::Overflowed);
        // 2⁻²⁵ lies halfway between 0 and the least subnormal number.
        let tie = 2f64.powi(-25);
        assert_eq!(kind(tie), Kind::Vanished);
        assert_eq!(kind(tie.next_up()), Kind::Subnormal);
        assert_eq!(kind(f64::from_bits(1)), Kind::Vanished);
        // 2⁻¹⁴ is the least normal number; 2⁻²⁵ below it is the tie with the largest subnormal one.
        let tie = 2f64.powi(-14) - 2f64.powi(-25);
        assert_eq!(kind(2f64.powi(-14)), Kind::Normal);
        assert_eq!(kind(tie), Kind::Normal);
        assert_eq!(kind(tie.next_down()), Kind::Subnormal);
        assert_eq!(kind(2f64.powi(-24)), Kind::Subnormal);
        assert_eq!(kind(0.0), Kind::Zero);
        assert_eq!((kind(f64::NAN), kind(f64::INFINITY)), (Kind::NonFinite, Kind::NonFinite));
    }

    #[test]
    fn bf16_f32_and_f64_by_hand() {
        let max = bf16::MAX.to_f64();
        assert_eq!(kind(max, DType::Bf16), Kind::Normal);
        // Half a unit beyond: 2¹²⁷ · 2⁻⁷ / 2.
        assert_eq!(kind((max + 2f64.powi(119)).next_down(), DType::Bf16), Kind::Normal);
        assert_eq!(kind(max + 2f64.powi(119), DType::Bf16), Kind::Overflowed);
        assert_eq!(kind(f32::MAX.into(), DType::Bf16), Kind::Overflowed);
        assert_eq!(kind(2f64.powi(-134), DType::Bf16), Kind::Vanished);
        assert_eq!(kind(2f64.powi(-133), DType::Bf16), Kind::Subnormal);

        assert_eq!(kind(f32::MAX.into(), DType::F32), Kind::Normal);
        assert_eq!(kind(f64::from(f32::MAX) + 2f64.powi(103), DType::F32), Kind::Overflowed);
        assert_eq!(kind(2f64.powi(-150), DType::F32), Kind::Vanished);
        assert_eq!(kind(2f64.powi(-150).next_up(), DType::F32), Kind::Subnormal);
        assert_eq!(kind(f32::MIN_POSITIVE.into(), DType::F32), Kind::Normal);

        assert_eq!(kind(f64::MAX, DType::F64), Kind::Normal);
        assert_eq!(kind(f64::MIN_POSITIVE, DType::F64), Kind::Normal);
        assert_eq!(kind(f64::from_bits(1), DType::F64), Kind::Subnormal);
    }

    /// What rounding says, rather than the limits.
    fn naive<T: Real, U: Real>(values: &[T], least_normal: f64) -> Narrowing {
        let mut counts = Narrowing::default();
        for v in values {
            let (from, to) = (v.to_f64(), U::from_f64(v.to_f64()).to_f64());
            counts.nonzeros += u64::from(from != 0.0);
            counts.non_finite += u64::from(!from.is_finite());
            counts.overflowed += u64::from(from.is_finite() && !to.is_finite());
            counts.vanished += u64::from(from != 0.0 && to == 0.0);
            counts.subnormal += u64::from(to != 0.0 && to.abs() < least_normal);
        }
        counts
    }

    fn agree<T: Real>(values: &[T]) {
        let counted = DType::REAL.map(|into| Narrowing::of(values, into));
        let expected = [
            naive::<T, f16>(values, f16::MIN_POSITIVE.to_f64()),
            naive::<T, bf16>(values, bf16::MIN_POSITIVE.to_f64()),
            naive::<T, f32>(values, f32::MIN_POSITIVE.into()),
            naive::<T, f64>(values, f64::MIN_POSITIVE),
        ];
        assert_eq!(counted, expected);
    }

    #[test]
    fn every_16_bit_value_and_every_tie_beside_it_agrees_with_rounding() {
        let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let brains: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
        agree(&halves);
        agree(&brains);
        let around = |x: f64, next: f64| {
            let middle = f64::midpoint(x, next);
            [x, middle, middle.next_up(), middle.next_down()]
        };
        let pairs = |values: Vec<f64>| -> Vec<f64> {
            values.windows(2).flat_map(|w| around(w[0], w[1])).collect()
        };
        agree(&pairs(halves.iter().map(|x| x.to_f64()).collect()));
        agree(&pairs(brains.iter().map(|x| x.to_f64()).collect()));
    }

    #[test]
    fn counts_do_not_depend_on_threads() {
        let values: Vec<f64> = (0..100_000).map(|i| 2f64.powi(i % 400 - 200)).collect();
        let counts = [1, 2, 5].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Narrowing::of(&values, DType::F16))
        });
        assert_eq!(counts[0], naive::<f64, f16>(&values, f16::MIN_POSITIVE.to_f64()));
        assert!(counts.iter().all(|c| *c == counts[0]));
    }

    proptest! {
        #[test]
        fn counts_are_those_of_a_loop_over_rounded_values(
            bits in prop::collection::vec(any::<u64>(), 0..200),
            exponents in prop::collection::vec(-160i32..160, 0..200),
        ) {
            let wide: Vec<f64> = bits.iter().map(|&b| f64::from_bits(b)).collect();
            agree(&wide);
            let narrow: Vec<f32> = bits.iter().map(|&b| f32::from_bits(b as u32)).collect();
            agree(&narrow);
            let powers: Vec<f64> = exponents.iter().zip(&bits)
                .map(|(&e, &b)| 2f64.powi(e) * (1.0 + (b >> 12) as f64 / 2f64.powi(52)))
                .collect();
            agree(&powers);
        }
    }
}
