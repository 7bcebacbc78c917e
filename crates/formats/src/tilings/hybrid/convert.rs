//! CSR ↔ packed windows beside windows of rows.

use girih_parallel::prelude::*;

use super::{HybridIndex, is_packed, value_ptr};
use crate::PAD_COL;
use crate::buffer::Buffer;
use crate::csr::Csr;
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::shared::fill::{Locate, Sink, fill};
use crate::tilings::shared::read_back::{self, Rows};
use crate::tilings::shared::union::{ColumnSet, Unions};
use crate::tilings::shared::windows::{
    accumulate, check_layout, occupied, split_at_ends, window_chunks, window_entries, zeroed,
};
use crate::tilings::{Hybrid, spec};

/// The places of the entries: one strip, in which each window has a range of its own.
pub(crate) struct PackedOrRows<'a> {
    layout: &'a RowLayout,
    ncols: usize,
    window_ptr: &'a [u64],
    window_col_idx: &'a [u32],
    row_ptr: &'a [u64],
    col_idx: &'a [u32],
}

impl<'a> PackedOrRows<'a> {
    pub(crate) fn of<T: Scalar>(t: &'a Hybrid<T>) -> Self {
        Self {
            layout: t.layout(),
            ncols: t.ncols(),
            window_ptr: t.window_ptr(),
            window_col_idx: t.window_col_idx(),
            row_ptr: t.row_ptr(),
            col_idx: t.col_idx(),
        }
    }

    /// The packed columns of a window; none if its rows are held one by one.
    fn packed(&self, w: usize) -> &[u32] {
        &self.window_col_idx[self.window_ptr[w] as usize..self.window_ptr[w + 1] as usize]
    }
}

impl Locate for PackedOrRows<'_> {
    type Scratch = ColumnSet;

    fn scratch(&self) -> ColumnSet {
        ColumnSet::new(self.ncols, self.window_col_idx.len())
    }

    fn layout(&self) -> &RowLayout {
        self.layout
    }

    fn strip_ptr(&self, w: usize) -> usize {
        value_ptr(self.layout, self.window_ptr, self.row_ptr, w)
    }

    fn load(&self, set: &mut ColumnSet, w: usize) {
        set.clear();
        set.load(self.packed(w));
    }

    fn holds(&self, set: &ColumnSet, w: usize, r: usize, cols: &[u32]) -> bool {
        if !self.packed(w).is_empty() {
            return cols.iter().all(|&col| set.contains(col));
        }
        let slot = w * self.layout.window_rows() + r;
        self.col_idx[self.row_ptr[slot] as usize..self.row_ptr[slot + 1] as usize] == *cols
    }

    #[inline(always)]
    fn locate<S: Sink>(&self, set: &ColumnSet, w: usize, r: usize, cols: &[u32], sink: &mut S) {
        let (start, width) = (self.strip_ptr(w), self.packed(w).len());
        if width > 0 {
            for (i, &col) in cols.iter().enumerate() {
                sink.put(i, start + r * width + set.rank(col));
            }
        } else {
            let first = w * self.layout.window_rows();
            let before = self.row_ptr[first + r] - self.row_ptr[first];
            sink.put_run(0, start + before as usize, cols.len());
        }
    }
}

impl<T: Scalar> Hybrid<T> {
    /// Packs each window of `layout` that has at least `tile_entries` entries for each of its tiles of `pad_cols`
    /// packed columns, padding included, and keeps the rows of the others.
    ///
    /// O(nnz + slots) work besides zeroing the strips; in parallel over windows, the same bytes on any number of
    /// threads.
    ///
    /// # Errors
    /// If the layout is of another matrix, a size is out of range, or the strips do not fit memory.
    pub fn from_csr(
        csr: &Csr<T>,
        layout: RowLayout,
        (pad_cols, tile_entries): (usize, usize),
    ) -> Result<Self, FormatError> {
        T::hybrid_from_csr(csr, layout, (pad_cols, tile_entries))
    }

    /// [`from_csr`](Self::from_csr), [compiled once](crate::compiled).
    pub(crate) fn tiled(
        csr: &Csr<T>,
        layout: RowLayout,
        sizes: (usize, usize),
    ) -> Result<Self, FormatError> {
        check_layout(&layout, csr.nrows(), layout.window_rows())?;
        spec::check_size("pad_cols", sizes.0)?;
        spec::check_size("tile_entries", sizes.1)?;
        let unions = Unions { pattern: csr.pattern(), layout: &layout, width: 1 };
        let entries = |w| window_entries(&layout, csr.row_ptr(), w);
        let is_kept = |w, columns| is_packed(entries(w), columns, sizes);
        let packed = unions.index_where(sizes.0, is_kept)?;
        let (row_ptr, col_idx) = rows_besides(csr, &layout, &packed.ptr)?;
        let dense = spec::checked_elements(&[packed.idx.len(), layout.window_rows()])?;
        let mut values = zeroed(&[dense + col_idx.len()])?;
        let places = PackedOrRows {
            layout: &layout,
            ncols: csr.ncols(),
            window_ptr: &packed.ptr,
            window_col_idx: &packed.idx,
            row_ptr: &row_ptr,
            col_idx: &col_idx,
        };
        fill(&places, csr, values.make_mut());
        let index = HybridIndex {
            window_ptr: packed.ptr.into(),
            window_col_idx: packed.idx,
            row_ptr: row_ptr.into(),
            col_idx,
        };
        Ok(Self::from_parts(layout, csr.ncols(), csr.nnz(), sizes, index, values))
    }

    /// The matrix as CSR, rows in their original order. Explicit zeros are entries in windows of rows; a zero in a
    /// packed window is none.
    #[must_use]
    pub fn to_csr(&self) -> Csr<T> {
        T::hybrid_to_csr(self)
    }

    /// [`to_csr`](Self::to_csr), [compiled once](crate::compiled).
    pub(crate) fn untiled(&self) -> Csr<T> {
        read_back::to_csr(self)
    }
}

/// The rows of the windows that have no packed columns: offsets by slot, and columns.
fn rows_besides<T: Scalar>(
    csr: &Csr<T>,
    layout: &RowLayout,
    window_ptr: &[u64],
) -> Result<(Vec<u64>, Buffer<u32>), FormatError> {
    let rows = layout.window_rows();
    let is_packed = |w: usize| window_ptr[w] < window_ptr[w + 1];
    let mut row_ptr = vec![0; layout.n_slots() + 1];
    row_ptr[1..].par_iter_mut().with_min_len(1 << 12).enumerate().for_each(|(slot, len)| {
        if !is_packed(slot / rows) {
            *len = layout.row(slot).map_or(0, |row| csr.row_range(row).len() as u64);
        }
    });
    accumulate(&mut row_ptr);
    let mut col_idx: Buffer<u32> = zeroed(&[row_ptr[layout.n_slots()] as usize])?;
    let chunks = window_chunks(layout, csr.row_ptr(), usize::MAX);
    let ends = chunks.iter().map(|chunk| row_ptr[chunk.end * rows] as usize);
    let pieces = split_at_ends(col_idx.make_mut(), ends);
    chunks.par_iter().with_max_len(1).zip(pieces).for_each(|(windows, mut rest)| {
        for w in windows.clone().filter(|&w| !is_packed(w)) {
            for (_, row) in occupied(layout, w) {
                let cols = csr.row(row).0;
                let (head, tail) = rest.split_at_mut(cols.len());
                head.copy_from_slice(cols);
                rest = tail;
            }
        }
    });
    Ok((row_ptr, col_idx))
}

impl<T: Scalar> Rows<T> for Hybrid<T> {
    fn layout(&self) -> &RowLayout {
        self.layout()
    }

    fn ncols(&self) -> usize {
        self.ncols()
    }

    #[inline(always)]
    fn for_each(&self, slot: usize, mut entry: impl FnMut(u32, T)) {
        let is_packed = self.is_packed(slot / self.window_rows());
        let (cols, values) = self.stored(slot);
        for (&col, &value) in cols.iter().zip(values) {
            if !is_packed || (col != PAD_COL && !value.is_zero()) {
                entry(col, value);
            }
        }
    }
}

impl<T: Scalar> Hybrid<T> {
    /// The columns and values that are stored for the row in a slot, padding included.
    #[inline(always)]
    pub(super) fn stored(&self, slot: usize) -> (&[u32], &[T]) {
        let rows = self.window_rows();
        let (w, r) = (slot / rows, slot % rows);
        let start = self.window_values(w).start;
        let packed = self.window_ptr()[w] as usize..self.window_ptr()[w + 1] as usize;
        let (cols, start) = if packed.is_empty() {
            let row = self.row_ptr()[slot] as usize..self.row_ptr()[slot + 1] as usize;
            let before = row.start - self.row_ptr()[w * rows] as usize;
            (&self.col_idx()[row], start + before)
        } else {
            let width = packed.len();
            (&self.window_col_idx()[packed], start + r * width)
        };
        (cols, &self.values()[start..start + cols.len()])
    }
}
