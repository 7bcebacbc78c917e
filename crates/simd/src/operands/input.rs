//! B, as it is given and as kernels read it.

use girih_formats::Scalar;
use ndarray::ArrayView2;

use crate::kernels::prefetch::Prefetch;
use crate::recorder::Recorder;

/// B as it is given, with any strides.
#[derive(Clone, Copy, Debug)]
pub struct Source<T> {
    /// The element in row 0 and the first column.
    pub ptr: *const T,
    /// Elements from a row to the next.
    pub row_stride: isize,
    /// Elements from a column to the next.
    pub col_stride: isize,
}

// SAFETY: it is only read, as a shared slice of plain values would be, and the view outlives the product
// (point 1 of the module).
unsafe impl<T: Scalar> Send for Source<T> {}
// SAFETY: threads that share it only read (point 1 of the module).
unsafe impl<T: Scalar> Sync for Source<T> {}

impl<T: Scalar> Source<T> {
    /// A view's elements.
    pub fn new(view: &ArrayView2<'_, T>) -> Self {
        let strides = view.strides();
        Self { ptr: view.as_ptr(), row_stride: strides[0], col_stride: strides[1] }
    }

    /// The same from `cols` columns later on.
    pub fn at_col(self, cols: usize) -> Self {
        Self { ptr: self.ptr.wrapping_offset(cols as isize * self.col_stride), ..self }
    }
}

/// B, or a panel of its columns, as kernels read it: columns next to each other.
#[derive(Clone, Copy, Debug)]
pub struct Input<T> {
    /// The element in row 0 and the panel's first column.
    pub ptr: *const T,
    /// Elements from a row to the next.
    pub row_stride: isize,
    /// Whether B has a single column. Then its elements are next to each other, and are added in an order of
    /// their own; not so a panel of one column among others.
    pub is_column: bool,
    /// Whether a panel of up to two vectors is part of a group of four. Then rows are summed in one chain, as
    /// in the group.
    pub is_part_of_group: bool,
    /// Whether B is beyond the last-level cache. Then long rows of A read whole rows of it.
    pub is_far: bool,
    /// Whether kernels prefetch entries of A: between rows of a large B the processor does not see that they
    /// follow one another.
    pub prefetch_a: bool,
    /// Where kernels report what they do, in tests.
    pub recorder: Option<&'static Recorder>,
}

// SAFETY: it is only read, as a shared slice of plain values would be, and the view or scratch that it points
// to outlives the product (point 1 of the module).
unsafe impl<T: Scalar> Send for Input<T> {}
// SAFETY: threads that share it only read (point 1 of the module).
unsafe impl<T: Scalar> Sync for Input<T> {}

impl<T: Scalar> Input<T> {
    /// A B of `ncols` columns whose rows are `row_stride` elements apart. A single column must have its
    /// elements next to each other.
    pub fn new(ptr: *const T, row_stride: isize, ncols: usize) -> Self {
        let is_column = ncols == 1;
        Self {
            ptr,
            row_stride,
            is_column,
            is_part_of_group: false,
            is_far: false,
            prefetch_a: false,
            recorder: None,
        }
    }

    /// B in place, if kernels can read it there.
    pub fn in_place(view: &ArrayView2<'_, T>) -> Option<Self> {
        let (strides, ncols) = (view.strides(), view.ncols());
        let next = if ncols == 1 { strides[0] } else { strides[1] };
        (next == 1).then(|| Self::new(view.as_ptr(), strides[0], ncols))
    }

    /// The same from `cols` columns later on.
    pub fn at_col(self, cols: usize) -> Self {
        Self { ptr: self.ptr.wrapping_add(cols), ..self }
    }

    /// Reports to tests that a kernel runs here, what it prefetches ahead, and
    /// whether it writes past the caches.
    #[inline(always)]
    pub fn ran(&self, kernel: &'static str, prefetch: Prefetch, past_caches: bool) {
        if let Some(recorder) = self.recorder {
            recorder.kernel(kernel, prefetch, past_caches);
        }
    }

    /// Reports to tests that a kernel reads whole rows of B.
    #[inline(always)]
    pub fn ran_whole_rows(&self) {
        if let Some(recorder) = self.recorder {
            recorder.whole_rows();
        }
    }

    /// Reports to tests that vectors begin with cache lines, before the first column, and whether they are
    /// written past the caches.
    #[inline(always)]
    pub fn ran_from_lines(&self, past_caches: bool) {
        if let Some(recorder) = self.recorder {
            recorder.from_lines(past_caches);
        }
    }

    /// The same with a column stride, to copy from.
    pub fn source(self) -> Source<T> {
        Source { ptr: self.ptr, row_stride: self.row_stride, col_stride: 1 }
    }
}
