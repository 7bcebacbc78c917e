//! One file per instruction family: how it is decoded, and what it does.
//!
//! A family's `decode` reads the modifiers through a [`Decoder`](crate::program::Decoder), whose
//! `finish` refuses what nobody took, so that no modifier is ever ignored.
//!
//! Families that compute registers from registers decode to [`Op::Data`]. Others give a type for
//! their decoded instructions, with
//! `fn execute(&self, warp: &mut Warp, cluster: &mut Cluster, mask: u32) -> Result<Flow, Stop>`; [`Op`]
//! gets a variant for it, [`Op::execute`] an arm, and [`decode`] sends its opcodes there.
//!
//! An instruction executes for all lanes of `mask` at once; registers of lanes outside of it must
//! not change. It returns a [`Flow`], or a [`Stop`] where it finds something wrong
//! ([`Problem::at`](crate::report::Problem::at)). An instruction that cannot go on yet returns
//! [`Flow::Wait`] and is executed again, by the same lanes, once the condition holds, with
//! [`Warp::resumed`] set: its first execution may have had effects (an arrival at a barrier) that
//! must not happen twice.

use std::fmt;

use crate::ast::{self, Operand};
use crate::error::ParseError;
use crate::machine::registers::Registers;
use crate::machine::{Cluster, WaitFor, Warp};
use crate::program::{Decoder, Scope};
use crate::report::Stop;

mod atomic;
mod barrier;
mod bits;
pub(crate) mod bulk;
mod bulk_run;
pub(crate) mod cluster;
mod compare;
pub(crate) mod control;
mod convert;
pub(crate) mod cp_async;
mod cp_async_run;
mod data;
mod fence;
mod float;
mod half;
mod integer;
mod logic;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
mod mbarrier_run;
pub(crate) mod memory;
mod memory_run;
pub(crate) mod mma;
mod printf;
pub(crate) mod proxy;
mod rows;
mod select;
pub(crate) mod setmaxnreg;
mod special;
mod system;
pub(crate) mod tensor;
mod tensor_run;
#[cfg(test)]
mod tests;
mod warp;
pub(crate) mod wgmma;
mod wgmma_run;
mod window;

/// What became of the lanes that executed an instruction.
#[derive(Debug)]
pub(crate) enum Flow {
    /// They go on with the next instruction.
    Next,
    /// As [`Flow::Next`], and other warps get their turn now.
    Yield,
    /// They go to an instruction, by index.
    Jump(u32),
    /// Each goes to an instruction of its own (the entries of lanes outside of the mask mean
    /// nothing).
    Scatter(Box<[u32; 32]>),
    /// They stay, and execute the instruction again when the condition holds.
    Wait(WaitFor),
    /// Nothing was done: these lanes must execute the instruction together, and some are missing.
    Gather(u32),
    /// They are finished.
    Exit,
}

/// What a decoded instruction does.
pub(crate) enum Op {
    /// Computes registers from registers, in the lanes of the mask.
    Data(Data),
    /// Branches, calls, exits.
    Control(control::Control),
    /// Loads, stores, advice to caches.
    Memory(memory::Memory),
    /// Atomic operations and reductions.
    Atomic(atomic::Atomic),
    /// Barriers of CTAs, clusters and warps.
    Barrier(barrier::Barrier),
    /// Shuffles, votes and the like.
    Together(warp::Together),
    /// Memory fences.
    Fence(fence::Fence),
    /// Reads of clocks.
    Clock(special::ReadClock),
    /// Calls of what the driver brings along.
    System(system::System),
    /// `mbarrier`.
    Mbarrier(mbarrier::Mbarrier),
    /// `cp.async.bulk` and its groups.
    Bulk(bulk::Bulk),
    /// `cp.async.bulk.tensor`.
    Tensor(tensor::Tensor),
    /// `cp.async`.
    CpAsync(cp_async::CpAsync),
    /// `ldmatrix`, `stmatrix`, `movmatrix`.
    Matrix(matrix::Matrix),
    /// `mma`.
    Mma(Box<mma::Mma>),
    /// `mapa`, `getctarank`, `griddepcontrol`.
    Cluster(cluster::ClusterOp),
    /// `fence.proxy`.
    Proxy(proxy::Proxy),
    /// `setmaxnreg`.
    SetMaxRegisters(setmaxnreg::SetMaxRegisters),
    /// `wgmma`.
    Wgmma(wgmma::Wgmma),
}

/// A computation on the registers of the lanes in a mask.
pub(crate) type Data = Box<dyn Fn(&mut Registers, u32) + Send + Sync>;

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(_) => f.write_str("Data"),
            Self::Control(op) => op.fmt(f),
            Self::Memory(op) => op.fmt(f),
            Self::Atomic(op) => op.fmt(f),
            Self::Barrier(op) => op.fmt(f),
            Self::Together(op) => op.fmt(f),
            Self::Fence(op) => op.fmt(f),
            Self::Clock(op) => op.fmt(f),
            Self::System(op) => op.fmt(f),
            Self::Mbarrier(op) => op.fmt(f),
            Self::Bulk(op) => op.fmt(f),
            Self::Tensor(op) => op.fmt(f),
            Self::CpAsync(op) => op.fmt(f),
            Self::Matrix(op) => op.fmt(f),
            Self::Mma(op) => op.fmt(f),
            Self::Cluster(op) => op.fmt(f),
            Self::Proxy(op) => op.fmt(f),
            Self::SetMaxRegisters(op) => op.fmt(f),
            Self::Wgmma(op) => op.fmt(f),
        }
    }
}

impl Op {
    /// A computation on the registers of the lanes in a mask.
    fn data(compute: impl Fn(&mut Registers, u32) + Send + Sync + 'static) -> Self {
        Self::Data(Box::new(compute))
    }

    /// Executes the instruction for the lanes in `mask`.
    #[inline]
    pub(crate) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        match self {
            Self::Data(compute) => {
                compute(&mut warp.registers, mask);
                Ok(Flow::Next)
            }
            Self::Control(op) => op.execute(warp, cluster, mask),
            Self::Memory(op) => op.execute(warp, cluster, mask),
            Self::Atomic(op) => op.execute(warp, cluster, mask),
            Self::Barrier(op) => {
                warp.spin.acted();
                op.execute(warp, cluster, mask)
            }
            Self::Together(op) => op.execute(warp, mask),
            Self::Fence(op) => Ok(op.execute(warp, mask)),
            Self::Clock(op) => Ok(op.execute(warp, cluster, mask)),
            Self::System(op) => {
                warp.spin.acted();
                op.execute(warp, cluster, mask)
            }
            Self::Mbarrier(op) => {
                if !matches!(op, mbarrier::Mbarrier::Wait(_)) {
                    warp.spin.acted();
                }
                op.execute(warp, cluster, mask)
            }
            Self::Bulk(op) => {
                warp.spin.acted();
                op.execute(warp, cluster, mask)
            }
            Self::Tensor(op) => {
                warp.spin.acted();
                op.execute(warp, cluster, mask)
            }
            Self::CpAsync(op) => {
                warp.spin.acted();
                op.execute(warp, cluster, mask)
            }
            Self::Matrix(op) => {
                warp.spin.acted();
                op.execute(warp, cluster)
            }
            Self::Mma(op) => op.execute(warp),
            Self::Cluster(op) => op.execute(warp, cluster, mask),
            Self::Proxy(op) => Ok(op.execute(warp, mask)),
            Self::SetMaxRegisters(op) => {
                warp.spin.acted();
                op.execute(warp, cluster)
            }
            Self::Wgmma(op) => {
                warp.spin.acted();
                op.execute(warp, cluster, mask)
            }
        }
    }

    /// Whether all lanes of the warp that have not exited must execute it together (`.aligned`).
    pub(crate) fn is_aligned(&self) -> bool {
        match self {
            Self::Barrier(op) => op.is_aligned(),
            Self::Data(_)
            | Self::Control(_)
            | Self::Memory(_)
            | Self::Atomic(_)
            | Self::Together(_)
            | Self::Fence(_)
            | Self::Clock(_)
            | Self::System(_)
            | Self::Mbarrier(_)
            | Self::Bulk(_)
            | Self::Tensor(_)
            | Self::CpAsync(_)
            | Self::Cluster(_)
            | Self::Proxy(_) => false,
            Self::Matrix(_) | Self::Mma(_) | Self::SetMaxRegisters(_) | Self::Wgmma(_) => true,
        }
    }
}

/// Decodes an instruction by its family.
pub(crate) fn decode(instruction: &ast::Instruction, scope: &Scope<'_>) -> Result<Op, ParseError> {
    if let Some(clock) = special::clock(instruction) {
        return special::decode(instruction, scope, clock).map(Op::Clock);
    }
    let between_proxies = matches!(
        instruction.modifiers.first().map(String::as_str),
        Some("proxy" | "mbarrier_init")
    );
    match instruction.opcode.as_str() {
        "call" => system::decode(instruction, scope).map(Op::System),
        "bra" | "brx" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep" => {
            control::decode(instruction, scope).map(Op::Control)
        }
        "ld" | "ldu" | "st" | "prefetch" | "prefetchu" | "applypriority" | "discard"
        | "createpolicy" => memory::decode(instruction, scope).map(Op::Memory),
        "atom" | "red" if instruction.modifiers.first().is_none_or(|first| first != "async") => {
            atomic::decode(instruction, scope).map(Op::Atomic)
        }
        "bar" | "barrier" => barrier::decode(instruction, scope).map(Op::Barrier),
        "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => {
            warp::decode(instruction, scope).map(Op::Together)
        }
        "membar" | "fence" if !between_proxies => fence::decode(instruction, scope).map(Op::Fence),
        "mbarrier" => mbarrier::decode(instruction, scope).map(Op::Mbarrier),
        "ldmatrix" | "stmatrix" | "movmatrix" => matrix::decode(instruction, scope).map(Op::Matrix),
        "mma" => mma::decode(instruction, scope).map(|it| Op::Mma(Box::new(it))),
        "mapa" | "getctarank" | "griddepcontrol" => {
            cluster::decode(instruction, scope).map(Op::Cluster)
        }
        "fence" => proxy::decode(instruction, scope).map(Op::Proxy),
        "setmaxnreg" => setmaxnreg::decode(instruction, scope).map(Op::SetMaxRegisters),
        "wgmma" => wgmma::decode(instruction, scope).map(Op::Wgmma),
        "cp" => copy(instruction, scope),
        _ => data::decode(instruction, scope),
    }
}

/// An operand that must be a small number written out.
fn immediate(d: &Decoder<'_>, position: usize) -> Result<u32, ParseError> {
    match d.operand(position)? {
        Operand::Integer(value) => {
            u32::try_from(*value).or_else(|_| d.wrong(position, "an integer of 32 bits"))
        }
        _ => d.wrong(position, "an integer"),
    }
}

/// Decodes `cp.…`.
fn copy(instruction: &ast::Instruction, scope: &Scope<'_>) -> Result<Op, ParseError> {
    let has = |name: &str| instruction.modifiers.iter().any(|modifier| modifier == name);
    if has("bulk") && has("tensor") {
        tensor::decode(instruction, scope).map(Op::Tensor)
    } else if has("bulk") {
        bulk::decode(instruction, scope).map(Op::Bulk)
    } else {
        cp_async::decode(instruction, scope).map(Op::CpAsync)
    }
}
