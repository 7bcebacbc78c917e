//! `membar` and `fence`, but for fences between proxies.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: membar, fence". A fence
//! makes what the thread read with strong loads before known, and lets its strong stores after it
//! tell what it did before ("Memory Consistency Model: Release and acquire patterns"). Sequential
//! consistency needs no more here: clusters see each other's accesses in one order.

use super::Flow;
use crate::ast::Instruction;
use crate::error::ParseError;
use crate::machine::Warp;
use crate::memory::published::Reach;
use crate::program::{Decoder, Scope};

/// A memory fence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fence {
    reach: Reach,
}

/// Decodes `membar.level`, and `fence` where no `proxy` or `mbarrier_init` follows.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Fence, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let reach = if instruction.opcode == "membar" {
        d.required(&[("cta", Reach::Cta), ("gl", Reach::Gpu), ("sys", Reach::Gpu)])?
    } else {
        d.choice(&[("sc", ()), ("acq_rel", ()), ("acquire", ()), ("release", ())]);
        d.required(&super::memory::SCOPES)?
    };
    d.finish(0..=0)?;
    Ok(Fence { reach })
}

impl Fence {
    /// Executes it for the lanes in `mask`.
    pub(super) fn execute(self, warp: &mut Warp, mask: u32) -> Flow {
        warp.clock.fence(mask, self.reach);
        Flow::Next
    }
}
