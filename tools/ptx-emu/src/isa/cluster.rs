//! `mapa`, `getctarank`: addresses in the shared memory of the CTAs of a cluster; and
//! `griddepcontrol`.
//!
//! PTX ISA, "Data Movement and Conversion Instructions: mapa, getctarank", "Parallel
//! Synchronization and Communication Instructions: griddepcontrol".

use super::Flow;
use super::window::{Window, value};
use crate::ast::{self, Instruction, Type};
use crate::error::{ParseError, Problem as ParseProblem};
use crate::machine::registers::{Slot, Source};
use crate::machine::{Cluster, Warp, lanes};
use crate::memory::{Space, from_generic, shared_address, shared_of, space_of, to_generic};
use crate::program::{Address, Decoder, Scope};
use crate::report::{Problem, Stop};

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
        other => Err(d.error(ParseProblem::UnknownOpcode(other.to_owned()))),
    }
}

fn window_and_type(d: &mut Decoder<'_>) -> Result<(Window, Type), ParseError> {
    let window = if d.take("shared::cluster") { Window::Cluster } else { Window::Generic };
    Ok((window, d.ty_of(&[Type::U32, Type::U64])?))
}

impl ClusterOp {
    /// Executes the instruction for the lanes in `mask`.
    pub(crate) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        for lane in lanes(mask) {
            let at = |problem: Problem| problem.at(lane as u32);
            match self {
                Self::Map { to, address, rank, window } => {
                    let (_, offset) = place(warp, address, *window, lane).map_err(at)?;
                    let rank = value(warp, *rank, lane);
                    let there_are = cluster.ctas.len() as u32;
                    if rank >= there_are {
                        let what = format!("CTA {rank} of a cluster of {there_are}");
                        return Err(at(Problem::Operand { what }));
                    }
                    let mapped = shared_address(rank, offset);
                    let mapped = match window {
                        Window::Cluster => mapped,
                        _ => to_generic(Space::SharedCluster, mapped),
                    };
                    warp.registers.set(*to, lane, mapped);
                }
                Self::Rank { to, address, window } => {
                    let (rank, _) = place(warp, address, *window, lane).map_err(at)?;
                    warp.registers.set(*to, lane, u64::from(rank));
                }
                Self::GridDependency => {}
            }
        }
        Ok(Flow::Next)
    }
}

/// The CTA and the offset that a shared address means, whether there is memory or not.
fn place(
    warp: &Warp,
    address: &Address,
    window: Window,
    lane: usize,
) -> Result<(u32, u32), Problem> {
    let bits = window.bits(warp, address, lane);
    let names_shared = address.space == Some(ast::Space::Shared);
    if window == Window::Cluster || names_shared {
        return Ok(shared_of(bits & 0xFFFF_FFFF));
    }
    if space_of(bits) != Space::SharedCluster {
        let what = format!("generic address {bits:#x} is not in shared memory");
        return Err(Problem::Operand { what });
    }
    Ok(shared_of(from_generic(Space::SharedCluster, bits)))
}
