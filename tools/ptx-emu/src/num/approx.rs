//! What stands in for `.approx` instructions on `f32`.
//!
//! The card's units have their own errors, documented in the PTX ISA as bounds. Here each result
//! is the function computed in `f64` and rounded to nearest, so it lies within those bounds but is
//! not, bit for bit, the card's. Special values follow the tables of the PTX ISA; NaN results are
//! the canonical NaN. `ftz` flushes subnormal operands and results to zero of the same sign.

use super::{Format, Rounding};

/// `ex2.approx`: 2 to the power of `a`.
#[must_use]
pub fn ex2(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, f64::exp2)
}

/// `lg2.approx`: the logarithm to base 2; −∞ of ±0, NaN of negative values.
#[must_use]
pub fn lg2(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, f64::log2)
}

/// `rcp.approx`: 1 ÷ `a`.
#[must_use]
pub fn rcp(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, |a| 1.0 / a)
}

/// `rsqrt.approx`: 1 ÷ √`a`; ∞ with the operand's sign of ±0.
#[must_use]
pub fn rsqrt(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, |a| if a == 0.0 { 1.0 / a } else { 1.0 / a.sqrt() })
}

/// `sqrt.approx`: √`a`.
#[must_use]
pub fn sqrt(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, f64::sqrt)
}

/// `sin.approx`: the sine of an angle in radians.
#[must_use]
pub fn sin(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, f64::sin)
}

/// `cos.approx`: the cosine of an angle in radians.
#[must_use]
pub fn cos(a: u32, ftz: bool) -> u32 {
    apply(a, ftz, f64::cos)
}

/// `tanh.approx`: the hyperbolic tangent.
#[must_use]
pub fn tanh(a: u32) -> u32 {
    apply(a, false, f64::tanh)
}

/// `div.approx`: `a` ÷ `b`. For divisors of magnitude above 2¹²⁶ the card gives zero, and NaN when
/// the dividend is infinite; so does this.
#[must_use]
pub fn div(a: u32, b: u32, ftz: bool) -> u32 {
    let (a, b) = (operand(a, ftz), operand(b, ftz));
    let quotient = if b.is_finite() && b.abs() > f64::from_bits((1023 + 126) << 52) {
        a * 0f64.copysign(b)
    } else {
        a / b
    };
    finish(quotient, ftz)
}

fn apply(a: u32, ftz: bool, function: impl Fn(f64) -> f64) -> u32 {
    finish(function(operand(a, ftz)), ftz)
}

fn operand(bits: u32, ftz: bool) -> f64 {
    let bits = u64::from(bits);
    Format::F32.decode(if ftz { Format::F32.flush(bits) } else { bits })
}

fn finish(value: f64, ftz: bool) -> u32 {
    let bits = Format::F32.encode(value, Rounding::NearestEven);
    (if ftz { Format::F32.flush(bits) } else { bits }) as u32
}
