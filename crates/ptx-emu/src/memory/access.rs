//! An access of a thread: where its bytes are, whether it may have them, and what it tells and
//! learns.

use std::sync::{Arc, PoisonError};

use super::published::{Home, Reach};
use super::shadow::{Access, Actor};
use super::{Allocation, SHARED_START, SHARED_WINDOW, Space, from_generic, shared_of, space_of};
use crate::asynch::access::{name, race};
use crate::asynch::footprint::{Space as Bytes, Touch};
use crate::machine::{Cluster, Context, Warp};
use crate::memory::clock::Message;
use crate::report::{AccessKind, Problem, Stop};

/// Which earlier or later accesses of the thread a strong access is ordered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// `.relaxed` and `.volatile`: none; fences make the order.
    Relaxed,
    /// `.acquire`.
    Acquire,
    /// `.release`.
    Release,
    /// `.acq_rel`.
    AcquireRelease,
}

impl Order {
    fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcquireRelease)
    }

    fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcquireRelease)
    }
}

/// `None` for a weak access; else its order, and the threads it is meant for.
pub(crate) type Strength = Option<(Order, Reach)>;

/// What a lane wants to do to bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// How many.
    pub(crate) bytes: u64,
    /// What.
    pub(crate) kind: AccessKind,
    /// Whether the access is strong.
    pub(crate) strong: bool,
    /// Whether they may meet an operation in flight: if not, that is not looked for.
    pub(crate) pending: bool,
}

/// Where bytes are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// In the shared memory of the CTA of a rank.
    Shared {
        /// The rank.
        cta: u32,
        /// Where in it.
        offset: u32,
    },
    /// In global memory.
    Global {
        /// The allocation.
        allocation: &'a Arc<Allocation>,
        /// Where in it.
        offset: u64,
    },
    /// In the thread's local memory.
    Local(u32),
    /// Among the kernel's parameters.
    Param(u32),
}

/// Bytes as reports name them.
pub(crate) fn describe(space: Space, address: u64, bytes: u64) -> String {
    let s = if bytes == 1 { "" } else { "s" };
    let place = match space {
        Space::Shared | Space::SharedCluster => match shared_of(address, 0) {
            (_, offset) if address >> 24 == 0 => format!("shared memory at {offset:#x}"),
            (rank, offset) => format!("shared memory of CTA rank {rank} at {offset:#x}"),
        },
        Space::Local => format!("local memory at {address:#x}"),
        Space::Param => format!("parameters at {address:#x}"),
        Space::Generic | Space::Global | Space::Const => format!("global memory at {address:#x}"),
    };
    format!("{bytes} byte{s} of {place}")
}

impl<'a> Target<'a> {
    /// The bytes so many further on.
    #[inline]
    pub(crate) fn plus(&self, bytes: u32) -> Target<'a> {
        match *self {
            Self::Shared { cta, offset } => Self::Shared { cta, offset: offset + bytes },
            Self::Global { allocation, offset } => {
                Self::Global { allocation, offset: offset + u64::from(bytes) }
            }
            Self::Local(offset) => Self::Local(offset + bytes),
            Self::Param(offset) => Self::Param(offset + bytes),
        }
    }

    /// The memory and the first byte's place in it, where others can see it.
    pub(crate) fn place(&self) -> Option<(Bytes, u64)> {
        match *self {
            Self::Shared { cta, offset } => Some((Bytes::Shared(cta), u64::from(offset))),
            Self::Global { allocation, offset } => {
                Some((Bytes::Global, allocation.base() + offset))
            }
            Self::Local(_) | Self::Param(_) => None,
        }
    }
}

impl Context {
    /// Where the bytes at an address are that a thread of CTA `rank` accesses.
    ///
    /// # Errors
    /// Out of bounds, or not a multiple of `align`.
    #[inline]
    pub(crate) fn resolve(
        &self,
        rank: u32,
        space: Space,
        address: u64,
        bytes: u64,
        align: u32,
        kind: AccessKind,
    ) -> Result<Target<'_>, Problem> {
        if address & u64::from(align - 1) != 0 {
            let memory = describe(space, address, bytes);
            return Err(Problem::Misaligned { access: kind, memory, align });
        }
        match space {
            Space::Generic => {
                let space = space_of(address);
                let address = from_generic(space, address);
                self.resolve(rank, space, address, bytes, align, kind)
            }
            Space::Shared | Space::SharedCluster => {
                let (cta, offset) = shared_of(address, rank);
                let there = offset >= SHARED_START
                    && u64::from(offset) + bytes <= u64::from(self.shared_end())
                    && cta < self.cluster_size()
                    && address >> 32 == 0
                    && (space == Space::SharedCluster || cta == rank);
                if there {
                    Ok(Target::Shared { cta, offset })
                } else {
                    Err(self.no_shared(space, address, bytes, kind))
                }
            }
            Space::Global | Space::Const => {
                if let Some(allocation) = self.global.nearest(address) {
                    let offset = address - allocation.base();
                    if offset.saturating_add(bytes) <= allocation.bytes() {
                        if kind != AccessKind::Read && !allocation.is_writable() {
                            let what = format!("write to constant {}", allocation.name());
                            return Err(Problem::Operand { what });
                        }
                        return Ok(Target::Global { allocation, offset });
                    }
                }
                Err(self.no_global(address, bytes, kind))
            }
            Space::Local => match u32::try_from(address) {
                Ok(offset) if address + bytes <= u64::from(self.kernel.local_bytes) => {
                    Ok(Target::Local(offset))
                }
                _ => Err(out_of_bounds(space, address, bytes, kind, "outside of its variables")),
            },
            Space::Param => {
                if kind != AccessKind::Read {
                    let what = "the parameters of a kernel cannot be written".to_owned();
                    return Err(Problem::Operand { what });
                }
                match u32::try_from(address) {
                    Ok(offset) if address + bytes <= self.params.len() as u64 => {
                        Ok(Target::Param(offset))
                    }
                    _ => Err(out_of_bounds(space, address, bytes, kind, "past the parameters")),
                }
            }
        }
    }

    #[cold]
    fn no_shared(&self, space: Space, address: u64, bytes: u64, kind: AccessKind) -> Problem {
        let (start, end) = (SHARED_START, self.shared_end());
        let why = if end == start {
            "the CTA has none".to_owned()
        } else {
            format!("the CTA has {start:#x} to {end:#x}")
        };
        out_of_bounds(space, address, bytes, kind, &why)
    }

    #[cold]
    fn no_global(&self, address: u64, bytes: u64, kind: AccessKind) -> Problem {
        let allocations = self.global.allocations();
        let before = self.global.nearest(address);
        let after = allocations.iter().find(|allocation| allocation.base() > address);
        let near = 1 << 20;
        let why = match (before, after) {
            (Some(before), _) if address - before.base() < before.bytes() + near => {
                let past = (address - before.base()).saturating_add(bytes) - before.bytes();
                format!("{past} past the {} of {}", before.bytes(), before.name())
            }
            (_, Some(after)) if after.base() - address <= near => {
                format!("{} before {}", after.base() - address, after.name())
            }
            _ => "not near any allocation".to_owned(),
        };
        out_of_bounds(Space::Global, address, bytes, kind, &why)
    }
}

#[cold]
fn out_of_bounds(space: Space, address: u64, bytes: u64, access: AccessKind, why: &str) -> Problem {
    Problem::OutOfBounds { access, memory: format!("{}: {why}", describe(space, address, bytes)) }
}

impl Cluster {
    /// Where a warp's threads are, for scopes.
    pub(crate) fn home(&self, warp: &Warp) -> Home {
        Home { cluster: self.id, cta: warp.rank() }
    }

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
        let Request { bytes, kind, strong, pending } = request;
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
        let access = Access { write: kind != AccessKind::Read, strong };
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

    /// A strong load found what strong stores left there: a lane learns it, at once or with its next
    /// fence.
    pub(crate) fn learn(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        target: &Target<'_>,
        (order, reach): (Order, Reach),
    ) {
        let home = self.home(warp);
        let message = match *target {
            Target::Shared { cta, offset } => {
                self.published.read(shared_key(cta, offset), reach, home)
            }
            Target::Global { allocation, offset } => {
                let all = self.context.published.lock().unwrap_or_else(PoisonError::into_inner);
                all.read(allocation.base() + offset, reach, home)
            }
            Target::Local(_) | Target::Param(_) => None,
        };
        if let Some(message) = message {
            if order.acquires() {
                warp.clock.acquire(1 << lane, &message);
            } else {
                warp.clock.observe(lane as u32, message);
            }
        }
    }

    /// A strong store tells those who load it what its lane did and knows, up to now or up to its
    /// last fence. A `replaces` store takes what was told there before away.
    pub(crate) fn tell(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        target: &Target<'_>,
        (order, reach): (Order, Reach),
        replaces: bool,
    ) {
        let message = if order.releases() {
            let mut message = Message::new(self.id);
            warp.clock.release(1 << lane, &mut message);
            Some((message, reach))
        } else {
            warp.clock.told(lane as u32).map(|(message, fenced)| (message, fenced.min(reach)))
        };
        let home = self.home(warp);
        let (mut lock, address);
        let messages = match *target {
            Target::Shared { cta, offset } => {
                address = shared_key(cta, offset);
                &mut self.published
            }
            Target::Global { allocation, offset } => {
                address = allocation.base() + offset;
                lock = self.context.published.lock().unwrap_or_else(PoisonError::into_inner);
                &mut *lock
            }
            Target::Local(_) | Target::Param(_) => return,
        };
        if replaces {
            messages.overwrite(address);
        }
        if let Some((message, reach)) = message {
            messages.publish(address, reach, home, &message);
        }
    }
}

fn shared_key(cta: u32, offset: u32) -> u64 {
    SHARED_WINDOW + (u64::from(cta + 1) << 24 | u64::from(offset))
}
