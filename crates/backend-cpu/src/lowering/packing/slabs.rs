//! Panels for tiles that go through one slab of columns after the other.

use super::PackingResult;
use super::b_rows::RowsOfB;
use super::config::PanelConfig;
use crate::lowering::Case;
use crate::thresholds::{PACK_LOADS_OF_SHARE, PACK_ROW_BYTES};

/// Packs `rows` rows of B at a time, so that a core's own caches hold them, spread evenly over their sets.
/// `loads` is how often tiles load each row of B, on average.
pub(in crate::lowering) fn for_slabs(case: &Case, rows: usize, loads: usize) -> PackingResult {
    let &Case { threads, machine, .. } = case;
    let b = RowsOfB::try_new(case, rows)?;
    let shares = b.shares(case, 4)?;
    // The further apart rows are, the fewer sets hold what is not packed.
    let scaled = loads.saturating_mul(b.row_bytes) / PACK_ROW_BYTES;
    let needed = PACK_LOADS_OF_SHARE * shares;
    let why = format!(
        "tiles load each row of B {loads} times, which for rows of {} bytes counts as {scaled}; {needed} are needed",
        b.row_bytes
    );
    if scaled < needed {
        return Err(why);
    }
    // Threads with panels of their own each read all of A. That does not gain if their caches hold as much of
    // B anyway.
    let reads_more = threads > 1 && machine.slow_last_level;
    if reads_more && 4 * RowsOfB::try_new(case, case.k)?.vector_bytes < machine.private {
        return Err("each thread would read all of A from a slow last-level cache".to_owned());
    }
    b.require_panel_stays(4, machine)?;
    Ok((PanelConfig::new(case, 4, PACK_ROW_BYTES, rows), why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lowering::testing::case;
    use crate::machine::Machine;

    #[test]
    fn slabs_are_packed_where_tiles_load_their_rows_often_or_they_are_far_apart() {
        let cache = Machine::with_caches(32 << 20, 1 << 20);
        let in_cache = |k, loads, n, threads, cache| {
            for_slabs(&case(512, k, n, threads, cache), 512, loads).is_ok()
        };
        let packs = |loads, n, threads| in_cache(2048, loads, n, threads, cache);
        assert!(packs(16, 128, 1) && !packs(15, 128, 1) && !packs(100, 127, 1));
        assert!(packs(4, 512, 1) && !packs(3, 512, 1));
        // Two threads pack every panel on their own, or no thread does.
        assert!(packs(8, 512, 16) && !packs(7, 512, 16) && !packs(100, 256, 16));
        // From a slow cache several threads read only their own rows of A, if they hold panels of all rows of
        // B.
        let slow =
            |k, threads| in_cache(k, 100, 512, threads, Machine { slow_last_level: true, ..cache });
        assert!(slow(2048, 1) && !slow(4095, 2) && slow(4096, 2));
    }
}
