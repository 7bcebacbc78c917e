//! Comparisons.

use crate::kernel::Form;
use crate::values::Kind::{self, Bf16, Bf16x2, F16, F16x2, F32, F64, I16, I32, I64, Pred};

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
