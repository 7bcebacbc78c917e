//! Numbers of a matrix that layouts are chosen by.

use girih_formats::RowLayout;

use super::limits::heavy;

/// Rows of a window in whose stretch of B a second-level cache finds its rows again, where whole rows of B
/// are read: some tens of megabytes of 512 to 1024 columns.
const WINDOW: usize = 8192;

/// What decides how rows are shared out, besides n and the device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Statistics {
    /// Slots of the layout that rows stand in.
    pub(crate) rows: u64,
    pub(crate) entries: u64,
    /// Entries of the longest row.
    pub(crate) longest: u64,
    /// Entries of [heavy](heavy) rows.
    pub(crate) heavy_entries: u64,
    /// How often a row of B is read from memory by a cache that holds what 8192 rows of A have read: 1, or
    /// up to once for every 8192 rows.
    pub(crate) refetch: f64,
}

impl Statistics {
    /// Of a matrix with `ncols` columns: O(rows + columns + nnz).
    pub(crate) fn of(row_ptr: &[u64], col_idx: &[u32], ncols: usize) -> Self {
        let entries = row_ptr.last().copied().unwrap_or(0);
        let heavy = heavy(row_ptr);
        let lengths = || row_ptr.windows(2).map(|slot| slot[1] - slot[0]);
        let (mut fetched, mut distinct) = (0u64, 0u64);
        // The window that last read a row of B, counted from 1.
        let mut last = vec![0u32; ncols];
        for (window, slots) in (1u32..).zip(row_ptr[..row_ptr.len() - 1].chunks(WINDOW)) {
            let begin = slots.first().copied().unwrap_or(0);
            let end = row_ptr[(window as usize - 1) * WINDOW + slots.len()];
            for &col in &col_idx[begin as usize..end as usize] {
                let last = &mut last[col as usize];
                if *last != window {
                    distinct += u64::from(*last == 0);
                    fetched += 1;
                    *last = window;
                }
            }
        }
        Self {
            rows: row_ptr.len() as u64 - 1,
            entries,
            longest: lengths().max().unwrap_or(0),
            heavy_entries: lengths().filter(|&length| length > heavy).sum(),
            refetch: if distinct == 0 { 1.0 } else { fetched as f64 / distinct as f64 },
        }
    }

    /// Entries of a row, on average, rounded up.
    pub(crate) fn mean(&self) -> u64 {
        self.entries.div_ceil(self.rows.max(1))
    }
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
    fn rows_and_what_they_read_again_are_counted() {
        let of = Statistics::of(&[0, 2, 2, 40], &[0; 40], 3);
        assert_eq!((of.rows, of.entries, of.longest, of.heavy_entries), (3, 40, 38, 38));
        assert_eq!((of.mean(), of.refetch), (14, 1.0));
        // The first and the last window read the same two of three rows of B, the second none.
        let mut row_ptr = vec![2u64; 2 * WINDOW + 2];
        (row_ptr[0], row_ptr[2 * WINDOW + 1]) = (0, 5);
        let of = Statistics::of(&row_ptr, &[4, 1, 1, 4, 2], 5);
        assert_eq!((of.rows, of.mean()), (2 * WINDOW as u64 + 1, 1));
        assert!((of.refetch - 5.0 / 3.0).abs() < 1e-12);
        assert_eq!(Statistics::of(&[0], &[], 7).refetch, 1.0);
    }

    #[test]
    fn slots_have_rows_of_their_own_numbers_or_are_listed() {
        assert_eq!(rows_of_slots(&RowLayout::natural(3, 1).unwrap(), 3), [0; 0]);
        assert_eq!(rows_of_slots(&RowLayout::natural(1, 2).unwrap(), 2), [0, PAD_ROW]);
        let layout = RowLayout::explicit(2, 1, vec![PAD_ROW, 1, 0]).unwrap();
        assert_eq!(rows_of_slots(&layout, 3), [PAD_ROW, 1, 0]);
    }
}
