//! How long items may be, and how even rows that need no list of items.

use girih_formats::DType;

use super::statistics::Statistics;
use super::{WARP, WARPS, lanes};

/// Warps of a multiprocessor that wait for rows of B at the same time, about.
const RESIDENT: u64 = 32;

/// Entries that a warp may always go through: for each row of B it waits some hundreds of nanoseconds, and
/// has a few of them under way, so that these are some microseconds, about what launching takes. Half as many where
/// warps have next to nothing to do: see [`free`].
const FREE: u64 = 64;
/// Of the time that a product takes if all warps are busy all the time, the part that one of them may
/// take for an item: half. Long items come first, so that it is not waited for.
const PART: u64 = 2;

/// Of the entries of even rows, at most this part is in heavy rows: a quarter, or half where none is far longer than the
/// mean. Microseconds on an H100, n = 512:
///
/// | matrix | in heavy rows | items | teams |
/// |---|---|---|---|
/// | `bayer10` | 0.41 | 38.0 | 35.9 |
/// | 150 000 rows of 40 and up to 754, groups in order | 0.21 | 1348 | 1248 |
/// | the same in a drawn order | 0.21 | 2245 | 2183 |
const HEAVY_PART: u64 = 4;
const HEAVY_PART_ALIKE: u64 = 2;
/// Even rows are at most this many times as long as the mean, or else as short as a warp's share.
const SPREAD: u64 = 4;
/// Of rows that are alike, the entries that a team may always go through, in multiples of `FREE`.
const WAIT: u64 = 3;

/// Entries that a warp may go through where the share of each is `share` of them: twice that, from 32 to 64.
///
/// Limits of 32 do not suit all matrices. Items of blocks take four warps each, which other items then wait for.
/// Microseconds on an H100, with a limit of 64 for all and of 32 for all. `watt_2` has 1856 rows of 6 entries and one of
/// 128, and the pruned weights 512 rows of 103 and up to 450. Each warp has 57 entries of `astro-ph`.
///
/// | matrix | value type | n | 64 | 32 |
/// |---|---|---|---|---|
/// | `watt_2` | f16 | 128 | 10.2 | 5.0 |
/// | weights | f16 | 512 | 21.4 | 15.4 |
/// | weights | f32 | 128 | 11.6 | 9.1 |
/// | `astro-ph` | f16 | 128 | 18.3 | 21.6 |
fn free(share: u64) -> u64 {
    (2 * share).clamp(FREE / 2, FREE)
}

/// Warps of a device that wait for rows of B at the same time, about.
pub(super) fn resident_warps(multiprocessors: u32) -> u64 {
    (u64::from(multiprocessors) * RESIDENT).max(1)
}

/// Whether rows are so much alike that teams may take them in their order, `groups` groups of lanes to each,
/// where a warp would go through `steps` entries if they were shared out evenly. Rows much longer than that
/// are what a product would wait for.
pub(super) fn is_even(statistics: &Statistics, steps: u64, groups: u64) -> bool {
    let &Statistics { entries, longest, heavy_entries, .. } = statistics;
    let chain = longest.div_ceil(groups);
    let alike = longest <= SPREAD * statistics.mean() && chain <= (2 * steps).max(WAIT * FREE);
    let short = chain <= (steps / PART).max(free(steps));
    // Where no warp goes through more than it always may, it matters little which begin last.
    let brief = chain.max(steps) <= FREE;
    let heavy_part = if alike { HEAVY_PART_ALIKE } else { HEAVY_PART };
    (heavy_entries.saturating_mul(heavy_part) <= entries || (alike && brief))
        && (alike || short)
        && entries < 1 << 31
        && statistics.rows < 1 << 31
}

/// How long items may be, in entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Longer ones are shared out among the warps of a block. Schedules' cuts are as far apart.
    pub(super) warp: u64,
    /// Twice as long ones are cut.
    pub(super) piece: u64,
}

impl Limits {
    /// The limits for products of `n` columns of a matrix with this number of `entries` by `warps` warps.
    pub(super) fn new(entries: u64, n: usize, dtype: DType, warps: u64) -> Self {
        let n = n as u64;
        let tiles = n.div_ceil(u64::from(2 * WARP) * 16 / dtype.size() as u64);
        // Entries that each warp goes through, if they are shared out evenly.
        let fair = entries.saturating_mul(tiles) / warps;
        // Groups of lanes that take entries of one item each.
        let groups = u64::from(WARP / lanes(dtype, n.max(1)));
        let free = free(fair);
        Self { warp: (fair / PART).max(free), piece: fair.max(WARPS * free).max(free * groups) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_even_if_few_are_heavy_and_none_is_waited_for() {
        let of = |entries, longest, heavy_entries| Statistics {
            rows: 1000,
            entries,
            longest,
            heavy_entries,
        };
        // Four times the mean, or half of a warp's share, or 32 to 64 entries where the share is small.
        assert!(is_even(&of(20_000, 80, 0), 10, 1));
        assert!(is_even(&of(2000, 32, 500), 10, 1));
        assert!(!is_even(&of(2000, 33, 500), 10, 1));
        assert!(is_even(&of(2000, 48, 500), 24, 1));
        assert!(!is_even(&of(2000, 49, 500), 24, 1));
        assert!(is_even(&of(2000, 64, 500), 90, 1));
        assert!(!is_even(&of(2000, 65, 500), 90, 1));
        assert!(is_even(&of(2000, 65, 500), 130, 1));
        assert!(is_even(&of(2000, 64, 500), 10, 2));
        // Too much is in heavy rows: more where none is longer than four times the mean.
        assert!(!is_even(&of(2000, 64, 501), 90, 1));
        assert!(is_even(&of(20_000, 80, 10_000), 100, 1));
        assert!(!is_even(&of(20_000, 80, 10_001), 100, 1));
        // Twice a warp's share.
        assert!(is_even(&of(100_000, 300, 0), 150, 1));
        assert!(!is_even(&of(100_000, 301, 0), 150, 1));
        assert!(!is_even(&of(1 << 32, 300, 0), 1 << 40, 1));
    }

    #[test]
    fn items_may_be_long_where_there_is_much_to_do() {
        let limits = |entries, n| {
            let Limits { warp, piece } = Limits::new(entries, n, DType::F32, resident_warps(128));
            (warp, piece)
        };
        // 4096 warps share 2¹⁸ entries of 4 tiles.
        assert_eq!(limits(1 << 18, 1024), (128, 256));
        assert_eq!(limits(1 << 22, 1024), (2048, 4096));
        // A complex column is two real ones.
        for (complex, part) in [(DType::C32, DType::F32), (DType::C64, DType::F64)] {
            let of = |dtype, n| Limits::new(1 << 20, n, dtype, resident_warps(128));
            assert!([4, 9, 64, 65, 1024].into_iter().all(|n| of(complex, n) == of(part, 2 * n)));
        }
        // However little there is.
        assert_eq!(limits(0, 0), (32, 1024));
        assert_eq!(limits(1 << 10, 1024), (32, 128));
        // In between, twice a warp's share.
        assert_eq!(limits(3 << 13, 1024), (48, 192));
        // Four groups of lanes go through an item together.
        assert_eq!(limits(1 << 20, 32), (128, 256));
        assert_eq!(limits(1 << 10, 8), (32, 512));
    }
}
