//! What a machine's caches hold, and what its processor gains by.

pub(crate) mod caches;

use crate::thresholds::*;

/// Who made a processor, as far as decisions depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    Amd,
    Intel,
    Other,
}

/// What decisions know of a machine: how much of a product its caches may take, in bytes, and what its processor
/// gains by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// The last-level cache.
    pub(crate) last_level: usize,
    /// A core's own caches: a part of B that stays there.
    pub(crate) private: usize,
    pub(crate) vendor: Vendor,
    /// B stays in the last-level cache as it is up to this size; so do panels of all threads if each has
    /// its own.
    pub(crate) b: usize,
    /// So does the part of it that neighbouring rows of A meet.
    pub(crate) met: usize,
    /// Blocks of A come fast enough from beyond a core's own caches up to this size, although kernels leap from
    /// one to the next.
    pub(crate) blocks: usize,
    /// A panel of B of four lines, or it is cut to two.
    pub(crate) panel: usize,
    /// A panel of two lines, or packing is given up.
    pub(crate) panels: usize,
    /// Whether what only the last-level cache has comes so slowly that it is profitable to decode values again for
    /// each packed panel, and not to read all of A again for each thread's.
    pub(crate) is_slow: bool,
    /// Whether the processor brings the lines that follow in a row of B, so that rows had better be read whole.
    pub(crate) follows_rows: bool,
    /// Rows of B from this many bytes on lie so far apart that their panels meet in few sets of the
    /// caches, and prefetching does not make up for it.
    pub(crate) far_row: usize,
    /// Whether the processor gains by software prefetches, of rows of B and of entries of A. A Zen 4 does, by up
    /// to 1.9 and 1.8 times. A Xeon (Emerald Rapids), which sees the lines of a row coming by itself, loses up to a
    /// fifth where rows are long, and by entries up to a seventh where B is small. Others were not measured.
    pub(crate) asks: bool,
}

impl Machine {
    /// A machine of neither vendor with a last-level cache, and caches of each core, of so many bytes.
    pub(crate) fn of(last_level: u64, private: u64) -> Self {
        let eighth = usize::try_from(last_level / 8).unwrap_or(usize::MAX / 8);
        Self {
            last_level: usize::try_from(last_level).unwrap_or(usize::MAX),
            private: usize::try_from(private).unwrap_or(usize::MAX),
            vendor: Vendor::Other,
            b: CACHE_B * eighth,
            met: CACHE_MET * eighth,
            blocks: CACHE_BLOCKS * eighth,
            panel: CACHE_PANEL * eighth,
            panels: CACHE_PANEL_NARROW * eighth,
            is_slow: false,
            follows_rows: false,
            far_row: PACK_FAR_ROW_BYTES,
            asks: false,
        }
    }

    /// The same caches of a processor of `vendor`.
    pub(crate) fn made_by(self, vendor: Vendor) -> Self {
        let asks = vendor == Vendor::Amd;
        let far_row = if asks { PACK_FAR_ROW_BYTES_PREFETCHED } else { PACK_FAR_ROW_BYTES };
        let is_intel = vendor == Vendor::Intel;
        Self { vendor, is_slow: is_intel, follows_rows: is_intel, far_row, asks, ..self }
    }

    /// This machine.
    pub(crate) fn here() -> Self {
        let last_level = caches::last_level().unwrap_or(CACHE_LAST_LEVEL);
        Self::of(last_level, caches::private().unwrap_or(CACHE_PRIVATE)).made_by(vendor())
    }

    /// Whether entries of A are prefetched since B, of `k` rows of so many bytes, is large: the processor does not
    /// see between its rows that they follow one another. Of a single column that depends on the
    /// matrix.
    pub(crate) fn hides_a(&self, k: usize, row_bytes: usize) -> bool {
        self.asks && k.saturating_mul(row_bytes) >= self.hiding_b(row_bytes)
    }

    /// The least size of such a B.
    pub(crate) fn hiding_b(&self, row_bytes: usize) -> usize {
        let is_narrow = row_bytes <= PREFETCH_A_NARROW_BYTES;
        self.private / 4 * if is_narrow { PREFETCH_A_NARROW } else { PREFETCH_A_WIDE }
    }
}

/// Who made this processor, by the name that it gives itself.
fn vendor() -> Vendor {
    #[cfg(target_arch = "x86_64")]
    {
        let found = std::arch::x86_64::__cpuid(0);
        let name = [found.ebx, found.edx, found.ecx].map(u32::to_le_bytes);
        match name.as_flattened() {
            b"AuthenticAMD" => Vendor::Amd,
            b"GenuineIntel" => Vendor::Intel,
            _ => Vendor::Other,
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vendor::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_b_hides_a_where_asking_gains_and_narrow_rows_take_a_larger_one() {
        let machine = Machine { asks: true, ..Machine::of(32 << 20, 1 << 20) };
        assert!(machine.hides_a(1 << 10, 256) && !machine.hides_a((1 << 10) - 1, 256));
        assert!(machine.hides_a(3 << 11, 128) && !machine.hides_a((3 << 11) - 1, 128));
        assert!(machine.hides_a(usize::MAX, 512) && !machine.hides_a(0, 512));
        assert!(!Machine { asks: false, ..machine }.hides_a(1 << 20, 256));
    }
    #[test]
    fn vendors_differ_in_prefetching_and_in_how_far_rows_are() {
        let of = |vendor| Machine::of(32 << 20, 1 << 20).made_by(vendor);
        let [amd, intel, other] = [Vendor::Amd, Vendor::Intel, Vendor::Other].map(of);
        assert!(amd.asks && !amd.is_slow && amd.far_row == 2 * other.far_row);
        assert!(!intel.asks && intel.is_slow && intel.follows_rows);
        assert_eq!(other, Machine::of(32 << 20, 1 << 20));
    }
}
