//! In which order blocks go through rows and columns, so that B is read from memory once.
//!
//! Blocks run in the order of their numbers, about as many at a time as the device has room for. All rows of
//! A times a panel of columns come before the next panel. Within one, blocks of the same rows and of
//! neighbouring tiles are neighbours: together they read whole stretches of rows of B and write such of C.

use super::Statistics;

/// The part of the second-level cache that B may take: half. The rest is for what passes through it of A and
/// C, and for what its halves keep twice.
const SHARE: u64 = 2;

/// What of a product decides its panels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Traffic {
    /// Bytes of A, of B and of C.
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) c: u64,
    /// Tiles of columns.
    pub(crate) tiles: u64,
    /// How often rows of B that a cache does not hold are read: [`Statistics::refetch`].
    pub(crate) refetch: f64,
    /// Bytes of the second-level cache.
    pub(crate) cache: u64,
}

/// Tiles of a panel, and why so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panel {
    pub(crate) tiles: u32,
    pub(crate) why: &'static str,
}

impl Traffic {
    pub(crate) fn new(
        statistics: &Statistics,
        (b, c): (u64, u64),
        size: u64,
        tiles: u64,
        cache: u64,
    ) -> Self {
        let a = statistics.entries * (4 + size) + statistics.rows * 4;
        Self { a, b, c, tiles: tiles.max(1), refetch: statistics.refetch, cache }
    }

    /// The panels that move the fewest bytes from memory and to it; of equal ones the widest.
    pub(crate) fn panel(&self) -> Panel {
        let all = self.tiles.min(u64::from(u32::MAX)) as u32;
        let panel = |tiles, why| Panel { tiles, why };
        if self.fits(all) {
            return panel(all, "B stays in the second-level cache whole");
        }
        let widths = (0..32).map(|bit| 1u32 << bit).take_while(|&tiles| tiles < all);
        let least = widths.chain([all]).min_by_key(|&tiles| (self.bytes(tiles), u32::MAX - tiles));
        match least {
            Some(tiles) if tiles < all => panel(
                tiles,
                "a panel of B stays in the second-level cache until all rows have read it",
            ),
            _ => panel(
                all,
                "rows near each other read the same of B, or no panel of it is small enough",
            ),
        }
    }

    /// Whether a panel of B stays in the cache.
    fn fits(&self, tiles: u32) -> bool {
        self.panel_bytes(tiles) <= self.cache / SHARE
    }

    fn panel_bytes(&self, tiles: u32) -> u64 {
        (u128::from(self.b) * u128::from(tiles) / u128::from(self.tiles)) as u64
    }

    /// Bytes from memory and to it, with panels of `tiles` tiles.
    pub(crate) fn bytes(&self, tiles: u32) -> u64 {
        let panels = self.tiles.div_ceil(u64::from(tiles));
        let a_stays = self.panel_bytes(tiles).saturating_add(self.a) <= self.cache;
        let a = self.a.saturating_mul(if a_stays { 1 } else { panels });
        let again = if self.fits(tiles) { 1.0 } else { self.refetch };
        a.saturating_add((self.b as f64 * again) as u64).saturating_add(self.c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const L2: u64 = 50 << 20;

    /// A square matrix of f32, n columns in tiles of 32.
    fn traffic(rows: u64, entries: u64, n: u64, refetch: f64) -> Traffic {
        let statistics = Statistics { rows, entries, refetch, ..Statistics::default() };
        Traffic::new(&statistics, (rows * n * 4, rows * n * 4), 4, n / 32, L2)
    }

    #[test]
    fn panels_are_cut_where_b_is_beyond_the_cache_and_read_again() {
        // 20 MB to a tile, and A's 17 MB beside it.
        let wave = traffic(156_317, 2_118_662, 512, 1.72);
        assert_eq!(wave.panel().tiles, 1);
        assert_eq!(wave.bytes(1), wave.a + wave.b + wave.c);
        assert!(wave.bytes(16) > wave.bytes(1) && wave.bytes(2) > wave.bytes(1));
        // A graph half as large takes panels of two tiles.
        assert_eq!(traffic(78_000, 1_000_000, 512, 1.72).panel().tiles, 2);
    }

    #[test]
    fn b_that_fits_or_is_read_once_anyway_is_not_cut() {
        let fits = traffic(12_000, 330_000, 512, 1.6).panel();
        assert_eq!(fits.tiles, 16);
        assert!(fits.why.contains("whole"));
        let band = traffic(1_000_000, 5_000_000, 512, 1.01).panel();
        assert_eq!(band.tiles, 16);
        assert!(band.why.contains("near each other"));
        // No tile is narrow enough.
        assert_eq!(traffic(10_000_000, 50_000_000, 128, 8.0).panel().tiles, 4);
    }

    #[test]
    fn a_that_is_read_for_every_panel_may_cost_more_than_b_read_again() {
        // 800 MB of A for every tile, or 80 MB of B a tenth more.
        assert_eq!(traffic(156_317, 100_000_000, 128, 1.1).panel().tiles, 4);
        assert_eq!(traffic(156_317, 100_000_000, 128, 100.0).panel().tiles, 1);
    }
}
