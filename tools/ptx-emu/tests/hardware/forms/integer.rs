//! Integers and bits.

use super::integer_kind;
use crate::kernel::Form;
use crate::values::Kind::{self, Byte, F32, I16, I32, I64, Pred, Small};

pub(crate) fn integer() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |opcode: String, result: Kind, operands: &[Kind]| {
        forms.push(Form::new(&opcode, result, operands));
    };
    for name in ["u16", "s16", "u32", "s32", "u64", "s64"] {
        let x = integer_kind(name);
        for op in ["add", "sub", "mul.lo", "mul.hi", "min", "max"] {
            add(format!("{op}.{name}"), x, &[x, x]);
        }
        for op in ["mad.lo", "mad.hi"] {
            add(format!("{op}.{name}"), x, &[x, x, x]);
        }
        add(format!("sad.{name}"), x, &[x, x, x]);
        if x != I64 {
            add(format!("mul.wide.{name}"), wide(x), &[x, x]);
            add(format!("mad.wide.{name}"), wide(x), &[x, x, wide(x)]);
        }
        add(format!("shr.{name}"), x, &[x, Small]);
        if x != I16 {
            add(format!("bfe.{name}"), x, &[x, Byte, Byte]);
            add(format!("bfind.{name}"), I32, &[x]);
            add(format!("bfind.shiftamt.{name}"), I32, &[x]);
        }
        if name.starts_with('s') {
            add(format!("abs.{name}"), x, &[x]);
            add(format!("neg.{name}"), x, &[x]);
        }
    }
    for op in ["add.sat.s32", "sub.sat.s32"] {
        add(op.to_owned(), I32, &[I32, I32]);
    }
    add("mad.hi.sat.s32".to_owned(), I32, &[I32, I32, I32]);
    for op in ["mul24.lo.u32", "mul24.lo.s32", "mul24.hi.u32", "mul24.hi.s32"] {
        add(op.to_owned(), I32, &[I32, I32]);
    }
    for op in ["mad24.lo.u32", "mad24.lo.s32", "mad24.hi.u32", "mad24.hi.s32"] {
        add(op.to_owned(), I32, &[I32, I32, I32]);
    }
    for op in ["add.u16x2", "add.s16x2", "min.u16x2", "min.s16x2", "max.u16x2", "max.s16x2"] {
        add(op.to_owned(), I32, &[I32, I32]);
    }
    for op in ["min.relu.s32", "max.relu.s32", "min.relu.s16x2", "max.relu.s16x2"] {
        add(op.to_owned(), I32, &[I32, I32]);
    }
    for op in ["popc.b32", "clz.b32", "brev.b32"] {
        add(op.to_owned(), I32, &[I32]);
    }
    for op in ["popc.b64", "clz.b64"] {
        add(op.to_owned(), I32, &[I64]);
    }
    add("brev.b64".to_owned(), I64, &[I64]);
    add("bfi.b32".to_owned(), I32, &[I32, I32, Byte, Byte]);
    add("bfi.b64".to_owned(), I64, &[I64, I64, Byte, Byte]);
    add("fns.b32".to_owned(), I32, &[I32, Small, Small]);
    for op in ["dp4a.u32.u32", "dp4a.s32.s32", "dp4a.u32.s32", "dp4a.s32.u32"] {
        add(op.to_owned(), I32, &[I32, I32, I32]);
    }
    for op in ["dp2a.lo.u32.u32", "dp2a.hi.s32.s32", "dp2a.lo.u32.s32", "dp2a.hi.s32.u32"] {
        add(op.to_owned(), I32, &[I32, I32, I32]);
    }
    for mode in ["wrap", "clamp"] {
        add(format!("szext.{mode}.u32"), I32, &[I32, Small]);
        add(format!("szext.{mode}.s32"), I32, &[I32, Small]);
        add(format!("bmsk.{mode}.b32"), I32, &[Small, Small]);
    }
    // A divisor of zero has no result that is told.
    for name in ["u16", "s16", "u32", "s32", "u64", "s64"] {
        let x = integer_kind(name);
        let bits = &name[1..];
        for op in ["div", "rem"] {
            forms.push(Form::lines(
                &format!("{op}.{name}"),
                &[x],
                &[x, x],
                &format!("or.b{bits} %i1, %i1, 1;\n{op}.{name} %o0, %i0, %i1;"),
            ));
        }
    }
    for (name, size) in [("u32", I32), ("u64", I64)] {
        for (op, last) in [("add", "addc"), ("sub", "subc")] {
            forms.push(Form::lines(
                &format!("{op}.cc.{name}, {last}.cc, {last}"),
                &[size, size, size],
                &[size, size, size],
                &format!(
                    "{op}.cc.{name} %o0, %i0, %i1;\n{last}.cc.{name} %o1, %i1, %i2;\n\
                     {last}.{name} %o2, %i2, %i0;"
                ),
            ));
        }
        forms.push(Form::lines(
            &format!("mad.lo.cc.{name}, madc.hi"),
            &[size, size],
            &[size, size, size],
            &format!("mad.lo.cc.{name} %o0, %i0, %i1, %i2;\nmadc.hi.{name} %o1, %i0, %i1, %i2;"),
        ));
    }
    forms
}

pub(crate) fn logic() -> Vec<Form> {
    let mut forms = Vec::new();
    for (bits, x) in [("b16", I16), ("b32", I32), ("b64", I64)] {
        for op in ["and", "or", "xor"] {
            forms.push(Form::new(&format!("{op}.{bits}"), x, &[x, x]));
        }
        for op in ["not", "cnot"] {
            forms.push(Form::new(&format!("{op}.{bits}"), x, &[x]));
        }
        forms.push(Form::new(&format!("shl.{bits}"), x, &[x, Small]));
        forms.push(Form::new(&format!("selp.{bits}"), x, &[x, x, Pred]));
    }
    for op in ["and", "or", "xor"] {
        forms.push(Form::new(&format!("{op}.pred"), Pred, &[Pred, Pred]));
    }
    for table in [0x80, 0xf8, 0x96, 0xca, 0x1e, 0x6a] {
        forms.push(Form::lines(
            &format!("lop3.b32 {table:#x}"),
            &[I32],
            &[I32, I32, I32],
            &format!("lop3.b32 %o0, %i0, %i1, %i2, {table};"),
        ));
    }
    for op in ["shf.l.wrap.b32", "shf.l.clamp.b32", "shf.r.wrap.b32", "shf.r.clamp.b32"] {
        forms.push(Form::new(op, I32, &[I32, I32, Small]));
    }
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        forms.push(Form::new(&format!("prmt.b32{mode}"), I32, &[I32, I32, I32]));
    }
    forms.push(Form::new("slct.b32.s32", I32, &[I32, I32, I32]));
    forms.push(Form::new("slct.u64.f32", I64, &[I64, I64, F32]));
    forms.push(Form::new("slct.ftz.f32.f32", F32, &[F32, F32, F32]));
    forms
}

/// Twice as wide.
fn wide(kind: Kind) -> Kind {
    if kind == I16 { I32 } else { I64 }
}
