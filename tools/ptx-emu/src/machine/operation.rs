//! Asynchronous operations in flight.
//!
//! An instruction that starts one calls [`Operations::issue`] with the bytes that the operation will
//! read and write, and the [`Work`] that does it. From then on until its bytes are released, any
//! ordinary access that conflicts is a race. The scheduler completes operations as the launch's
//! [`Timing`](super::Timing) says: it takes the work, and calls [`Work::complete`], which moves the
//! data and makes its mechanism known (an mbarrier's transaction count, a group).
//!
//! The bytes are released at completion, or, for operations issued with [`Release::ByOwner`], when
//! the owner says so by [`Operations::release`]: an operation whose completion a thread learns of
//! only by a wait is pending for everybody else until that wait.

use std::collections::VecDeque;

use super::Cluster;
use crate::asynch::footprint::{Footprint, Space, Touch};
use crate::asynch::pending::{Conflict, OperationId, Pending};
use crate::report::{Place, Stop};

/// What an asynchronous operation does when its time comes.
pub(crate) trait Work: Send + std::fmt::Debug {
    /// Moves the data, and tells whoever waits.
    ///
    /// # Errors
    /// What is wrong with it, reported at the instruction that issued it.
    fn complete(self: Box<Self>, cluster: &mut Cluster) -> Result<(), Stop>;
}

/// Who ends the time in which an operation's bytes may not be touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    /// Its completion.
    AtCompletion,
    /// A call of [`Operations::release`].
    ByOwner,
}

/// An operation to issue.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Where it was issued.
    pub(crate) place: Place,
    /// Who ends the time in which its bytes may not be touched.
    pub(crate) release: Release,
    /// Operations that must complete before it (of the same group, on the same accumulator).
    pub(crate) after: Vec<OperationId>,
    /// What it does; `None` once it is done.
    pub(crate) work: Option<Box<dyn Work>>,
}

/// The operations of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    pending: Pending<Operation>,
    /// Those whose work is still to be done, oldest first.
    queue: VecDeque<OperationId>,
}

impl Operations {
    /// Registers an operation on bytes that the caller has checked against those pending.
    pub(crate) fn issue(&mut self, bytes: Vec<Footprint>, operation: Operation) -> OperationId {
        let id = self.pending.begin(bytes, operation);
        self.queue.push_back(id);
        id
    }

    /// As [`Operations::issue`], of an operation that cannot complete before [`Operations::start`].
    pub(crate) fn hold(&mut self, bytes: Vec<Footprint>, operation: Operation) -> OperationId {
        self.pending.begin(bytes, operation)
    }

    /// Lets an operation complete that was held.
    pub(crate) fn start(&mut self, id: OperationId) {
        self.queue.push_back(id);
    }

    /// Whether an operation's work is done.
    pub(crate) fn is_complete(&self, id: OperationId) -> bool {
        self.pending.get(id).is_none_or(|operation| operation.work.is_none())
    }

    /// How many operations still have their work to do.
    pub(crate) fn n_unfinished(&self) -> usize {
        self.queue.len()
    }

    /// Ends the time in which the bytes of a completed operation may not be touched, and gives them.
    pub(crate) fn release(&mut self, id: OperationId) -> Option<Vec<Footprint>> {
        if self.is_complete(id) { self.pending.end(id).map(|(bytes, _)| bytes) } else { None }
    }

    /// Changes the bytes that an operation holds.
    pub(crate) fn reshape(&mut self, id: OperationId, bytes: Vec<Footprint>) {
        self.pending.reshape(id, bytes);
    }

    /// The operations that hold bytes, and those among them that do.
    pub(crate) fn pending(&self) -> &Pending<Operation> {
        &self.pending
    }

    /// The oldest operation that an access of `start..end` conflicts with.
    pub(crate) fn conflict(
        &self,
        space: Space,
        touch: Touch,
        start: u64,
        end: u64,
    ) -> Option<(Conflict, &Operation)> {
        if self.pending.is_empty() {
            return None;
        }
        let conflict = self.pending.conflict(space, touch, start, end)?;
        Some((conflict, self.pending.get(conflict.operation)?))
    }

    /// Takes the work of the `index`-th oldest operation whose predecessors are done, or of the
    /// newest such if there are fewer.
    pub(crate) fn take(&mut self, index: usize) -> Option<(OperationId, Box<dyn Work>, Place)> {
        let able = |id: &OperationId| {
            let operation = self.pending.get(*id);
            operation.is_some_and(|it| it.after.iter().all(|&before| self.is_complete(before)))
        };
        let at =
            (0..self.queue.len()).filter(|&at| able(&self.queue[at])).take(index + 1).last()?;
        let id = self.queue.remove(at)?;
        let operation = self.pending.get_mut(id)?;
        let work = operation.work.take()?;
        let place = operation.place.clone();
        if operation.release == Release::AtCompletion {
            self.pending.end(id);
        }
        Some((id, work, place))
    }
}
