//! Which rows of C the slots of a tiling go to.

use girih_formats::{PAD_ROW, RowLayout};

/// Which row of the output each of some consecutive slots goes to.
#[derive(Clone, Copy, Debug)]
pub enum RowMap<'a> {
    /// Slot `i` goes to row `first + i`.
    Consecutive {
        /// Where slot 0 goes.
        first: usize,
        /// Number of slots.
        len: usize,
    },
    /// Slot `i` goes to row `rows[i]`, or nowhere if that is `PAD_ROW`.
    Scattered(&'a [u32]),
}

impl<'a> RowMap<'a> {
    /// The rows of `len` slots of a layout from `slot` on. Slots beyond a natural layout's last row are left
    /// out.
    pub fn for_slots(layout: &'a RowLayout, slot: usize, len: usize) -> Self {
        match layout.slots() {
            Some(slots) => Self::Scattered(&slots[slot..slot + len]),
            None => {
                let len = len.min(layout.nrows().saturating_sub(slot));
                Self::Consecutive { first: slot, len }
            }
        }
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        match self {
            Self::Consecutive { len, .. } => *len,
            Self::Scattered(rows) => rows.len(),
        }
    }

    /// Whether there is no slot.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same from `skip` slots later on, with at most `len` slots.
    pub fn part(self, skip: usize, len: usize) -> Self {
        let len = len.min(self.len().saturating_sub(skip));
        match self {
            Self::Consecutive { first, .. } => Self::Consecutive { first: first + skip, len },
            Self::Scattered(rows) if len > 0 => Self::Scattered(&rows[skip..skip + len]),
            Self::Scattered(_) => Self::Scattered(&[]),
        }
    }

    /// The row that slot `i < len()` goes to; `None` for an empty slot.
    #[inline(always)]
    pub fn row(&self, i: usize) -> Option<usize> {
        match *self {
            Self::Consecutive { first, .. } => Some(first + i),
            Self::Scattered(rows) => (rows[i] != PAD_ROW).then_some(rows[i] as usize),
        }
    }
}
