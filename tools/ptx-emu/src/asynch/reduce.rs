//! What bulk reductions do to one element (PTX ISA, "cp.reduce.async.bulk" and
//! "cp.reduce.async.bulk.tensor").

use crate::ast::Type;
use crate::num::{Format, Mode, double, narrow, order, single};

/// A reduction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reduction {
    /// Sum; integers wrap around, floating-point sums round to nearest even.
    Add,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// One more, or zero where the element has reached the operand.
    Increment,
    /// One less, or the operand where the element is zero or above the operand.
    Decrement,
    /// Bitwise.
    And,
    /// Bitwise.
    Or,
    /// Bitwise.
    Xor,
}

/// A reduction on elements of a type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Reduce {
    operation: Reduction,
    ty: Type,
}

impl Reduce {
    /// The reduction, where it is defined on the type.
    pub(crate) fn new(operation: Reduction, ty: Type) -> Option<Self> {
        let defined = match operation {
            Reduction::Add => matches!(
                ty,
                Type::U32
                    | Type::S32
                    | Type::U64
                    | Type::S64
                    | Type::F16
                    | Type::Bf16
                    | Type::F32
                    | Type::F64
            ),
            Reduction::Min | Reduction::Max => {
                matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64 | Type::F16 | Type::Bf16)
            }
            Reduction::Increment | Reduction::Decrement => ty == Type::U32,
            Reduction::And | Reduction::Or | Reduction::Xor => {
                matches!(ty, Type::B32 | Type::B64 | Type::U32 | Type::S32 | Type::U64 | Type::S64)
            }
        };
        defined.then_some(Self { operation, ty })
    }

    /// Bytes of an element: 2, 4 or 8.
    pub(crate) fn bytes(self) -> u32 {
        self.ty.bytes()
    }

    /// The element after the reduction; bits above the type's width are zero.
    pub(crate) fn apply(self, old: u64, value: u64) -> u64 {
        let format = match self.ty {
            Type::F16 => Some(Format::F16),
            Type::Bf16 => Some(Format::Bf16),
            Type::F32 => Some(Format::F32),
            Type::F64 => Some(Format::F64),
            _ => None,
        };
        match format {
            Some(format) => self.apply_float(format, old, value),
            None => self.apply_integer(old, value),
        }
    }

    fn apply_float(self, format: Format, old: u64, value: u64) -> u64 {
        let choice = order::Choice { propagate_nan: false, xorsign_abs: false, ftz: false };
        match (self.operation, format) {
            (Reduction::Min, _) => order::min(format, old, value, choice),
            (Reduction::Max, _) => order::max(format, old, value, choice),
            // What was there is the right summand: of two NaNs it is the one that stays.
            (_, Format::F64) => double::add(value, old, Mode::NEAREST.rounding),
            // Sums in global memory flush subnormal values of this type, and of this type only.
            (_, Format::F32) => {
                let mode = Mode { ftz: true, ..Mode::NEAREST };
                u64::from(single::add(old as u32, value as u32, mode))
            }
            _ => narrow::add(format, old, value, Mode::NEAREST),
        }
    }

    fn apply_integer(self, old: u64, value: u64) -> u64 {
        let bits = self.ty.bits();
        let mask = u64::MAX >> (64 - bits);
        let signed = |bits_of: u64| (bits_of << (64 - bits)).cast_signed() >> (64 - bits);
        let smaller = if self.ty.is_signed() { signed(old) <= signed(value) } else { old <= value };
        let result = match self.operation {
            Reduction::Add => old.wrapping_add(value),
            Reduction::Min => {
                if smaller {
                    old
                } else {
                    value
                }
            }
            Reduction::Max => {
                if smaller {
                    value
                } else {
                    old
                }
            }
            Reduction::Increment => {
                if old >= value {
                    0
                } else {
                    old + 1
                }
            }
            Reduction::Decrement => {
                if old == 0 || old > value {
                    value
                } else {
                    old - 1
                }
            }
            Reduction::And => old & value,
            Reduction::Or => old | value,
            Reduction::Xor => old ^ value,
        };
        result & mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(operation: Reduction, ty: Type, old: u64, value: u64) -> u64 {
        Reduce::new(operation, ty).unwrap().apply(old, value)
    }

    #[test]
    fn integers() {
        assert_eq!(apply(Reduction::Add, Type::U32, 0xffff_ffff, 2), 1);
        assert_eq!(apply(Reduction::Min, Type::S32, 0xffff_ffff, 2), 0xffff_ffff);
        assert_eq!(apply(Reduction::Min, Type::U32, 0xffff_ffff, 2), 2);
        assert_eq!(apply(Reduction::Max, Type::S64, u64::MAX, 2), 2);
        assert_eq!(apply(Reduction::Increment, Type::U32, 3, 3), 0);
        assert_eq!(apply(Reduction::Increment, Type::U32, 2, 3), 3);
        assert_eq!(apply(Reduction::Decrement, Type::U32, 0, 3), 3);
        assert_eq!(apply(Reduction::Decrement, Type::U32, 4, 3), 3);
        assert_eq!(apply(Reduction::Decrement, Type::U32, 2, 3), 1);
        assert_eq!(apply(Reduction::Xor, Type::B64, 6, 3), 5);
    }

    #[test]
    fn floats() {
        let f32_sum = apply(
            Reduction::Add,
            Type::F32,
            u64::from(1.5f32.to_bits()),
            u64::from(2.25f32.to_bits()),
        );
        assert_eq!(f32_sum, u64::from(3.75f32.to_bits()));
        // Subnormal f32 values count as zero, subnormal f16 values do not.
        assert_eq!(apply(Reduction::Add, Type::F32, 1, 0), 0);
        assert_eq!(apply(Reduction::Add, Type::F16, 1, 1), 2);
        assert_eq!(apply(Reduction::Max, Type::F16, 0x3c00, 0x4000), 0x4000);
        assert_eq!(apply(Reduction::Min, Type::Bf16, 0xbf80, 0x3f80), 0xbf80);
    }

    #[test]
    fn what_is_not_defined() {
        assert!(Reduce::new(Reduction::Increment, Type::S32).is_none());
        assert!(Reduce::new(Reduction::Min, Type::F32).is_none());
        assert!(Reduce::new(Reduction::And, Type::F32).is_none());
    }
}
