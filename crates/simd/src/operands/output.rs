//! C, or sums in scratch, as kernels write them.

use girih_formats::Scalar;
use ndarray::ArrayViewMut2;

use super::Finish;
use crate::thresholds::{STORE_PAST_BYTES, STORE_PAST_TILES_BYTES};

/// How whole vectors of sums are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Written without being read: β is zero, and columns are next to each other.
    Write,
    /// The same past the caches: every row begins at a multiple of 64 bytes, or of its own 32 or 16.
    Stream,
    /// As α and β say; columns are next to each other.
    Update,
    /// As α and β say, after a bias, a rectifier or rounding; columns are next to each other. A C that is rounded is not read.
    Finish,
    /// Element by element: columns are apart, GELU follows, or C is rounded and read.
    Elements,
}

/// Where sums go, and how: `out = α·sum + β·out` on a panel of columns.
#[derive(Clone, Copy, Debug)]
pub struct Output<A> {
    /// The element in row 0 and the panel's first column.
    pub ptr: *mut A,
    /// Elements from a row to the next.
    pub row_stride: isize,
    /// Elements from a column to the next.
    pub col_stride: isize,
    /// α, by which sums are multiplied.
    pub alpha: A,
    /// Zero means that the element is written without being read.
    pub beta: A,
    /// How vectors of single rows are stored.
    pub store: Store,
    /// How vectors of tiles of several rows are stored.
    store_tiles: Store,
    /// Whether C leaves the caches and its rows are whole cache lines apart, but don't begin with lines. Vectors of single
    /// rows that begin with lines may then be written past the caches.
    pub(crate) would_stream: bool,
    /// The same for tiles of several rows.
    tiles_would_stream: bool,
    /// What elements go through before they are stored; null if that is nothing.
    pub finish: *const Finish<A>,
}

// SAFETY: no two threads write the same element (point 3 of the module), and the view outlives the product
// (point 1).
unsafe impl<A: Scalar> Send for Output<A> {}
// SAFETY: threads that share it write different elements (point 3 of the module).
unsafe impl<A: Scalar> Sync for Output<A> {}

/// Whether a C of `bytes` bytes leaves a core's own caches before the next product. Its cache lines would
/// then be read from beyond only to be overwritten. Tiles of several rows write many vectors at a time, and
/// have a threshold of their own.
pub const fn leaves_caches(bytes: usize, in_tiles: bool) -> bool {
    bytes > if in_tiles { STORE_PAST_TILES_BYTES } else { STORE_PAST_BYTES }
}

impl<A: Scalar> Output<A> {
    /// A C that becomes `α·A·B + β·C`: written past the caches, in whole vectors or element by element.
    pub fn new(view: &mut ArrayViewMut2<'_, A>, alpha: A, beta: A) -> Self {
        // A single column has none next to it.
        let col_stride = if view.ncols() == 1 { 1 } else { view.strides()[1] };
        let row_stride = view.strides()[0];
        let ptr = view.as_mut_ptr();
        let row_bytes = row_stride * size_of::<A>() as isize;
        // Rows of half or a quarter of a cache line are aligned to that if nothing lies between them.
        let dense = row_bytes == (view.ncols() * size_of::<A>()) as isize;
        let aligned = ptr.addr().is_multiple_of(64)
            && (row_bytes % 64 == 0 || dense && (row_bytes == 32 || row_bytes == 16));
        let in_lines = row_bytes % 64 == 0;
        let past = |in_tiles| match leaves_caches(view.len() * size_of::<A>(), in_tiles) {
            _ if col_stride != 1 => (Store::Elements, false),
            _ if !beta.is_zero() => (Store::Update, false),
            true if aligned => (Store::Stream, false),
            leaves => (Store::Write, leaves && in_lines),
        };
        let ((store, would_stream), (store_tiles, tiles_would_stream)) = (past(false), past(true));
        Self {
            ptr,
            row_stride,
            col_stride,
            alpha,
            beta,
            store,
            store_tiles,
            would_stream,
            tiles_would_stream,
            finish: std::ptr::null(),
        }
    }

    /// A C that `finish`, which must outlive the product, [rounds](Finish::rounded) elements of and stores: addresses
    /// stand for its elements, and nothing lies there.
    pub fn rounded(finish: &Finish<A>, alpha: A, beta: A) -> Self {
        let (row_stride, col_stride) = finish.strides;
        // A single column has none next to it.
        let col_stride = if finish.dim.1 == 1 { 1 } else { col_stride };
        let store = finish.store(col_stride, beta);
        Self {
            ptr: finish.origin.cast_mut(),
            row_stride,
            col_stride,
            alpha,
            beta,
            store,
            store_tiles: store,
            would_stream: false,
            tiles_would_stream: false,
            finish,
        }
    }

    /// Whether elements go through something before they are stored.
    pub fn is_finished(&self) -> bool {
        !self.finish.is_null()
    }

    /// Whether rows of sums from scratch are written past the caches: a [fence](crate::fence) is needed then.
    pub fn streams_sums(&self) -> bool {
        // SAFETY: it is null or outlives the product (point 4 of the module).
        unsafe { self.finish.as_ref() }.is_some_and(Finish::streams)
    }

    /// Whether elements are [rounded](Self::rounded).
    pub fn rounds(&self) -> bool {
        // SAFETY: it is null or outlives the product (point 4 of the module).
        unsafe { self.finish.as_ref() }.is_some_and(Finish::rounds)
    }

    /// The same with a bias and an activation, which must outlive the product.
    pub fn finished(self, finish: &Finish<A>) -> Self {
        let store = finish.store(self.col_stride, self.beta);
        Self { store, store_tiles: store, finish, ..self }
    }

    /// The same for sums to which others will be added: without bias and activation.
    ///
    /// # Panics
    /// If elements are rounded: they do not hold such sums.
    pub fn unfinished(self) -> Self {
        if self.finish.is_null() {
            return self;
        }
        assert!(!self.rounds(), "sums in parts need elements of their own type");
        let store = match self.col_stride {
            1 if self.beta.is_zero() => Store::Write,
            1 => Store::Update,
            _ => Store::Elements,
        };
        let finish = std::ptr::null();
        Self { store, store_tiles: store, finish, ..self }.cached()
    }

    /// Plain sums into row-major rows of `width` elements: overwritten, or added to.
    pub fn sums(sums: &mut [A], width: usize, add: bool) -> Self {
        let (beta, store) = if add { (A::ONE, Store::Update) } else { (A::ZERO, Store::Write) };
        Self {
            ptr: sums.as_mut_ptr(),
            row_stride: width as isize,
            col_stride: 1,
            alpha: A::ONE,
            beta,
            store,
            store_tiles: store,
            would_stream: false,
            tiles_would_stream: false,
            finish: std::ptr::null(),
        }
    }

    /// Whether rows of `width` columns follow one another, and their columns too.
    pub(crate) fn has_no_gaps(&self, width: usize) -> bool {
        self.col_stride == 1 && self.row_stride == width as isize
    }

    /// The same from `cols` columns later on.
    pub fn at_col(self, cols: usize) -> Self {
        Self { ptr: self.ptr.wrapping_offset(cols as isize * self.col_stride), ..self }
    }

    /// The same where row `row` is its first one.
    pub fn before_row(self, row: usize) -> Self {
        Self { ptr: self.ptr.wrapping_offset(-(row as isize * self.row_stride)), ..self }
    }

    /// The same from `head` columns before the first on, where nothing is written, and stored as `store` says.
    pub(crate) fn headed(self, head: usize, store: Store) -> Self {
        Self { ptr: self.ptr.wrapping_sub(head), store, ..self }
    }

    /// The same for tiles of several rows.
    pub fn in_tiles(self) -> Self {
        Self { store: self.store_tiles, would_stream: self.tiles_would_stream, ..self }
    }

    /// The same into the caches.
    pub fn cached(self) -> Self {
        let cached = |store| if store == Store::Stream { Store::Write } else { store };
        let (store, store_tiles) = (cached(self.store), cached(self.store_tiles));
        Self { store, store_tiles, would_stream: false, tiles_would_stream: false, ..self }
    }

    /// The same where [`is_overwritten`](Self::is_overwritten), as a constant that the compiler sees.
    #[inline(always)]
    pub(crate) fn overwritten(self) -> Self {
        Self { store: Store::Write, ..self }
    }

    /// Whether elements are written as α times the sum, and not read.
    #[inline(always)]
    pub(crate) fn is_overwritten(&self) -> bool {
        matches!(self.store, Store::Write | Store::Stream)
    }

    /// The same for further sums, which are added to what is there.
    pub fn resumed(self) -> Self {
        let resumed = |store| match store {
            Store::Elements | Store::Finish => store,
            _ => Store::Update,
        };
        let (store, store_tiles) = (resumed(self.store), resumed(self.store_tiles));
        Self { beta: A::ONE, store, store_tiles, ..self }
    }

    /// Rows of a single column as columns of a row.
    #[inline(always)]
    pub fn across(self) -> Self {
        let store = match (self.row_stride, self.finish.is_null()) {
            (1, true) if self.beta.is_zero() => Store::Write,
            (1, true) => Store::Update,
            (1, false) if self.store == Store::Finish => Store::Finish,
            _ => Store::Elements,
        };
        Self { col_stride: self.row_stride, store, ..self }
    }

    /// Whether anything is written past the caches.
    #[inline(always)]
    pub fn streams(&self) -> bool {
        self.store == Store::Stream
    }

    /// The address of a row of the panel.
    #[inline(always)]
    pub fn row(&self, row: usize) -> *mut A {
        self.ptr.wrapping_offset(row as isize * self.row_stride)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ShapeBuilder};

    use super::*;

    #[test]
    fn an_overwritten_c_is_not_read_and_a_large_one_is_written_past_the_caches() {
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
        // Row stride: n + 16 elements, a multiple of a cache line.
        assert_eq!(store(100, 32, false, 0.0).0, Store::Write);
        assert_eq!(store(100, 32, false, 1.0).0, Store::Update);
        assert_eq!(store(100, 32, true, 0.0).0, Store::Elements);
        let large = store((4 << 20) / 128, 32, false, 0.0);
        assert_eq!((large.0, large.1), (Store::Stream, Store::Write));
        assert_eq!(store((4 << 20) / 128 + 1, 32, false, 0.0).1, Store::Stream);
        // One column: its rows are next to each other, or not.
        let column = |col_major, beta| {
            let (own, _, across) = store(100, 1, col_major, beta);
            (own, across)
        };
        assert_eq!(column(true, 0.0), (Store::Write, Store::Write));
        assert_eq!(column(false, 0.0), (Store::Write, Store::Elements));
        assert_eq!(column(true, 0.5), (Store::Update, Store::Update));
    }

    #[test]
    fn a_finished_output_stays_so_until_further_sums_are_to_come() {
        let mut c = Array2::<f32>::zeros((100, 32));
        let finish = Finish::new(&c.view_mut(), None, girih_backend::Activation::Relu);
        for beta in [0.0, 1.0] {
            let plain = Output::new(&mut c.view_mut(), 1.0, beta);
            let out = plain.finished(&finish);
            for out in [out, out.cached(), out.in_tiles(), out.resumed()] {
                assert_eq!((out.store, out.finish.is_null()), (Store::Finish, false));
            }
            // Rows of a column lie apart.
            assert_eq!(out.across().store, Store::Elements);
            let out = out.unfinished();
            assert_eq!((out.store, out.finish.is_null()), (plain.store, true));
            assert_eq!(out.resumed().store, Store::Update);
        }
    }
}
