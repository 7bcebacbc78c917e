//! How many columns (or block columns) each of many windows has, where which ones they are does not matter.

/// The window that used each unit last: a column, or a block of columns.
///
/// Two bytes for each unit, however few are used. A window takes O(entries), without a branch for what is new.
pub(crate) struct Marks {
    last: Vec<u16>,
    /// The window that is counted; 0 is none.
    window: u16,
}

impl Marks {
    /// Whether `entries` justify marks for `units` units on each of `threads` threads: half of what the entries' columns
    /// take, or a megabyte.
    pub(crate) fn fit(units: usize, entries: usize, threads: usize) -> bool {
        let bytes = units.saturating_mul(size_of::<u16>()).saturating_mul(threads);
        bytes <= entries.saturating_mul(2).max(1 << 20)
    }

    /// Marks for units below `units`, none of which was used.
    pub(crate) fn new(units: usize) -> Self {
        Self { last: vec![0; units], window: 0 }
    }

    /// Begins the next window.
    pub(crate) fn begin(&mut self) {
        self.window = self.window.checked_add(1).unwrap_or_else(|| {
            self.last.fill(0);
            1
        });
    }

    /// Counts the units of some columns that the window has not used before.
    pub(crate) fn count(&mut self, cols: &[u32], width: u32) -> u32 {
        if width.is_power_of_two() {
            let shift = width.ilog2();
            self.count_units(cols.iter().map(|&col| col >> shift))
        } else {
            self.count_units(cols.iter().map(|&col| col / width))
        }
    }

    fn count_units(&mut self, units: impl Iterator<Item = u32>) -> u32 {
        let window = self.window;
        units.fold(0, |count, unit| {
            let last = &mut self.last[unit as usize];
            let is_new = *last != window;
            *last = window;
            count + u32::from(is_new)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_count_once_in_each_window() {
        let mut marks = Marks::new(10);
        // More windows than there are numbers for them.
        for _ in 0..1 << 17 {
            marks.begin();
            assert_eq!(marks.count(&[0, 3, 3, 29], 3), 3);
            assert_eq!(marks.count(&[1, 8, 9], 3), 2);
        }
        marks.begin();
        assert_eq!(marks.count(&[0, 1, 2, 3, 4, 7, 8], 4), 3);
    }

    #[test]
    fn marks_take_no_more_than_entries_justify() {
        assert!(Marks::fit(1 << 18, 0, 2) && !Marks::fit(1 << 18, 0, 4));
        assert!(Marks::fit(1 << 24, 1 << 25, 2) && !Marks::fit(1 << 24, 1 << 24, 2));
    }
}
