//! `mapa`, `getctarank`: addresses in the shared memory of the CTAs of a cluster; and
//! `griddepcontrol`: decoding.
//!
//! PTX ISA, "Data Movement and Conversion Instructions: mapa, getctarank", "Parallel
//! Synchronization and Communication Instructions: griddepcontrol".

use crate::ast::{Instruction, Type};
use crate::error::{ParseError, Problem};
use crate::machine::registers::{Slot, Source};
use crate::program::{Address, Decoder, Scope};

use super::window::Window;

/// An instruction of the family.
#[derive(Debug, Clone)]
pub(crate) enum ClusterOp {
    /// `mapa`: the address of the same variable in the CTA of that rank.
    Map { to: Slot, address: Address, rank: Source, window: Window },
    /// `getctarank`.
    Rank { to: Slot, address: Address, window: Window },
    /// `griddepcontrol`: nothing, for there is no other grid.
    GridDependency,
}

/// Decodes an instruction of this family.
pub(crate) fn decode(
    instruction: &Instruction,
    scope: &Scope<'_>,
) -> Result<ClusterOp, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    match instruction.opcode.as_str() {
        "mapa" => {
            let (window, ty) = window_and_type(&mut d)?;
            d.finish(3..=3)?;
            let rank = d.source(2, Type::U32)?;
            Ok(ClusterOp::Map { to: d.destination(0, ty)?, address: d.address(1)?, rank, window })
        }
        "getctarank" => {
            let (window, _) = window_and_type(&mut d)?;
            d.finish(2..=2)?;
            let to = d.destination(0, Type::U32)?;
            Ok(ClusterOp::Rank { to, address: d.address(1)?, window })
        }
        "griddepcontrol" => {
            d.required(&[("launch_dependents", ()), ("wait", ())])?;
            d.finish(0..=0)?;
            Ok(ClusterOp::GridDependency)
        }
        other => Err(d.error(Problem::UnknownOpcode(other.to_owned()))),
    }
}

fn window_and_type(d: &mut Decoder<'_>) -> Result<(Window, Type), ParseError> {
    let window = if d.take("shared::cluster") { Window::Cluster } else { Window::Generic };
    Ok((window, d.ty_of(&[Type::U32, Type::U64])?))
}
