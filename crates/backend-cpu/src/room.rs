//! What the caches of this machine have room for, and what its processor gains by.

use crate::caches;

/// What machines that do not tell their caches count as having: what servers have for a few cores.
const USUAL_LAST_LEVEL: u64 = 32 << 20;

/// As [`USUAL_LAST_LEVEL`], for one core alone.
const USUAL_PRIVATE: u64 = 1 << 20;

/// [`Room::far_row`] where kernels ask for nothing ahead.
const FAR_ROW: usize = 1024;

/// What parts of a product may take of the caches, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
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
    /// A part of B that stays in a core's own caches.
    pub(crate) private: usize,
    /// Whether what only the last-level cache has comes so slowly that it pays to decode values again for each
    /// packed panel, and not to read all of A again for each thread's.
    pub(crate) is_slow: bool,
    /// Whether the processor brings the lines that follow in a row of B, so that rows had better be read whole.
    pub(crate) follows_rows: bool,
    /// Rows of B from this many bytes on lie so far apart that their panels meet in few sets of the
    /// caches, and it is not made up for by [asking ahead](gains_by_asking) for them.
    pub(crate) far_row: usize,
    /// Whether the processor [gains by asking](gains_by_asking).
    pub(crate) asks: bool,
}

/// Rows of B of up to so many bytes have few multiply-adds for each entry that is asked for.
const NARROW: usize = 128;

impl Room {
    /// What a last-level cache and those of each core, of so many bytes, have room for.
    pub(crate) fn of(last_level: u64, private: u64) -> Self {
        let eighth = usize::try_from(last_level / 8).unwrap_or(usize::MAX / 8);
        let private = usize::try_from(private).unwrap_or(usize::MAX);
        Self {
            b: 5 * eighth,
            met: 4 * eighth,
            blocks: eighth,
            panel: 3 * eighth,
            panels: 6 * eighth,
            private,
            is_slow: false,
            follows_rows: false,
            far_row: FAR_ROW,
            asks: false,
        }
    }

    /// What this machine's have.
    pub(crate) fn here() -> Self {
        let last_level = caches::last_level().unwrap_or(USUAL_LAST_LEVEL);
        let room = Self::of(last_level, caches::private().unwrap_or(USUAL_PRIVATE));
        let asks = gains_by_asking();
        let far_row = if asks { 2 * FAR_ROW } else { FAR_ROW };
        let is_intel = is_made_by(b"GenuineIntel");
        Self { is_slow: is_intel, follows_rows: is_intel, far_row, asks, ..room }
    }

    /// Whether B, of `k` rows of so many bytes, [hides](crate::operands::Input::hides_a) A. Of a single
    /// column that depends on [the matrix](crate::reuse::hides_a).
    pub(crate) fn hides_a(&self, k: usize, row_bytes: usize) -> bool {
        let quarters = if row_bytes <= NARROW { 3 } else { 1 };
        self.asks && k.saturating_mul(row_bytes) >= self.private / 4 * quarters
    }
}

/// Whether this processor gains by being asked ahead for rows of B, and for entries of A: one of AMD's. A
/// Zen 4 does, by up to 1.9 and 1.8 times. A Xeon (Emerald Rapids), which sees the lines of a row coming by
/// itself, loses up to a fifth where rows are long, and by entries up to a seventh where B is small. Others
/// were not measured.
pub(crate) fn gains_by_asking() -> bool {
    is_made_by(b"AuthenticAMD")
}

/// Whether `vendor` made this processor, by the name it gives itself.
fn is_made_by(vendor: &[u8; 12]) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let found = std::arch::x86_64::__cpuid(0);
        let name = [found.ebx, found.edx, found.ecx].map(u32::to_le_bytes);
        name.as_flattened() == vendor
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = vendor;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_b_hides_a_where_asking_gains_and_narrow_rows_take_a_larger_one() {
        let room = Room { asks: true, ..Room::of(32 << 20, 1 << 20) };
        assert!(room.hides_a(1 << 10, 256) && !room.hides_a((1 << 10) - 1, 256));
        assert!(room.hides_a(3 << 11, 128) && !room.hides_a((3 << 11) - 1, 128));
        assert!(room.hides_a(usize::MAX, 512) && !room.hides_a(0, 512));
        assert!(!Room { asks: false, ..room }.hides_a(1 << 20, 256));
    }
}
