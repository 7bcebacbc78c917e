//! Numbers of a matrix that layouts are chosen by.

use girih_formats::RowLayout;

/// Rows that are this many times as long as the mean, and longer than this number of entries, are no part of a
/// warp's share: one that began last would be waited for.
const HEAVY: u64 = 2;
const SHORT: u64 = 16;
/// What decides how rows are shared out, besides n and the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// Slots of the layout that rows stand in.
    pub(crate) rows: u64,
    pub(crate) entries: u64,
    /// Entries of the longest row.
    pub(crate) longest: u64,
    /// Entries of [heavy](heavy) rows.
    pub(crate) heavy_entries: u64,
}

impl Statistics {
    /// Of rows that end where `row_ptr` says: O(rows).
    pub(crate) fn of(row_ptr: &[u64]) -> Self {
        let heavy = heavy(row_ptr);
        let lengths = || row_ptr.windows(2).map(|slot| slot[1] - slot[0]);
        Self {
            rows: row_ptr.len() as u64 - 1,
            entries: row_ptr.last().copied().unwrap_or(0),
            longest: lengths().max().unwrap_or(0),
            heavy_entries: lengths().filter(|&length| length > heavy).sum(),
        }
    }

    /// Entries of a row, on average, rounded up.
    pub(crate) fn mean(&self) -> u64 {
        self.entries.div_ceil(self.rows.max(1))
    }
}

/// Entries of the longest row that is not heavy, of rows that end where `row_ptr` says.
pub(super) fn heavy(row_ptr: &[u64]) -> u64 {
    let entries = row_ptr.last().copied().unwrap_or(0);
    (HEAVY * entries / row_ptr.len() as u64).max(SHORT)
}

/// The row of C of every slot, if that is not the slot's number.
pub(super) fn rows_of_slots(layout: &RowLayout, slots: usize) -> Vec<u32> {
    if layout.is_natural() && slots == layout.nrows() {
        return Vec::new();
    }
    let row = |slot| layout.row(slot).map_or(girih_formats::PAD_ROW, |row| row as u32);
    (0..slots).map(row).collect()
}

#[cfg(test)]
mod tests {
    use girih_formats::PAD_ROW;

    use super::*;

    #[test]
    fn rows_are_counted() {
        let of = Statistics::of(&[0, 2, 2, 40]);
        assert_eq!((of.rows, of.entries, of.longest, of.heavy_entries), (3, 40, 38, 38));
        assert_eq!((of.mean(), Statistics::of(&[0]).mean()), (14, 0));
        assert_eq!((heavy(&[0, 10, 20]), heavy(&[0, 100, 200])), (16, 133));
    }

    #[test]
    fn slots_have_rows_of_their_own_numbers_or_are_listed() {
        assert_eq!(rows_of_slots(&RowLayout::natural(3, 1).unwrap(), 3), [0; 0]);
        assert_eq!(rows_of_slots(&RowLayout::natural(1, 2).unwrap(), 2), [0, PAD_ROW]);
        let layout = RowLayout::explicit(2, 1, vec![PAD_ROW, 1, 0]).unwrap();
        assert_eq!(rows_of_slots(&layout, 3), [PAD_ROW, 1, 0]);
    }
}
