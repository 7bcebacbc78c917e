//! What an ordering makes of a matrix.

use girih_formats::RowLayout;

use crate::error::ReorderError;
use crate::permutation::Permutation;

/// What an ordering makes of a matrix: its rows dealt into windows, and an order of the columns that
/// goes with it.
///
/// The columns' order is for callers who keep vectors permuted, and for formats whose blocks of
/// columns are direct; the rest point at the columns of the matrix as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Reordering {
    rows: RowLayout,
    cols: Option<Permutation>,
}

impl Reordering {
    /// Rows in the order of a permutation, without empty slots between them.
    #[must_use]
    pub fn new(rows: &Permutation, cols: Option<Permutation>) -> Self {
        let Ok(rows) = rows.to_row_layout(1) else {
            unreachable!("a permutation holds every row once, and a window has a row")
        };
        Self { rows, cols }
    }

    /// Rows in windows that an ordering closed early where that saves columns.
    #[must_use]
    pub fn of_layout(rows: RowLayout, cols: Option<Permutation>) -> Self {
        Self { rows, cols }
    }

    /// The order a matrix of `nrows` rows has already.
    ///
    /// # Errors
    /// If `nrows` is above [`MAX_DIM`](girih_formats::MAX_DIM).
    pub fn natural(nrows: usize) -> Result<Self, ReorderError> {
        Ok(Self { rows: RowLayout::natural(nrows, 1)?, cols: None })
    }

    /// The rows, in the windows of the ordering.
    #[must_use]
    pub fn rows(&self) -> &RowLayout {
        &self.rows
    }

    /// The order of the columns; `None` to leave them as they are.
    #[must_use]
    pub fn cols(&self) -> Option<&Permutation> {
        self.cols.as_ref()
    }

    /// Where each row stands among the rows, empty slots not counted. O(slots).
    #[must_use]
    pub fn row_permutation(&self) -> Permutation {
        Permutation::of_row_layout(&self.rows)
    }
}
