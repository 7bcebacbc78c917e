//! B and C as kernels see them: an address and two strides.
//!
//! These are the raw halves of views that were checked; what makes their use sound is stated once,
//! here. Indices into B come from validated tilings and are below its number of rows. Rows of C are
//! written by whoever holds their window, or their window's part in a panel of columns, and a valid
//! schedule puts every window in exactly one place, so no two threads write the same element.

use girih_formats::{PAD_ROW, RowLayout, Scalar};
use ndarray::{ArrayView2, ArrayViewMut2};

use crate::thresholds::{STORE_PAST_BYTES, STORE_PAST_TILES_BYTES};

/// Lines of a group of columns that kernels keep in registers.
pub(crate) const GROUP_LINES: usize = 4;

/// Columns of a line: sums in 64 bytes, as kernels count them, also where B is narrower.
pub(crate) const fn lanes<T: Scalar>() -> usize {
    64 / size_of::<T::Acc>()
}

/// B as it is given, with any strides.
#[derive(Clone, Copy)]
pub(crate) struct Source<T> {
    /// The element in row 0 and the first column.
    pub(crate) ptr: *const T,
    pub(crate) row_stride: isize,
    pub(crate) col_stride: isize,
}

// SAFETY: it is a shared view of plain values that outlives the threads it is lent to.
unsafe impl<T: Scalar> Send for Source<T> {}
// SAFETY: as above.
unsafe impl<T: Scalar> Sync for Source<T> {}

impl<T: Scalar> Source<T> {
    pub(crate) fn new(view: &ArrayView2<'_, T>) -> Self {
        let strides = view.strides();
        Self { ptr: view.as_ptr(), row_stride: strides[0], col_stride: strides[1] }
    }

    /// What begins `cols` columns later.
    pub(crate) fn at_col(self, cols: usize) -> Self {
        Self { ptr: self.ptr.wrapping_offset(cols as isize * self.col_stride), ..self }
    }
}

/// B, or a panel of its columns, as kernels read it: columns next to each other.
#[derive(Clone, Copy)]
pub(crate) struct Input<T> {
    /// The element in row 0 and the panel's first column.
    pub(crate) ptr: *const T,
    pub(crate) row_stride: isize,
    /// Whether B has a single column. Its elements are next to each other then, and have an order of
    /// additions of their own; a panel of one column among others does not.
    pub(crate) is_column: bool,
    /// Whether a panel of up to two lines is a part of a group of four: then rows are summed in one
    /// chain, as there.
    pub(crate) of_group: bool,
    /// Whether B is beyond the last-level cache: long rows of A then read rows of it [whole].
    ///
    /// [whole]: crate::kernels
    pub(crate) is_far: bool,
    /// Whether kernels ask for entries of A ahead: between rows of a large B the processor does not see
    /// that they follow one another.
    pub(crate) hides_a: bool,
    /// What kernels say that they do, in tests.
    #[cfg(test)]
    pub(crate) recorder: Option<&'static crate::exec::recorder::Recorder>,
}

// SAFETY: as for `Source`.
unsafe impl<T: Scalar> Send for Input<T> {}
// SAFETY: as above.
unsafe impl<T: Scalar> Sync for Input<T> {}

impl<T: Scalar> Input<T> {
    /// Rows `row_stride` elements apart, of a B of so many columns; a single one has them next to each
    /// other.
    pub(crate) fn new(ptr: *const T, row_stride: isize, ncols: usize) -> Self {
        let is_column = ncols == 1;
        Self {
            ptr,
            row_stride,
            is_column,
            of_group: false,
            is_far: false,
            hides_a: false,
            #[cfg(test)]
            recorder: None,
        }
    }

    /// B where it is, if kernels can read it there.
    pub(crate) fn in_place(view: &ArrayView2<'_, T>) -> Option<Self> {
        let (strides, ncols) = (view.strides(), view.ncols());
        let next = if ncols == 1 { strides[0] } else { strides[1] };
        (next == 1).then(|| Self::new(view.as_ptr(), strides[0], ncols))
    }

    /// The panel that begins `cols` columns later.
    pub(crate) fn at_col(self, cols: usize) -> Self {
        Self { ptr: self.ptr.wrapping_add(cols), ..self }
    }

    /// Tells tests that a kernel runs here, what it asks for [ahead](crate::kernels::ahead), and whether it writes
    /// past the caches.
    #[inline(always)]
    pub(crate) fn ran(&self, _kernel: &'static str, _ask: u8, _past_caches: bool) {
        #[cfg(test)]
        if let Some(recorder) = self.recorder {
            recorder.kernel(_kernel, _ask, _past_caches);
        }
    }

    /// As what to copy from.
    pub(crate) fn source(self) -> Source<T> {
        Source { ptr: self.ptr, row_stride: self.row_stride, col_stride: 1 }
    }
}

/// How whole lines of sums are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// Written without a look at what is there: β is zero, and columns are next to each other.
    Write,
    /// The same past the caches: every row begins at a multiple of 64 bytes, or of its own 32 or 16.
    Stream,
    /// As α, β and the column stride say.
    Update,
}

/// Where sums go, and how: `out = α·sum + β·out` on a panel of columns.
#[derive(Clone, Copy)]
pub(crate) struct Output<A> {
    /// The element in row 0 and the panel's first column.
    pub(crate) ptr: *mut A,
    pub(crate) row_stride: isize,
    pub(crate) col_stride: isize,
    pub(crate) alpha: A,
    /// Zero means that the element is written without being read.
    pub(crate) beta: A,
    /// How lines are stored row by row, or partly written.
    pub(crate) store: Store,
    /// How those of tiles of several rows are.
    store_tiles: Store,
}

// SAFETY: threads write disjoint rows; see the module's documentation.
unsafe impl<A: Scalar> Send for Output<A> {}
// SAFETY: as above.
unsafe impl<A: Scalar> Sync for Output<A> {}

/// Whether a C of so many bytes has left a core's own caches before its rows are written once more, so that they
/// would be read from beyond for it. Tiles of several rows write many lines at a time.
pub(crate) const fn leaves_caches(bytes: usize, in_tiles: bool) -> bool {
    bytes > if in_tiles { STORE_PAST_TILES_BYTES } else { STORE_PAST_BYTES }
}

impl<A: Scalar> Output<A> {
    pub(crate) fn new(view: &mut ArrayViewMut2<'_, A>, alpha: A, beta: A) -> Self {
        // A single column has none next to it.
        let col_stride = if view.ncols() == 1 { 1 } else { view.strides()[1] };
        let row_stride = view.strides()[0];
        let ptr = view.as_mut_ptr();
        let row_bytes = row_stride * size_of::<A>() as isize;
        // Rows of half or a quarter of a line are aligned to that if nothing lies between them.
        let dense = row_bytes == (view.ncols() * size_of::<A>()) as isize;
        let aligned = ptr.addr().is_multiple_of(64)
            && (row_bytes % 64 == 0 || dense && (row_bytes == 32 || row_bytes == 16));
        let past = |in_tiles| match leaves_caches(view.len() * size_of::<A>(), in_tiles) {
            _ if col_stride != 1 || !beta.is_zero() => Store::Update,
            true if aligned => Store::Stream,
            _ => Store::Write,
        };
        let (store, store_tiles) = (past(false), past(true));
        Self { ptr, row_stride, col_stride, alpha, beta, store, store_tiles }
    }

    /// Plain sums into row-major rows of `width` elements: overwritten, or added to.
    pub(crate) fn sums(sums: &mut [A], width: usize, add: bool) -> Self {
        let (beta, store) = if add { (A::ONE, Store::Update) } else { (A::ZERO, Store::Write) };
        Self {
            ptr: sums.as_mut_ptr(),
            row_stride: width as isize,
            col_stride: 1,
            alpha: A::ONE,
            beta,
            store,
            store_tiles: store,
        }
    }

    /// The panel that begins `cols` columns later.
    pub(crate) fn at_col(self, cols: usize) -> Self {
        Self { ptr: self.ptr.wrapping_offset(cols as isize * self.col_stride), ..self }
    }

    /// The same for tiles of several rows.
    pub(crate) fn in_tiles(self) -> Self {
        Self { store: self.store_tiles, ..self }
    }

    /// The same into the caches.
    pub(crate) fn cached(self) -> Self {
        let cached = |store| if store == Store::Stream { Store::Write } else { store };
        let (store, store_tiles) = (cached(self.store), cached(self.store_tiles));
        Self { store, store_tiles, ..self }
    }

    /// The same for further sums, which are added to what is there.
    pub(crate) fn resumed(self) -> Self {
        Self { beta: A::ONE, store: Store::Update, store_tiles: Store::Update, ..self }
    }

    /// Rows of a single column as columns of a row.
    #[inline(always)]
    pub(crate) fn across(self) -> Self {
        let writes = self.row_stride == 1 && self.beta.is_zero();
        let store = if writes { Store::Write } else { Store::Update };
        Self { col_stride: self.row_stride, store, ..self }
    }

    /// Whether anything is written past the caches.
    #[inline(always)]
    pub(crate) fn streams(&self) -> bool {
        self.store == Store::Stream
    }

    /// The address of a row of the panel.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> *mut A {
        self.ptr.wrapping_offset(row as isize * self.row_stride)
    }
}

/// Which row of the output each of some consecutive slots goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowMap<'a> {
    /// Slot `i` goes to row `first + i`.
    Consecutive { first: usize, len: usize },
    /// Slot `i` goes to row `rows[i]`, or nowhere if that is `PAD_ROW`.
    Scattered(&'a [u32]),
}

impl<'a> RowMap<'a> {
    /// The rows of `len` slots of a layout from `slot` on; trailing slots beyond a natural layout's
    /// last row are left out.
    pub(crate) fn for_slots(layout: &'a RowLayout, slot: usize, len: usize) -> Self {
        match layout.slots() {
            Some(slots) => Self::Scattered(&slots[slot..slot + len]),
            None => {
                let len = len.min(layout.nrows().saturating_sub(slot));
                Self::Consecutive { first: slot, len }
            }
        }
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Consecutive { len, .. } => *len,
            Self::Scattered(rows) => rows.len(),
        }
    }

    /// The part of it that begins `skip` slots later and has at most `len`.
    pub(crate) fn part(self, skip: usize, len: usize) -> Self {
        let len = len.min(self.len().saturating_sub(skip));
        match self {
            Self::Consecutive { first, .. } => Self::Consecutive { first: first + skip, len },
            Self::Scattered(rows) if len > 0 => Self::Scattered(&rows[skip..skip + len]),
            Self::Scattered(_) => Self::Scattered(&[]),
        }
    }

    /// The row slot `i < len()` goes to.
    #[inline(always)]
    pub(crate) fn row(&self, i: usize) -> Option<usize> {
        match *self {
            Self::Consecutive { first, .. } => Some(first + i),
            Self::Scattered(rows) => (rows[i] != PAD_ROW).then_some(rows[i] as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ShapeBuilder};

    use super::*;

    #[test]
    fn what_is_overwritten_is_not_read_and_large_lines_go_past_the_caches() {
        let store = |m, n: usize, col_major: bool, beta: f32| {
            let mut c = Array2::<f32>::zeros((m, n + 16).set_f(col_major));
            let skip = c.as_ptr().align_offset(64);
            let cols = if col_major { 0..n } else { skip..skip + n };
            let mut view = c.slice_mut(ndarray::s![.., cols]);
            let out = Output::new(&mut view, 1.0, beta);
            let kept = [out.cached(), out.in_tiles().cached()].map(|out| out.store);
            assert!(!kept.contains(&Store::Stream));
            (out.store, out.store_tiles, out.across().store)
        };
        // Row stride: n + 16 elements, a multiple of a line.
        assert_eq!(store(100, 32, false, 0.0).0, Store::Write);
        assert_eq!(store(100, 32, false, 1.0).0, Store::Update);
        assert_eq!(store(100, 32, true, 0.0).0, Store::Update);
        let large = store((4 << 20) / 128, 32, false, 0.0);
        assert_eq!((large.0, large.1), (Store::Stream, Store::Write));
        assert_eq!(store((4 << 20) / 128 + 1, 32, false, 0.0).1, Store::Stream);
        // One column: its rows are next to each other, or not.
        let column = |col_major, beta| {
            let (own, _, across) = store(100, 1, col_major, beta);
            (own, across)
        };
        assert_eq!(column(true, 0.0), (Store::Write, Store::Write));
        assert_eq!(column(false, 0.0), (Store::Write, Store::Update));
        assert_eq!(column(true, 0.5), (Store::Update, Store::Update));
    }
}
