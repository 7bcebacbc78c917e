//! CSR ↔ BCSR.

use crate::csr::Csr;
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::shared::fill::{Locate, Sink, fill};
use crate::tilings::shared::read_back::{self, Rows};
use crate::tilings::shared::union::{ColumnSet, Unions, for_each_block};
use crate::tilings::shared::windows::{check_layout, zeroed};
use crate::tilings::{Bcsr, spec};

/// The places of a BCSR's entries.
pub(crate) struct Blocks<'a> {
    pub(crate) layout: &'a RowLayout,
    pub(crate) ncols: usize,
    pub(crate) block_cols: u32,
    pub(crate) block_row_ptr: &'a [u64],
    pub(crate) block_col_idx: &'a [u32],
}

impl<'a> Blocks<'a> {
    pub(crate) fn of<T: Scalar>(t: &'a Bcsr<T>) -> Self {
        Self {
            layout: t.layout(),
            ncols: t.ncols(),
            block_cols: t.block_cols() as u32,
            block_row_ptr: t.block_row_ptr(),
            block_col_idx: t.block_col_idx(),
        }
    }
}

impl Locate for Blocks<'_> {
    type Scratch = ColumnSet;

    fn scratch(&self) -> ColumnSet {
        let units = self.ncols.div_ceil(self.block_cols as usize);
        ColumnSet::new(units, self.block_col_idx.len())
    }

    fn layout(&self) -> &RowLayout {
        self.layout
    }

    fn strip_ptr(&self, w: usize) -> usize {
        self.block_row_ptr[w] as usize * self.layout.window_rows() * self.block_cols as usize
    }

    fn load(&self, set: &mut ColumnSet, w: usize) {
        let blocks = self.block_row_ptr[w] as usize..self.block_row_ptr[w + 1] as usize;
        set.clear();
        set.load(&self.block_col_idx[blocks]);
    }

    fn holds(&self, set: &ColumnSet, _: usize, _: usize, cols: &[u32]) -> bool {
        cols.iter().all(|&col| set.contains(col / self.block_cols))
    }

    #[inline(always)]
    fn locate<S: Sink>(&self, set: &ColumnSet, w: usize, r: usize, cols: &[u32], sink: &mut S) {
        let width = self.block_cols as usize;
        let row_start = self.strip_ptr(w) + r * width;
        let block_len = self.layout.window_rows() * width;
        for_each_block(cols, self.block_cols, |block, entries| {
            let start = row_start + set.rank(block) * block_len;
            put_block_row(cols, block, width, entries, start, sink);
        });
    }
}

/// Puts the entries of one row of one block, which begins at `start`.
#[inline(always)]
pub(crate) fn put_block_row<S: Sink>(
    cols: &[u32],
    block: u32,
    width: usize,
    entries: std::ops::Range<usize>,
    start: usize,
    sink: &mut S,
) {
    if entries.len() == width {
        sink.put_run(entries.start, start, width);
    } else {
        let first = block * width as u32;
        for i in entries {
            sink.put(i, start + (cols[i] - first) as usize);
        }
    }
}

/// Calls `entry(column, value)` for the nonzeros of one row of a block.
///
/// What stands past column `ncols` is no entry, whatever it is: the arrays may come from a file.
#[inline(always)]
pub(crate) fn block_row_entries<T: Scalar>(
    block: u32,
    values: &[T],
    ncols: usize,
    entry: &mut impl FnMut(u32, T),
) {
    for (col, &value) in (block as usize * values.len()..ncols).zip(values) {
        if !value.is_zero() {
            entry(col as u32, value);
        }
    }
}

impl<T: Scalar> Bcsr<T> {
    /// Builds blocks of `layout.window_rows() × block_cols` from CSR.
    ///
    /// O(nnz + block rows) work besides zeroing the blocks; in parallel over block rows, the same
    /// bytes on any number of threads. Allocates the result, a bit set over the block columns per
    /// thread, and for a moment a second copy of `block_col_idx`.
    ///
    /// # Errors
    /// If the layout is of another matrix, `block_cols` is out of range, or the blocks do not fit
    /// memory.
    pub fn from_csr(
        csr: &Csr<T>,
        layout: RowLayout,
        block_cols: usize,
    ) -> Result<Self, FormatError> {
        T::bcsr_from_csr(csr, layout, block_cols)
    }

    /// [`from_csr`](Self::from_csr), [compiled once](crate::compiled).
    pub(crate) fn tiled(
        csr: &Csr<T>,
        layout: RowLayout,
        block_cols: usize,
    ) -> Result<Self, FormatError> {
        check_layout(&layout, csr.nrows(), layout.window_rows())?;
        spec::check_size("block_cols", block_cols)?;
        let width = block_cols as u32;
        let index = Unions { pattern: csr.pattern(), layout: &layout, width }.index(1)?;
        let mut values = zeroed(&[index.idx.len(), layout.window_rows(), block_cols])?;
        let blocks = Blocks {
            layout: &layout,
            ncols: csr.ncols(),
            block_cols: width,
            block_row_ptr: &index.ptr,
            block_col_idx: &index.idx,
        };
        fill(&blocks, csr, values.make_mut());
        let (nnz, ncols) = (csr.nnz(), csr.ncols());
        let ptr = index.ptr.into();
        Ok(Self::from_parts(layout, ncols, nnz, block_cols, ptr, index.idx, values))
    }

    /// The stored nonzeros as CSR, rows in their original order. A zero in a block, explicit in the
    /// source or filled in, is not an entry.
    #[must_use]
    pub fn to_csr(&self) -> Csr<T> {
        T::bcsr_to_csr(self)
    }

    /// [`to_csr`](Self::to_csr), [compiled once](crate::compiled).
    pub(crate) fn untiled(&self) -> Csr<T> {
        read_back::to_csr(self)
    }
}

impl<T: Scalar> Rows<T> for Bcsr<T> {
    fn layout(&self) -> &RowLayout {
        self.layout()
    }

    fn ncols(&self) -> usize {
        self.ncols()
    }

    #[inline(always)]
    fn for_each(&self, slot: usize, mut entry: impl FnMut(u32, T)) {
        let (rows, width) = (self.block_rows(), self.block_cols());
        let (w, r) = (slot / rows, slot % rows);
        for b in self.block_row_ptr()[w] as usize..self.block_row_ptr()[w + 1] as usize {
            let values = &self.values()[(b * rows + r) * width..][..width];
            block_row_entries(self.block_col_idx()[b], values, self.ncols(), &mut entry);
        }
    }
}
