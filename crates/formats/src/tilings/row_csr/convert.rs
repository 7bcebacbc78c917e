//! CSR ↔ CSR in a row order.

use girih_parallel::prelude::*;

use crate::buffer::Buffer;
use crate::csr::Csr;
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::RowCsr;
use crate::tilings::shared::fill::{Locate, Sink, fill};
use crate::tilings::shared::read_back::{self, Rows};
use crate::tilings::shared::windows::{
    accumulate, check_layout, split_at_ends, window_chunks, zeroed,
};

/// The places of a row-ordered CSR's entries.
pub(crate) struct SlotRows<'a> {
    pub(crate) layout: &'a RowLayout,
    pub(crate) row_ptr: &'a [u64],
    pub(crate) col_idx: &'a [u32],
}

impl<'a> SlotRows<'a> {
    pub(crate) fn of<T: Scalar>(t: &'a RowCsr<T>) -> Self {
        Self { layout: t.layout(), row_ptr: t.csr().row_ptr(), col_idx: t.csr().col_idx() }
    }
}

impl Locate for SlotRows<'_> {
    type Scratch = ();

    fn scratch(&self) {}

    fn layout(&self) -> &RowLayout {
        self.layout
    }

    fn strip_ptr(&self, w: usize) -> usize {
        self.row_ptr[w * self.layout.window_rows()] as usize
    }

    fn load(&self, (): &mut (), _: usize) {}

    fn holds(&self, (): &(), w: usize, r: usize, cols: &[u32]) -> bool {
        let slot = w * self.layout.window_rows() + r;
        self.col_idx[self.row_ptr[slot] as usize..self.row_ptr[slot + 1] as usize] == *cols
    }

    #[inline(always)]
    fn locate<S: Sink>(&self, (): &(), w: usize, r: usize, cols: &[u32], sink: &mut S) {
        let start = self.row_ptr[w * self.layout.window_rows() + r] as usize;
        sink.put_run(0, start, cols.len());
    }
}

impl<T: Scalar> RowCsr<T> {
    /// Puts the rows in the order of `layout`.
    ///
    /// In the natural order the entries are shared with `csr`, not copied; with one row per window
    /// so are the offsets. Otherwise O(nnz + slots), in parallel; allocates the result only.
    ///
    /// # Errors
    /// If the layout is of another matrix, or memory is short.
    pub fn from_csr(csr: &Csr<T>, layout: RowLayout) -> Result<Self, FormatError> {
        T::row_csr_from_csr(csr, layout)
    }

    /// [`from_csr`](Self::from_csr), [compiled once](crate::compiled).
    pub(crate) fn tiled(csr: &Csr<T>, layout: RowLayout) -> Result<Self, FormatError> {
        check_layout(&layout, csr.nrows(), layout.window_rows())?;
        if layout.n_slots() == csr.nrows() && layout.is_natural() {
            return Ok(Self::from_parts(layout, csr.clone()));
        }
        let (n_slots, ncols) = (layout.n_slots(), csr.ncols());
        let mut row_ptr = vec![0; n_slots + 1];
        row_ptr[1..].par_iter_mut().with_min_len(1 << 12).enumerate().for_each(|(slot, len)| {
            *len = layout.row(slot).map_or(0, |row| csr.row_range(row).len() as u64);
        });
        accumulate(&mut row_ptr);
        if layout.is_natural() {
            let (col_idx, values) = (csr.col_idx().clone(), csr.values().clone());
            let csr = Csr::from_parts(n_slots, ncols, row_ptr, col_idx, values);
            return Ok(Self::from_parts(layout, csr));
        }
        let mut col_idx: Buffer<u32> = zeroed(&[csr.nnz()])?;
        let chunks = window_chunks(&layout, csr.row_ptr(), usize::MAX);
        let slots = |w: usize| w * layout.window_rows();
        let ends = chunks.iter().map(|c| row_ptr[slots(c.end)] as usize);
        let pieces = split_at_ends(col_idx.make_mut(), ends);
        chunks.par_iter().zip(pieces).for_each(|(windows, mut rest)| {
            for row in (slots(windows.start)..slots(windows.end)).filter_map(|s| layout.row(s)) {
                let cols = csr.row(row).0;
                let (head, tail) = rest.split_at_mut(cols.len());
                head.copy_from_slice(cols);
                rest = tail;
            }
        });
        let mut values = zeroed(&[csr.nnz()])?;
        fill(
            &SlotRows { layout: &layout, row_ptr: &row_ptr, col_idx: &col_idx },
            csr,
            values.make_mut(),
        );
        let csr = Csr::from_parts(n_slots, ncols, row_ptr, col_idx, values);
        Ok(Self::from_parts(layout, csr))
    }

    /// The matrix with its rows in their original order, explicit zeros included. In the natural
    /// order the entries are shared, not copied.
    #[must_use]
    pub fn to_csr(&self) -> Csr<T> {
        T::row_csr_to_csr(self)
    }

    /// [`to_csr`](Self::to_csr), [compiled once](crate::compiled).
    pub(crate) fn untiled(&self) -> Csr<T> {
        let (layout, csr) = (self.layout(), self.csr());
        if !layout.is_natural() {
            return read_back::to_csr(self);
        }
        if layout.n_slots() == layout.nrows() {
            return csr.clone();
        }
        let row_ptr = csr.row_ptr()[..=layout.nrows()].to_vec();
        let (col_idx, values) = (csr.col_idx().clone(), csr.values().clone());
        Csr::from_parts(layout.nrows(), csr.ncols(), row_ptr, col_idx, values)
    }
}

impl<T: Scalar> Rows<T> for RowCsr<T> {
    fn layout(&self) -> &RowLayout {
        self.layout()
    }

    fn ncols(&self) -> usize {
        self.csr().ncols()
    }

    #[inline(always)]
    fn for_each(&self, slot: usize, mut entry: impl FnMut(u32, T)) {
        let (cols, values) = self.csr().row(slot);
        for (&col, &value) in cols.iter().zip(values) {
            entry(col, value);
        }
    }

    fn count(&self, slot: usize) -> usize {
        self.csr().row_range(slot).len()
    }
}
