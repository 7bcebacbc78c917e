//! The bytes that an asynchronous operation reads or writes.

/// A memory that asynchronous operations touch.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Space {
    /// Global memory, by generic address.
    Global,
    /// The shared memory of the CTA with this rank in its cluster, by byte offset.
    Shared(u32),
}

/// How bytes are touched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Touch {
    /// Read.
    Read,
    /// Overwritten.
    Write,
    /// Combined element by element, which others may do at the same time.
    Reduce,
}

impl Touch {
    /// May the two be under way at once on the same bytes?
    pub fn agrees(self, other: Self) -> bool {
        self == other && self != Self::Write
    }
}

/// Byte ranges of one memory, sorted, disjoint and not adjacent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Footprint {
    space: Space,
    touch: Touch,
    ranges: Vec<(u64, u64)>,
}

impl Footprint {
    /// A footprint of `(start, length)` runs in any order; they may overlap.
    pub fn new(space: Space, touch: Touch, runs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut ranges: Vec<_> = runs
            .into_iter()
            .filter(|run| run.1 > 0)
            .map(|(start, length)| (start, start + length))
            .collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1;
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
        Self { space, touch, ranges }
    }

    /// The memory.
    pub fn space(&self) -> Space {
        self.space
    }

    /// What is done to the bytes.
    pub fn touch(&self) -> Touch {
        self.touch
    }

    /// The ranges as `(start, end)`, ascending.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// The first byte and the end of all ranges; `None` when there is no byte.
    pub fn hull(&self) -> Option<(u64, u64)> {
        Some((self.ranges.first()?.0, self.ranges.last()?.1))
    }

    /// The first byte in `start..end` that is in the footprint.
    pub fn first_in(&self, start: u64, end: u64) -> Option<u64> {
        // Most accesses are far away.
        let (least, most) = self.hull()?;
        if end <= least || most <= start {
            return None;
        }
        let at = self.ranges.partition_point(|range| range.1 <= start);
        let first = self.ranges.get(at)?.0.max(start);
        (first < end).then_some(first)
    }

    /// The first byte that both touch in a way that does not agree.
    pub fn conflict(&self, other: &Self) -> Option<u64> {
        if self.space != other.space || self.touch.agrees(other.touch) {
            return None;
        }
        let (few, many) =
            if self.ranges.len() <= other.ranges.len() { (self, other) } else { (other, self) };
        few.ranges.iter().find_map(|&(start, end)| many.first_in(start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(touch: Touch, runs: &[(u64, u64)]) -> Footprint {
        Footprint::new(Space::Shared(0), touch, runs.iter().copied())
    }

    #[test]
    fn runs_are_sorted_and_joined() {
        let footprint = shared(Touch::Read, &[(64, 32), (0, 16), (16, 16), (70, 4), (5, 0)]);
        assert_eq!(footprint.ranges(), [(0, 32), (64, 96)]);
        assert_eq!(footprint.hull(), Some((0, 96)));
        assert_eq!(shared(Touch::Read, &[]).hull(), None);
    }

    #[test]
    fn the_first_shared_byte_is_found() {
        let footprint = shared(Touch::Read, &[(0, 32), (64, 32)]);
        assert_eq!(footprint.first_in(32, 64), None);
        assert_eq!(footprint.first_in(31, 33), Some(31));
        assert_eq!(footprint.first_in(40, 100), Some(64));
        assert_eq!(footprint.first_in(96, 100), None);
    }

    #[test]
    fn reads_agree_and_writes_do_not() {
        let read = shared(Touch::Read, &[(0, 32)]);
        let write = shared(Touch::Write, &[(31, 32)]);
        let reduce = shared(Touch::Reduce, &[(31, 32)]);
        assert_eq!(read.conflict(&read), None);
        assert_eq!(read.conflict(&write), Some(31));
        assert_eq!(write.conflict(&write), Some(31));
        assert_eq!(reduce.conflict(&reduce), None);
        assert_eq!(reduce.conflict(&write), Some(31));
        let elsewhere = Footprint::new(Space::Shared(1), Touch::Write, [(0, 64)]);
        assert_eq!(read.conflict(&elsewhere), None);
    }
}
