//! From a partition to slots.

use girih_formats::{PAD_ROW, RowLayout};

use super::partition::{NO_WINDOW, Partition};
use crate::error::ReorderError;

impl Partition {
    /// The layout: windows in their order, rows increasing within a window. Rows in no window,
    /// which pack no columns that others have, fill empty slots and then windows of their own.
    pub(super) fn layout(&self, window_rows: usize) -> Result<RowLayout, ReorderError> {
        let (ptr, members) = self.members();
        let mut slots = Vec::with_capacity(self.n_windows() * window_rows);
        for range in ptr.windows(2) {
            slots.extend_from_slice(&members[range[0]..range[1]]);
            slots.resize(slots.len().next_multiple_of(window_rows), PAD_ROW);
        }
        let mut empty = 0;
        for (row, _) in self.window.iter().enumerate().filter(|&(_, &w)| w == NO_WINDOW) {
            while slots.get(empty).is_some_and(|&slot| slot != PAD_ROW) {
                empty += 1;
            }
            match slots.get_mut(empty) {
                Some(slot) => *slot = row as u32,
                None => slots.push(row as u32),
            }
        }
        slots.resize(slots.len().next_multiple_of(window_rows), PAD_ROW);
        Ok(RowLayout::explicit(self.window.len(), window_rows, slots)?)
    }
}
