//! `setmaxnreg`: registers taken from and given back to the pool of the CTA.
//!
//! PTX ISA, "Miscellaneous Instructions: setmaxnreg".

use super::{Flow, Op};
use crate::ast::Instruction;
use crate::asynch::pool::{RegisterPool, registers_at_start};
use crate::error::ParseError;
use crate::machine::{Cluster, Context, WaitFor, Warp};
use crate::program::{Decoder, Scope};
use crate::report::{Problem, Stop};

/// `setmaxnreg`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetMaxRegisters {
    /// `.inc`: waits until the pool has as many.
    pub(crate) increases: bool,
    /// Registers of each thread afterwards: 24 to 256, a multiple of 8.
    pub(crate) count: u32,
}

/// Decodes the instruction.
pub(crate) fn decode(
    instruction: &Instruction,
    scope: &Scope<'_>,
) -> Result<SetMaxRegisters, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let increases = d.required(&[("inc", true), ("dec", false)])?;
    d.expect("sync")?;
    d.expect("aligned")?;
    d.expect("u32")?;
    d.finish(1..=1)?;
    let count = super::immediate(&d, 0)?;
    if !(24..=256).contains(&count) || count % 8 != 0 {
        return d.wrong(0, "a multiple of 8 from 24 to 256");
    }
    Ok(SetMaxRegisters { increases, count })
}

/// Registers of each thread at the start of a launch, where something determines them. Without
/// `.maxnreg` not more than the kernel ever asks for, since the assembler compiles for no more.
fn at_start(context: &Context) -> Option<u32> {
    let attributes = &context.kernel.attributes;
    let threads = attributes.required_threads.or(attributes.max_threads);
    let threads = threads.map(|threads| threads.iter().product());
    let asked = context.kernel.code.iter().filter_map(|code| match &code.op {
        Op::SetMaxRegisters(op) => Some(op.count),
        _ => None,
    });
    let determined = || {
        let ctas = attributes.min_ctas_per_sm;
        let start = registers_at_start(threads, attributes.max_registers, ctas)?;
        if attributes.max_registers.is_some() { Some(start) } else { Some(start.min(asked.max()?)) }
    };
    context.registers.or_else(determined)
}

impl SetMaxRegisters {
    /// Executes the instruction for a warp.
    pub(crate) fn execute(self, warp: &mut Warp, cluster: &mut Cluster) -> Result<Flow, Stop> {
        let rank = warp.rank() as usize;
        // What a CTA's pool was made with is not determined again.
        let made = cluster.ctas[rank].asynch.registers.is_some();
        let start = if made { Some(0) } else { at_start(&cluster.context) };
        let Some(start) = start else {
            let what = "the assembler ignores setmaxnreg where the kernel's registers are not \
                        determined by .maxnreg or .maxntid (for at least 256 threads, or with \
                        .minnctapersm); a launch can say how many there are"
                .to_owned();
            return Err(Problem::Operand { what }.of_warp());
        };
        let warps = cluster.context.warps_per_cta();
        let state = &mut cluster.ctas[rank].asynch;
        let pool = state.registers.get_or_insert_with(|| RegisterPool::new(warps, start));
        let held = pool.of(warp.index());
        let wrong = if self.increases { self.count < held } else { self.count > held };
        if wrong {
            let what = format!(
                "setmaxnreg.{} to {} registers, where the warp has {held}",
                if self.increases { "inc" } else { "dec" },
                self.count
            );
            return Err(Problem::Registers { what }.of_warp());
        }
        if !self.increases {
            pool.shrink(warp.index(), self.count);
            cluster.wake();
        } else if !pool.grow(warp.index(), self.count) {
            let more = self.count - held;
            return Ok(Flow::Wait(WaitFor::Registers { cta: warp.rank(), more }));
        }
        Ok(Flow::Next)
    }
}
