//! CSR ↔ WCSR.

use crate::PAD_COL;
use crate::csr::Csr;
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::shared::fill::{Locate, Sink, fill};
use crate::tilings::shared::read_back::{self, Rows};
use crate::tilings::shared::union::{ColumnSet, Unions};
use crate::tilings::shared::windows::{check_layout, zeroed};
use crate::tilings::{Wcsr, spec};

/// The places of a WCSR's entries: one strip per row of a window.
pub(crate) struct Packed<'a> {
    pub(crate) layout: &'a RowLayout,
    pub(crate) ncols: usize,
    pub(crate) window_ptr: &'a [u64],
    pub(crate) window_col_idx: &'a [u32],
}

impl<'a> Packed<'a> {
    pub(crate) fn of<T: Scalar>(t: &'a Wcsr<T>) -> Self {
        Self {
            layout: t.layout(),
            ncols: t.ncols(),
            window_ptr: t.window_ptr(),
            window_col_idx: t.window_col_idx(),
        }
    }
}

impl Locate for Packed<'_> {
    type Scratch = ColumnSet;

    fn scratch(&self) -> ColumnSet {
        ColumnSet::new(self.ncols, self.window_col_idx.len())
    }

    fn layout(&self) -> &RowLayout {
        self.layout
    }

    fn n_strips(&self) -> usize {
        self.layout.window_rows()
    }

    fn strip_ptr(&self, w: usize) -> usize {
        self.window_ptr[w] as usize
    }

    fn load(&self, set: &mut ColumnSet, w: usize) {
        set.clear();
        set.load(&self.window_col_idx[self.strip_ptr(w)..self.strip_ptr(w + 1)]);
    }

    fn holds(&self, set: &ColumnSet, _: usize, _: usize, cols: &[u32]) -> bool {
        cols.iter().all(|&col| set.contains(col))
    }

    #[inline(always)]
    fn locate<S: Sink>(&self, set: &ColumnSet, w: usize, _: usize, cols: &[u32], sink: &mut S) {
        let start = self.strip_ptr(w);
        for (i, &col) in cols.iter().enumerate() {
            sink.put(i, start + set.rank(col));
        }
    }
}

impl<T: Scalar> Wcsr<T> {
    /// Packs the columns of each window of `layout` side by side, padded to a multiple of
    /// `pad_cols`.
    ///
    /// O(nnz + windows) work besides zeroing the strips; in parallel over windows, the same bytes
    /// on any number of threads. Allocates the result, a bit set over the columns per thread, and
    /// for a moment a second copy of `window_col_idx`, before the strips are there.
    ///
    /// # Errors
    /// If the layout is of another matrix, `pad_cols` is out of range, or the strips do not fit
    /// memory.
    pub fn from_csr(csr: &Csr<T>, layout: RowLayout, pad_cols: usize) -> Result<Self, FormatError> {
        T::wcsr_from_csr(csr, layout, pad_cols)
    }

    /// [`from_csr`](Self::from_csr), [compiled once](crate::compiled).
    pub(crate) fn tiled(
        csr: &Csr<T>,
        layout: RowLayout,
        pad_cols: usize,
    ) -> Result<Self, FormatError> {
        check_layout(&layout, csr.nrows(), layout.window_rows())?;
        spec::check_size("pad_cols", pad_cols)?;
        let unions = Unions { pattern: csr.pattern(), layout: &layout, width: 1 };
        let index = unions.index(pad_cols)?;
        let mut values = zeroed(&[index.idx.len(), layout.window_rows()])?;
        let (nnz, ncols) = (csr.nnz(), csr.ncols());
        let (window_ptr, window_col_idx) = (&index.ptr[..], &index.idx[..]);
        fill(
            &Packed { layout: &layout, ncols, window_ptr, window_col_idx },
            csr,
            values.make_mut(),
        );
        let ptr = index.ptr.into();
        Ok(Self::from_parts(layout, ncols, nnz, pad_cols, ptr, index.idx, values))
    }

    /// The stored nonzeros as CSR, rows in their original order. A zero in a strip, explicit in the
    /// source or filled in, is not an entry.
    #[must_use]
    pub fn to_csr(&self) -> Csr<T> {
        T::wcsr_to_csr(self)
    }

    /// [`to_csr`](Self::to_csr), [compiled once](crate::compiled).
    pub(crate) fn untiled(&self) -> Csr<T> {
        read_back::to_csr(self)
    }
}

impl<T: Scalar> Rows<T> for Wcsr<T> {
    fn layout(&self) -> &RowLayout {
        self.layout()
    }

    fn ncols(&self) -> usize {
        self.ncols()
    }

    #[inline(always)]
    fn for_each(&self, slot: usize, mut entry: impl FnMut(u32, T)) {
        let (w, r) = (slot / self.window_rows(), slot % self.window_rows());
        let cols = self.window_ptr()[w] as usize..self.window_ptr()[w + 1] as usize;
        let values = &self.values()[r * self.packed_cols()..][cols.clone()];
        for (&col, &value) in self.window_col_idx()[cols].iter().zip(values) {
            if col != PAD_COL && !value.is_zero() {
                entry(col, value);
            }
        }
    }
}
