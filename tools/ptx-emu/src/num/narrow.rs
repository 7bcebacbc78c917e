//! Arithmetic on `f16` and `bf16` (PTX ISA, "Half Precision Floating-Point Instructions").
//!
//! Sums and products of such values, rounded to odd in `f64`, are rounded once to the format. NaN
//! results are the canonical NaN.

use super::rounding::add_to_odd;
use super::{Format, Mode};

/// `a + b`.
#[must_use]
pub fn add(format: Format, a: u64, b: u64, mode: Mode) -> u64 {
    let (a, b) = (operand(format, a, mode), operand(format, b, mode));
    sum(format, a, b, mode)
}

/// `a − b`.
#[must_use]
pub fn sub(format: Format, a: u64, b: u64, mode: Mode) -> u64 {
    add(format, a, b ^ format.sign(), mode)
}

/// `a × b`.
#[must_use]
pub fn mul(format: Format, a: u64, b: u64, mode: Mode) -> u64 {
    finish(format, operand(format, a, mode) * operand(format, b, mode), mode)
}

/// `a × b + c`, rounded once.
#[must_use]
pub fn fma(format: Format, a: u64, b: u64, c: u64, mode: Mode) -> u64 {
    let product = operand(format, a, mode) * operand(format, b, mode);
    sum(format, product, operand(format, c, mode), mode)
}

/// `.relu`: a negative result, −0 too, becomes +0; NaN stays.
#[must_use]
pub fn relu(format: Format, bits: u64) -> u64 {
    if bits & format.sign() != 0 && !format.is_nan(bits) { 0 } else { bits }
}

fn operand(format: Format, bits: u64, mode: Mode) -> f64 {
    format.decode(if mode.ftz { format.flush(bits) } else { bits })
}

fn sum(format: Format, a: f64, b: f64, mode: Mode) -> u64 {
    let nearest = a + b;
    let sum = if nearest.is_finite() { add_to_odd(a, b, mode.rounding) } else { nearest };
    finish(format, sum, mode)
}

fn finish(format: Format, value: f64, mode: Mode) -> u64 {
    let bits = format.encode(value, mode.rounding);
    let bits = if mode.ftz { format.flush(bits) } else { bits };
    if !mode.saturate {
        return bits;
    }
    let value = format.decode(bits);
    if value > 0.0 { format.encode(value.min(1.0), mode.rounding) } else { 0 }
}
