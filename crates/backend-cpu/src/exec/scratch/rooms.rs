//! Room that each thread keeps between products.

use girih_formats::Scalar;

use crate::exec::scratch::aligned::{from_line, spare};

/// Rows of B, and sums.
#[derive(Debug)]
pub(crate) struct Rooms<T: Scalar> {
    rows: Vec<T>,
    sums: Vec<T::Acc>,
}

impl<T: Scalar> Rooms<T> {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Self { rows: Vec::new(), sums: Vec::new() }
    }

    /// Room for so many elements of B and so many sums, each from the beginning of a cache line on.
    pub(crate) fn of(&mut self, rows: usize, sums: usize) -> (&mut [T], &mut [T::Acc]) {
        (aligned(&mut self.rows, rows), aligned(&mut self.sums, sums))
    }
}

impl<T: Scalar> Default for Rooms<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// `len` elements of a vector that grows as needed.
fn aligned<T: Scalar>(all: &mut Vec<T>, len: usize) -> &mut [T] {
    if all.len() < len + spare::<T>() {
        all.resize(len + spare::<T>(), T::ZERO);
    }
    from_line(all, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_begins_with_a_line_and_grows() {
        let mut rooms = Rooms::<f32>::new();
        for (rows, sums) in [(3, 0), (1000, 17), (5, 4000)] {
            let (rows_room, sums_room) = rooms.of(rows, sums);
            assert_eq!((rows_room.len(), sums_room.len()), (rows, sums));
            assert!(rows_room.as_ptr().addr() % 64 == 0 && sums_room.as_ptr().addr() % 64 == 0);
        }
    }
}
