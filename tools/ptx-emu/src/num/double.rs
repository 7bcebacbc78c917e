//! Arithmetic on `f64` (PTX ISA, "Floating-Point Instructions"): native to nearest, by
//! `rustc_apfloat` in other directions. A NaN operand's payload is passed on, made quiet; of
//! several that of a factor or summand from the right — in `fma` the second factor's, then the
//! summand's — and in a quotient the dividend's, as on an H200. An invalid operation gives `0xfff8000000000000`.

use super::{Format, Rounding};
use rustc_apfloat::{Float as _, Round, StatusAnd, ieee};

/// `a + b`.
#[must_use]
pub fn add(a: u64, b: u64, rounding: Rounding) -> u64 {
    binary(a, b, rounding, |a, b| a + b, ieee::Double::add_r)
}

/// `a − b`.
#[must_use]
pub fn sub(a: u64, b: u64, rounding: Rounding) -> u64 {
    binary(a, b, rounding, |a, b| a - b, ieee::Double::sub_r)
}

/// `a × b`.
#[must_use]
pub fn mul(a: u64, b: u64, rounding: Rounding) -> u64 {
    binary(a, b, rounding, |a, b| a * b, ieee::Double::mul_r)
}

/// `a ÷ b`, also `rcp` with a dividend of one.
#[must_use]
pub fn div(a: u64, b: u64, rounding: Rounding) -> u64 {
    if let Some(nan) = last_nan(&[b, a]) {
        return nan;
    }
    binary(a, b, rounding, |a, b| a / b, ieee::Double::div_r)
}

/// `a × b + c`, rounded once.
#[must_use]
pub fn fma(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    if let Some(nan) = last_nan(&[a, c, b]) {
        return nan;
    }
    match direction(rounding) {
        None => finish(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits()),
        Some(round) => finish(bits(exact(a).mul_add_r(exact(b), exact(c), round))),
    }
}

/// The square root.
#[must_use]
pub fn sqrt(a: u64, rounding: Rounding) -> u64 {
    if let Some(nan) = last_nan(&[a]) {
        return nan;
    }
    let value = f64::from_bits(a);
    let root = value.sqrt();
    if rounding == Rounding::NearestEven || !root.is_finite() || root == 0.0 {
        return finish(root.to_bits());
    }
    // Scaled by an even power of two so that the square's low part does not underflow.
    let (value, scaled) = if value < f64::from_bits(0x1000_0000_0000_0000) {
        let scale = f64::from_bits((1023 + 540) << 52);
        (value * scale, root * f64::from_bits((1023 + 270) << 52))
    } else {
        (value, root)
    };
    let error = (-scaled).mul_add(scaled, value);
    let stepped = match rounding {
        Rounding::Up if error > 0.0 => root.next_up(),
        Rounding::Down | Rounding::TowardZero if error < 0.0 => root.next_down(),
        _ => root,
    };
    stepped.to_bits()
}

fn binary(
    a: u64,
    b: u64,
    rounding: Rounding,
    native: impl Fn(f64, f64) -> f64,
    directed: impl Fn(ieee::Double, ieee::Double, Round) -> StatusAnd<ieee::Double>,
) -> u64 {
    if let Some(nan) = last_nan(&[a, b]) {
        return nan;
    }
    match direction(rounding) {
        None => finish(native(f64::from_bits(a), f64::from_bits(b)).to_bits()),
        Some(round) => finish(bits(directed(exact(a), exact(b), round))),
    }
}

fn last_nan(operands: &[u64]) -> Option<u64> {
    let nan = operands.iter().rfind(|&&bits| f64::from_bits(bits).is_nan())?;
    Some(nan | 1 << 51)
}

fn finish(bits: u64) -> u64 {
    if f64::from_bits(bits).is_nan() { Format::F64.nan() } else { bits }
}

fn direction(rounding: Rounding) -> Option<Round> {
    match rounding {
        Rounding::NearestEven => None,
        Rounding::NearestAway => Some(Round::NearestTiesToAway),
        Rounding::TowardZero => Some(Round::TowardZero),
        Rounding::Down => Some(Round::TowardNegative),
        Rounding::Up => Some(Round::TowardPositive),
    }
}

fn exact(bits: u64) -> ieee::Double {
    ieee::Double::from_bits(u128::from(bits))
}

fn bits(result: StatusAnd<ieee::Double>) -> u64 {
    result.value.to_bits() as u64
}
