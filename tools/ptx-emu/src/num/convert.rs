//! `cvt`: between floating-point formats and integers (PTX ISA, "Data Movement and Conversion
//! Instructions: cvt").
//!
//! Values travel through `f64`, which holds every value of the narrower formats exactly; 64-bit
//! integers are rounded to odd on the way, so the second rounding is the only one that counts.

use super::rounding::to_odd;
use super::{Format, Rounding};

/// What happens to results outside a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Saturation {
    /// Nothing: IEEE overflow.
    #[default]
    None,
    /// `.sat`: clamped to [+0, 1]; NaN becomes +0.
    Unit,
    /// `.satfinite`: magnitudes beyond the largest finite one, infinity too, become that one with
    /// the sign kept; NaN stays NaN.
    Finite,
}

/// The modifiers of a `cvt` whose result is a floating-point number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Conversion {
    /// The direction of rounding; `.rn` where the conversion is exact and names none.
    pub rounding: Rounding,
    /// `.ftz`: subnormal `f32` operands and results become zero of the same sign. Values of other
    /// formats are left alone.
    pub ftz: bool,
    /// `.sat` or `.satfinite`.
    pub saturation: Saturation,
    /// `.relu`: negative results, −0 too, become +0.
    pub relu: bool,
}

/// An integer type: `.u8` to `.s64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Integer {
    /// 8, 16, 32 or 64.
    pub bits: u32,
    /// `.s` rather than `.u`.
    pub signed: bool,
}

impl Integer {
    /// The smallest value.
    #[must_use]
    pub const fn min(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    /// The largest value.
    #[must_use]
    pub const fn max(self) -> i128 {
        (1 << (self.bits - self.signed as u32)) - 1
    }

    /// The value of a register's low bits.
    #[must_use]
    pub const fn decode(self, bits: u64) -> i128 {
        let unused = 64 - self.bits;
        if self.signed {
            ((bits << unused) as i64 >> unused) as i128
        } else {
            (bits << unused >> unused) as i128
        }
    }

    /// The value's low bits, zero-extended.
    #[must_use]
    pub const fn encode(self, value: i128) -> u64 {
        (value as u64) << (64 - self.bits) >> (64 - self.bits)
    }
}

/// Rounds an exact value into a format under the modifiers of a conversion.
fn finish(value: f64, to: Format, how: Conversion) -> u64 {
    let value = match how.saturation {
        Saturation::Unit if value.is_nan() => 0.0,
        // −0 is clamped too: the range begins at +0.
        Saturation::Unit if value <= 0.0 => 0.0,
        Saturation::Unit if value > 1.0 => 1.0,
        Saturation::Finite => {
            let limit = to.decode(to.max_finite());
            if value.is_nan() { value } else { value.clamp(-limit, limit) }
        }
        _ => value,
    };
    let value = if how.relu && value.is_sign_negative() && !value.is_nan() { 0.0 } else { value };
    let bits = to.encode(value, how.rounding);
    if how.ftz && to == Format::F32 { to.flush(bits) } else { bits }
}

/// The operand of a conversion, exactly.
fn operand(bits: u64, from: Format, ftz: bool) -> f64 {
    from.decode(if ftz && from == Format::F32 { from.flush(bits) } else { bits })
}

/// The NaN that a NaN becomes where it is not the canonical one: what an H200 gives.
fn passed_on(bits: u64, from: Format, to: Format, ftz: bool) -> Option<u64> {
    let widened = match from {
        // The upper half of an `f32`, unchanged.
        Format::Bf16 if to == Format::F32 => return Some(bits << 16),
        _ if to == Format::Tf32 => return Some(bits & !0x1fff),
        Format::F32 if ftz => Format::F32.nan() << 29,
        Format::F32 => (bits & 0x7f_ffff) << 29,
        Format::F16 => (bits & 0x3ff) << 42,
        Format::F64 => bits & ((1 << 52) - 1),
        _ => return None,
    };
    // Sign and payload, made quiet, from and to `f64`.
    let sign = bits & from.sign() != 0 && !(ftz && from == Format::F32);
    let (mantissa, quiet) = match to {
        Format::F64 => (52, 0x7ff8 << 48),
        Format::F32 if from == Format::F64 => (23, 0x7fc0_0000),
        Format::F16 if from == Format::F64 => (10, 0x7e00),
        _ => return None,
    };
    let payload = (widened & ((1 << 52) - 1)) >> (52 - mantissa);
    Some(if sign { to.sign() } else { 0 } | quiet | payload)
}

/// A value of one format in another. Also `.f32.f32` and the like without rounding.
#[must_use]
#[inline]
pub fn float_to_float(bits: u64, from: Format, to: Format, how: Conversion) -> u64 {
    let plain = how == Conversion { rounding: Rounding::NearestEven, ..Conversion::default() };
    if plain && !from.is_nan(bits) {
        // One is the upper half of the other.
        match (from, to) {
            (Format::F32, Format::Bf16) => return (bits + 0x7fff + (bits >> 16 & 1)) >> 16,
            (Format::Bf16, Format::F32) => return bits << 16,
            _ => {}
        }
    }
    float_to_any(bits, from, to, how)
}

fn float_to_any(bits: u64, from: Format, to: Format, how: Conversion) -> u64 {
    if from.is_nan(bits)
        && how.saturation != Saturation::Unit
        && let Some(nan) = passed_on(bits, from, to, how.ftz)
    {
        return nan;
    }
    finish(operand(bits, from, how.ftz), to, how)
}

/// A value rounded to an integer, in its own format (`.rni`, `.rzi`, `.rmi`, `.rpi` between equal
/// formats). Zero results keep the operand's sign.
#[must_use]
pub fn round_to_integral(bits: u64, format: Format, how: Conversion) -> u64 {
    if format == Format::F64 && format.is_nan(bits) {
        return bits | 1 << 51;
    }
    finish(integral(operand(bits, format, how.ftz), how.rounding), format, how)
}

/// An integer as a floating-point number.
#[must_use]
pub fn integer_to_float(bits: u64, from: Integer, to: Format, how: Conversion) -> u64 {
    let value = from.decode(bits);
    let nearest = value as f64;
    if nearest as i128 == value {
        return finish(nearest, to, how);
    }
    let below = (nearest as i128) < value;
    if to == Format::F64 {
        let step = match how.rounding {
            Rounding::TowardZero => below == (value < 0),
            Rounding::Down => !below,
            Rounding::Up => below,
            Rounding::NearestEven | Rounding::NearestAway => false,
        };
        let rounded = match (step, below) {
            (false, _) => nearest,
            (true, true) => nearest.next_up(),
            (true, false) => nearest.next_down(),
        };
        return finish(rounded, to, how);
    }
    finish(to_odd(nearest, if below { 1.0 } else { -1.0 }), to, how)
}

/// A floating-point number as an integer: rounded, then clamped to the type's range. NaN becomes
/// zero, or for an `f64` operand or a 64-bit result the pattern with only the highest bit set.
#[must_use]
pub fn float_to_integer(
    bits: u64,
    from: Format,
    to: Integer,
    rounding: Rounding,
    ftz: bool,
) -> u64 {
    let value = operand(bits, from, ftz);
    if value.is_nan() {
        let indefinite = from == Format::F64 || to.bits == 64;
        return if indefinite { 1 << (to.bits - 1) } else { 0 };
    }
    // The cast saturates at 128 bits, far outside every range.
    to.encode((integral(value, rounding) as i128).clamp(to.min(), to.max()))
}

/// An integer as another type: the low bits, or clamped to its range (`.sat`).
#[must_use]
pub fn integer_to_integer(bits: u64, from: Integer, to: Integer, saturate: bool) -> u64 {
    let value = from.decode(bits);
    to.encode(if saturate { value.clamp(to.min(), to.max()) } else { value })
}

fn integral(value: f64, rounding: Rounding) -> f64 {
    let rounded = match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::TowardZero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    };
    rounded.copysign(value)
}
