//! Which original row stands in which slot of a windowed tiling.

use std::ops::Range;

use crate::MAX_DIM;
use crate::buffer::Buffer;
use crate::error::FormatError;

/// Marks an empty slot of a [`RowLayout`].
pub const PAD_ROW: u32 = u32::MAX;

/// The rows of a matrix, dealt into windows of `window_rows` slots each.
///
/// A tiling's window (WCSR, BMat) or block row (BCSR, Blocked-ELL) `w` holds the rows in slots
/// `w·window_rows .. (w+1)·window_rows`. The natural layout puts row `i` in slot `i` and is
/// implicit. An explicit layout is what an ordering produces: any order of the rows, any slots left
/// empty ([`PAD_ROW`]), so that an ordering may close a window early. The layout is also what
/// scatters rows of C when a product is stored.
///
/// ```
/// use girih_formats::{PAD_ROW, RowLayout};
///
/// let natural = RowLayout::natural(5, 2).unwrap();
/// assert_eq!(natural.n_windows(), 3);
/// assert_eq!(natural.rows(2).collect::<Vec<_>>(), [Some(4), None]);
///
/// let ordered = RowLayout::explicit(3, 2, vec![2, PAD_ROW, 0, 1]).unwrap();
/// assert_eq!(ordered.row(0), Some(2));
/// assert_eq!(ordered.row(1), None);
/// assert_eq!(ordered.slot_of_rows(), Some(vec![2, 3, 0]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RowLayout {
    nrows: usize,
    window_rows: usize,
    /// Row in each slot; `None` for the natural order.
    slots: Option<Buffer<u32>>,
}

impl RowLayout {
    /// The natural order: row `i` in slot `i`.
    ///
    /// # Errors
    /// If `window_rows` is 0 or `nrows` is above [`MAX_DIM`].
    pub fn natural(nrows: usize, window_rows: usize) -> Result<Self, FormatError> {
        check_shape(nrows, window_rows)?;
        Ok(Self { nrows, window_rows, slots: None })
    }

    /// A layout given slot by slot: the original row, or [`PAD_ROW`].
    ///
    /// # Errors
    /// If `slots` is not a whole number of windows, or does not hold every row exactly once.
    pub fn explicit(
        nrows: usize,
        window_rows: usize,
        slots: impl Into<Buffer<u32>>,
    ) -> Result<Self, FormatError> {
        check_shape(nrows, window_rows)?;
        let slots = slots.into();
        if slots.len() % window_rows != 0 {
            return Err(FormatError::Length {
                what: "row layout",
                found: slots.len(),
                expected: slots.len().next_multiple_of(window_rows),
            });
        }
        let mut seen = vec![false; nrows];
        for &row in slots.iter().filter(|&&row| row != PAD_ROW) {
            match seen.get_mut(row as usize) {
                None => return Err(FormatError::RowLayout { row, reason: "is out of range" }),
                Some(true) => return Err(FormatError::RowLayout { row, reason: "stands twice" }),
                Some(unseen) => *unseen = true,
            }
        }
        if let Some(row) = seen.iter().position(|&s| !s) {
            return Err(FormatError::RowLayout { row: row as u32, reason: "is missing" });
        }
        Ok(Self { nrows, window_rows, slots: Some(slots) })
    }

    /// The same order of rows in windows of another height. Empty slots are dropped, so a window
    /// that an ordering closed early is filled up again.
    ///
    /// # Errors
    /// If `window_rows` is 0.
    pub fn with_window_rows(&self, window_rows: usize) -> Result<Self, FormatError> {
        if window_rows == self.window_rows {
            return Ok(self.clone());
        }
        let Some(slots) = &self.slots else {
            return Self::natural(self.nrows, window_rows);
        };
        check_shape(self.nrows, window_rows)?;
        let mut packed: Vec<u32> = slots.iter().copied().filter(|&r| r != PAD_ROW).collect();
        packed.resize(self.nrows.next_multiple_of(window_rows), PAD_ROW);
        Ok(Self { nrows: self.nrows, window_rows, slots: Some(packed.into()) })
    }

    /// Number of rows of the matrix (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// Slots per window.
    #[must_use]
    pub fn window_rows(&self) -> usize {
        self.window_rows
    }

    /// Number of windows.
    #[must_use]
    pub fn n_windows(&self) -> usize {
        match &self.slots {
            None => self.nrows.div_ceil(self.window_rows),
            Some(slots) => slots.len() / self.window_rows,
        }
    }

    /// Number of slots: `n_windows · window_rows`.
    #[must_use]
    pub fn n_slots(&self) -> usize {
        self.n_windows() * self.window_rows
    }

    /// Whether row `i` stands in slot `i` for every row because the layout is the implicit one.
    #[must_use]
    pub fn is_natural(&self) -> bool {
        self.slots.is_none()
    }

    /// The slots of an explicit layout; `None` for the natural one.
    #[must_use]
    pub fn slots(&self) -> Option<&Buffer<u32>> {
        self.slots.as_ref()
    }

    /// Bytes of the slots: 0 for the natural layout.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.slots.as_ref().map_or(0, |slots| size_of_val(&slots[..]) as u64)
    }

    /// The original row in `slot`, or `None` if the slot is empty.
    ///
    /// # Panics
    /// If `slot` is beyond the last window of an explicit layout.
    #[inline]
    #[must_use]
    pub fn row(&self, slot: usize) -> Option<usize> {
        match &self.slots {
            None => (slot < self.nrows).then_some(slot),
            Some(slots) => (slots[slot] != PAD_ROW).then_some(slots[slot] as usize),
        }
    }

    /// The slot of every row: O(slots). `None` for the natural layout, where row `i` stands in slot
    /// `i`.
    #[must_use]
    pub fn slot_of_rows(&self) -> Option<Vec<usize>> {
        let slots = self.slots.as_ref()?;
        let mut slot_of = vec![0; self.nrows];
        for (slot, &row) in slots.iter().enumerate() {
            // An empty slot's mark is no row.
            if let Some(place) = slot_of.get_mut(row as usize) {
                *place = slot;
            }
        }
        Some(slot_of)
    }

    /// The slots of window `w`.
    #[inline]
    #[must_use]
    pub fn window(&self, w: usize) -> Range<usize> {
        w * self.window_rows..(w + 1) * self.window_rows
    }

    /// The original rows in the slots of window `w`, in slot order.
    pub fn rows(&self, w: usize) -> impl Iterator<Item = Option<usize>> + '_ {
        self.window(w).map(|slot| self.row(slot))
    }
}

fn check_shape(nrows: usize, window_rows: usize) -> Result<(), FormatError> {
    if window_rows == 0 || window_rows > MAX_DIM {
        return Err(FormatError::Parameter {
            what: "window_rows",
            found: window_rows,
            expected: "a window holds at least one row and at most 2³²−1",
        });
    }
    if nrows > MAX_DIM {
        return Err(FormatError::TooLarge { what: "nrows", found: nrows as u64 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_a_doubled_and_a_wild_row_are_refused() {
        let explicit = |slots: Vec<u32>| RowLayout::explicit(3, 2, slots);
        assert!(explicit(vec![0, 1, 2, PAD_ROW]).is_ok());
        for (slots, row, reason) in [
            (vec![0, 1], 2, "is missing"),
            (vec![0, 1, 1, 2], 1, "stands twice"),
            (vec![0, 1, 7, 2], 7, "is out of range"),
        ] {
            assert_eq!(explicit(slots), Err(FormatError::RowLayout { row, reason }));
        }
        assert!(matches!(explicit(vec![0, 1, 2]), Err(FormatError::Length { .. })));
    }

    #[test]
    fn another_window_height_keeps_the_order() {
        let layout = RowLayout::explicit(3, 2, vec![2, PAD_ROW, 0, 1]).unwrap();
        let wider = layout.with_window_rows(4).unwrap();
        assert_eq!(wider.rows(0).collect::<Vec<_>>(), [Some(2), Some(0), Some(1), None]);
    }

    #[test]
    fn an_empty_matrix_has_no_windows() {
        assert_eq!(RowLayout::natural(0, 64).unwrap().n_windows(), 0);
        assert_eq!(RowLayout::explicit(0, 64, vec![]).unwrap().n_windows(), 0);
    }
}
