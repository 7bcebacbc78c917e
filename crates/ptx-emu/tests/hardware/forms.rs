//! Instructions from registers to registers, family by family.

use crate::case::{Format, Judged};
use crate::kernel::Form;
use crate::values::Kind::{
    self, Bf16, Bf16x2, Byte, E4m3x2, E5m2x2, F16, F16x2, F32, F64, I16, I32, I64, Pred, Small,
};

const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];

fn integer_kind(name: &str) -> Kind {
    match &name[1..] {
        "16" => I16,
        "32" => I32,
        _ => I64,
    }
}

/// Whether all values of an integer type are values of another.
fn fits(from: &str, to: &str) -> bool {
    let bits = |name: &str| name[1..].parse::<u32>().unwrap();
    from == to || bits(from) < bits(to) && (from.starts_with('u') || to.starts_with('s'))
}

/// Twice as wide.
fn wide(kind: Kind) -> Kind {
    if kind == I16 { I32 } else { I64 }
}

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

pub(crate) fn half() -> Vec<Form> {
    let mut forms = Vec::new();
    for (name, x, full) in [
        ("f16", F16, true),
        ("f16x2", F16x2, true),
        ("bf16", Bf16, false),
        ("bf16x2", Bf16x2, false),
    ] {
        let flushes: &[&str] = if full { &["", ".ftz"] } else { &[""] };
        for flush in flushes {
            for op in ["add", "sub", "mul"] {
                forms.push(Form::new(&format!("{op}.rn{flush}.{name}"), x, &[x, x]));
                if full {
                    forms.push(Form::new(&format!("{op}.rn{flush}.sat.{name}"), x, &[x, x]));
                }
            }
            forms.push(Form::new(&format!("fma.rn{flush}.{name}"), x, &[x, x, x]));
            forms.push(Form::new(&format!("fma.rn{flush}.relu.{name}"), x, &[x, x, x]));
            if full {
                forms.push(Form::new(&format!("fma.rn{flush}.sat.{name}"), x, &[x, x, x]));
            }
            for op in ["abs", "neg"] {
                forms.push(Form::new(&format!("{op}{flush}.{name}"), x, &[x]));
            }
            for op in ["min", "max"] {
                for flags in ["", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"] {
                    forms.push(Form::new(&format!("{op}{flush}{flags}.{name}"), x, &[x, x]));
                }
            }
        }
    }
    forms
}

pub(crate) fn compare() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut set = |types: &[&str], kind: Kind, comparisons: &[&str]| {
        for name in types {
            for comparison in comparisons {
                forms.push(Form::new(&format!("setp.{comparison}.{name}"), Pred, &[kind, kind]));
            }
        }
    };
    let ordered = ["eq", "ne", "lt", "le", "gt", "ge"];
    set(&["s16", "u16"], I16, &ordered);
    set(&["s32", "u32"], I32, &ordered);
    set(&["s64", "u64"], I64, &ordered);
    set(&["u32"], I32, &["lo", "ls", "hi", "hs"]);
    set(&["b64"], I64, &["eq", "ne"]);
    let float = [
        "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
    ];
    set(&["f32"], F32, &float);
    set(&["f64"], F64, &float);
    set(&["f16"], F16, &float);
    set(&["bf16"], Bf16, &float);
    for op in ["and", "or", "xor"] {
        forms.push(Form::lines(
            &format!("setp.lt.{op}.s32 p|q"),
            &[Pred, Pred],
            &[I32, I32, Pred],
            &format!("setp.lt.{op}.s32 %o0|%o1, %i0, %i1, %i2;"),
        ));
    }
    forms.push(Form::lines(
        "setp.ge.f16x2 p|q",
        &[Pred, Pred],
        &[F16x2, F16x2],
        "setp.ge.f16x2 %o0|%o1, %i0, %i1;",
    ));
    forms.push(Form::new("setp.lt.ftz.f32", Pred, &[F32, F32]));
    forms.push(Form::new("set.gt.u32.f32", I32, &[F32, F32]));
    forms.push(Form::new("set.le.f32.s32", F32, &[I32, I32]));
    forms.push(Form::new("set.ltu.f16x2.f16x2", F16x2, &[F16x2, F16x2]));
    forms.push(Form::new("set.ge.bf16x2.bf16x2", Bf16x2, &[Bf16x2, Bf16x2]));
    forms
}

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

pub(crate) fn warp() -> Vec<Form> {
    let mut forms = Vec::new();
    for mode in ["up", "down", "bfly", "idx"] {
        for clamp in ["0x0", "0x1f", "0x181f", "0x1807"] {
            forms.push(Form::lines(
                &format!("shfl.sync.{mode} {clamp}"),
                &[I32, Pred],
                &[I32, Small],
                &format!("shfl.sync.{mode}.b32 %o0|%o1, %i0, %i1, {clamp}, -1;"),
            ));
        }
    }
    for mode in ["all", "any", "uni"] {
        forms.push(Form::lines(
            &format!("vote.sync.{mode}.pred"),
            &[Pred],
            &[Pred],
            &format!("vote.sync.{mode}.pred %o0, %i0, -1;"),
        ));
    }
    forms.push(Form::lines(
        "vote.sync.ballot.b32",
        &[I32],
        &[Pred],
        "vote.sync.ballot.b32 %o0, %i0, -1;",
    ));
    forms.push(Form::lines(
        "match.any.sync.b32",
        &[I32],
        &[Small],
        "match.any.sync.b32 %o0, %i0, -1;",
    ));
    forms.push(Form::lines(
        "match.all.sync.b32",
        &[I32, Pred],
        &[Small],
        "match.all.sync.b32 %o0|%o1, %i0, -1;",
    ));
    for op in [
        "add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32",
        "xor.b32",
    ] {
        forms.push(Form::lines(
            &format!("redux.sync.{op}"),
            &[I32],
            &[I32],
            &format!("redux.sync.{op} %o0, %i0, -1;"),
        ));
    }
    forms.push(Form::lines("elect.sync", &[I32, Pred], &[], "elect.sync %o0|%o1, -1;"));
    forms
}
