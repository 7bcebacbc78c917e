//! Instructions from registers to registers, family by family.

mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod warp;

pub(crate) use compare::compare;
pub(crate) use convert::convert;
pub(crate) use float::{approximate, float};
pub(crate) use half::half;
pub(crate) use integer::{integer, logic};
pub(crate) use warp::warp;

use crate::values::Kind::{self, I16, I32, I64};

/// The directions of rounding.
const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];

/// What holds an integer of a type such as `u32`.
fn integer_kind(name: &str) -> Kind {
    match &name[1..] {
        "16" => I16,
        "32" => I32,
        _ => I64,
    }
}
