//! Control flow: `bra`, `brx.idx`, `ret`, `exit`, `trap`, `brkpt`, `nanosleep`.
//!
//! PTX ISA, "Control Flow Instructions" and "Miscellaneous Instructions".

use super::Flow;
use crate::ast::{Instruction, Type};
use crate::error::{ParseError, Problem as ParseProblem};
use crate::machine::registers::Source;
use crate::machine::{Cluster, Warp, lanes};
use crate::program::{Decoder, Scope};
use crate::report::{Problem, Stop};

/// A control-flow instruction.
#[derive(Debug, Clone)]
pub(crate) enum Control {
    /// `bra`.
    Branch {
        /// Index of the instruction to go to.
        target: u32,
    },
    /// `brx.idx`.
    Indexed {
        /// Which of the targets.
        index: Source,
        /// Indices of instructions.
        targets: Vec<u32>,
    },
    /// `exit`, and the `ret` of a kernel; those of functions are gone where these are called.
    Exit,
    /// `trap`, and `brkpt`, which without a debugger is one.
    Trap,
    /// `nanosleep`.
    Sleep,
}

/// Decodes an instruction of this family.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Control, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    match instruction.opcode.as_str() {
        "bra" => {
            d.take("uni");
            d.finish(1..=1)?;
            match d.targets(0)?[..] {
                [target] => Ok(Control::Branch { target }),
                _ => d.wrong(0, "one label"),
            }
        }
        "brx" => {
            d.expect("idx")?;
            d.take("uni");
            d.finish(2..=2)?;
            Ok(Control::Indexed { index: d.source(0, Type::U32)?, targets: d.targets(1)? })
        }
        "ret" => {
            d.take("uni");
            d.finish(0..=0)?;
            Ok(Control::Exit)
        }
        "exit" => {
            d.finish(0..=0)?;
            Ok(Control::Exit)
        }
        "trap" | "brkpt" => {
            d.finish(0..=0)?;
            Ok(Control::Trap)
        }
        "nanosleep" => {
            d.expect("u32")?;
            d.finish(1..=1)?;
            d.source(0, Type::U32)?;
            Ok(Control::Sleep)
        }
        other => Err(d.error(ParseProblem::UnknownOpcode(other.to_owned()))),
    }
}

impl Control {
    /// Executes it for the lanes in `mask`.
    ///
    /// # Errors
    /// `trap`, and an index without a target.
    pub(super) fn execute(
        &self,
        warp: &mut Warp,
        _cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        match self {
            Self::Branch { target } => Ok(Flow::Jump(*target)),
            Self::Indexed { index, targets } => {
                let index = warp.registers.load(*index);
                let mut to = Box::new([0; 32]);
                for lane in lanes(mask) {
                    let wanted = index[lane];
                    let target = usize::try_from(wanted).ok().and_then(|i| targets.get(i));
                    to[lane] = *target.ok_or_else(|| {
                        let n = targets.len();
                        Problem::Operand { what: format!("index {wanted} into {n} branch targets") }
                            .at(lane as u32)
                    })?;
                }
                Ok(Flow::Scatter(to))
            }
            Self::Exit => Ok(Flow::Exit),
            Self::Trap => Err(Problem::Trap.at(mask.trailing_zeros())),
            Self::Sleep => Ok(Flow::Yield),
        }
    }
}
