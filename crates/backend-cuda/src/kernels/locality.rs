//! What an order of CTAs costs: bytes of A that are read again, and rows of B that are no longer in the second-level
//! cache.
//!
//! While all rows are multiplied by a panel of columns, the cache is to hold that panel's part of every row of B until
//! it is used again. Narrow panels take less of it, and read A more often. How far apart uses are is the matrix's:
//! its [`Footprint`] says how many rows of B are fetched into a cache of any size.
//!
//! ```text
//! memory  = A · panels + rows fetched into half of the cache · n · size + C   over the memory's bandwidth
//! cache   = rows gathered · n · size · what narrow tiles lose                 over the cache's bandwidth
//! seconds = √(memory² + cache²)
//! ```
//!
//! # What was measured
//! On an H100, CSR by teams, medians in microseconds, every C verified; in brackets the megabytes that a tile has of B.
//! 50 MB of second-level cache are two halves, and what both halves of the multiprocessors read is in both: rows
//! drawn at random fit that half and no more.
//!
//! | matrix, n = 512, f32 | 512 bytes of a row of B | 256 | 128 |
//! |---|---|---|---|
//! | 65 536 rows of 16, random | 321 (34) | 304 (17) | 306 (8) |
//! | 90 000 rows of 16, random | 535 (46) | 431 (23) | 430 (12) |
//! | 131 072 rows of 30, random | 1749 (67) | 1141 (34) | 1115 (17) |
//! | 524 288 rows of 8, random | 3004 (268) | 2796 (134) | 2562 (67) |
//! | 150 000 rows of 39, groups, drawn order | 2654 (77) | 1953 (38) | 1648 (19) |
//! | 150 000 rows of 39, groups in order | 1310 (77) | 1194 (38) | 1120 (19) |
//! | `wave_graph` | 407 (80) | 449 (40) | 533 (20) |
//! | 64³ points, 7-point stencil | 554 (134) | 593 (67) | 624 (34) |
//! | 50³ points, 27-point stencil, 3 unknowns | 2996 (192) | 3397 (96) | 4012 (48) |
//!
//! 88 products of ten such matrices were timed, of n = 128 to 2048 in f32, f16 and f64. What is chosen takes 1.003 times
//! the least time of the three tiles in geomean, and at most 1.065. Tiles of 512 bytes take 1.210, and at most 1.66. Rows that
//! differ in length are another matter: their hubs stay in any cache. 2¹⁸ vertices of an RMAT graph take 1094, 1288 and
//! 1473 as items.
//!
//! Panels of several tiles, WCSR with windows of 64 rows, n = 1024, two tiles of 512 columns one by one and side by side:
//! the 27-point stencil 3030 and 2776, groups in order 3391 and 3265, `wave_graph` 962 and 923. With 16 rows A is less and
//! B more: the 7-point stencil 1219 and 1485, `wave_graph` 846 and 883, 131 072 random rows 5210 and 5430.

use girih_formats::stats::SharedStats;
use girih_formats::{CsrPattern, RowLayout};
use girih_planner::cost::Footprint;

use crate::CtaOrder;
use crate::launch::Machine;

/// The part of the second-level cache that holds a row of B once: a half.
const HELD_PART: u64 = 2;
/// An order must be faster by this part than the one without a price to be taken: estimates are no better.
const MARGIN: f64 = 0.03;
/// What tiles of as many bytes of a row of B lose, where all of them come from the cache.
const NARROW: [(u64, f64); 2] = [(128, 1.15), (256, 1.05)];

/// What of a matrix, a product and a device decides between orders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Locality {
    footprint: Footprint,
    /// Rows of B that CTAs fetch from the second-level cache.
    gathered: f64,
    /// Bytes of A as the kernels read it.
    a_bytes: u64,
    /// Rows of C.
    m: u64,
    /// Bytes of an element of B, and of C.
    sizes: (u64, u64),
    /// Bytes of the cache that a row of B may stay in.
    held: u64,
    /// Bytes per second of memory and of the second-level cache.
    bandwidths: (u64, u64),
}

/// Bytes of a device's second-level cache that rows of B may stay in.
pub(crate) fn held(machine: &Machine) -> u64 {
    machine.cache_bytes / HELD_PART
}

impl Locality {
    /// Of a pattern whose rows are multiplied in their order: O(nnz).
    ///
    /// `gathered` says how many rows of B are fetched for them, if not those of windows of 16 rows.
    pub(crate) fn new(
        pattern: CsrPattern<'_>,
        gathered: Option<u64>,
        (a_bytes, m): (u64, u64),
        sizes: (u64, u64),
        machine: &Machine,
    ) -> Option<Self> {
        let rows = RowLayout::natural(pattern.nrows(), 1).ok()?;
        let footprint = Footprint::of(&SharedStats::new(pattern, &rows));
        let gathered = gathered.map_or(footprint.near(), |rows| rows as f64);
        let bandwidths = (machine.memory_bandwidth.max(1), machine.cache_bandwidth.max(1));
        Some(Self { footprint, gathered, a_bytes, m, sizes, held: held(machine), bandwidths })
    }

    /// About how long `n` columns take in an order, by memory and the second-level cache alone.
    pub(crate) fn seconds(&self, order: &CtaOrder, n: u64) -> f64 {
        let Self { footprint, gathered, a_bytes, m, sizes: (size, of_c), held, .. } = *self;
        let (tile, tiles) = (u64::from(order.tile_columns), u64::from(order.panel_tiles));
        let of_panel = tile.saturating_mul(tiles).min(n).max(1) * size;
        let of_row = (n * size) as f64;
        // What a panel leaves of A in the cache, the next one finds there.
        let passes = if a_bytes > held { order.panels(n) } else { 1 };
        let missed = footprint.fetched(held as f64 / of_panel as f64).min(gathered);
        let memory = a_bytes as f64 * passes as f64 + missed * of_row + (m * n * of_c) as f64;
        let of_tile = tile.min(n) * size;
        let narrow = NARROW.iter().find(|&&(bytes, _)| of_tile <= bytes).map_or(1.0, |&(_, by)| by);
        let (memory, cache) = (
            memory / self.bandwidths.0 as f64,
            gathered * of_row * narrow / self.bandwidths.1 as f64,
        );
        // The root is exact, unlike a power.
        (memory * memory + cache * cache).sqrt()
    }

    /// The order of the least time among `others`, if that is less than the time of `own` by a margin.
    pub(crate) fn better(
        &self,
        own: CtaOrder,
        others: impl IntoIterator<Item = CtaOrder>,
        n: u64,
    ) -> Option<CtaOrder> {
        let most = self.seconds(&own, n) * (1.0 - MARGIN);
        let priced = others.into_iter().map(|order| (self.seconds(&order, n), order));
        let least = priced.min_by(|a, b| a.0.total_cmp(&b.0));
        least.filter(|&(seconds, _)| seconds < most).map(|(_, order)| order)
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;
    use girih_generate::{banded, uniform};

    use super::*;

    const MACHINE: Machine = Machine {
        multiprocessors: 132,
        cache_bytes: 1 << 20,
        memory_bandwidth: 28,
        cache_bandwidth: 68,
        csr_layout: None,
        cta_order: None,
        copies_b: false,
    };

    fn of(a: &Csr<f32>) -> Locality {
        let a_bytes = a.nnz() as u64 * 8;
        Locality::new(a.pattern(), None, (a_bytes, a.nrows() as u64), (4, 4), &MACHINE).unwrap()
    }

    fn tiles() -> impl Iterator<Item = CtaOrder> {
        [64, 32].into_iter().map(CtaOrder::by_tiles)
    }

    #[test]
    fn scattered_rows_take_tiles_that_the_cache_holds_and_bands_do_not() {
        let own = CtaOrder::by_tiles(128);
        // A tile of 512 bytes is 2 MB of B, of which half a megabyte may stay.
        let scattered = of(&uniform(4096, 4096, 30, 1).unwrap());
        assert_eq!(scattered.better(own, tiles(), 512), Some(CtaOrder::by_tiles(32)));
        let band = of(&banded(4096, 4096, 15, 15, 1).unwrap());
        assert_eq!(band.better(own, tiles(), 512), None);
        // Half a megabyte are all rows of 128 bytes, half of those of 256, and a quarter of those of 512.
        let fetched = |tile| scattered.footprint.fetched(f64::from(1 << 19) / f64::from(4 * tile));
        assert_eq!(fetched(32), 4096.0);
        assert!(fetched(64) > 50_000.0 && fetched(128) > 80_000.0);
    }

    #[test]
    fn what_fits_is_not_read_by_narrower_tiles() {
        let own = CtaOrder::by_tiles(128);
        let small = of(&uniform(1000, 1000, 30, 1).unwrap());
        assert_eq!(small.better(own, tiles(), 512), None);
        // A fits too, so how often it is read costs nothing.
        let seconds = |tile| small.seconds(&CtaOrder::by_tiles(tile), 512);
        assert!(seconds(256) > seconds(128) && seconds(64) > seconds(128));
        assert!(seconds(32) > seconds(64));
    }

    #[test]
    fn a_panel_of_several_tiles_saves_a_and_costs_b() {
        let by_tiles = CtaOrder::by_tiles(128);
        let all = CtaOrder { panel_tiles: 4, ..by_tiles };
        // Of a band, rows of B are used again at once, however wide they are.
        let band = of(&banded(20_000, 20_000, 15, 15, 1).unwrap());
        assert!(band.a_bytes > band.held);
        assert_eq!(band.better(by_tiles, [all], 512), Some(all));
        assert!(by_tiles.panels(512) == 4 && all.panels(512) == 1 && all.panels(513) == 2);
        let scattered = of(&uniform(20_000, 20_000, 30, 1).unwrap());
        assert_eq!(scattered.better(by_tiles, [all], 512), None);
    }

    #[test]
    fn an_order_is_not_left_for_less_than_a_margin() {
        let band = of(&banded(20_000, 20_000, 15, 15, 1).unwrap());
        let own = CtaOrder::by_tiles(128);
        assert_eq!(band.better(own, [own], 512), None);
        assert_eq!(band.better(own, [], 512), None);
    }
}
