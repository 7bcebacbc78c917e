//! An access of a thread: whether it may have the bytes, and what is done to them.

use super::Target;
use super::shadow::{Access, Actor};
use crate::asynch::access::{name, race};
use crate::asynch::footprint::{Space as Bytes, Touch};
use crate::machine::{Cluster, Warp};
use crate::report::{AccessKind, Problem, Stop};

/// What a lane wants to do to bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// How many.
    pub(crate) bytes: u64,
    /// What.
    pub(crate) kind: AccessKind,
    /// Whether the access is strong.
    pub(crate) strong: bool,
    /// Whether it is volatile, and so strong.
    pub(crate) volatile: bool,
    /// Whether they may meet an operation in flight: if not, that is not looked for.
    pub(crate) pending: bool,
}

impl Cluster {
    /// Whether an access within `start..end` of a memory may meet an operation in flight.
    ///
    /// # Errors
    /// The race, if it does.
    pub(crate) fn check_pending(
        &self,
        space: Bytes,
        kind: AccessKind,
        start: u64,
        end: u64,
    ) -> Result<(), Problem> {
        let touch = match kind {
            AccessKind::Read => Touch::Read,
            AccessKind::Write => Touch::Write,
            AccessKind::Atomic => Touch::Reduce,
        };
        let Some((conflict, operation)) = self.operations.conflict(space, touch, start, end) else {
            return Ok(());
        };
        let other =
            if conflict.touch == Touch::Read { AccessKind::Read } else { AccessKind::Write };
        let memory = name(self, space, start, end - start);
        let operation = operation.place.to_string();
        Err(Problem::Pending { access: kind, memory, other, operation })
    }

    /// Checks an access of one lane against operations in flight and earlier accesses, and records
    /// it.
    ///
    /// # Errors
    /// A race.
    #[inline]
    pub(crate) fn admit(
        &mut self,
        warp: &Warp,
        lane: usize,
        target: &Target<'_>,
        request: Request,
    ) -> Result<(), Stop> {
        let Request { bytes, kind, strong, volatile, pending } = request;
        let lane = lane as u32;
        if let Target::Shared { cta, offset } = *target {
            self.visit(warp, lane, cta).map_err(|problem| problem.at(lane))?;
            let barriers = &self.ctas[cta as usize].asynch.mbarriers;
            if barriers.overlapping(offset, bytes as u32).is_some() {
                let memory = self.describe(target, bytes);
                return Err(Problem::MbarrierTouched { access: kind, memory }.at(lane));
            }
        }
        if pending && let Some((space, start)) = target.place() {
            self.check_pending(space, kind, start, start + bytes).map_err(|p| p.at(lane))?;
        }
        if !self.context.races {
            return Ok(());
        }
        let volatile = volatile && matches!(target, Target::Shared { .. });
        let access = Access { write: kind != AccessKind::Read, strong, volatile };
        let clock = &warp.clock;
        let actor = Actor { epoch: clock.epoch(lane), seen: clock.seen(lane), pc: warp.pc() };
        let admitted = match *target {
            Target::Shared { cta, offset } => {
                self.ctas[cta as usize].shared.access(offset, bytes as u32, access, &actor)
            }
            Target::Global { allocation, offset } => {
                allocation.access(offset, bytes, access, &actor)
            }
            Target::Local(_) | Target::Param(_) => Ok(()),
        };
        admitted.map_err(|earlier| race(self, self.describe(target, bytes), kind, earlier).at(lane))
    }

    /// Bytes as reports name them.
    #[cold]
    pub(crate) fn describe(&self, target: &Target<'_>, bytes: u64) -> String {
        match target.place() {
            Some((space, start)) => name(self, space, start, bytes),
            None => format!("{bytes} bytes of the thread's own memory"),
        }
    }

    /// Fails if bytes to be read were never written.
    ///
    /// # Errors
    /// They were not.
    #[inline]
    pub(crate) fn check_initialized(&self, target: &Target<'_>, bytes: u64) -> Result<(), Problem> {
        let initialized = match *target {
            Target::Shared { cta, offset } => {
                self.ctas[cta as usize].shared.is_initialized(offset, bytes as u32)
            }
            Target::Global { allocation, offset } => allocation.is_initialized(offset, bytes),
            Target::Local(_) | Target::Param(_) => true,
        };
        if initialized || !self.context.poison {
            return Ok(());
        }
        Err(Problem::Poison { memory: self.describe(target, bytes) })
    }

    /// Up to 8 bytes.
    #[inline]
    pub(crate) fn load(&self, warp: &Warp, lane: usize, target: &Target<'_>, bytes: u32) -> u64 {
        let of = |from: &[u8]| {
            let mut value = [0; 8];
            value[..from.len()].copy_from_slice(from);
            u64::from_le_bytes(value)
        };
        match *target {
            Target::Shared { cta, offset } => self.ctas[cta as usize].shared.load(offset, bytes),
            Target::Global { allocation, offset } => allocation.load(offset, bytes),
            Target::Local(offset) => of(&warp.local(lane)[offset as usize..][..bytes as usize]),
            Target::Param(offset) => of(&self.context.params[offset as usize..][..bytes as usize]),
        }
    }

    /// Stores up to 8 bytes.
    #[inline]
    pub(crate) fn store(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        target: &Target<'_>,
        bytes: u32,
        value: u64,
    ) {
        match *target {
            Target::Shared { cta, offset } => {
                self.ctas[cta as usize].shared.store(offset, bytes, value);
            }
            Target::Global { allocation, offset } => allocation.store(offset, bytes, value),
            Target::Local(offset) => {
                let bytes = bytes as usize;
                warp.local_mut(lane)[offset as usize..][..bytes]
                    .copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
            Target::Param(_) => {}
        }
    }

    /// Replaces 2, 4 or 8 bytes by a function of them, atomically; the old ones.
    pub(crate) fn update(
        &mut self,
        target: &Target<'_>,
        bytes: u32,
        change: impl Fn(u64) -> u64,
    ) -> u64 {
        match *target {
            Target::Shared { cta, offset } => {
                let shared = &mut self.ctas[cta as usize].shared;
                let old = shared.load(offset, bytes);
                shared.store(offset, bytes, change(old));
                old
            }
            Target::Global { allocation, offset } => allocation.change(offset, bytes, change),
            Target::Local(_) | Target::Param(_) => 0,
        }
    }
}
