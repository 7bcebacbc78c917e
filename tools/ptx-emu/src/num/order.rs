//! `min` and `max` (PTX ISA, "Floating-Point Instructions: min, max").

use super::Format;

/// What `min` and `max` do with NaNs and signs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Choice {
    /// `.NaN`: any NaN operand makes the result the canonical NaN. Without it, the other operand is
    /// the result, and only two NaNs make the canonical NaN.
    pub propagate_nan: bool,
    /// `.xorsign.abs`: magnitudes are compared, the result's sign is the exclusive or of the
    /// operands' signs.
    pub xorsign_abs: bool,
    /// `.ftz`: subnormal operands count, and come out, as zero of the same sign.
    pub ftz: bool,
}

/// The smaller operand; −0 is smaller than +0.
#[must_use]
pub fn min(format: Format, a: u64, b: u64, choice: Choice) -> u64 {
    choose(format, a, b, choice, |a, b| a < b)
}

/// The larger operand; +0 is larger than −0.
#[must_use]
pub fn max(format: Format, a: u64, b: u64, choice: Choice) -> u64 {
    choose(format, a, b, choice, |a, b| a > b)
}

fn choose(format: Format, a: u64, b: u64, choice: Choice, first: impl Fn(i64, i64) -> bool) -> u64 {
    let sign = format.sign();
    let flush = |bits| if choice.ftz { format.flush(bits) } else { bits };
    let (a, b) = (flush(a), flush(b));
    let result_sign = (a ^ b) & sign;
    let magnitude = |bits| if choice.xorsign_abs { bits & !sign } else { bits };
    let (a_nan, b_nan) = (format.is_nan(a), format.is_nan(b));
    let (a, b) = (magnitude(a), magnitude(b));
    let chosen = if (a_nan && b_nan) || ((a_nan || b_nan) && choice.propagate_nan) {
        // Two NaNs of `f64` give the second one.
        return if format == Format::F64 { b | 1 << 51 } else { format.nan() };
    } else if a_nan {
        b
    } else if b_nan || first(key(a, sign), key(b, sign)) {
        a
    } else {
        b
    };
    if choice.xorsign_abs { chosen | result_sign } else { chosen }
}

/// Integers in the order of the values, −0 just below +0.
fn key(bits: u64, sign: u64) -> i64 {
    if bits & sign == 0 { bits as i64 } else { -1 - (bits & !sign) as i64 }
}
