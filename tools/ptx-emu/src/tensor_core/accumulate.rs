//! The rule by which a tensor core sums products.
//!
//! The PTX ISA leaves order, rounding and width of the accumulation open. The model here is the one
//! that measurements of Hopper agree on (Xie et al., "MMA-Sim: Bit-Accurate Reference Model of
//! Tensor Cores and Matrix Cores", arXiv 2511.10909; Fasi et al., "Numerical behavior of NVIDIA
//! tensor cores", 2021; and for 8-bit types the 13 bits behind the "14-bit
//! accumulation" remark of the DeepSeek-V3 report, arXiv 2412.19437). One step of up to
//! [`Rule::block`] products:
//!
//! 1. Products are exact. A product's exponent is the sum of its operands' exponents, so its
//!    significand lies in [0, 4); subnormal operands keep the smallest normal exponent.
//! 2. The products and the accumulator are aligned to the largest exponent among them (zeros have
//!    none, but it is at least −126) and cut, each toward zero, [`Rule::fraction_bits`] below it.
//! 3. What is left is summed exactly.
//! 4. The sum is cut toward zero to [`Rule::result_bits`] of mantissa for `.f32`, or rounded to
//!    nearest even for `.f16`. Beyond the largest finite value it is infinity.
//!
//! Longer products are several steps, each starting from the last one's result. A NaN operand, ∞ × 0
//! and ∞ − ∞ give the canonical NaN. An exact zero is +0. Integers are summed exactly, then wrapped
//! or clamped to 32 bits.
//!
//! Hopper's `mma.sync` has no unit for 8-bit floats and multiplies them as `f16`
//! ([`Path::Converted`]): of every four products along k, the first two go to one step and the last
//! two to the next; the first step starts from zero, and the accumulator is added to the last one's
//! result, rounded to nearest even in the accumulator's type.
//!
//! [`Rule::of`] is the one place that holds the constants.

use super::{Accumulator, Element};
use crate::num::{Format, Mode, Rounding, narrow, single};

/// Which tensor-core instruction sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// `wgmma.mma_async`
    Warpgroup,
    /// `mma.sync`
    Warp,
}

/// Which products make up a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// Consecutive ones; the first step starts from the accumulator.
    Direct,
    /// Pairs out of fours; the accumulator is added last.
    Converted,
}

impl Path {
    /// The k of each step's elements, of `stored`, at most `block` to a step.
    pub(crate) fn steps(self, stored: usize, block: u32) -> Vec<Vec<usize>> {
        let block = block as usize;
        match self {
            Path::Direct => {
                let order: Vec<_> = (0..stored).collect();
                order.chunks(block).map(<[usize]>::to_vec).collect()
            }
            Path::Converted => {
                let (first, last): (Vec<_>, Vec<_>) = (0..stored).partition(|k| k % 4 < 2);
                first.chunks(block).chain(last.chunks(block)).map(<[usize]>::to_vec).collect()
            }
        }
    }
}

/// The constants of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Bits kept below the largest exponent of a step.
    pub fraction_bits: u32,
    /// The most products of a step.
    pub block: u32,
    /// Mantissa bits of an `.f32` result; the lower ones are zero.
    pub result_bits: u32,
    /// Whether a product with a zero operand takes part in finding the largest exponent.
    pub zeros_align: bool,
    /// Which products make up a step.
    pub path: Path,
}

impl Rule {
    /// Whether an accumulator of `.f32` may lose bits to which nothing is added.
    pub(crate) const fn cuts_accumulators(self) -> bool {
        self.fraction_bits < Term::FRACTION || self.result_bits < Term::FRACTION
    }

    /// The rule of Hopper's units.
    #[must_use]
    pub const fn of(unit: Unit, element: Element) -> Rule {
        let wide = Rule {
            fraction_bits: 25,
            block: 16,
            result_bits: 23,
            zeros_align: false,
            path: Path::Direct,
        };
        match (unit, element) {
            (Unit::Warpgroup, Element::E4m3 | Element::E5m2) => {
                Rule { fraction_bits: 13, block: 32, result_bits: 13, ..wide }
            }
            (Unit::Warp, Element::E4m3 | Element::E5m2) => Rule { path: Path::Converted, ..wide },
            (_, Element::Tf32) => Rule { block: 8, ..wide },
            _ => wide,
        }
    }
}

/// What an accumulator of zero aligns to: the smallest exponent of `f32`, whatever its type.
const NO_EXPONENT: i32 = -126;

/// A finite value as a signed significand with [`Term::FRACTION`] bits behind the point, and an
/// exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) significand: i64,
    pub(crate) exponent: i32,
}

impl Term {
    /// Enough for an `f32`, or the product of two multiplicands.
    pub(crate) const FRACTION: u32 = 23;

    /// A finite value of a format of at most 32 bits.
    pub(crate) fn new(bits: u32, format: Format) -> Term {
        let (significand, exponent, mantissa) = format.parts(u64::from(bits));
        Term { significand: significand << (Term::FRACTION - mantissa), exponent }
    }

    /// The product of two multiplicands, of at most 11 bits each.
    pub(crate) fn product(self, other: Term) -> Term {
        Term {
            significand: (self.significand * other.significand) >> Term::FRACTION,
            exponent: self.exponent + other.exponent,
        }
    }
}

/// One step of the rule on bits: `products` in any order, `accumulator` and result as bits of the
/// accumulator's type.
///
/// # Panics
/// If a type is an integer.
#[must_use]
pub fn step(
    rule: Rule,
    element: (Element, Element),
    accumulator: Accumulator,
    products: &(impl Iterator<Item = (u32, u32)> + Clone),
    start: u32,
) -> u32 {
    let format = accumulator_format(accumulator);
    let formats = element.0.format().zip(element.1.format());
    let formats = formats.expect("integers are summed by integer arithmetic");
    let values = || {
        products
            .clone()
            .map(|(a, b)| (formats.0.decode(u64::from(a)), formats.1.decode(u64::from(b))))
    };
    let start_value = format.decode(u64::from(start));
    if !start_value.is_finite() || values().any(|(a, b)| !a.is_finite() || !b.is_finite()) {
        // Products of finite operands are finite in `f64`, and so are their sums.
        let sum = values().fold(start_value, |sum, (a, b)| sum + a * b);
        return format.encode(sum, Rounding::NearestEven) as u32;
    }
    let terms = || {
        products
            .clone()
            .map(|(a, b)| (Term::new(a, formats.0), Term::new(b, formats.1)))
            .map(|(a, b)| a.product(b))
    };
    let start = Term::new(start, format);
    let lowest = if start.significand == 0 { NO_EXPONENT } else { start.exponent };
    let largest = terms()
        .filter(|term| rule.zeros_align || term.significand != 0)
        .map(|term| term.exponent)
        .fold(lowest, i32::max);
    let sum: i64 = terms().chain([start]).map(|term| aligned(rule, term, largest)).sum();
    // At most 40 bits: exact.
    finish(rule, accumulator, sum as f64, largest)
}

/// The rule where every product is zero, for a finite accumulator.
pub(crate) fn alone(rule: Rule, accumulator: Accumulator, start: u32) -> u32 {
    let format = accumulator_format(accumulator);
    let cuts = match accumulator {
        Accumulator::F16 => rule.fraction_bits < Term::FRACTION,
        _ => rule.cuts_accumulators(),
    };
    if !cuts {
        // Every bit of it is kept, but for the sign of a zero.
        return if u64::from(start) == format.sign() { 0 } else { start };
    }
    let start = Term::new(start, format);
    finish(rule, accumulator, aligned(rule, start, start.exponent) as f64, start.exponent)
}

/// The end of [`Path::Converted`]: the last step's result added to the accumulator.
pub(crate) fn add_last(accumulator: Accumulator, sum: u32, start: u32) -> u32 {
    match accumulator {
        Accumulator::F16 => {
            narrow::add(Format::F16, u64::from(sum), u64::from(start), Mode::NEAREST) as u32
        }
        _ => single::add(sum, start, Mode::NEAREST),
    }
}

/// A term in units of `2^(largest − fraction_bits)`, cut toward zero.
fn aligned(rule: Rule, term: Term, largest: i32) -> i64 {
    // A zero's exponent, which may not count, can be far above the largest.
    if term.significand == 0 {
        return 0;
    }
    let up = rule.fraction_bits as i32 - Term::FRACTION as i32 + term.exponent - largest;
    let magnitude = term.significand.unsigned_abs();
    let cut = if up >= 0 { magnitude << up } else { magnitude >> (-up).min(63) };
    cut as i64 * term.significand.signum()
}

/// Step 4 of the rule, for a sum, which is an integer, in units of `2^(largest − fraction_bits)`.
#[inline]
pub(crate) fn finish(rule: Rule, accumulator: Accumulator, sum: f64, largest: i32) -> u32 {
    if sum == 0.0 {
        return 0;
    }
    // At most 40 bits and an exponent within ±350: exact.
    let value = sum * power(largest - rule.fraction_bits as i32);
    if accumulator == Accumulator::F16 {
        return Format::F16.encode(value, Rounding::NearestEven) as u32;
    }
    let magnitude = value.abs();
    if magnitude >= power(128) {
        return f32::INFINITY.copysign(value as f32).to_bits();
    }
    if magnitude >= power(-126) {
        let dropped = 52 - rule.result_bits;
        let cut = f64::from_bits(value.to_bits() >> dropped << dropped);
        return (cut as f32).to_bits();
    }
    // Below the smallest normal value the last place has a fixed weight.
    let place = power(-126 - rule.result_bits as i32);
    (((value / place).trunc() * place) as f32 + 0.0).to_bits()
}

/// 2 to a power within the range of `f64`'s normal values.
#[inline]
pub(crate) fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

pub(crate) fn accumulator_format(accumulator: Accumulator) -> Format {
    match accumulator {
        Accumulator::F16 => Format::F16,
        _ => Format::F32,
    }
}
