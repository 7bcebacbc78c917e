//! What was last asked of a clock: neighbours in memory have mostly been accessed together.

use super::clock::Epoch;
use super::shadow::Actor;

/// Which lanes of a warp are known up to a count, of those that were last asked for.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    warp: Epoch,
    lanes: u32,
}

impl Asked {
    /// The lanes of an epoch's warp whose accesses at its count happened before what an actor does.
    #[inline]
    fn lanes(&mut self, epoch: Epoch, actor: &Actor<'_>) -> u32 {
        let warp = epoch.of_lanes();
        if warp != self.warp {
            *self = Self { warp, lanes: actor.seen.known_lanes(epoch) };
        }
        self.lanes
    }
}

/// What was last looked up while actors that know the same access one piece after the other.
#[derive(Debug, Default)]
pub(crate) struct Known {
    writers: Asked,
    readers: Asked,
}

impl Known {
    /// Whether a write happened before what an actor does, alone or with other lanes that know the
    /// same.
    #[inline]
    pub(super) fn follows_write(&mut self, write: Epoch, actor: &Actor<'_>, alone: bool) -> bool {
        write.0 == 0
            || alone && write.same_thread(actor.epoch)
            || self.writers.lanes(write, actor) >> write.lane() & 1 == 1
    }

    /// Whether reads of some lanes happened before what an actor does.
    #[inline]
    pub(super) fn follows_reads(&mut self, read: Epoch, lanes: u32, actor: &Actor<'_>) -> bool {
        read.0 == 0 || lanes & !self.readers.lanes(read, actor) == 0
    }
}
