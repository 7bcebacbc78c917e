//! Panels for rows of CSR, one by one or in tiles.

use super::PackingResult;
use super::b_rows::{RowsOfB, beyond_core};
use super::config::PanelConfig;
use crate::analyze::{CacheMisses, MatrixNumbers};
use crate::lowering::Case;
use crate::thresholds::{
    PACK_ENTRIES, PACK_MISSES, PACK_MISSES_NARROW, PACK_MISSES_NEAR, PACK_MISSES_OF_SHARE,
    PACK_MISSES_OF_TWO, PACK_ROW_BYTES,
};

/// Packs for the last-level cache if B is beyond it, for a core's own caches if B is beyond these. O(nnz) if
/// cache misses have to be counted.
pub(in crate::lowering) fn for_rows(
    case: &Case,
    matrix: &impl MatrixNumbers,
    in_tiles: bool,
) -> PackingResult {
    let &Case { machine, .. } = case;
    let b = RowsOfB::try_new(case, case.k)?;
    if b.bytes() >= machine.b_budget {
        let (vectors, why) = vectors_for_last_level(&b, case, matrix, in_tiles)?;
        return Ok((PanelConfig::new(case, vectors, PACK_ROW_BYTES, case.k), why));
    }
    if b.bytes() < machine.private {
        let (private, bytes) = (machine.private, b.bytes());
        return Err(format!("a core's own caches, of {private}, hold B of {bytes}"));
    }
    for_core(&b, case, matrix)
}

/// Panels that a core's own caches hold, of a B that only the last-level cache holds.
fn for_core(b: &RowsOfB, case: &Case, matrix: &impl MatrixNumbers) -> PackingResult {
    let &Case { m, nnz, threads, machine, .. } = case;
    if nnz / PACK_ENTRIES < m {
        let per_row = nnz as f64 / m.max(1) as f64;
        return Err(format!("rows of A have {per_row:.1} entries, {PACK_ENTRIES} are needed"));
    }
    let vectors = if b.panel_stays(4, machine) { 4 } else { 2 };
    b.require_panel_stays(vectors, machine)?;
    let mut needed = match b.shares(case, vectors)? {
        _ if threads < 2 => PACK_MISSES,
        _ if threads == 2 => PACK_MISSES_OF_TWO,
        shares => PACK_MISSES_OF_SHARE * shares as f64,
    };
    if vectors < 4 {
        needed = needed.max(PACK_MISSES_NARROW);
    }
    if b.bytes() < beyond_core(machine) {
        needed = needed.max(PACK_MISSES_NEAR);
    }
    let misses = count_misses(matrix, machine.private / b.row_bytes)?.per_row();
    let why = format!("a core fetches each row of B {misses:.1} times; {needed} are needed");
    if misses < needed {
        return Err(why);
    }
    Ok((PanelConfig::new(case, vectors, b.least_row(machine.private), case.k), why))
}

/// Vectors of a panel of a B that the last-level cache does not hold, and the reason for packing it.
fn vectors_for_last_level(
    b: &RowsOfB,
    case: &Case,
    matrix: &impl MatrixNumbers,
    in_tiles: bool,
) -> Result<(usize, String), String> {
    let machine = case.machine;
    let last_level = count_misses(matrix, machine.b_budget / b.row_bytes)?;
    // Rows that no entry uses take no space in the cache.
    let used = last_level.used_rows * b.row_bytes;
    if used < machine.b_budget {
        return Err(format!("the last-level cache holds the {used} bytes of B that entries use"));
    }
    let misses = last_level.per_row();
    let mut why = format!(
        "the last-level cache fetches each row of B {misses:.1} times; {PACK_MISSES} are needed"
    );
    if misses < PACK_MISSES {
        // Of rows this far apart few sets of a core's own caches hold the columns of a panel.
        if !in_tiles || b.row_bytes < machine.far_row {
            return Err(why);
        }
        let misses = count_misses(matrix, machine.private / b.row_bytes)?.per_row();
        why = format!("{why}, or by a core's own caches, which do {misses:.1} times");
        if misses < PACK_MISSES {
            return Err(why);
        }
    }
    let is_local = matrix.row_span().saturating_mul(b.row_bytes) <= machine.used_b_budget;
    match b.vector_bytes {
        _ if is_local => Ok((4, why)),
        bytes if 4 * bytes <= machine.wide_panel_budget => Ok((4, why)),
        bytes if 2 * bytes <= machine.narrow_panel_budget => Ok((2, why)),
        bytes => Err(format!("the last-level cache does not hold a panel of {} bytes", 2 * bytes)),
    }
}

/// The misses of a cache that holds `rows` rows of B.
fn count_misses(matrix: &impl MatrixNumbers, rows: usize) -> Result<CacheMisses, String> {
    matrix
        .cache_misses(rows)
        .ok_or_else(|| "there is no memory to count how often B is fetched".to_owned())
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;
    use girih_generate::{banded, block_sparse, fem_3d, laplacian_5pt, rmat, uniform};

    use super::*;
    use crate::lowering::testing::{Counted, case};
    use crate::machine::Machine;

    fn panels(
        csr: &Csr<f32>,
        n: usize,
        threads: usize,
        machine: Machine,
        in_tiles: bool,
    ) -> Option<PanelConfig> {
        let case = case(csr.nrows(), csr.ncols(), n, threads, machine);
        let case = Case { nnz: csr.nnz(), ..case };
        for_rows(&case, &Counted(csr), in_tiles).ok().map(|(panels, _)| panels)
    }

    #[test]
    fn a_large_b_is_packed_where_the_last_level_cache_keeps_fetching_its_rows() {
        let scattered: Csr<f32> = uniform(44_000, 44_000, 12, 1).unwrap();
        let cache = |mib: u64| Machine::with_caches(mib << 20, 1 << 20);
        let new = |csr: &Csr<f32>, n, mib| panels(csr, n, 1, cache(mib), false);
        assert_eq!(new(&scattered, 256, 32).unwrap().vectors, 4);
        assert!(new(&scattered, 64, 32).is_none());
        // Of a B a little larger than what it holds a cache fetches little again.
        assert!(new(&scattered, 128, 32).is_none());
        // B of 45 MB stays in a larger cache, and not even its panels do in a small one.
        assert!(new(&scattered, 256, 128).is_none());
        assert_eq!(new(&scattered, 256, 16).unwrap().vectors, 2);
        assert!(new(&scattered, 256, 4).is_none());
        // Most entries use few rows.
        let skewed: Csr<f32> = rmat(16, 12, 1).unwrap();
        assert!(new(&skewed, 256, 32).is_none());
        // Of a B as large, rows that are never used don't count.
        let few_used: Csr<f32> = uniform(44_000, 19_000, 12, 1).unwrap();
        let row_ptr = few_used.row_ptr().to_vec();
        let cols: Vec<u32> = few_used.col_idx().iter().map(|&col| col * 44 / 19).collect();
        let few_used =
            Csr::try_new(44_000, 44_000, row_ptr, cols, few_used.values().to_vec()).unwrap();
        assert!(new(&few_used, 256, 32).is_none());
    }

    #[test]
    fn rows_far_apart_are_packed_although_the_last_level_cache_misses_them_once() {
        let mesh: Csr<f32> = fem_3d(24, 24, 24, 3, 1).unwrap();
        let cache = Machine::with_caches(8 << 20, 512 << 10);
        let new = |n, cache| panels(&mesh, n, 1, cache, true);
        assert_eq!(new(256, cache).unwrap().vectors, 4);
        assert!(new(128, cache).is_none());
        let prefetching = Machine { far_row: 2048, ..cache };
        assert!(new(256, prefetching).is_none());
        assert!(panels(&mesh, 256, 1, cache, false).is_none());
        // A stencil's rows use five rows of B.
        let stencil: Csr<f32> = laplacian_5pt(220, 200).unwrap();
        assert!(panels(&stencil, 512, 1, cache, true).is_none());
    }

    #[test]
    fn what_a_core_does_not_hold_is_packed_where_it_keeps_fetching_its_rows() {
        let cache = Machine::with_caches(64 << 20, 1 << 20);
        let on = |csr: &Csr<f32>, n, threads, cache| panels(csr, n, threads, cache, false);
        let panels = |csr: &Csr<f32>, n, threads| on(csr, n, threads, cache);
        let vectors =
            |csr: &Csr<f32>, n, threads| panels(csr, n, threads).map(|panels| panels.vectors);
        let weights = |m, k, row_len| uniform::<f32>(m, k, row_len, 1).unwrap();
        let often = weights(2048, 2048, 160);
        let packing = panels(&often, 256, 2).unwrap();
        assert_eq!((packing.vectors, packing.rows, packing.copies), (4, 2048, 2));
        // Products that are narrower than the plan's, and whose B the core holds, are not packed.
        assert!(packing.packs(128) && !packing.packs(127));
        // Four panels leave most of 16 threads without one.
        assert_eq!(
            [1, 8, 16].map(|threads| vectors(&often, 256, threads)),
            [Some(4), Some(4), None]
        );
        // A small last-level cache does not hold a panel for each of eight threads.
        let small = Machine { b_budget: 3 << 20, ..cache };
        assert!(on(&often, 256, 8, small).is_none());
        // Threads that share panels pack them once each.
        let seldom = weights(512, 2048, 160);
        assert_eq!(
            [2, 4, 8].map(|threads| vectors(&seldom, 256, threads)),
            [Some(4), Some(4), None]
        );
        // A core holds much of a B that is no larger than its caches.
        assert_eq!([128, 256].map(|n| vectors(&seldom, n, 1)), [None, Some(4)]);
        // Rows of C weigh as much as short rows of A, however often rows of B are used.
        assert_eq!(vectors(&weights(1 << 16, 2048, 19), 256, 1), None);
        // Panels of two vectors need more misses, and if B has many rows not even they stay.
        let of_two = [2048, 512].map(|m| vectors(&weights(m, 8192, 160), 256, 1));
        assert_eq!(of_two, [Some(2), None]);
        assert_eq!(vectors(&weights(2048, 12_000, 160), 256, 1), None);
        // A band uses few rows of B at a time, however many there are; neighbouring rows of blocks use the
        // same.
        assert_eq!(vectors(&banded(2048, 2048, 80, 80, 1).unwrap(), 256, 1), None);
        assert_eq!(vectors(&block_sparse(2048, 2048, 64, 0.1, 1).unwrap(), 256, 1), None);
    }
}
