//! What is left to decide once a product's columns are known: O(panels) for each product.

use girih_simd::tiles_prefetch;

use super::{Case, CpuLowering, Kernel, LayoutChoice};
use crate::thresholds::{
    STRIP_PACK_VECTORS, THREADS_FIND, THREADS_GRAIN, THREADS_SHARED, WHOLE_VECTORS,
};

/// How one product runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProductLowering {
    /// Whether a copy of A is multiplied, if there is one.
    pub(crate) by_copy: bool,
    /// Whether B is widened to the type of sums before it is multiplied.
    pub(crate) widens_b: bool,
    /// Elements from a row to the next in a copy of B in cache lines, if a B beside them is copied.
    pub(crate) line_stride: Option<usize>,
    /// How panels of B are packed, if they are.
    pub(crate) packed: Option<PackedBy>,
    /// Whether B is beyond the last-level cache: long rows of A then read rows of it whole.
    pub(crate) b_is_far: bool,
    /// Whether kernels prefetch entries of A.
    pub(crate) prefetch_a: bool,
    /// Whether strips with enough rows pack the rows of B that they use.
    pub(crate) packs_strips: bool,
}

/// Who packs panels of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackedBy {
    /// Threads pack panels of their own. Each of `panels` panels is multiplied in `shares` shares of the
    /// tasks.
    Each { panels: usize, shares: usize },
    /// All threads together pack one panel after the other.
    All { panels: usize },
}

impl CpuLowering {
    /// How a product of `n` columns runs on `threads` threads; `is_column` if B itself has no other column.
    pub(crate) fn product(&self, n: usize, is_column: bool, threads: usize) -> ProductLowering {
        let Self { case, layout, packing, prefetch_a, strip_packing, .. } = self;
        let by_copy = match layout.choice {
            LayoutChoice::AsStored => false,
            LayoutChoice::Sorted(..) => true,
            LayoutChoice::Tiles(..) => !is_column,
        };
        let packed = packing.choice.filter(|panels| panels.packs(n)).map(|panels| {
            let count = panels.panel_cols(n).count();
            match panels.shares(count, threads) {
                Some(shares) => PackedBy::Each { panels: count, shares },
                None => PackedBy::All { panels: count },
            }
        });
        let widens_b = packed.is_none() && case.widens_b(n);
        let (k, row_bytes) = (case.k, case.read_row_bytes(n, widens_b));
        let product = ProductLowering {
            by_copy,
            widens_b,
            line_stride: None,
            packed,
            b_is_far: k.saturating_mul(row_bytes) > case.machine.b_budget,
            prefetch_a: prefetch_a.choice.applies(k, row_bytes, is_column, case.machine),
            packs_strips: strip_packing.choice,
        };
        let lines =
            if widens_b || packed.is_some() { None } else { self.lines(&product, n, threads).ok() };
        ProductLowering { line_stride: lines.map(|lines| lines.stride), ..product }
    }

    /// How many of `count` tasks a thread takes at a time, on a panel of `width` columns; `None` if they are
    /// so little work that the calling thread runs them alone.
    pub(crate) fn grain(&self, count: usize, width: usize) -> Option<usize> {
        let work = self.case.stored.saturating_mul(width + THREADS_FIND);
        let is_shared = count >= 2 && work >= THREADS_SHARED;
        is_shared.then(|| THREADS_GRAIN.div_ceil((work / count.max(1)).max(1)))
    }

    /// The most threads that multiply at a time.
    pub(super) fn workers(&self, product: &ProductLowering, n: usize, threads: usize) -> usize {
        let (count, width) = match product.packed {
            Some(PackedBy::Each { panels, shares }) => return threads.min(panels * shares).max(1),
            Some(PackedBy::All { .. }) | None => (self.count(product), self.width(product, n)),
        };
        self.grain(count, width).map_or(1, |grain| threads.min(count / grain).max(1))
    }

    /// Columns that kernels take at a time: those of a packed panel, or all.
    fn width(&self, product: &ProductLowering, n: usize) -> usize {
        match self.packing.choice {
            Some(panels) if product.packed.is_some() => panels.row_stride().min(n),
            _ => n,
        }
    }

    /// Tasks to run, each counted as often as it has parts.
    fn count(&self, product: &ProductLowering) -> usize {
        let parts = match self.layout.choice {
            LayoutChoice::Sorted(_, counts) if product.by_copy => counts.parts,
            _ => 1,
        };
        self.schedule.tasks * parts
    }

    /// The kernel that runs most of the product; rows that the schedule splits run as stored.
    pub(super) fn kernel(&self, product: &ProductLowering) -> Kernel {
        match self.layout.choice {
            LayoutChoice::Sorted(..) if product.by_copy => Kernel::Sorted,
            LayoutChoice::Tiles(..) if product.by_copy => Kernel::Tiles,
            _ => self.case.kernel(),
        }
    }

    /// Whether any kernel prefetches rows of B. Tiles do so by [how wide](tiles_prefetch) the rows are, sorted rows unless
    /// there is a single column.
    pub(super) fn prefetches_b(&self, product: &ProductLowering, n: usize) -> bool {
        let Case { isa, .. } = self.case;
        let in_sorted_rows = !(n == 1 && (self.case.is_wide() || product.widens_b));
        let width = self.width(product, n);
        self.prefetch_b.choice
            && isa.prefetches()
            && match self.kernel(product) {
                Kernel::Tiles => tiles_prefetch(width * self.case.sum_bytes, product.b_is_far),
                Kernel::Sorted => in_sorted_rows,
                _ => false,
            }
    }

    /// Whether any kernel prefetches entries of A. Strips of single columns do so only by two vectors and
    /// more at a time, which AVX-512 alone has, or if their rows of B are packed. Kernels that prefetch rows
    /// of B prefetch entries too.
    pub(super) fn prefetches_a(&self, product: &ProductLowering, n: usize) -> bool {
        let case = &self.case;
        let many_vectors = case.isa.has_wide_strips() && n > case.lanes();
        let packed_rows = product.packs_strips && n >= STRIP_PACK_VECTORS * case.lanes();
        let by_kernel = self.kernel(product) != Kernel::Strips || !case.has_single_columns();
        let wanted = product.prefetch_a && case.isa.prefetches();
        wanted && (by_kernel || many_vectors || packed_rows) || self.prefetches_b(product, n)
    }

    /// Whether long rows of A read whole rows of B, 32 vectors at a time.
    pub(super) fn reads_whole_rows(&self, product: &ProductLowering, n: usize) -> bool {
        let width = self.width(product, n);
        product.b_is_far
            && self.case.isa.has_wide_vectors()
            && width >= WHOLE_VECTORS * self.case.lanes()
            && matches!(self.kernel(product), Kernel::Rows | Kernel::Sorted | Kernel::Decoded)
    }
}
