//! What decisions know of a machine: its cache budgets, and the traits of its processor.

pub(crate) mod caches;
mod vendor;

use crate::thresholds::*;
pub(crate) use vendor::Vendor;

/// A machine's cache budgets, in bytes, and the traits of its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// The last-level cache.
    pub(crate) last_level: usize,
    /// A core's own caches.
    pub(crate) private: usize,
    pub(crate) vendor: Vendor,
    /// Up to this size B stays in the last-level cache; so do the panels of all threads if each has its own.
    pub(crate) b_budget: usize,
    /// Up to this size the part of B that neighbouring rows of A use stays there.
    pub(crate) used_b_budget: usize,
    /// Up to this size blocks of A need no prefetching, although kernels jump from one block to the next.
    pub(crate) blocks_budget: usize,
    /// The largest panel of B with four vectors a row.
    pub(crate) wide_panel_budget: usize,
    /// The largest panel of B with two vectors a row.
    pub(crate) narrow_panel_budget: usize,
    /// Whether the last-level cache is slow. Then decoding values again for each packed panel is profitable,
    /// and reading all of A again in each thread is not.
    pub(crate) slow_last_level: bool,
    /// Whether the hardware prefetches the rest of a row of B by itself. Then rows are better read whole.
    pub(crate) prefetches_rows_itself: bool,
    /// From this many bytes on, rows of B lie so far apart that a panel's columns fall into few sets of the
    /// caches, and prefetching does not make up for it.
    pub(crate) far_row: usize,
    /// Whether software prefetches gain, of rows of B and of entries of A.
    pub(crate) gains_by_prefetch: bool,
}

impl Machine {
    /// A machine of neither vendor, with a last-level cache and caches of each core of the given sizes in
    /// bytes.
    pub(crate) fn with_caches(last_level: u64, private: u64) -> Self {
        let eighth = usize::try_from(last_level / 8).unwrap_or(usize::MAX / 8);
        Self {
            last_level: usize::try_from(last_level).unwrap_or(usize::MAX),
            private: usize::try_from(private).unwrap_or(usize::MAX),
            vendor: Vendor::Other,
            b_budget: CACHE_B * eighth,
            used_b_budget: CACHE_USED_B * eighth,
            blocks_budget: CACHE_BLOCKS * eighth,
            wide_panel_budget: CACHE_PANEL * eighth,
            narrow_panel_budget: CACHE_PANEL_NARROW * eighth,
            slow_last_level: false,
            prefetches_rows_itself: false,
            far_row: PACK_FAR_ROW_BYTES,
            gains_by_prefetch: false,
        }
    }

    /// The same caches with a processor of `vendor`.
    pub(crate) fn with_vendor(self, vendor: Vendor) -> Self {
        let is_amd = vendor == Vendor::Amd;
        let is_intel = vendor == Vendor::Intel;
        Self {
            vendor,
            slow_last_level: is_intel,
            prefetches_rows_itself: is_intel,
            far_row: if is_amd { PACK_FAR_ROW_BYTES_PREFETCHED } else { PACK_FAR_ROW_BYTES },
            gains_by_prefetch: is_amd,
            ..self
        }
    }

    /// This machine.
    pub(crate) fn detect() -> Self {
        let last_level = caches::last_level().unwrap_or(CACHE_LAST_LEVEL);
        let private = caches::private().unwrap_or(CACHE_PRIVATE);
        Self::with_caches(last_level, private).with_vendor(Vendor::detect())
    }

    /// Whether B, of `k` rows of `row_bytes` bytes, is so large that entries of A gain by prefetching:
    /// between its rows the processor does not see that entries follow one another. Not for a single column,
    /// where it depends on the matrix.
    pub(crate) fn large_b_needs_a_prefetch(&self, k: usize, row_bytes: usize) -> bool {
        self.gains_by_prefetch
            && k.saturating_mul(row_bytes) >= self.least_b_for_a_prefetch(row_bytes)
    }

    /// The least size of such a B, in bytes.
    pub(crate) fn least_b_for_a_prefetch(&self, row_bytes: usize) -> usize {
        let is_narrow = row_bytes <= PREFETCH_A_NARROW_BYTES;
        self.private / 4 * if is_narrow { PREFETCH_A_NARROW } else { PREFETCH_A_WIDE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_b_needs_a_prefetch_where_that_gains_and_narrow_rows_take_a_larger_one() {
        let machine =
            Machine { gains_by_prefetch: true, ..Machine::with_caches(32 << 20, 1 << 20) };
        let needs = |k, row_bytes| machine.large_b_needs_a_prefetch(k, row_bytes);
        assert!(needs(1 << 10, 256) && !needs((1 << 10) - 1, 256));
        assert!(needs(3 << 11, 128) && !needs((3 << 11) - 1, 128));
        assert!(needs(usize::MAX, 512) && !needs(0, 512));
        let other = Machine { gains_by_prefetch: false, ..machine };
        assert!(!other.large_b_needs_a_prefetch(1 << 20, 256));
    }

    #[test]
    fn vendors_differ_in_prefetching_and_in_how_far_rows_are() {
        let machine = |vendor| Machine::with_caches(32 << 20, 1 << 20).with_vendor(vendor);
        let [amd, intel, other] = [Vendor::Amd, Vendor::Intel, Vendor::Other].map(machine);
        assert!(amd.gains_by_prefetch && !amd.slow_last_level && amd.far_row == 2 * other.far_row);
        assert!(!intel.gains_by_prefetch && intel.slow_last_level && intel.prefetches_rows_itself);
        assert_eq!(other, Machine::with_caches(32 << 20, 1 << 20));
    }
}
