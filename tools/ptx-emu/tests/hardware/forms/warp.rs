//! Between the lanes of a warp.

use crate::kernel::Form;
use crate::values::Kind::{I32, Pred, Small};

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
