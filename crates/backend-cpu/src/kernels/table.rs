//! The kernels of one instruction set, behind safe functions.
//!
//! Kernels require that pointers and indices are valid. Their callers hold by the following, to which
//! `SAFETY` comments refer:
//!
//! 1. A table is only made for an instruction set that this machine has: [`KernelScalar::kernels`] sees to it.
//! 2. Columns of a block are rows of B: those of a validated tiling are, and a layout has the columns of one.
//!    A layout has as many rows, columns and values as its runs or tiles say; one that was read from a file
//!    was checked for that.
//! 3. B and C have the columns of the panel, and no other thread accesses the rows of C that a task stores:
//!    points 1 and 3 of [`operands`](girih_simd::operands).

use std::slice;

use girih_formats::{ComplexScalar, CsrPattern, Real};
use girih_simd::{
    Input, Isa, KernelScalar, KernelTable, Output, PatternBlock, RowBlock, RowMap, Runs,
    SampledEntries, SampledRows, SortedBlock, Source, Strip, Total, fence, store_complex,
};
use ndarray::ArrayView2;

use super::BPanel;

/// The kernels for values of type `T`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels<T: Real> {
    own: KernelTable<T>,
    /// For a B that was widened before.
    widened: KernelTable<T::Acc>,
}

impl<T: KernelScalar<Acc: KernelScalar>> Kernels<T> {
    /// The kernels of an instruction set, which this machine must have.
    pub(crate) fn new(isa: Isa) -> Self {
        Self { own: T::kernels(isa), widened: T::Acc::kernels(isa) }
    }

    /// Multiplies a block of sparse rows by `width` columns of B. The block's columns must be rows of B.
    #[inline]
    pub(crate) fn rows(
        &self,
        block: &RowBlock<'_, T::Acc>,
        b: BPanel<T>,
        out: &Output<T::Acc>,
        map: RowMap<'_>,
        width: usize,
    ) {
        assert!(map.len() < block.row_ptr.len() && block.col_idx.len() == block.values.len());
        // SAFETY: point 1 of `rows` by point 1, point 2 by point 2 and the assertion, point 3 by point 3,
        // point 4 by the assertion.
        unsafe {
            match b {
                BPanel::Given(b) => (self.own.rows)(block, b, out, map, width),
                BPanel::Widened(b) => (self.widened.rows)(block, b, out, map, width),
            }
        }
    }

    /// Multiplies sorted rows by `width` columns of B. The block's columns must be rows of B, and it must
    /// have as many rows, columns and values as its runs say.
    #[inline]
    pub(crate) fn sorted(
        &self,
        block: &SortedBlock<'_, T::Acc>,
        b: BPanel<T>,
        out: &Output<T::Acc>,
        width: usize,
    ) {
        // SAFETY: points 1 to 3 of `sorted` by points 1 to 3.
        unsafe {
            match b {
                BPanel::Given(b) => (self.own.sorted)(block, b, out, width),
                BPanel::Widened(b) => (self.widened.sorted)(block, b, out, width),
            }
        }
    }

    /// Copies rows of B, from row `first` on and `width` columns wide, to the rows of `to`, which are
    /// `stride` elements long. B must have these rows and columns.
    #[inline]
    pub(crate) fn pack(
        &self,
        b: Source<T>,
        first: usize,
        width: usize,
        to: &mut [T],
        stride: usize,
    ) {
        assert!(width <= stride && to.len().is_multiple_of(stride));
        // SAFETY: point 1 of `pack` by point 1, point 2 by this function's own requirement, point 3 since
        // `to` is exclusive and has whole rows, as asserted.
        unsafe { (self.own.pack)(b, first, to.len() / stride, width, to.as_mut_ptr(), stride) }
    }

    /// Columns of a panel of gathered rows.
    #[inline]
    pub(crate) fn panel(&self) -> usize {
        self.own.panel
    }

    /// Copies the rows of B in `runs`, `width` columns wide, to panels of [`panel`](Self::panel) columns, one
    /// after the other. B must have these rows and columns.
    #[inline]
    pub(crate) fn gather(&self, runs: &Runs<'_>, b: Input<T>, width: usize, to: &mut [T]) {
        let count = runs.count();
        if let Some(recorder) = b.recorder {
            recorder.gathered();
        }
        assert!(count * width.next_multiple_of(self.own.panel) <= to.len());
        // SAFETY: point 1 of `gather` by point 1, point 2 by point 2, point 3 since `to` is exclusive and
        // holds all panels, as asserted.
        unsafe { (self.own.gather)(runs, count, b, width, to.as_mut_ptr()) }
    }

    /// Multiplies tiles of rows by `width` columns of B. The block's columns must be rows of B, and it must
    /// have as many columns and values as its tiles say.
    #[inline]
    pub(crate) fn patterns(
        &self,
        block: &PatternBlock<'_, T::Acc>,
        b: BPanel<T>,
        out: &Output<T::Acc>,
        width: usize,
    ) {
        // SAFETY: points 1 to 3 of `patterns` by points 1 to 3.
        unsafe {
            match b {
                BPanel::Given(b) => (self.own.patterns)(block, b, out, width),
                BPanel::Widened(b) => (self.widened.patterns)(block, b, out, width),
            }
        }
    }

    /// Multiplies a dense strip by `width` columns of B. The columns of its runs must be rows of B.
    #[inline]
    pub(crate) fn strip(
        &self,
        strip: &Strip<'_, T::Acc>,
        b: BPanel<T>,
        out: &Output<T::Acc>,
        map: RowMap<'_>,
        width: usize,
    ) {
        let runs = strip.runs.starts.len();
        if let (Some(row), Some(run)) = (map.len().checked_sub(1), runs.checked_sub(1)) {
            let end = row * strip.row_stride + run * strip.run_stride + strip.runs.len;
            assert!(end <= strip.values.len());
        }
        // SAFETY: point 1 of `strip` by point 1, point 2 by point 2 and the assertion, point 3 by point 3.
        unsafe {
            match b {
                BPanel::Given(b) => (self.own.strip)(strip, b, out, map, width),
                BPanel::Widened(b) => (self.widened.strip)(strip, b, out, map, width),
            }
        }
    }

    /// Widens values to the accumulation type.
    #[inline]
    pub(crate) fn widen(&self, from: &[T], to: &mut [T::Acc]) {
        assert_eq!(from.len(), to.len());
        self.widen_pieces(from, from.len(), from.len(), to);
    }

    /// Widens pieces of `len` values, which begin `stride` apart in `from` and follow one another in `to`.
    #[inline]
    pub(crate) fn widen_pieces(&self, from: &[T], len: usize, stride: usize, to: &mut [T::Acc]) {
        let Some(last) = to.len().checked_sub(1) else { return };
        // Pieces that follow one another are one.
        let len = if stride == len { to.len() } else { len };
        assert!(to.len().is_multiple_of(len) && last / len * stride + len <= from.len());
        // SAFETY: point 1 of `widen` by point 1, point 2 by the assertion.
        unsafe { (self.own.widen)(from, len, stride, to) }
    }

    /// Widens rows of B, from row `first` on and `width` columns wide, to rows without gaps. B must have as many rows
    /// as `to` holds.
    pub(crate) fn widen_rows(&self, b: Source<T>, first: usize, width: usize, to: &mut [T::Acc]) {
        assert!(to.len().is_multiple_of(width) && b.col_stride == 1);
        // Without gaps in B either, all rows are one.
        let at_once = if b.row_stride == width as isize { to.len() } else { width };
        for (i, to) in to.chunks_exact_mut(at_once).enumerate() {
            let row = b.ptr.wrapping_offset((first + i) as isize * b.row_stride);
            // SAFETY: by this function's own requirement B has these elements, which nobody writes by point 3.
            self.widen(unsafe { slice::from_raw_parts(row, to.len()) }, to);
        }
    }

    /// Adds up `parts` equally long arrays of sums in order and stores them. The sums of slot `i` are
    /// at `i · width` of each.
    #[inline]
    pub(crate) fn combine(
        &self,
        sums: &[T::Acc],
        parts: usize,
        out: &Output<T::Acc>,
        map: RowMap<'_>,
        width: usize,
    ) {
        assert!(parts > 0 && map.len() * width <= sums.len() / parts);
        // SAFETY: point 1 of `combine` by point 1, point 2 by the assertion, point 3 by point 3.
        unsafe { (self.own.combine)(sums, parts, out, map, width) }
        if out.streams_sums() {
            fence();
        }
    }

    /// Stores rows of sums of an output that is finished. Other threads see them after a [`fence`].
    #[inline]
    pub(crate) fn finish(
        &self,
        sums: &[T::Acc],
        out: &Output<T::Acc>,
        map: RowMap<'_>,
        width: usize,
    ) {
        assert!(map.len() * width <= sums.len());
        // SAFETY: point 1 of `combine` by point 1, point 2 by the assertion, point 3 by point 3.
        unsafe { (self.own.combine)(sums, 1, out, map, width) }
    }

    /// Computes `s = α·(x·y) + β·s` for the entries of a pattern from `first` on, as many as `s` has. The elements
    /// of each row of X and Y must be next to each other.
    ///
    /// # Panics
    /// If X, Y or `s` do not fit to the pattern.
    #[inline]
    pub(crate) fn sampled(
        &self,
        pattern: CsrPattern<'_>,
        [x, y]: [&ArrayView2<'_, T>; 2],
        factors: [T::Acc; 2],
        first: usize,
        s: &mut [T::Acc],
    ) {
        assert!(x.nrows() == pattern.nrows() && y.nrows() == pattern.ncols());
        assert!(x.ncols() == y.ncols() && first + s.len() <= pattern.nnz());
        assert!([x, y].iter().all(|v| v.ncols() < 2 || v.strides()[1] == 1));
        let rows = SampledRows {
            x: x.as_ptr(),
            x_stride: x.strides()[0],
            y: y.as_ptr(),
            y_stride: y.strides()[0],
            d: x.ncols(),
        };
        let (row_ptr, col_idx) = (pattern.row_ptr(), pattern.col_idx());
        let entries = SampledEntries { row_ptr, col_idx, first };
        // SAFETY: point 1 of `sampled` by point 1. A pattern is valid, and has the entries by the assertion: point 2.
        // The rows that it names are those of views, by the assertions: point 3.
        unsafe { (self.own.sampled)(rows, entries, factors, s) }
    }

    /// Stores what the products of a block of rows with `width` columns of B come to. The block must have all
    /// entries of its rows and its columns be rows of B; columns of B must be next to each other.
    #[inline]
    pub(crate) fn aggregate(
        &self,
        block: &RowBlock<'_, T::Acc>,
        total: Total,
        b: Source<T>,
        out: &Output<T::Acc>,
        map: RowMap<'_>,
        width: usize,
    ) {
        assert!(map.len() < block.row_ptr.len() && (b.col_stride == 1 || width == 1));
        // SAFETY: point 1 of `aggregate` by point 1, point 2 by point 2 and the assertion: the kernel's slices
        // are checked. Point 3 by point 3, point 4 by the assertion and `cached`.
        unsafe { (self.own.aggregate)(block, total, b, &out.cached(), map, width) }
    }

    /// Runs one of the loops that measure the machine's limits.
    #[inline]
    #[cfg(feature = "f64")]
    pub(crate) fn probe(&self, work: girih_simd::Work<'_, T::Acc>) -> T::Acc {
        // SAFETY: point 1 of `probe` by point 1.
        unsafe { (self.own.probe)(work) }
    }
}

/// Stores what the products of A's real and imaginary parts come to; see [`store_complex`].
///
/// # Panics
/// If `p` or `q` does not have `map.len()` rows of `width` elements.
#[inline]
pub(crate) fn store_products<T: ComplexScalar>(
    p: &[T],
    q: &[T],
    out: &Output<T>,
    map: RowMap<'_>,
    width: usize,
) {
    // SAFETY: point 3.
    unsafe { store_complex(p, q, out, map, width) }
}
