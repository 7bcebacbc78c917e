//! A warp: registers, lanes and where they stand.

pub(crate) use super::registers::{Condition, Predicate, Registers, Row, Slot, Source};

use super::preset::{self, Seat};
use super::{Context, WaitFor};
use crate::isa::Flow;

/// The lanes of a mask, in order.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

/// 32 threads.
#[derive(Debug)]
pub(crate) struct Warp {
    /// Registers and predicates.
    pub(crate) registers: Registers,
    local: Vec<u8>,
    local_bytes: u32,
    seat: Seat,
    live: u32,
    pc: u32,
    steps: u64,
    returns: [Vec<u32>; 32],
    resumed: Option<WaitFor>,
}

impl Warp {
    /// A warp before its first instruction.
    pub(super) fn new(context: &Context, seat: Seat) -> Self {
        let kernel = &context.kernel;
        let threads: u32 = context.block.iter().product();
        let lanes_here = (threads - seat.warp * 32).min(32);
        let mut registers = Registers::new(kernel.n_rows as usize, kernel.n_predicates as usize);
        for &(slot, preset) in &kernel.presets {
            *registers.row_mut(slot) = preset::row(preset, context, seat);
        }
        Self {
            registers,
            local: vec![0; kernel.local_bytes as usize * 32],
            local_bytes: kernel.local_bytes,
            seat,
            live: u32::MAX >> (32 - lanes_here),
            pc: 0,
            steps: 0,
            returns: std::array::from_fn(|_| Vec::new()),
            resumed: None,
        }
    }

    /// Rank of its CTA in the cluster.
    pub(crate) fn rank(&self) -> u32 {
        self.seat.rank
    }

    /// Its number in its CTA.
    pub(crate) fn index(&self) -> u32 {
        self.seat.warp
    }

    /// Lanes that have not exited.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Index of the instruction that it is executing.
    pub(crate) fn pc(&self) -> u32 {
        self.pc
    }

    /// Instructions that it has executed.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// The condition that the executing lanes waited for, if this instruction returned
    /// [`Flow::Wait`] before.
    pub(crate) fn resumed(&self) -> Option<&WaitFor> {
        self.resumed.as_ref()
    }

    /// The lanes in `mask` will come back to the next instruction.
    pub(crate) fn push_return(&mut self, mask: u32) {
        for lane in lanes(mask) {
            self.returns[lane].push(self.pc + 1);
        }
    }

    /// Sends the lanes in `mask` back to where they were called from. A kernel's own `ret` is an
    /// exit; lanes never mix both, since a kernel's instructions are not a function's.
    pub(crate) fn pop_return(&mut self, mask: u32) -> Flow {
        let mut to = Box::new([0; 32]);
        for lane in lanes(mask) {
            match self.returns[lane].pop() {
                Some(back) => to[lane] = back,
                None => return Flow::Exit,
            }
        }
        Flow::Scatter(to)
    }

    /// A lane's local memory.
    pub(crate) fn local(&self, lane: usize) -> &[u8] {
        let bytes = self.local_bytes as usize;
        &self.local[lane * bytes..][..bytes]
    }

    /// A lane's local memory.
    pub(crate) fn local_mut(&mut self, lane: usize) -> &mut [u8] {
        let bytes = self.local_bytes as usize;
        &mut self.local[lane * bytes..][..bytes]
    }
}
