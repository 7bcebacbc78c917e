//! How long items may be.

use girih_formats::DType;

use super::work::Limits;
use super::{WARP, WARPS, lanes};

/// Warps of a multiprocessor that wait for rows of B at the same time, about.
const RESIDENT: u64 = 32;

/// Entries that a warp may always go through: for each row of B it waits some hundreds of nanoseconds, and
/// has a few of them under way, so that these are some microseconds, about what launching takes.
const FREE: u64 = 64;
/// Of the time that a product takes if all warps are busy all the time, the part that one of them may
/// take for an item: half. Long items come first, so that it is not waited for.
const PART: u64 = 2;

/// Warps of a device that wait for rows of B at the same time, about.
pub(super) fn resident_warps(multiprocessors: u32) -> u64 {
    (u64::from(multiprocessors) * RESIDENT).max(1)
}

impl Limits {
    /// The limits for products of `n` columns of a matrix with so many entries by so many warps.
    pub(super) fn new(entries: u64, n: usize, dtype: DType, warps: u64) -> Self {
        let n = n as u64;
        let tiles = n.div_ceil(u64::from(2 * WARP) * 16 / dtype.size() as u64);
        // Entries that each warp goes through, if they are shared out evenly.
        let fair = entries.saturating_mul(tiles) / warps;
        // Groups of lanes that take entries of one item each.
        let groups = u64::from(WARP / lanes(dtype, n.max(1)));
        Self { warp: (fair / PART).max(FREE), piece: fair.max(WARPS * FREE).max(FREE * groups) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_may_be_long_where_there_is_much_to_do() {
        let limits = |entries, n| {
            let Limits { warp, piece } = Limits::new(entries, n, DType::F32, resident_warps(128));
            (warp, piece)
        };
        // 4096 warps share 2¹⁸ entries of 4 tiles.
        assert_eq!(limits(1 << 18, 1024), (128, 256));
        assert_eq!(limits(1 << 22, 1024), (2048, 4096));
        // However little there is.
        assert_eq!(limits(0, 0), (64, 2048));
        assert_eq!(limits(1 << 10, 1024), (64, 256));
        // Four groups of lanes go through an item together.
        assert_eq!(limits(1 << 20, 32), (128, 256));
        assert_eq!(limits(1 << 10, 8), (64, 1024));
    }
}
