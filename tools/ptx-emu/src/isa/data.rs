//! Which family an instruction that computes registers from registers belongs to.

use super::{Op, compare, convert, float, half, integer, logic, select};
use crate::ast::Instruction;
use crate::error::{ParseError, Problem};
use crate::program::Scope;

/// Decodes an instruction that only reads and writes registers, by its opcode and type.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Op, ParseError> {
    let family = match instruction.opcode.as_str() {
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "abs" | "neg" | "min" | "max" | "ex2"
        | "tanh" => match instruction.modifiers.last().map(String::as_str) {
            Some("f32" | "f64") => float::decode,
            Some("f16" | "f16x2" | "bf16" | "bf16x2") => half::decode,
            _ => integer::decode,
        },
        "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "copysign" | "testp" => float::decode,
        "addc" | "subc" | "madc" | "mul24" | "mad24" | "sad" | "rem" | "dp4a" | "dp2a" | "popc"
        | "clz" | "bfind" | "brev" | "bfe" | "bfi" | "fns" | "bmsk" | "szext" => integer::decode,
        "setp" | "set" => compare::decode,
        "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" => logic::decode,
        "mov" | "selp" | "slct" | "prmt" | "cvta" | "isspacep" => select::decode,
        "cvt" => convert::decode,
        other => {
            let problem = Problem::UnknownOpcode(other.to_owned());
            return Err(ParseError::new(instruction.line, &instruction.text, problem));
        }
    };
    family(instruction, scope)
}
