//! Where elements of a matrix lie in a slice.

/// Where the element at row `i`, column `j` of a matrix lies in a slice: at `i · rows + j · cols`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceStrides {
    /// Elements from one row to the next.
    pub rows: usize,
    /// Elements from one column to the next.
    pub cols: usize,
}

impl SliceStrides {
    /// Rows of `ld` elements, one after the other: BLAS's leading dimension.
    #[must_use]
    pub fn row_major(ld: usize) -> Self {
        Self { rows: ld, cols: 1 }
    }

    /// Columns of `ld` elements, one after the other.
    #[must_use]
    pub fn col_major(ld: usize) -> Self {
        Self { rows: 1, cols: ld }
    }
}
