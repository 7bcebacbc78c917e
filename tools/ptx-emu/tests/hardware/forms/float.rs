//! `f32` and `f64`, exact and approximate.

use super::ROUNDINGS;
use crate::case::{Format, Judged};
use crate::kernel::Form;
use crate::values::Kind::{Bf16, F16, F32, F64, Pred};

pub(crate) fn float() -> Vec<Form> {
    let mut forms = Vec::new();
    for rounding in ROUNDINGS {
        for flush in ["", ".ftz"] {
            for sat in ["", ".sat"] {
                for op in ["add", "sub", "mul"] {
                    let opcode = format!("{op}.{rounding}{flush}{sat}.f32");
                    forms.push(Form::new(&opcode, F32, &[F32, F32]));
                }
                let opcode = format!("fma.{rounding}{flush}{sat}.f32");
                forms.push(Form::new(&opcode, F32, &[F32, F32, F32]));
            }
            forms.push(Form::new(&format!("div.{rounding}{flush}.f32"), F32, &[F32, F32]));
            forms.push(Form::new(&format!("rcp.{rounding}{flush}.f32"), F32, &[F32]));
            forms.push(Form::new(&format!("sqrt.{rounding}{flush}.f32"), F32, &[F32]));
        }
        for op in ["add", "sub", "mul", "div"] {
            forms.push(Form::new(&format!("{op}.{rounding}.f64"), F64, &[F64, F64]));
        }
        forms.push(Form::new(&format!("fma.{rounding}.f64"), F64, &[F64, F64, F64]));
        forms.push(Form::new(&format!("rcp.{rounding}.f64"), F64, &[F64]));
        forms.push(Form::new(&format!("sqrt.{rounding}.f64"), F64, &[F64]));
    }
    for op in ["min", "max"] {
        for flags in ["", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs"] {
            forms.push(Form::new(&format!("{op}{flags}.f32"), F32, &[F32, F32]));
        }
        forms.push(Form::new(&format!("{op}.f64"), F64, &[F64, F64]));
    }
    for op in ["abs", "neg"] {
        for flush in ["", ".ftz"] {
            forms.push(Form::new(&format!("{op}{flush}.f32"), F32, &[F32]));
        }
        forms.push(Form::new(&format!("{op}.f64"), F64, &[F64]));
    }
    forms.push(Form::new("copysign.f32", F32, &[F32, F32]));
    forms.push(Form::new("copysign.f64", F64, &[F64, F64]));
    for class in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        forms.push(Form::new(&format!("testp.{class}.f32"), Pred, &[F32]));
        forms.push(Form::new(&format!("testp.{class}.f64"), Pred, &[F64]));
    }
    forms
}

/// Instructions whose results the PTX ISA bounds only.
pub(crate) fn approximate() -> Vec<Form> {
    let mut forms = Vec::new();
    let f32s = |ulps| Judged::Within(Format::F32, ulps);
    for flush in ["", ".ftz"] {
        for (op, ulps) in [("rcp", 1), ("sqrt", 1), ("rsqrt", 2), ("ex2", 2)] {
            let opcode = format!("{op}.approx{flush}.f32");
            forms.push(Form::new(&opcode, F32, &[F32]).judged(f32s(ulps)));
        }
        let opcode = format!("div.full{flush}.f32");
        forms.push(Form::new(&opcode, F32, &[F32, F32]).judged(f32s(2)));
        // Divisors of 2^126 and more give 0, which others do not.
        let text = format!(
            "and.b32 %i1, %i1, 0xbfffffff;\nor.b32 %i1, %i1, 0x20000000;\n\
             div.approx{flush}.f32 %o0, %i0, %i1;"
        );
        let form = Form::lines(&format!("div.approx{flush}.f32"), &[F32], &[F32, F32], &text);
        forms.push(form.judged(f32s(2)));
        // Within 2^-20.5 and the like in the range where that is promised.
        for op in ["sin", "cos"] {
            let text = format!("and.b32 %i0, %i0, 0xbfffffff;\n{op}.approx{flush}.f32 %o0, %i0;");
            let form = Form::lines(&format!("{op}.approx{flush}.f32"), &[F32], &[F32], &text);
            forms.push(form.judged(Judged::Near(1e-6)));
        }
        let text = format!("and.b32 %i0, %i0, 0x7fffffff;\nlg2.approx{flush}.f32 %o0, %i0;");
        let form = Form::lines(&format!("lg2.approx{flush}.f32"), &[F32], &[F32], &text);
        forms.push(form.judged(Judged::Near(3e-5)));
    }
    forms.push(Form::new("tanh.approx.f32", F32, &[F32]).judged(Judged::Near(5e-4)));
    for (name, kind, format) in [("f16", F16, Format::F16), ("bf16", Bf16, Format::Bf16)] {
        let judged = Judged::Within(format, if name == "f16" { 6 } else { 1 });
        forms.push(Form::new(&format!("tanh.approx.{name}"), kind, &[kind]).judged(judged));
        let opcode = if name == "f16" { "ex2.approx.f16" } else { "ex2.approx.ftz.bf16" };
        forms.push(Form::new(opcode, kind, &[kind]).judged(Judged::Within(format, 2)));
    }
    let f64s = Judged::Within(Format::F64, 1 << 33);
    forms.push(Form::new("rcp.approx.ftz.f64", F64, &[F64]).judged(f64s));
    forms.push(Form::new("rsqrt.approx.ftz.f64", F64, &[F64]).judged(f64s));
    forms
}
