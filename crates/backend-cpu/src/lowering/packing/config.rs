//! How panels are cut and shared among threads.

use std::ops::Range;

use girih_simd::GROUP_VECTORS;

use crate::lowering::Case;
use crate::machine::Machine;
use crate::thresholds::{PACK_PANELS_EACH, PACK_SHARES};

/// Panels of B that are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PanelConfig {
    /// Vectors in a row of a panel, each of 64 bytes of sums: 2 or 4.
    pub(crate) vectors: usize,
    /// Columns of a vector.
    pub(crate) lanes: usize,
    /// Bytes of a value of B.
    pub(crate) value_bytes: usize,
    /// Rows of B of at least this many bytes are packed.
    pub(crate) row_bytes: usize,
    /// Rows of B that are packed before they are multiplied: all, or those of a slab.
    pub(crate) rows: usize,
    /// Panels in scratch: one that all threads share, or one for each thread.
    pub(crate) copies: usize,
}

/// The columns of one panel of B.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PanelCols {
    pub(crate) cols: Range<usize>,
    /// Whether the panel is part of a group of four vectors, whose sums are single chains.
    pub(crate) is_part_of_group: bool,
}

impl PanelConfig {
    /// Panels of `rows` rows of B, one for each thread if the cache that threads share holds all of them.
    pub(crate) fn new(case: &Case, vectors: usize, row_bytes: usize, rows: usize) -> Self {
        let (lanes, value_bytes) = (case.lanes(), case.value_bytes);
        let bytes = rows.saturating_mul(vectors * lanes * value_bytes);
        let copies =
            if fits_each_thread(case.threads, bytes, case.machine) { case.threads } else { 1 };
        Self { vectors, lanes, value_bytes, row_bytes, rows, copies }
    }

    /// Elements from a packed row to the next.
    pub(crate) fn row_stride(&self) -> usize {
        self.vectors * self.lanes
    }

    /// Bytes of the scratch for all of them.
    pub(crate) fn bytes(&self) -> usize {
        self.rows.saturating_mul(self.row_stride() * self.value_bytes).saturating_mul(self.copies)
    }

    /// Whether products of `n` columns are packed.
    pub(crate) fn packs(&self, n: usize) -> bool {
        n * self.value_bytes >= self.row_bytes
    }

    /// The panels of `n` columns of B.
    pub(crate) fn panel_cols(&self, n: usize) -> impl Iterator<Item = PanelCols> {
        panel_cols(self.vectors, self.lanes, n)
    }

    /// Into how many shares of the tasks each of `count` panels is divided, if threads have panels of their
    /// own.
    pub(crate) fn shares(&self, count: usize, threads: usize) -> Option<usize> {
        shares(count, threads).filter(|_| threads <= self.copies)
    }
}

/// Whether the cache that threads share holds a panel of `panel` bytes for each of them.
pub(super) const fn fits_each_thread(threads: usize, panel: usize, machine: Machine) -> bool {
    threads.saturating_mul(panel) <= machine.b_budget
}

/// Into how many shares of the tasks each of `count` panels is divided, if each thread packs panels of its
/// own; `None` if all of `threads` pack together.
///
/// With panels of their own, nothing packed moves from one core's caches to another's, and no thread waits
/// for others after each panel.
pub(super) fn shares(count: usize, threads: usize) -> Option<usize> {
    if threads < 2 || count == 0 {
        return None;
    }
    if count.is_multiple_of(threads) || count >= PACK_PANELS_EACH * threads {
        return Some(1);
    }
    let shares = threads / count;
    (threads.is_multiple_of(count) && shares <= PACK_SHARES).then_some(shares)
}

/// Cuts `n` columns of B into panels of `vectors` vectors. No vector is cut, and sums are added up in panels
/// as they are in one panel of all columns.
pub(super) fn panel_cols(
    vectors: usize,
    lanes: usize,
    n: usize,
) -> impl Iterator<Item = PanelCols> {
    let group = GROUP_VECTORS * lanes;
    let mut next = 0;
    std::iter::from_fn(move || {
        let start = next;
        let in_group = (group - start % group).min(n.checked_sub(start).filter(|&n| n > 0)?);
        // The rest of a group at the end counts as a group: up to two vectors have chains of their own, and
        // are not cut.
        let left = (n - start / group * group).min(group).div_ceil(lanes);
        let width = if left > 2 { in_group.min(vectors * lanes) } else { in_group };
        next += width;
        Some(PanelCols { cols: start..next, is_part_of_group: left > 2 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lowering::testing::case;

    #[test]
    fn threads_have_panels_or_shares_of_them_if_all_have_equally_many() {
        let among_16 = |count| shares(count, 16);
        assert_eq!([16, 32, 64, 65].map(among_16), [Some(1); 4]);
        assert_eq!(among_16(8), Some(2));
        assert_eq!([0, 1, 4, 6, 9, 63].map(among_16), [None; 6]);
        assert_eq!(shares(16, 1), None);
        let panels = PanelConfig::new(
            &case(1, 1, 512, 16, Machine::with_caches(32 << 20, 1 << 20)),
            4,
            512,
            1,
        );
        assert_eq!((panels.shares(16, 16), panels.shares(17, 17)), (Some(1), None));
    }

    #[test]
    fn panels_cover_all_columns_and_keep_the_groups_at_the_end_whole() {
        let panel = |cols, is_part_of_group| PanelCols { cols, is_part_of_group };
        let cut = |vectors, n| panel_cols(vectors, 16, n).collect::<Vec<_>>();
        assert_eq!(cut(4, 130), [panel(0..64, true), panel(64..128, true), panel(128..130, false)]);
        assert_eq!(
            cut(2, 100),
            [panel(0..32, true), panel(32..64, true), panel(64..96, true), panel(96..100, true),]
        );
        assert_eq!(cut(2, 96)[2..], [panel(64..96, false)]);
    }
}
