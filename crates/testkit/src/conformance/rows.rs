//! Orders of the rows: what an ordering may make of a matrix.

use girih_formats::{FormatError, PAD_ROW, RowLayout};

use crate::random::hash;

/// How rows are dealt into windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowOrder {
    /// As they are, implicitly.
    Natural,
    /// As they are, slot by slot.
    Explicit,
    /// Last row first, the empty slots in front.
    Reversed,
    /// Shuffled, with slots left empty and windows without any row.
    Shuffled,
}

impl RowOrder {
    pub(super) const ALL: [Self; 4] =
        [Self::Natural, Self::Explicit, Self::Reversed, Self::Shuffled];

    pub(super) fn layout(self, nrows: usize, window_rows: usize) -> Result<RowLayout, FormatError> {
        let padding = nrows.next_multiple_of(window_rows) - nrows;
        let pad = |n| std::iter::repeat_n(PAD_ROW, n);
        let rows = 0..nrows as u32;
        let slots: Vec<u32> = match self {
            Self::Natural => return RowLayout::natural(nrows, window_rows),
            Self::Explicit => rows.chain(pad(padding)).collect(),
            Self::Reversed => pad(padding).chain(rows.rev()).collect(),
            Self::Shuffled => {
                let mut shuffled: Vec<u32> = rows.collect();
                shuffled.sort_by_key(|&row| hash(99, row as usize, 0));
                // A window without rows first, and after it a hole before every fourth row.
                let mut slots: Vec<u32> = pad(window_rows).collect();
                for (i, row) in shuffled.into_iter().enumerate() {
                    slots.extend(pad(usize::from(i % 4 == 3)));
                    slots.push(row);
                }
                let end = slots.len().next_multiple_of(window_rows) + window_rows;
                slots.resize(end, PAD_ROW);
                slots
            }
        };
        RowLayout::explicit(nrows, window_rows, slots)
    }
}
