//! The groups in which threads wait for `cp.async` and bulk operations.

use std::collections::VecDeque;

use super::pending::OperationId;

/// The operations of one thread that no wait has covered yet, in groups.
#[derive(Debug)]
pub(crate) struct Groups<T> {
    /// Issued, and not in a group yet.
    open: Vec<T>,
    /// Groups that no wait has covered, oldest first.
    committed: VecDeque<Vec<T>>,
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        Self { open: Vec::new(), committed: VecDeque::new() }
    }
}

/// A bulk operation by its halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Halves {
    /// Reads shared memory.
    pub(crate) read: OperationId,
    /// Writes global memory.
    pub(crate) write: OperationId,
}

impl<T> Groups<T> {
    /// An operation begins.
    pub(crate) fn issue(&mut self, operation: T) {
        self.open.push(operation);
    }

    /// What was issued since the last commit becomes a group, even if that is nothing.
    pub(crate) fn commit(&mut self) {
        self.committed.push_back(std::mem::take(&mut self.open));
    }

    /// The operations of all groups but the `newest`.
    pub(crate) fn older(&self, newest: usize) -> impl Iterator<Item = &T> {
        let older = self.committed.len().saturating_sub(newest);
        self.committed.iter().take(older).flatten()
    }

    /// Forgets all groups but the `newest`, which a wait has covered.
    pub(crate) fn retire(&mut self, newest: usize) -> Vec<T> {
        let older = self.committed.len().saturating_sub(newest);
        self.committed.drain(..older).flatten().collect()
    }

    /// All operations, those outside of groups too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.committed.iter().flatten().chain(&self.open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_groups_are_not_waited_for() {
        let mut groups = Groups::default();
        groups.issue(1);
        groups.issue(2);
        groups.commit();
        groups.commit();
        groups.issue(3);
        groups.commit();
        groups.issue(4);
        assert_eq!(groups.older(1).copied().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(groups.older(3).count(), 0);
        assert_eq!(groups.retire(2), [1, 2]);
        assert_eq!(groups.retire(0), [3]);
        assert_eq!(groups.iter().copied().collect::<Vec<_>>(), [4]);
    }
}
