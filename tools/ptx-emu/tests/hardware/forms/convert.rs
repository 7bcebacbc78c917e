//! Conversions.

use super::{ROUNDINGS, integer_kind};
use crate::kernel::Form;
use crate::values::Kind::{self, Bf16, Bf16x2, E4m3x2, E5m2x2, F16, F16x2, F32, F64, I32, I64};

pub(crate) fn convert() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |opcode: String, result: Kind, operands: &[Kind]| {
        forms.push(Form::new(&opcode, result, operands));
    };
    let integers = ["u16", "s16", "u32", "s32", "u64", "s64"];
    let floats = [("f16", F16), ("f32", F32), ("f64", F64)];
    for to in integers {
        for from in integers {
            add(format!("cvt.{to}.{from}"), integer_kind(to), &[integer_kind(from)]);
            // Only where a value may not fit.
            if !fits(from, to) {
                add(format!("cvt.sat.{to}.{from}"), integer_kind(to), &[integer_kind(from)]);
            }
        }
        for (from, kind) in floats {
            for rounding in ["rni", "rzi", "rmi", "rpi"] {
                add(format!("cvt.{rounding}.{to}.{from}"), integer_kind(to), &[kind]);
            }
            for (result, result_kind) in [(from, kind)] {
                for rounding in ROUNDINGS {
                    let opcode = format!("cvt.{rounding}.{result}.{to}");
                    add(opcode, result_kind, &[integer_kind(to)]);
                }
            }
        }
        add(format!("cvt.rzi.ftz.{to}.f32"), integer_kind(to), &[F32]);
        add(format!("cvt.rzi.{to}.bf16"), integer_kind(to), &[Bf16]);
        add(format!("cvt.rn.bf16.{to}"), Bf16, &[integer_kind(to)]);
    }
    add("cvt.f32.f16".to_owned(), F32, &[F16]);
    add("cvt.f64.f16".to_owned(), F64, &[F16]);
    add("cvt.f64.f32".to_owned(), F64, &[F32]);
    add("cvt.ftz.f64.f32".to_owned(), F64, &[F32]);
    add("cvt.f32.bf16".to_owned(), F32, &[Bf16]);
    add("cvt.sat.f32.f16".to_owned(), F32, &[F16]);
    for rounding in ROUNDINGS {
        add(format!("cvt.{rounding}.f32.f64"), F32, &[F64]);
        add(format!("cvt.{rounding}.ftz.f32.f64"), F32, &[F64]);
        add(format!("cvt.{rounding}.sat.f32.f64"), F32, &[F64]);
        add(format!("cvt.{rounding}.f16.f64"), F16, &[F64]);
        add(format!("cvt.{rounding}.f16.f32"), F16, &[F32]);
        add(format!("cvt.{rounding}.sat.f16.f32"), F16, &[F32]);
    }
    for rounding in ["rni", "rzi", "rmi", "rpi"] {
        add(format!("cvt.{rounding}.f32.f32"), F32, &[F32]);
        add(format!("cvt.{rounding}.f64.f64"), F64, &[F64]);
        add(format!("cvt.{rounding}.f16.f16"), F16, &[F16]);
        add(format!("cvt.{rounding}.sat.f32.f32"), F32, &[F32]);
        add(format!("cvt.{rounding}.ftz.f32.f32"), F32, &[F32]);
    }
    for rounding in ["rn", "rz"] {
        for relu in ["", ".relu"] {
            add(format!("cvt.{rounding}{relu}.bf16.f32"), Bf16, &[F32]);
            add(format!("cvt.{rounding}{relu}.f16x2.f32"), F16x2, &[F32, F32]);
            add(format!("cvt.{rounding}{relu}.bf16x2.f32"), Bf16x2, &[F32, F32]);
        }
    }
    add("cvt.rna.tf32.f32".to_owned(), F32, &[F32]);
    for relu in ["", ".relu"] {
        for (eight, kind) in [("e4m3x2", E4m3x2), ("e5m2x2", E5m2x2)] {
            add(format!("cvt.rn.satfinite{relu}.{eight}.f32"), kind, &[F32, F32]);
            add(format!("cvt.rn.satfinite{relu}.{eight}.f16x2"), kind, &[F16x2]);
            add(format!("cvt.rn{relu}.f16x2.{eight}"), F16x2, &[kind]);
        }
    }
    for (to, from) in [("s16", "s32"), ("u16", "s32")] {
        add(format!("cvt.pack.sat.{to}.{from}"), I32, &[I32, I32]);
    }
    for to in ["s8", "u8"] {
        add(format!("cvt.pack.sat.{to}.s32.b32"), I32, &[I32, I32, I32]);
        for from in ["s32", "u32", "s64"] {
            add(format!("cvt.sat.{to}.{from}"), I32, &[integer_kind(from)]);
            add(format!("cvt.{to}.{from}"), I32, &[integer_kind(from)]);
        }
        add(format!("cvt.rzi.{to}.f32"), I32, &[F32]);
        add(format!("cvt.s32.{to}"), I32, &[I32]);
        add(format!("cvt.u64.{to}"), I64, &[I32]);
        add(format!("cvt.rn.f32.{to}"), F32, &[I32]);
    }
    forms
}

/// Whether all values of an integer type are values of another.
fn fits(from: &str, to: &str) -> bool {
    let bits = |name: &str| name[1..].parse::<u32>().unwrap();
    from == to || bits(from) < bits(to) && (from.starts_with('u') || to.starts_with('s'))
}
