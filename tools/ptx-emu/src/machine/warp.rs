//! A warp: registers, lanes and where they stand.
//!
//! Every lane has its own place in the code. Lanes at the same place form a [`Group`], and a warp
//! executes one group at a time: the one furthest behind, so that lanes that took different ways
//! meet again where the ways do. PTX ISA, "SIMT Architecture", promises that every thread makes
//! progress; so a group that has run for long while others could is set aside for a while.

use std::collections::BTreeMap;

pub(crate) use super::registers::{Condition, Predicate, Registers, Slot, Source};

use super::preset::{self, Seat};
use super::spin::Spin;
use super::{Context, WaitFor};
use crate::memory::clock::{Message, WarpClock};

/// The lanes of a mask, in order.
#[inline]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

/// Whether a group can execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// It can.
    Ready,
    /// Only together with these lanes.
    Gathering(u32),
    /// When a condition holds.
    Waiting(WaitFor),
    /// It can: a condition that it waited for holds.
    Resumed(WaitFor),
}

/// Lanes at one place.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Index of their next instruction.
    pub(super) pc: u32,
    /// Which.
    pub(super) lanes: u32,
    /// Whether they can execute it.
    pub(super) state: State,
    /// When they last did, in the warp's instructions.
    pub(super) last: u64,
}

/// 32 threads.
#[derive(Debug)]
pub(crate) struct Warp {
    /// Registers and predicates.
    pub(crate) registers: Registers,
    /// What its threads know of others.
    pub(crate) clock: WarpClock,
    /// What lanes told at `bar.warp.sync`, by member mask.
    meetings: BTreeMap<u32, Message>,
    local: Vec<u8>,
    local_bytes: u32,
    seat: Seat,
    id: u32,
    /// Lanes that there were at its start.
    pub(super) born: u32,
    /// Lanes that have not exited.
    pub(super) live: u32,
    pub(super) groups: Vec<Group>,
    /// Index of the instruction being executed.
    pub(super) pc: u32,
    pub(super) steps: u64,
    /// Instructions since groups last met or parted.
    pub(super) patience: u32,
    pub(super) resumed: Option<WaitFor>,
    /// What its strong loads find.
    pub(crate) spin: Spin,
}

/// Instructions after which a group lets others of its warp go first.
const PATIENCE: u32 = 4096;

impl Warp {
    /// A warp before its first instruction.
    pub(super) fn new(context: &Context, cluster: u32, seat: Seat) -> Self {
        let kernel = &context.kernel;
        let threads: u32 = context.block.iter().product();
        let live = u32::MAX >> (32 - (threads - seat.warp * 32).min(32));
        let mut registers = Registers::new(kernel.n_rows as usize, kernel.n_predicates as usize);
        for &(slot, preset) in &kernel.presets {
            *registers.row_mut(slot) = preset::row(preset, context, seat);
        }
        let id = seat.rank * context.warps_per_cta() + seat.warp;
        Self {
            registers,
            clock: WarpClock::new(cluster, id, live),
            meetings: BTreeMap::new(),
            local: vec![0xFF; kernel.local_bytes as usize * 32],
            local_bytes: kernel.local_bytes,
            seat,
            id,
            born: live,
            live,
            groups: vec![Group { pc: 0, lanes: live, state: State::Ready, last: 0 }],
            pc: 0,
            steps: 0,
            patience: PATIENCE,
            resumed: None,
            spin: Spin::default(),
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

    /// Its number in its cluster.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Lanes that have not exited.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Lanes that have exited.
    pub(crate) fn exited(&self) -> u32 {
        self.born & !self.live
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
    /// [`Flow::Wait`](crate::isa::Flow::Wait) before.
    pub(crate) fn resumed(&self) -> Option<&WaitFor> {
        self.resumed.as_ref()
    }

    /// Lanes tell the members of a `bar.warp.sync` what they did and know.
    pub(crate) fn tell_members(&mut self, members: u32, lanes: u32) {
        let cluster = self.clock.cluster();
        let message = self.meetings.entry(members).or_insert_with(|| Message::new(cluster));
        self.clock.release(lanes, message);
    }

    /// Lanes learn what the members of a `bar.warp.sync` told. What they told at earlier ones they
    /// learned there.
    pub(crate) fn learn_from_members(&mut self, members: u32, lanes: u32) {
        if let Some(message) = self.meetings.get(&members) {
            self.clock.acquire(lanes, message);
        }
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

    /// Merges groups that met, and lets those go on that gathered the lanes they need. Groups that
    /// wait, or have waited, stay apart: their lanes are in the middle of an instruction.
    pub(super) fn merge(&mut self) {
        let mergeable = |state: &State| matches!(state, State::Ready | State::Gathering(_));
        let mut at = 0;
        while at < self.groups.len() {
            let mut other = at + 1;
            while other < self.groups.len() {
                let [a, b] = [&self.groups[at], &self.groups[other]];
                if a.pc == b.pc && mergeable(&a.state) && mergeable(&b.state) {
                    let met = self.groups.swap_remove(other);
                    let group = &mut self.groups[at];
                    group.lanes |= met.lanes;
                    group.state = State::Ready;
                    group.last = group.last.min(met.last);
                    self.patience = PATIENCE;
                } else {
                    other += 1;
                }
            }
            at += 1;
        }
        let live = self.live;
        for group in &mut self.groups {
            if let State::Gathering(needed) = group.state
                && needed & live & !group.lanes == 0
            {
                group.state = State::Ready;
            }
        }
    }

    /// Lets lanes go on that wait for each other at `bar.warp.sync`.
    pub(super) fn meet(&mut self) {
        let waits = |group: &Group| match &group.state {
            State::Waiting(WaitFor::Warp { needed }) => Some(*needed),
            _ => None,
        };
        let live = self.live;
        for at in 0..self.groups.len() {
            let Some(needed) = waits(&self.groups[at]) else { continue };
            let there = self
                .groups
                .iter()
                .filter(|group| waits(group) == Some(needed))
                .fold(0, |there, group| there | group.lanes);
            if needed & live & !there == 0 {
                for group in &mut self.groups {
                    if waits(group) == Some(needed) {
                        group.state = State::Resumed(WaitFor::Warp { needed });
                    }
                }
            }
        }
    }

    /// The least place of other groups that the one at an index may merge with or give way to.
    pub(super) fn bound(&self, at: usize) -> u32 {
        let others = self
            .groups
            .iter()
            .enumerate()
            .filter(|&(other, group)| other != at && !matches!(group.state, State::Waiting(_)));
        others.map(|(_, group)| group.pc).min().unwrap_or(u32::MAX)
    }

    /// Whether a group may execute its next instruction before others are looked at.
    #[inline]
    pub(super) fn goes_on(&self, at: usize, bound: u32) -> bool {
        self.groups[at].pc < bound && (self.patience > 0 || bound == u32::MAX)
    }

    /// The group to execute next, by index.
    pub(super) fn choose(&mut self) -> Option<usize> {
        let ready = |group: &&Group| matches!(group.state, State::Ready | State::Resumed(_));
        let least = self.groups.iter().filter(ready).min_by_key(|group| group.pc)?;
        let (pc, lanes) = (least.pc, least.lanes);
        let at = self.groups.iter().position(|group| group.lanes == lanes && group.pc == pc);
        if self.groups.len() == 1 || self.patience > 0 {
            return at;
        }
        self.patience = PATIENCE;
        let oldest = self.groups.iter().filter(ready).min_by_key(|group| group.last)?.lanes;
        self.groups.iter().position(|group| group.lanes == oldest)
    }
}
