//! `fence.proxy.*` and `fence.mbarrier_init`: decoding.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: membar, fence", and
//! "Memory Consistency Model: Proxies".

use crate::ast::{Instruction, Type};
use crate::error::ParseError;
use crate::machine::registers::Source;
use crate::program::{Decoder, Scope};

/// A fence between proxies.
#[derive(Debug, Clone)]
pub(crate) enum Proxy {
    /// `fence.proxy.async`: what ordinary accesses did is seen by asynchronous operations.
    Async(AsyncSpace),
    /// `fence.proxy.alias`, and `fence.proxy.tensormap`, whose objects only the host writes.
    Other,
    /// `fence.mbarrier_init`: an init is seen by the cluster.
    MbarrierInit,
}

/// The memory that a `fence.proxy.async` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsyncSpace {
    All,
    Global,
    Shared,
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
    let space = d
        .choice(&[
            ("global", AsyncSpace::Global),
            ("shared::cta", AsyncSpace::Shared),
            ("shared::cluster", AsyncSpace::Shared),
        ])
        .unwrap_or(AsyncSpace::All);
    d.finish(0..=0)?;
    Ok(Proxy::Async(space))
}
