//! What is left to decide once a product's columns are known: O(panels), with each product.

use super::{Case, CpuLowering, Kernel, Layout};
use crate::operands::GROUP_LINES;
use crate::thresholds::*;

/// How one product runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    /// Whether the copy of A is multiplied, if there is one.
    pub(crate) by_layout: bool,
    /// How panels of B are packed, if they are.
    pub(crate) packed: Option<PackedBy>,
    /// Whether B is beyond the last-level cache: long rows of A then read rows of it whole.
    pub(crate) b_is_far: bool,
    /// Whether kernels are to prefetch entries of A.
    pub(crate) prefetch_a: bool,
    /// Whether rows of B are gathered for strips that are high enough.
    pub(crate) gathers: bool,
}

/// Who packs panels of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackedBy {
    /// Each of `panels` panels by the threads that multiply it, each in one of so many shares of the tasks.
    Each { panels: usize, shares: usize },
    /// One panel after the other by all threads together.
    All { panels: usize },
}

impl CpuLowering {
    /// How a product of `n` columns runs on so many threads; `is_column` if B itself has no other column.
    pub(crate) fn product(&self, n: usize, is_column: bool, threads: usize) -> Product {
        let Self { case, layout, packing, prefetch_a, gather, .. } = self;
        let by_layout = match layout.choice {
            Layout::AsStored => false,
            Layout::Sorted(..) => true,
            Layout::Tiles(..) => !is_column,
        };
        let packed = packing.choice.filter(|panels| panels.serve(n)).map(|panels| {
            let count = panels.pieces(n).count();
            match panels.shares(count, threads) {
                Some(shares) => PackedBy::Each { panels: count, shares },
                None => PackedBy::All { panels: count },
            }
        });
        let (k, row_bytes) = (case.k, case.row_bytes(n));
        Product {
            by_layout,
            packed,
            b_is_far: k.saturating_mul(row_bytes) > case.machine.b,
            prefetch_a: prefetch_a.choice.by(k, row_bytes, is_column, case.machine),
            gathers: gather.choice,
        }
    }

    /// How many of `count` tasks a thread takes at a time, on a panel of so many columns; `None` where they are so
    /// little work that the calling thread runs them alone.
    pub(crate) fn grain(&self, count: usize, width: usize) -> Option<usize> {
        let work = self.case.stored.saturating_mul(width + THREADS_FIND);
        let is_shared = count >= 2 && work >= THREADS_SHARED;
        is_shared.then(|| THREADS_GRAIN.div_ceil((work / count.max(1)).max(1)))
    }

    /// The most threads that multiply at a time.
    pub(super) fn workers(&self, product: &Product, n: usize, threads: usize) -> usize {
        let (count, width) = match product.packed {
            Some(PackedBy::Each { panels, shares }) => return threads.min(panels * shares).max(1),
            Some(PackedBy::All { .. }) | None => (self.count(product), self.width(product, n)),
        };
        self.grain(count, width).map_or(1, |grain| threads.min(count / grain).max(1))
    }

    /// Columns that kernels take at a time: those of a packed panel, or all.
    fn width(&self, product: &Product, n: usize) -> usize {
        match self.packing.choice {
            Some(panels) if product.packed.is_some() => panels.row_stride().min(n),
            _ => n,
        }
    }

    /// Tasks that are run, with their parts.
    fn count(&self, product: &Product) -> usize {
        let parts = match self.layout.choice {
            Layout::Sorted(_, made) if product.by_layout => made.parts,
            _ => 1,
        };
        self.work.tasks * parts
    }

    /// The kernel that most of the product runs by; rows that are multiplied in parts run as they stand.
    pub(super) fn kernel(&self, product: &Product) -> Kernel {
        match self.layout.choice {
            Layout::Sorted(..) if product.by_layout => Kernel::Sorted,
            Layout::Tiles(..) if product.by_layout => Kernel::Tiles,
            _ => self.case.kernel(),
        }
    }

    /// Whether any kernel prefetches rows of B: tiles do so by four whole lines of AVX-512 at a time, sorted rows
    /// in any but a single column.
    pub(super) fn prefetches_b(&self, product: &Product, n: usize) -> bool {
        let Case { isa, .. } = self.case;
        let of_rows = !(n == 1 && self.case.is_wide());
        let width = self.width(product, n);
        self.prefetch_b.choice
            && isa.prefetches()
            && match self.kernel(product) {
                Kernel::Tiles => isa.has_wide_strips() && width >= GROUP_LINES * self.case.lanes(),
                Kernel::Sorted => of_rows,
                _ => false,
            }
    }

    /// Whether any kernel prefetches entries of A. Strips of single columns do so by two lines and more at a
    /// time, which only AVX-512 has, or where their rows of B are gathered. Kernels that prefetch rows of B
    /// prefetch entries too.
    pub(super) fn prefetches_a(&self, product: &Product, n: usize) -> bool {
        let case = &self.case;
        let many_lines = case.isa.has_wide_strips() && n > case.lanes();
        let gathered = product.gathers && n >= GATHER_LINES * case.lanes();
        let by_kernel = self.kernel(product) != Kernel::Strips || !case.has_single_columns();
        let asked = product.prefetch_a && case.isa.prefetches();
        asked && (by_kernel || many_lines || gathered) || self.prefetches_b(product, n)
    }

    /// Whether long rows of A read whole rows of B, 32 lines of them at a time.
    pub(super) fn reads_whole_rows(&self, product: &Product, n: usize) -> bool {
        let width = self.width(product, n);
        product.b_is_far
            && self.case.isa.has_wide_lines()
            && width >= WHOLE_LINES * self.case.lanes()
            && matches!(self.kernel(product), Kernel::Rows | Kernel::Sorted | Kernel::Decoded)
    }
}

impl Case {
    /// Whether each column of a strip stands for itself, its values next to those of others.
    fn has_single_columns(&self) -> bool {
        use girih_formats::FormatSpec::*;
        match self.spec {
            Wcsr { .. } => true,
            BlockedEll { block_size } => block_size == 1,
            Bcsr { block_rows, block_cols } => {
                block_cols == 1 && (block_rows == 1 || !self.is_wide())
            }
            _ => false,
        }
    }
}
