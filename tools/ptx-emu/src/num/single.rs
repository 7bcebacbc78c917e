//! Arithmetic on `f32` (PTX ISA, "Floating-Point Instructions").
//!
//! Round-to-nearest runs natively. Other directions go through `f64`: the sum, product or quotient
//! is rounded to odd there — 53 bits are more than 24 and two — and then once to `f32`. NaN
//! results are the canonical NaN. `.ftz` flushes what is below the normal numbers when
//! rounded to 24 bits, as an H200 does: not all that rounds to a subnormal or up from one.

use super::rounding::{add_to_odd, to_odd};
use super::{Format, Mode, Rounding};

const NAN: u32 = 0x7fff_ffff;

/// `a + b`.
#[must_use]
#[inline]
pub fn add(a: u32, b: u32, mode: Mode) -> u32 {
    let (a, b) = (operand(a, mode), operand(b, mode));
    if mode.rounding == Rounding::NearestEven {
        return finish(a + b, mode);
    }
    directed(f64::from(a), f64::from(b), mode)
}

/// `a − b`.
#[must_use]
#[inline]
pub fn sub(a: u32, b: u32, mode: Mode) -> u32 {
    add(a, b ^ 0x8000_0000, mode)
}

/// `a × b`.
#[must_use]
#[inline]
pub fn mul(a: u32, b: u32, mode: Mode) -> u32 {
    let (a, b) = (operand(a, mode), operand(b, mode));
    // Exact: 48 bits of mantissa, exponents within ±298.
    let exact = || f64::from(a) * f64::from(b);
    if mode.rounding == Rounding::NearestEven {
        return nearest(a * b, exact, mode);
    }
    narrow(exact(), mode)
}

/// `a × b + c`, rounded once.
#[must_use]
#[inline]
pub fn fma(a: u32, b: u32, c: u32, mode: Mode) -> u32 {
    let (a, b, c) = (operand(a, mode), operand(b, mode), operand(c, mode));
    if mode.rounding == Rounding::NearestEven {
        let odd = || add_to_odd(f64::from(a) * f64::from(b), f64::from(c), mode.rounding);
        return nearest(a.mul_add(b, c), odd, mode);
    }
    directed(f64::from(a) * f64::from(b), f64::from(c), mode)
}

/// `a ÷ b`, also `rcp` with a dividend of one.
#[must_use]
pub fn div(a: u32, b: u32, mode: Mode) -> u32 {
    let (a, b) = (operand(a, mode), operand(b, mode));
    if mode.rounding == Rounding::NearestEven {
        return nearest(a / b, || f64::from(a) / f64::from(b), mode);
    }
    let (a, b) = (f64::from(a), f64::from(b));
    let quotient = a / b;
    if !quotient.is_finite() || quotient == 0.0 || b.is_infinite() {
        return narrow(quotient, mode);
    }
    let remainder = (-quotient).mul_add(b, a);
    narrow(to_odd(quotient, if b < 0.0 { -remainder } else { remainder }), mode)
}

/// The square root.
#[must_use]
pub fn sqrt(a: u32, mode: Mode) -> u32 {
    let a = operand(a, mode);
    if mode.rounding == Rounding::NearestEven {
        return finish(a.sqrt(), mode);
    }
    let a = f64::from(a);
    let root = a.sqrt();
    if !root.is_finite() || root == 0.0 {
        return narrow(root, mode);
    }
    narrow(to_odd(root, (-root).mul_add(root, a)), mode)
}

#[inline]
fn operand(bits: u32, mode: Mode) -> f32 {
    let value = f32::from_bits(bits);
    if mode.ftz && value.is_subnormal() { 0f32.copysign(value) } else { value }
}

/// A result rounded to nearest, which may have been rounded up to the smallest normal number.
#[inline]
fn nearest(value: f32, exact: impl Fn() -> f64, mode: Mode) -> u32 {
    if mode.ftz && value.abs() == f32::MIN_POSITIVE && is_tiny(exact(), mode.rounding) {
        return finish(0f32.copysign(value), mode);
    }
    finish(value, mode)
}

/// Flushing, clamping and the canonical NaN.
#[inline]
fn finish(value: f32, mode: Mode) -> u32 {
    let bits = if value.is_nan() { NAN } else { value.to_bits() };
    if !mode.ftz && !mode.saturate {
        return bits;
    }
    let bits = if mode.ftz { Format::F32.flush(u64::from(bits)) as u32 } else { bits };
    if mode.saturate { saturate(bits) } else { bits }
}

/// `.sat`: into [+0, 1], NaN to +0.
fn saturate(bits: u32) -> u32 {
    let value = f32::from_bits(bits);
    if value > 0.0 { value.min(1.0).to_bits() } else { 0 }
}

/// The sum of two exact `f64` rounded once, in the direction of `mode`.
fn directed(a: f64, b: f64, mode: Mode) -> u32 {
    let sum = a + b;
    if sum.is_finite() { narrow(add_to_odd(a, b, mode.rounding), mode) } else { narrow(sum, mode) }
}

/// Whether a value, exact or rounded to odd, is below the normal numbers when rounded as if there
/// were no smallest exponent.
fn is_tiny(value: f64, rounding: Rounding) -> bool {
    let scale = f64::from_bits((1023 + 64) << 52);
    let rounded = f32::from_bits(Format::F32.encode(value * scale, rounding) as u32);
    f64::from(rounded.abs()) < f64::from(f32::MIN_POSITIVE) * scale
}

fn narrow(value: f64, mode: Mode) -> u32 {
    let flushed = mode.ftz && is_tiny(value, mode.rounding);
    let value = if flushed { 0f64.copysign(value) } else { value };
    finish(f32::from_bits(Format::F32.encode(value, mode.rounding) as u32), mode)
}
