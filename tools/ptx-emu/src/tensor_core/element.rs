//! The types of multiplicands and accumulators.

use crate::num::Format;

/// A multiplicand's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// `.f16`
    F16,
    /// `.bf16`
    Bf16,
    /// `.tf32`: 32 bits of which the lower 13 are ignored.
    Tf32,
    /// `.e4m3`
    E4m3,
    /// `.e5m2`
    E5m2,
    /// `.s8`
    S8,
    /// `.u8`
    U8,
}

impl Element {
    /// Bytes an element takes in memory and registers: 1, 2 or 4.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Element::Tf32 => 4,
            Element::F16 | Element::Bf16 => 2,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 1,
        }
    }

    /// The floating-point format; none for integers.
    #[must_use]
    pub const fn format(self) -> Option<Format> {
        match self {
            Element::F16 => Some(Format::F16),
            Element::Bf16 => Some(Format::Bf16),
            Element::Tf32 => Some(Format::Tf32),
            Element::E4m3 => Some(Format::E4m3),
            Element::E5m2 => Some(Format::E5m2),
            Element::S8 | Element::U8 => None,
        }
    }

    /// Whether it is one of the two 8-bit floating-point types, which mix freely.
    #[must_use]
    pub const fn is_fp8(self) -> bool {
        matches!(self, Element::E4m3 | Element::E5m2)
    }

    /// The integer an 8-bit integer element stands for.
    #[must_use]
    pub(crate) const fn integer(self, bits: u32) -> i16 {
        match self {
            Element::S8 => bits as u8 as i8 as i16,
            _ => bits as u8 as i16,
        }
    }
}

/// An accumulator's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accumulator {
    /// `.f16`, two to a register.
    F16,
    /// `.f32`
    F32,
    /// `.s32`
    S32,
}

impl Accumulator {
    /// Elements in a register: 1 or 2.
    #[must_use]
    pub const fn per_register(self) -> u32 {
        match self {
            Accumulator::F16 => 2,
            Accumulator::F32 | Accumulator::S32 => 1,
        }
    }
}
