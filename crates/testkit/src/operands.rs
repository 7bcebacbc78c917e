//! Dense operands in every layout that a view may have.

use girih_formats::{Complex, Scalar};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Slice};

use crate::random::signed;

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Rows contiguous and adjacent.
    RowMajor,
    /// Columns contiguous and adjacent.
    ColMajor,
    /// Rows contiguous, with a gap between them, off any alignment.
    PaddedRows,
    /// Columns contiguous, with a gap between them, off any alignment.
    PaddedCols,
    /// Every other row, every third column.
    Strided,
    /// Rows and columns backwards: both strides negative.
    Reversed,
    /// Every other row backwards, columns forwards.
    ReversedRows,
    /// One row for all: stride 0. For operands that are only read.
    BroadcastRows,
    /// One column for all: stride 0. For operands that are only read.
    BroadcastCols,
}

impl Layout {
    /// The layouts that an operand which is written may have.
    pub const WRITABLE: [Self; 7] = [
        Self::RowMajor,
        Self::ColMajor,
        Self::PaddedRows,
        Self::PaddedCols,
        Self::Strided,
        Self::Reversed,
        Self::ReversedRows,
    ];
    /// Every layout.
    pub const ALL: [Self; 9] = [
        Self::RowMajor,
        Self::ColMajor,
        Self::PaddedRows,
        Self::PaddedCols,
        Self::Strided,
        Self::Reversed,
        Self::ReversedRows,
        Self::BroadcastRows,
        Self::BroadcastCols,
    ];

    /// What a view's rows and columns are of the storage's: (storage shape, row slice, column
    /// slice), the storage transposed first where columns are contiguous.
    fn place(self, rows: usize, cols: usize) -> ((usize, usize), Slice, Slice) {
        let from = |start: usize, len: usize, step: isize| {
            let end = start + len * step.unsigned_abs();
            Slice::new(start as isize, Some(end as isize), step)
        };
        let all = Slice::from(..);
        match self {
            Self::RowMajor | Self::ColMajor => ((rows, cols), all, all),
            Self::PaddedRows => ((rows, cols + 5), all, from(3, cols, 1)),
            Self::PaddedCols => ((rows + 5, cols), from(3, rows, 1), all),
            Self::Strided => ((2 * rows + 1, 3 * cols + 2), from(1, rows, 2), from(2, cols, 3)),
            Self::Reversed => ((rows, cols), from(0, rows, -1), from(0, cols, -1)),
            Self::ReversedRows => ((2 * rows + 1, cols + 1), from(1, rows, -2), from(0, cols, 1)),
            Self::BroadcastRows => ((rows.min(1), cols), all, all),
            Self::BroadcastCols => ((rows, cols.min(1)), all, all),
        }
    }

    fn transposed(self) -> bool {
        matches!(self, Self::ColMajor | Self::PaddedCols)
    }
}

/// A matrix placed in a larger storage, whose other elements hold a canary.
#[derive(Clone, Debug)]
pub struct Placed<E> {
    storage: Array2<E>,
    layout: Layout,
    dim: (usize, usize),
}

impl<E: Scalar> Placed<E> {
    /// Places `matrix`. Of a broadcast layout only the first row or column counts.
    #[must_use]
    pub fn new(matrix: &Array2<E>, layout: Layout) -> Self {
        let (rows, cols) = matrix.dim();
        let ((storage_rows, storage_cols), ..) = layout.place(rows, cols);
        let shape = if layout.transposed() {
            (storage_cols, storage_rows)
        } else {
            (storage_rows, storage_cols)
        };
        let storage = Array2::from_elem(shape, canary());
        let mut this = Self { storage, layout, dim: (rows, cols) };
        match layout {
            Layout::BroadcastRows | Layout::BroadcastCols => {
                let shape = this.storage.dim();
                this.storage.zip_mut_with(
                    &matrix.slice_each_axis(|ax| {
                        let len = if ax.axis == Axis(0) { shape.0 } else { shape.1 };
                        Slice::from(..len)
                    }),
                    |to, &from| *to = from,
                );
            }
            _ => this.view_mut().assign(matrix),
        }
        this
    }

    /// The matrix.
    ///
    /// # Panics
    /// Never: a broadcast storage has one row or column, or the matrix none.
    #[must_use]
    pub fn view(&self) -> ArrayView2<'_, E> {
        let (_, rows, cols) = self.layout.place(self.dim.0, self.dim.1);
        let view = self.storage.view();
        let view = if self.layout.transposed() { view.reversed_axes() } else { view };
        let view = view.slice_each_axis_move(rows, cols);
        match self.layout {
            Layout::BroadcastRows | Layout::BroadcastCols if view.dim() != self.dim => self
                .storage
                .broadcast(self.dim)
                .expect("one row or column broadcasts to any number"),
            _ => view,
        }
    }

    /// The matrix, to be written.
    ///
    /// # Panics
    /// If the layout is a broadcast.
    #[must_use]
    pub fn view_mut(&mut self) -> ArrayViewMut2<'_, E> {
        assert!(
            Layout::WRITABLE.contains(&self.layout),
            "elements of a broadcast can't be written"
        );
        let (_, rows, cols) = self.layout.place(self.dim.0, self.dim.1);
        let view = self.storage.view_mut();
        let view = if self.layout.transposed() { view.reversed_axes() } else { view };
        view.slice_each_axis_move(rows, cols)
    }

    /// Whether every element of the storage outside the matrix still holds the canary.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        let mut rest = self.clone();
        rest.view_mut().fill(canary());
        rest.storage.iter().all(|&e| e == canary())
    }
}

/// Slicing both axes of a view by value, mutable or not.
trait SliceBoth: Sized {
    fn slice_each_axis_move(self, rows: Slice, cols: Slice) -> Self;
}

impl<S: ndarray::RawData> SliceBoth for ndarray::ArrayBase<S, ndarray::Ix2> {
    fn slice_each_axis_move(mut self, rows: Slice, cols: Slice) -> Self {
        self.slice_axis_inplace(Axis(0), rows);
        self.slice_axis_inplace(Axis(1), cols);
        self
    }
}

/// Keeps imaginary parts apart from real ones.
pub(crate) const IMAGINARY: u64 = 1 << 20;

fn canary<E: Scalar>() -> E {
    E::from_c64(12345.0.into())
}

/// A dense matrix of numbers in ±[0.05, 1), different for every seed; complex ones have two such parts.
#[must_use]
pub fn random<E: Scalar>(rows: usize, cols: usize, seed: u64) -> Array2<E> {
    Array2::from_shape_fn((rows, cols), |(i, j)| {
        let im = if E::DTYPE.is_complex() { signed(seed + IMAGINARY, i, j) } else { 0.0 };
        E::from_c64(Complex::new(signed(seed, i, j), im))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_shows_the_same_matrix() {
        for dim in [(0, 0), (0, 3), (3, 0), (1, 1), (4, 3)] {
            let matrix = random::<f32>(dim.0, dim.1, 1);
            for layout in Layout::WRITABLE {
                let mut placed = Placed::new(&matrix, layout);
                assert_eq!(placed.view(), matrix, "{layout:?}");
                assert_eq!(placed.view_mut(), matrix, "{layout:?}");
                assert!(placed.is_intact());
            }
            for layout in [Layout::BroadcastRows, Layout::BroadcastCols] {
                assert_eq!(Placed::new(&matrix, layout).view().dim(), dim);
            }
        }
    }

    #[test]
    fn strides_are_what_the_names_say() {
        let matrix = random::<f32>(4, 3, 1);
        let strides = |layout| Placed::new(&matrix, layout).view().strides().to_vec();
        assert_eq!(strides(Layout::RowMajor), [3, 1]);
        assert_eq!(strides(Layout::ColMajor), [1, 4]);
        assert_eq!(strides(Layout::PaddedCols), [1, 9]);
        assert_eq!(strides(Layout::Strided), [22, 3]);
        assert_eq!(strides(Layout::Reversed), [-3, -1]);
        assert_eq!(strides(Layout::ReversedRows), [-8, 1]);
        assert_eq!(strides(Layout::BroadcastRows), [0, 1]);
        assert_eq!(strides(Layout::BroadcastCols), [1, 0]);
    }

    #[test]
    fn a_write_outside_the_matrix_shows() {
        let mut placed = Placed::new(&random::<f32>(2, 2, 1), Layout::PaddedRows);
        placed.storage[[1, 6]] = 0.0;
        assert!(!placed.is_intact());
    }
}
