//! How tiles hold a matrix whose rows and columns were moved.

use girih_formats::{Csr, PAD_ROW, RowLayout, Scalar};
use girih_reorder::{Permutation, ReorderError, Reordering};

use super::Space;

/// Permutations between a matrix and what a plan's tiles hold, besides the row layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    /// In the permuted space only: elsewhere the layout moves rows.
    pub(crate) rows: Option<Permutation>,
    /// Column j of the matrix is column `new(j)` of the tiles.
    pub(crate) cols: Option<Permutation>,
}

impl Placement {
    /// The matrix as the tiles hold it; shares its arrays if nothing moves. O(nnz · log(longest row)).
    pub(crate) fn apply<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<T>, ReorderError> {
        match (&self.rows, &self.cols) {
            (Some(rows), Some(cols)) if rows == cols => rows.apply_symmetric(a),
            (Some(rows), Some(cols)) => cols.apply_cols(&rows.apply_rows(a)?),
            (Some(rows), None) => rows.apply_rows(a),
            (None, Some(cols)) => cols.apply_cols(a),
            (None, None) => Ok(a.clone()),
        }
    }

    /// What undoes [`apply`](Self::apply).
    pub(crate) fn inverse(&self) -> Self {
        let inverse = |p: &Option<Permutation>| p.as_ref().map(Permutation::inverse);
        Self { rows: inverse(&self.rows), cols: inverse(&self.cols) }
    }
}

/// A matrix ready to be laid out.
#[derive(Clone, Debug)]
pub(crate) struct Arranged<T: Scalar> {
    /// As the tiles hold it.
    pub(crate) matrix: Csr<T>,
    /// The windows of its rows.
    pub(crate) layout: RowLayout,
    pub(crate) placement: Placement,
}

impl<T: Scalar> Arranged<T> {
    /// Rows in the windows of the ordering, columns as they are.
    pub(crate) fn rows_only(a: &Csr<T>, ordering: &Reordering) -> Self {
        let (matrix, layout) = (a.clone(), ordering.rows().clone());
        Self { matrix, layout, placement: Placement::default() }
    }

    /// Also columns in the order of the ordering, for which rows of B must be permuted.
    pub(crate) fn with_columns(
        a: &Csr<T>,
        ordering: &Reordering,
        cols: &Permutation,
    ) -> Result<Self, ReorderError> {
        let placement = Placement { rows: None, cols: Some(cols.clone()) };
        Ok(Self { matrix: placement.apply(a)?, layout: ordering.rows().clone(), placement })
    }

    /// In the permuted space, where the rows stand in order and only empty slots are left of the
    /// layout.
    pub(crate) fn permuted(a: &Csr<T>, ordering: &Reordering) -> Result<Self, ReorderError> {
        let rows = ordering.row_permutation();
        let square = a.nrows() == a.ncols();
        // A square matrix maps the space to itself.
        let cols = if square { Some(rows.clone()) } else { ordering.cols().cloned() };
        let moves = |p: &Permutation| !p.is_identity();
        let layout = in_order(ordering.rows())?;
        let placement = Placement { rows: Some(rows).filter(moves), cols: cols.filter(moves) };
        Ok(Self { matrix: placement.apply(a)?, layout, placement })
    }

    pub(crate) fn new(
        a: &Csr<T>,
        ordering: &Reordering,
        space: Space,
    ) -> Result<Self, ReorderError> {
        match space {
            Space::Caller => Ok(Self::rows_only(a, ordering)),
            Space::Permuted => Self::permuted(a, ordering),
        }
    }
}

/// The layout with its rows numbered as they stand.
fn in_order(layout: &RowLayout) -> Result<RowLayout, ReorderError> {
    let (nrows, window_rows) = (layout.nrows(), layout.window_rows());
    let mut next = 0;
    let mut number = |&row: &u32| {
        let number = if row == PAD_ROW { PAD_ROW } else { next };
        next += u32::from(row != PAD_ROW);
        number
    };
    let slots: Vec<u32> =
        layout.slots().iter().flat_map(|slots| slots.iter()).map(&mut number).collect();
    // Without gaps it is the natural order; what is empty at the end is so there too.
    let packed = slots.iter().take(nrows).all(|&row| row != PAD_ROW);
    if packed && slots.len() <= nrows.next_multiple_of(window_rows) {
        return Ok(RowLayout::natural(nrows, window_rows)?);
    }
    Ok(RowLayout::explicit(nrows, window_rows, slots)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_order_keep_their_gaps() {
        let layout = |slots: Vec<u32>| RowLayout::explicit(3, 2, slots).unwrap();
        let gaps = in_order(&layout(vec![2, PAD_ROW, 0, 1])).unwrap();
        assert_eq!(gaps.slots().unwrap()[..], [0, PAD_ROW, 1, 2]);
        assert!(in_order(&layout(vec![2, 0, 1, PAD_ROW])).unwrap().is_natural());
        let windows = in_order(&layout(vec![2, 0, 1, PAD_ROW, PAD_ROW, PAD_ROW])).unwrap();
        assert_eq!(windows.n_windows(), 3);
        assert!(in_order(&RowLayout::natural(3, 2).unwrap()).unwrap().is_natural());
    }
}
