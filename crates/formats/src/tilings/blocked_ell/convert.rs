//! CSR ↔ Blocked-ELL.

use girih_parallel::prelude::*;

use crate::PAD_COL;
use crate::buffer::Buffer;
use crate::csr::Csr;
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::bcsr::convert::{block_row_entries, put_block_row};
use crate::tilings::shared::fill::{Locate, Sink, fill};
use crate::tilings::shared::read_back::{self, Rows};
use crate::tilings::shared::union::{ColumnSet, Unions, WindowIndex, for_each_block};
use crate::tilings::shared::windows::{check_layout, zeroed};
use crate::tilings::{BlockedEll, spec};

/// The places of a Blocked-ELL's entries.
pub(crate) struct EllBlocks<'a> {
    pub(crate) layout: &'a RowLayout,
    pub(crate) ncols: usize,
    pub(crate) ell_width: usize,
    pub(crate) ell_col_idx: &'a [u32],
}

impl<'a> EllBlocks<'a> {
    pub(crate) fn of<T: Scalar>(t: &'a BlockedEll<T>) -> Self {
        Self {
            layout: t.layout(),
            ncols: t.ncols(),
            ell_width: t.ell_width(),
            ell_col_idx: t.ell_col_idx(),
        }
    }

    fn row_stride(&self) -> usize {
        self.ell_width * self.layout.window_rows()
    }
}

impl Locate for EllBlocks<'_> {
    type Scratch = ColumnSet;

    fn scratch(&self) -> ColumnSet {
        let units = self.ncols.div_ceil(self.layout.window_rows());
        ColumnSet::new(units, self.ell_col_idx.len())
    }

    fn layout(&self) -> &RowLayout {
        self.layout
    }

    fn strip_ptr(&self, w: usize) -> usize {
        w * self.layout.window_rows() * self.row_stride()
    }

    fn load(&self, set: &mut ColumnSet, w: usize) {
        set.clear();
        set.load(&self.ell_col_idx[w * self.ell_width..][..self.ell_width]);
    }

    fn holds(&self, set: &ColumnSet, _: usize, _: usize, cols: &[u32]) -> bool {
        cols.iter().all(|&col| set.contains(col / self.layout.window_rows() as u32))
    }

    #[inline(always)]
    fn locate<S: Sink>(&self, set: &ColumnSet, w: usize, r: usize, cols: &[u32], sink: &mut S) {
        let size = self.layout.window_rows();
        let row_start = self.strip_ptr(w) + r * self.row_stride();
        for_each_block(cols, size as u32, |block, entries| {
            let start = row_start + set.rank(block) * size;
            put_block_row(cols, block, size, entries, start, sink);
        });
    }
}

impl<T: Scalar> BlockedEll<T> {
    /// Builds square blocks of `layout.window_rows()` from CSR, as many slots in every block row as
    /// the fullest one needs.
    ///
    /// O(nnz + block rows · `ell_width`) work besides zeroing the blocks; in parallel over block
    /// rows, the same bytes on any number of threads. One full block row sets the width of all: ask
    /// [`FormatStats`](crate::stats::FormatStats) for the size first.
    ///
    /// # Errors
    /// If the layout is of another matrix, or the blocks do not fit memory.
    pub fn from_csr(csr: &Csr<T>, layout: RowLayout) -> Result<Self, FormatError> {
        T::blocked_ell_from_csr(csr, layout)
    }

    /// [`from_csr`](Self::from_csr), [compiled once](crate::compiled).
    pub(crate) fn tiled(csr: &Csr<T>, layout: RowLayout) -> Result<Self, FormatError> {
        check_layout(&layout, csr.nrows(), layout.window_rows())?;
        let size = layout.window_rows();
        let unions = Unions { pattern: csr.pattern(), layout: &layout, width: size as u32 };
        let index = unions.index(1)?;
        let ell_width = index.ptr.windows(2).map(|p| p[1] - p[0]).max().unwrap_or(0) as usize;
        let elements = [layout.n_windows(), ell_width, size, size];
        spec::checked_elements(&elements)?;
        let ell_col_idx = padded(&index, layout.n_windows(), ell_width)?;
        drop(index);
        let mut values = zeroed(&elements)?;
        let (nnz, ncols) = (csr.nnz(), csr.ncols());
        let blocks = EllBlocks { layout: &layout, ncols, ell_width, ell_col_idx: &ell_col_idx };
        fill(&blocks, csr, values.make_mut());
        Ok(Self::from_parts(layout, ncols, nnz, ell_width, ell_col_idx, values))
    }

    /// The stored nonzeros as CSR, rows in their original order. A zero in a block, explicit in the
    /// source or filled in, is not an entry.
    #[must_use]
    pub fn to_csr(&self) -> Csr<T> {
        T::blocked_ell_to_csr(self)
    }

    /// [`to_csr`](Self::to_csr), [compiled once](crate::compiled).
    pub(crate) fn untiled(&self) -> Csr<T> {
        read_back::to_csr(self)
    }
}

/// Lists of `ell_width` slots each.
fn padded(
    index: &WindowIndex,
    n_windows: usize,
    ell_width: usize,
) -> Result<Buffer<u32>, FormatError> {
    let mut ell_col_idx = zeroed(&[n_windows, ell_width])?;
    if ell_width > 0 {
        ell_col_idx
            .make_mut()
            .par_chunks_exact_mut(ell_width)
            .with_min_len(64)
            .enumerate()
            .for_each(|(w, list)| {
                let blocks = &index.idx[index.ptr[w] as usize..index.ptr[w + 1] as usize];
                let (used, padding) = list.split_at_mut(blocks.len());
                used.copy_from_slice(blocks);
                padding.fill(PAD_COL);
            });
    }
    Ok(ell_col_idx)
}

impl<T: Scalar> Rows<T> for BlockedEll<T> {
    fn layout(&self) -> &RowLayout {
        self.layout()
    }

    fn ncols(&self) -> usize {
        self.ncols()
    }

    #[inline(always)]
    fn for_each(&self, slot: usize, mut entry: impl FnMut(u32, T)) {
        let (size, width) = (self.block_size(), self.ell_width());
        let list = &self.ell_col_idx()[slot / size * width..][..width];
        let row = &self.values()[slot * self.row_stride()..][..self.row_stride()];
        for (&block, values) in list.iter().zip(row.chunks_exact(size)) {
            if block == PAD_COL {
                break;
            }
            block_row_entries(block, values, self.ncols(), &mut entry);
        }
    }
}
