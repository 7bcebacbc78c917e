//! The layouts of the number formats, decoding to `f64` and rounding from it.

use super::Rounding;

/// A binary floating-point format of the PTX ISA, section "Fundamental Types" and "Alternate
/// Floating-Point Data Formats".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// 8 bits: 4 of exponent, 3 of mantissa; no infinity, one NaN pattern per sign.
    E4m3,
    /// 8 bits: 5 of exponent, 2 of mantissa.
    E5m2,
    /// IEEE binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
    /// Binary32 of which the lower 13 mantissa bits are zero.
    Tf32,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

/// What decoding and rounding need to know of a format of at most 32 bits.
struct Layout {
    /// Bits of the mantissa that are stored.
    mantissa: u32,
    /// Zero bits stored below the mantissa.
    padding: u32,
    /// Exponent of the smallest normal value.
    min_exponent: i32,
    /// Bits of the largest finite magnitude, without padding.
    max: u64,
    /// Bits of infinity without padding; the NaN where there is none.
    infinity: u64,
    /// The canonical NaN, with padding.
    nan: u64,
}

impl Layout {
    const fn of(format: Format) -> Layout {
        match format {
            Format::E4m3 => Layout {
                mantissa: 3,
                padding: 0,
                min_exponent: -6,
                max: 0x7e,
                infinity: 0x7f,
                nan: 0x7f,
            },
            Format::E5m2 => Layout {
                mantissa: 2,
                padding: 0,
                min_exponent: -14,
                max: 0x7b,
                infinity: 0x7c,
                nan: 0x7f,
            },
            Format::F16 => Layout {
                mantissa: 10,
                padding: 0,
                min_exponent: -14,
                max: 0x7bff,
                infinity: 0x7c00,
                nan: 0x7fff,
            },
            Format::Bf16 => Layout {
                mantissa: 7,
                padding: 0,
                min_exponent: -126,
                max: 0x7f7f,
                infinity: 0x7f80,
                nan: 0x7fff,
            },
            Format::Tf32 => Layout {
                mantissa: 10,
                padding: 13,
                min_exponent: -126,
                max: 0x3_fbff,
                infinity: 0x3_fc00,
                nan: 0x7fff_ffff,
            },
            Format::F32 => Layout {
                mantissa: 23,
                padding: 0,
                min_exponent: -126,
                max: 0x7f7f_ffff,
                infinity: 0x7f80_0000,
                nan: 0x7fff_ffff,
            },
            // Only its NaN is asked for: `f64` is the carrier itself.
            Format::F64 => Layout {
                mantissa: 52,
                padding: 0,
                min_exponent: -1022,
                max: 0x7fef_ffff_ffff_ffff,
                infinity: 0x7ff0_0000_0000_0000,
                nan: 0xfff8_0000_0000_0000,
            },
        }
    }
}

impl Format {
    /// Bits a value takes in a register; 32 for [`Format::Tf32`].
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Format::E4m3 | Format::E5m2 => 8,
            Format::F16 | Format::Bf16 => 16,
            Format::Tf32 | Format::F32 => 32,
            Format::F64 => 64,
        }
    }

    /// The sign bit's place.
    #[must_use]
    pub const fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    /// Exponent of the smallest normal value.
    pub(crate) const fn min_exponent(self) -> i32 {
        Layout::of(self).min_exponent
    }

    /// The NaN that instructions make: all ones below the sign, and for `f64` the pattern an
    /// invalid operation gives.
    #[must_use]
    pub const fn nan(self) -> u64 {
        Layout::of(self).nan
    }

    /// The largest finite value.
    #[must_use]
    pub const fn max_finite(self) -> u64 {
        let layout = Layout::of(self);
        layout.max << layout.padding
    }

    /// Positive infinity; none in [`Format::E4m3`].
    #[must_use]
    pub const fn infinity(self) -> Option<u64> {
        match self {
            Format::E4m3 => None,
            _ => {
                let layout = Layout::of(self);
                Some(layout.infinity << layout.padding)
            }
        }
    }

    /// Whether the bits are a NaN.
    #[must_use]
    pub const fn is_nan(self, bits: u64) -> bool {
        let magnitude = bits & (self.sign() - 1);
        match self {
            Format::E4m3 => magnitude == 0x7f,
            // What lies in the padding makes a NaN of an infinity too.
            _ => {
                let layout = Layout::of(self);
                magnitude > layout.infinity << layout.padding
            }
        }
    }

    /// Whether the bits are a subnormal value (zero is none).
    #[must_use]
    pub const fn is_subnormal(self, bits: u64) -> bool {
        let layout = Layout::of(self);
        let magnitude = bits & (self.sign() - 1);
        magnitude != 0 && magnitude >> (layout.mantissa + layout.padding) == 0
    }

    /// Subnormal bits as zero of the same sign, others as they are (`.ftz`).
    #[must_use]
    pub const fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign() } else { bits }
    }

    /// The value, exactly. [`Format::Tf32`] reads its mantissa's 10 bits and ignores what lies
    /// below, as tensor cores do. NaNs give a NaN; those of `f32` and `f64` keep sign and payload.
    #[must_use]
    pub fn decode(self, bits: u64) -> f64 {
        let layout = match self {
            Format::F64 => return f64::from_bits(bits),
            Format::F32 => return f64::from(f32::from_bits(bits as u32)),
            Format::Tf32 => return f64::from(f32::from_bits(bits as u32 & 0xffff_e000)),
            Format::Bf16 => return f64::from(f32::from_bits((bits as u32) << 16)),
            _ => Layout::of(self),
        };
        let negative = bits & self.sign() != 0;
        let magnitude = bits & (self.sign() - 1);
        let exponent = magnitude >> layout.mantissa;
        let sign = u64::from(negative) << 63;
        let value = if self.is_nan(bits) {
            f64::NAN.to_bits()
        } else if Some(magnitude) == self.infinity() {
            f64::INFINITY.to_bits()
        } else if exponent == 0 {
            let unit = f64::from_bits(
                ((1023 + layout.min_exponent) as u64 - u64::from(layout.mantissa)) << 52,
            );
            (magnitude as f64 * unit).to_bits()
        } else {
            let bias = (1022 + layout.min_exponent) as u64;
            (magnitude << (52 - layout.mantissa)) + (bias << 52)
        };
        f64::from_bits(value | sign)
    }

    /// A finite value's significand with its sign, exponent, and number of bits behind the point:
    /// the value is `significand × 2^(exponent − bits)`. Subnormal values and zeros keep the smallest
    /// normal exponent.
    pub(crate) fn parts(self, bits: u64) -> (i64, i32, u32) {
        let layout = Layout::of(self);
        let magnitude = (bits & (self.sign() - 1)) >> layout.padding;
        let field = magnitude >> layout.mantissa;
        let implicit = u64::from(field != 0) << layout.mantissa;
        let significand = (magnitude & ((1 << layout.mantissa) - 1) | implicit) as i64;
        let exponent = field.max(1) as i32 - 1 + layout.min_exponent;
        let negative = bits & self.sign() != 0;
        (if negative { -significand } else { significand }, exponent, layout.mantissa)
    }

    /// The value rounded into this format. Magnitudes past the largest finite one become infinity
    /// or that one as IEEE 754 has it for the direction; in [`Format::E4m3`] NaN stands for
    /// infinity. NaN becomes the canonical NaN; `f64` is returned as it is.
    #[must_use]
    pub fn encode(self, value: f64, rounding: Rounding) -> u64 {
        if self == Format::F64 {
            return value.to_bits();
        }
        if value.is_nan() {
            return self.nan();
        }
        let layout = Layout::of(self);
        let bits = value.to_bits();
        let negative = bits >> 63 != 0;
        let sign = if negative { self.sign() } else { 0 };
        let field = ((bits >> 52) & 0x7ff) as i32;
        // A NaN that stands for infinity is canonical too, without a sign.
        let infinite = if self == Format::E4m3 {
            layout.nan
        } else {
            sign | (layout.infinity << layout.padding)
        };
        if field == 0x7ff {
            return infinite;
        }
        let fraction = bits & ((1 << 52) - 1);
        let (significand, exponent) =
            if field == 0 { (fraction, -1022) } else { (fraction | (1 << 52), field - 1023) };
        // The last place kept has the weight 2^(max(exponent, min_exponent) - mantissa).
        let below = layout.min_exponent - exponent;
        let shift = 52 - layout.mantissa + below.max(0) as u32;
        let shift = shift.min(63);
        let kept = significand >> shift;
        let rest = significand & ((1 << shift) - 1);
        let kept =
            kept + u64::from(rounding.grows(negative, kept & 1 == 1, rest, 1 << (shift - 1)));
        // A carry out of the mantissa raises the exponent by itself, also out of the subnormals.
        let magnitude = if below > 0 {
            kept
        } else {
            kept + (((exponent - layout.min_exponent) as u64) << layout.mantissa)
        };
        if magnitude <= layout.max {
            sign | (magnitude << layout.padding)
        } else if rounding.overflows(negative) {
            infinite
        } else {
            sign | self.max_finite()
        }
    }
}
