//! `f16` and `bf16`, single and in pairs.

use crate::kernel::Form;
use crate::values::Kind::{Bf16, Bf16x2, F16, F16x2};

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
