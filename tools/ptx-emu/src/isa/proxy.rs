//! `fence.proxy.*` and `fence.mbarrier_init`.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: membar, fence", and
//! "Memory Consistency Model: Proxies".

use super::Flow;
use crate::ast::{Instruction, Type};
use crate::error::ParseError;
use crate::machine::Warp;
use crate::machine::registers::Source;
use crate::memory::published::Reach;
use crate::program::{Decoder, Scope};

/// A fence between proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// `fence.proxy.async`: what ordinary accesses did is seen by asynchronous operations. The forms
    /// for one memory are taken for those for all.
    Async,
    /// `fence.mbarrier_init`: a relaxed arrival after it tells of the inits before it. Taken for a
    /// fence of all accesses, where the ISA has it order inits alone.
    MbarrierInit,
    /// `fence.proxy.alias`, for there are no aliases; `fence.proxy.tensormap`, for only the host
    /// writes tensor maps.
    Other,
}

/// Decodes a fence; the opcode is `fence` and the next modifier `proxy` or `mbarrier_init`.
pub(crate) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Proxy, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    if d.take("mbarrier_init") {
        d.expect("release")?;
        d.expect("cluster")?;
        d.finish(0..=0)?;
        return Ok(Proxy::MbarrierInit);
    }
    d.expect("proxy")?;
    if d.take("alias") {
        d.finish(0..=0)?;
        return Ok(Proxy::Other);
    }
    if d.take("tensormap::generic") {
        let acquires = d.required(&[("acquire", true), ("release", false)])?;
        d.required(&[("cta", ()), ("cluster", ()), ("gpu", ()), ("sys", ())])?;
        d.finish(if acquires { 2..=2 } else { 0..=0 })?;
        if acquires {
            d.address(0)?;
            let _: Source = d.source(1, Type::U32)?;
        }
        return Ok(Proxy::Other);
    }
    d.expect("async")?;
    d.choice(&[("global", ()), ("shared::cta", ()), ("shared::cluster", ())]);
    d.finish(0..=0)?;
    Ok(Proxy::Async)
}

impl Proxy {
    /// Executes the instruction for the lanes in `mask`.
    pub(crate) fn execute(self, warp: &mut Warp, mask: u32) -> Flow {
        match self {
            Self::Async => warp.clock.fence_proxy_async(mask),
            Self::MbarrierInit => warp.clock.fence(mask, Reach::Cluster),
            Self::Other => {}
        }
        Flow::Next
    }
}
