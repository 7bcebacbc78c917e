//! The operations that were issued and have not completed, and the bytes they hold.

use super::footprint::{Footprint, Space, Touch};

/// Names a pending operation; later ones are greater.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct OperationId(u64);

/// One memory access meets a pending operation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Conflict {
    /// The pending operation; the oldest where several conflict.
    pub operation: OperationId,
    /// What it does to the byte.
    pub touch: Touch,
    /// The first byte of the access that it holds.
    pub byte: u64,
}

/// The pending operations of one cluster, oldest first. `T` is what is to be done at completion.
#[derive(Debug)]
pub struct Pending<T> {
    next: u64,
    /// By name. There are few at a time, and every access looks at all of them.
    operations: Vec<Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    id: OperationId,
    footprints: Vec<Footprint>,
    operation: T,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { next: 0, operations: Vec::new() }
    }
}

impl<T> Pending<T> {
    /// Nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// How many operations are pending.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    fn index(&self, id: OperationId) -> Option<usize> {
        self.operations.binary_search_by_key(&id, |entry| entry.id).ok()
    }

    /// An operation begins. It conflicts with nothing, which the caller has checked.
    pub fn begin(&mut self, footprints: Vec<Footprint>, operation: T) -> OperationId {
        let id = OperationId(self.next);
        self.next += 1;
        self.operations.push(Entry { id, footprints, operation });
        id
    }

    /// The operation is over; it holds its bytes no longer.
    pub fn end(&mut self, id: OperationId) -> Option<(Vec<Footprint>, T)> {
        let entry = self.operations.remove(self.index(id)?);
        Some((entry.footprints, entry.operation))
    }

    /// A pending operation.
    pub fn get(&self, id: OperationId) -> Option<&T> {
        Some(&self.operations[self.index(id)?].operation)
    }

    /// A pending operation, to be changed.
    pub fn get_mut(&mut self, id: OperationId) -> Option<&mut T> {
        let index = self.index(id)?;
        Some(&mut self.operations[index].operation)
    }

    /// All pending operations, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (OperationId, &T)> {
        self.operations.iter().map(|entry| (entry.id, &entry.operation))
    }

    /// All pending operations and their bytes, oldest first.
    pub fn iter_with_bytes(&self) -> impl Iterator<Item = (&T, &[Footprint])> {
        self.operations.iter().map(|entry| (&entry.operation, &entry.footprints[..]))
    }

    /// Changes the bytes that an operation holds.
    pub fn reshape(&mut self, id: OperationId, footprints: Vec<Footprint>) {
        if let Some(index) = self.index(id) {
            self.operations[index].footprints = footprints;
        }
    }

    /// The oldest operation that holds a byte of `start..end` of `space` in a way that does not
    /// agree with `touch`. Linear in the pending operations, logarithmic in their ranges.
    pub fn conflict(&self, space: Space, touch: Touch, start: u64, end: u64) -> Option<Conflict> {
        self.operations.iter().find_map(|entry| {
            entry.footprints.iter().find_map(|held| {
                if held.space() != space || held.touch().agrees(touch) {
                    return None;
                }
                let byte = held.first_in(start, end)?;
                Some(Conflict { operation: entry.id, touch: held.touch(), byte })
            })
        })
    }

    /// The oldest operation that conflicts with one that is to begin with this footprint, unless
    /// `friends` says that the two are ordered among themselves.
    pub fn conflict_with(
        &self,
        footprint: &Footprint,
        friends: impl Fn(&T) -> bool,
    ) -> Option<Conflict> {
        let hull = footprint.hull()?;
        self.operations.iter().find_map(|entry| {
            if friends(&entry.operation) {
                return None;
            }
            entry.footprints.iter().find_map(|held| {
                let theirs = held.hull()?;
                if theirs.1 <= hull.0 || hull.1 <= theirs.0 {
                    return None;
                }
                let byte = held.conflict(footprint)?;
                Some(Conflict { operation: entry.id, touch: held.touch(), byte })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_conflict_is_found_until_it_ends() {
        let mut pending = Pending::default();
        let read = Footprint::new(Space::Shared(0), Touch::Read, [(0, 64)]);
        let write = Footprint::new(Space::Shared(0), Touch::Write, [(32, 64)]);
        let first = pending.begin(vec![read.clone()], "first");
        let second = pending.begin(vec![write.clone()], "second");
        let find = |pending: &Pending<_>, touch, start, end| {
            let conflict = pending.conflict(Space::Shared(0), touch, start, end)?;
            Some((conflict.operation, conflict.byte))
        };
        assert_eq!(find(&pending, Touch::Read, 0, 32), None);
        assert_eq!(find(&pending, Touch::Read, 0, 40), Some((second, 32)));
        assert_eq!(find(&pending, Touch::Write, 8, 40), Some((first, 8)));
        assert_eq!(pending.conflict(Space::Global, Touch::Write, 0, 96), None);
        assert_eq!(pending.conflict_with(&write, |_| false).unwrap().operation, first);
        assert_eq!(
            pending.conflict_with(&write, |&name| name == "first").unwrap().operation,
            second
        );
        assert_eq!(pending.end(first).unwrap().1, "first");
        assert_eq!(find(&pending, Touch::Write, 8, 40), Some((second, 32)));
        assert!(pending.end(first).is_none());
        assert_eq!(pending.len(), 1);
    }
}
