//! From a function of one lane to an operation on all lanes of a mask.
//!
//! Each helper takes the function by type, so that its loop over the lanes is compiled for it alone
//! and vectorized where it can be.

use super::Op;
use crate::machine::registers::{Condition, Predicate, Registers, Row, Slot, Source};

/// With at most this many lanes, one by one beats all at once.
const FEW: u32 = 4;

/// A value of a lane: how it lies in a row.
pub(super) trait Lane: Copy + Send + Sync + 'static {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! lane {
    ($($ty:ty => $unsigned:ty),*) => {
        $(impl Lane for $ty {
            #[inline(always)]
            fn of(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
        })*
    };
}

lane!(u8 => u8, i8 => u8, u16 => u16, i16 => u16, u32 => u32, i32 => u32, u64 => u64, i64 => u64);

/// What a function of one lane has to be to be kept in a program.
pub(super) trait Kept: Copy + Send + Sync + 'static {}
impl<T: Copy + Send + Sync + 'static> Kept for T {}

/// A computation on the registers of the lanes in a mask, compiled for the processor's vectors.
macro_rules! vectorized {
    (|$registers:ident, $mask:ident| $body:expr) => {
        $crate::isa::Op::Data($crate::vectors::either!(
            |$registers: &mut $crate::machine::registers::Registers, $mask: u32| $body
        ))
    };
}
pub(super) use vectorized;

/// `to = f(a)`.
pub(super) fn unary<A: Lane, T: Lane>(to: Slot, a: Source, f: impl Fn(A) -> T + Kept) -> Op {
    match a {
        Source::Slot(a) => vectorized!(|registers, mask| {
            if mask.count_ones() <= FEW {
                each(mask, |lane| {
                    let value = f(A::of(registers.row(a)[lane]));
                    registers.set(to, lane, value.bits());
                });
                return;
            }
            let mut out: Row = [0; 32];
            for (out, a) in out.iter_mut().zip(registers.row(a)) {
                *out = f(A::of(*a)).bits();
            }
            registers.store(to, &out, mask);
        }),
        Source::Constant(a) => constant(to, f(A::of(a)).bits()),
    }
}

/// `to = f(a, b)`.
pub(super) fn binary<A: Lane, B: Lane, T: Lane>(
    to: Slot,
    a: Source,
    b: Source,
    f: impl Fn(A, B) -> T + Kept,
) -> Op {
    match (a, b) {
        (Source::Slot(a), Source::Slot(b)) => vectorized!(|registers, mask| {
            if mask.count_ones() <= FEW {
                each(mask, |lane| {
                    let (a, b) = (registers.row(a)[lane], registers.row(b)[lane]);
                    registers.set(to, lane, f(A::of(a), B::of(b)).bits());
                });
                return;
            }
            let mut out: Row = [0; 32];
            for (out, (a, b)) in out.iter_mut().zip(registers.row(a).iter().zip(registers.row(b))) {
                *out = f(A::of(*a), B::of(*b)).bits();
            }
            registers.store(to, &out, mask);
        }),
        (_, Source::Constant(b)) => {
            let b = B::of(b);
            unary(to, a, move |a: A| f(a, b))
        }
        (Source::Constant(a), _) => {
            let a = A::of(a);
            unary(to, b, move |b: B| f(a, b))
        }
    }
}

/// `to = f(a, b, c)`.
pub(super) fn ternary<A: Lane, B: Lane, C: Lane, T: Lane>(
    to: Slot,
    a: Source,
    b: Source,
    c: Source,
    f: impl Fn(A, B, C) -> T + Kept,
) -> Op {
    if let (Source::Slot(a), Source::Slot(b), Source::Slot(c)) = (a, b, c) {
        return vectorized!(|registers, mask| {
            if mask.count_ones() <= FEW {
                each(mask, |lane| {
                    let [a, b, c] = [a, b, c].map(|slot| registers.row(slot)[lane]);
                    registers.set(to, lane, f(A::of(a), B::of(b), C::of(c)).bits());
                });
                return;
            }
            let mut out: Row = [0; 32];
            let (a, b, c) = (registers.row(a), registers.row(b), registers.row(c));
            for (out, (a, (b, c))) in out.iter_mut().zip(a.iter().zip(b.iter().zip(c))) {
                *out = f(A::of(*a), B::of(*b), C::of(*c)).bits();
            }
            registers.store(to, &out, mask);
        });
    }
    vectorized!(|registers, mask| {
        if mask.count_ones() <= FEW {
            each(mask, |lane| {
                let [a, b, c] = [a, b, c].map(|source| registers.value(source, lane));
                registers.set(to, lane, f(A::of(a), B::of(b), C::of(c)).bits());
            });
            return;
        }
        let (a, b, c) = (registers.load(a), registers.load(b), registers.load(c));
        let mut out: Row = [0; 32];
        for (out, (a, (b, c))) in out.iter_mut().zip(a.iter().zip(b.iter().zip(&c))) {
            *out = f(A::of(*a), B::of(*b), C::of(*c)).bits();
        }
        registers.store(to, &out, mask);
    })
}

/// The lanes in which `f(a, b)` holds.
#[inline(always)]
pub(super) fn compare<A: Lane>(
    registers: &Registers,
    a: Source,
    b: Source,
    f: impl Fn(A, A) -> bool,
) -> u32 {
    let mut lanes = 0;
    match (a, b) {
        (Source::Slot(a), Source::Slot(b)) => {
            let (a, b) = (registers.row(a), registers.row(b));
            for (lane, (a, b)) in a.iter().zip(b).enumerate() {
                lanes |= u32::from(f(A::of(*a), A::of(*b))) << lane;
            }
        }
        (Source::Slot(a), Source::Constant(b)) => {
            let b = A::of(b);
            for (lane, a) in registers.row(a).iter().enumerate() {
                lanes |= u32::from(f(A::of(*a), b)) << lane;
            }
        }
        (Source::Constant(a), _) => {
            let a = A::of(a);
            for (lane, b) in registers.load(b).iter().enumerate() {
                lanes |= u32::from(f(a, A::of(*b))) << lane;
            }
        }
    }
    lanes
}

/// `to = bits`.
pub(super) fn constant(to: Slot, bits: u64) -> Op {
    vectorized!(|registers, mask| registers.store(to, &[bits; 32], mask))
}

/// `to = if condition { a } else { b }`.
pub(super) fn select(to: Slot, a: Source, b: Source, condition: Condition) -> Op {
    vectorized!(|registers, mask| {
        let taken = registers.condition(condition);
        let (a, b) = (registers.load(a), registers.load(b));
        let mut out: Row = [0; 32];
        for (lane, (out, (a, b))) in out.iter_mut().zip(a.iter().zip(&b)).enumerate() {
            *out = if taken >> lane & 1 == 1 { *a } else { *b };
        }
        registers.store(to, &out, mask);
    })
}

/// A sum of three with carries: `f` gives the result and the carry out.
pub(super) fn carried(
    to: Slot,
    [a, b, c]: [Source; 3],
    carry: Predicate,
    takes: bool,
    gives: bool,
    f: impl Fn(u64, u64, u64, bool) -> (u64, bool) + Kept,
) -> Op {
    Op::data(move |registers, mask| {
        let carries = if takes { registers.predicate(carry) } else { 0 };
        let mut out = 0;
        each(mask, |lane| {
            let [a, b, c] = [a, b, c].map(|source| registers.value(source, lane));
            let (value, carry) = f(a, b, c, carries >> lane & 1 == 1);
            registers.set(to, lane, value);
            out |= u32::from(carry) << lane;
        });
        if gives {
            registers.set_predicate(carry, out, mask);
        }
    })
}

/// Runs `f` for each lane of a mask.
#[inline(always)]
pub(super) fn each(mask: u32, mut f: impl FnMut(usize)) {
    let mut left = mask;
    while left != 0 {
        f(left.trailing_zeros() as usize);
        left &= left - 1;
    }
}

/// Runs an expression with `$T` as the Rust type of an integer type.
macro_rules! by_integer {
    ($d:expr, $ty:expr, $T:ident => $body:expr) => {{
        use crate::ast::Type;
        match $ty {
            Type::U8 | Type::B8 => {
                type $T = u8;
                Ok($body)
            }
            Type::S8 => {
                type $T = i8;
                Ok($body)
            }
            Type::U16 | Type::B16 => {
                type $T = u16;
                Ok($body)
            }
            Type::S16 => {
                type $T = i16;
                Ok($body)
            }
            Type::U32 | Type::B32 => {
                type $T = u32;
                Ok($body)
            }
            Type::S32 => {
                type $T = i32;
                Ok($body)
            }
            Type::U64 | Type::B64 => {
                type $T = u64;
                Ok($body)
            }
            Type::S64 => {
                type $T = i64;
                Ok($body)
            }
            other => $d.unsupported(format!("type {other}")),
        }
    }};
}
pub(super) use by_integer;
