//! Which panels of B are packed, and how wide they are.

use std::ops::Range;

use girih_formats::FormatSpec;

use crate::lowering::{Case, Decided, Facts};
use crate::machine::Machine;
use crate::operands::GROUP_LINES;
use crate::thresholds::*;

/// Panels of B that are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panels {
    /// Lines, of 64 bytes of sums each, in a row of a panel: 2 or 4.
    pub(crate) lines: usize,
    /// Columns of a line.
    pub(crate) lanes: usize,
    /// Bytes of a value of B.
    pub(crate) value_bytes: usize,
    /// Bytes of a row of B from which on it is packed.
    pub(crate) row_bytes: usize,
    /// Rows of B that are packed before they are multiplied: all, or those of a slab.
    pub(crate) rows: usize,
    /// Panels that there is scratch for: one that all threads share, or one for each of them.
    pub(crate) copies: usize,
}

/// A panel of columns of B.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its columns.
    pub(crate) cols: Range<usize>,
    /// Whether it is a part of a group of four lines, whose sums are single chains.
    pub(crate) of_group: bool,
}

impl Panels {
    /// Panels of `rows` rows of B, one for each thread if all of them fit the cache that they share.
    pub(crate) fn new(case: &Case, lines: usize, row_bytes: usize, rows: usize) -> Self {
        let (lanes, value_bytes) = (case.lanes(), case.value_bytes);
        let bytes = rows.saturating_mul(lines * lanes * value_bytes);
        let fit = fit_for_each(case.threads, bytes, case.machine);
        let copies = if fit { case.threads } else { 1 };
        Self { lines, lanes, value_bytes, row_bytes, rows, copies }
    }

    /// Elements from a packed row to the next.
    pub(crate) fn row_stride(&self) -> usize {
        self.lines * self.lanes
    }

    /// Bytes of the scratch for all of them.
    pub(crate) fn bytes(&self) -> usize {
        self.rows.saturating_mul(self.row_stride() * self.value_bytes).saturating_mul(self.copies)
    }

    /// Whether products with `n` columns are packed.
    pub(crate) fn serve(&self, n: usize) -> bool {
        n * self.value_bytes >= self.row_bytes
    }

    /// The panels of `n` columns of B.
    pub(crate) fn pieces(&self, n: usize) -> impl Iterator<Item = Piece> {
        pieces(self.lines, self.lanes, n)
    }

    /// In how many shares of the tasks each of `count` panels is multiplied, if threads have panels of their own.
    pub(crate) fn shares(&self, count: usize, threads: usize) -> Option<usize> {
        shares(count, threads).filter(|_| threads <= self.copies)
    }
}

/// The decision on panels that `facts` allocates scratch for.
pub(crate) fn made(
    panels: Result<(Panels, String), String>,
    facts: &mut impl Facts,
) -> Decided<Option<Panels>> {
    match panels {
        Ok((panels, why)) if facts.make_panels(&panels) => Decided::new(Some(panels), why),
        Ok((panels, _)) => {
            let why = format!("there is no memory for panels of {} bytes", panels.bytes());
            Decided::new(None, why)
        }
        Err(why) => Decided::new(None, why),
    }
}

/// Whether the cache that threads share holds a panel of so many bytes for each of them.
const fn fit_for_each(threads: usize, panel: usize, machine: Machine) -> bool {
    threads.saturating_mul(panel) <= machine.b
}

/// In how many shares of the tasks each of `count` panels should be multiplied, by threads that each pack
/// panels of their own: what one thread packs and another reads has to go from cache to cache, and nobody
/// waits for the others after each panel. `None` for all of `threads` together.
fn shares(count: usize, threads: usize) -> Option<usize> {
    if threads < 2 || count == 0 {
        return None;
    }
    if count.is_multiple_of(threads) || count >= PACK_PANELS_EACH * threads {
        return Some(1);
    }
    let shares = threads / count;
    (threads.is_multiple_of(count) && shares <= PACK_SHARES).then_some(shares)
}

/// The panels, so many lines wide, of `n` columns of B. They cut no line, and sums are added up in them as
/// they are in one panel of all columns.
fn pieces(lines: usize, lanes: usize, n: usize) -> impl Iterator<Item = Piece> {
    let group = GROUP_LINES * lanes;
    let mut next = 0;
    std::iter::from_fn(move || {
        let start = next;
        let in_group = (group - start % group).min(n.checked_sub(start).filter(|&n| n > 0)?);
        // What is left of a group at the end counts as one: up to two lines have chains of
        // their own, and are not cut.
        let left = (n - start / group * group).min(group).div_ceil(lanes);
        let width = if left > 2 { in_group.min(lines * lanes) } else { in_group };
        next += width;
        Some(Piece { cols: start..next, of_group: left > 2 })
    })
}

type OrWhyNot = Result<(Panels, String), String>;

/// Panels for sparse rows, one by one or by tiles of several. O(nnz) where it has to be known how often a cache
/// fetches rows of B.
pub(crate) fn for_rows(case: &Case, facts: &impl Facts, by_tiles: bool) -> OrWhyNot {
    let &Case { m, nnz, threads, machine, .. } = case;
    let b = Rows::of(case, case.k)?;
    if b.bytes() >= machine.b {
        let (lines, why) = b.lines_far(facts, machine, by_tiles)?;
        return Ok((Panels::new(case, lines, PACK_ROW_BYTES, case.k), why));
    }
    if b.bytes() < machine.private {
        return Err(format!(
            "a core's own caches, of {}, hold B of {}",
            machine.private,
            b.bytes()
        ));
    }
    if nnz / PACK_ENTRIES < m {
        let per_row = nnz as f64 / m.max(1) as f64;
        return Err(format!("rows of A have {per_row:.1} entries, {PACK_ENTRIES} are needed"));
    }
    let lines = [4, 2].into_iter().find(|&lines| b.stays(lines, machine)).ok_or_else(|| {
        format!("a core's own caches don't hold a panel of {} bytes", 2 * b.line_bytes)
    })?;
    let mut needed = match b.shares(case, lines)? {
        _ if threads < 2 => PACK_FETCHES,
        _ if threads == 2 => PACK_FETCHES_OF_TWO,
        shares => PACK_FETCHES_OF_SHARE * shares as f64,
    };
    if lines < 4 {
        needed = needed.max(PACK_FETCHES_NARROW);
    }
    if b.bytes() < beyond_core(machine) {
        needed = needed.max(PACK_FETCHES_NEAR);
    }
    let fetches = fetches(facts, machine.private / b.row_bytes)?.of_each();
    let why = format!("a core fetches each row of B {fetches:.1} times; {needed} are needed");
    if fetches < needed {
        return Err(why);
    }
    let row_bytes = b.least_row(machine.private);
    Ok((Panels::new(case, lines, row_bytes, case.k), why))
}

/// Panels for tiles of a slab of columns after the other, whose rows of B are packed, `rows` at a time, and stay in
/// a core's own caches, evenly in their sets; tiles load each of the rows so often, `loads`, on average.
pub(crate) fn for_slabs(case: &Case, rows: usize, loads: usize) -> OrWhyNot {
    let &Case { threads, machine, .. } = case;
    let b = Rows::of(case, rows)?;
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
    // Threads with panels of their own each read all of A, for what their caches would hold of B anyway.
    let reads_more = threads > 1 && machine.is_slow;
    if reads_more && 4 * Rows::of(case, case.k)?.line_bytes < machine.private {
        return Err("each thread would read all of A from a slow last-level cache".to_owned());
    }
    if !b.stays(4, machine) {
        return Err(format!(
            "a core's own caches don't hold a panel of {} bytes",
            4 * b.line_bytes
        ));
    }
    Ok((Panels::new(case, 4, PACK_ROW_BYTES, rows), why))
}

/// Panels for rows that are decoded one by one: where each meets more of B than a core's own caches hold.
pub(crate) fn for_decoded(case: &Case) -> OrWhyNot {
    let &Case { spec, m, stored, machine, .. } = case;
    // A Zen 4 loses up to a sixth by decoding 2:4 for each panel, a Xeon gains 1.7 times.
    if spec == FormatSpec::TwoFour && !machine.is_slow {
        return Err(
            "2:4 would be decoded for each panel, which a fast last-level cache does not repay"
                .to_owned(),
        );
    }
    let b = Rows::of(case, case.k)?;
    let row_len = stored / m.max(1);
    let meets = row_len.saturating_mul(b.row_bytes);
    b.is_beyond(machine)?;
    let why = format!("a row meets {meets} bytes of B; {} are needed", machine.private);
    if meets < machine.private {
        return Err(why);
    }
    if !b.stays(4, machine) {
        return Err(format!(
            "a core's own caches don't hold a panel of {} bytes",
            4 * b.line_bytes
        ));
    }
    b.shares(case, 4)?;
    Ok((Panels::new(case, 4, b.least_row(beyond_core(machine)), case.k), why))
}

/// Panels for dense strips. A few of a strip's rows at a time go through all rows of B that it meets: where those
/// are far apart, few sets of a core's own caches hold the four lines that they go through.
pub(crate) fn for_strips(case: &Case) -> OrWhyNot {
    let &Case { spec, isa, m, k, stored, threads, machine, .. } = case;
    if isa.gathers() {
        return Err(format!(
            "with {isa} the rows of B of a window are gathered instead, or read in place"
        ));
    }
    let b = Rows::of(case, k)?;
    if stored / PACK_STRIP_USES < k {
        let uses = stored as f64 / k.max(1) as f64;
        return Err(format!(
            "tiles have {uses:.0} values for each row of B; {PACK_STRIP_USES} are needed"
        ));
    }
    let meets = (stored / m.max(1)).saturating_mul(b.row_bytes);
    let why = format!("a window meets {meets} bytes of B; {} are needed", beyond_core(machine));
    if meets < beyond_core(machine) {
        return Err(why);
    }
    if 4 * b.line_bytes > machine.panel {
        return Err(format!(
            "the last-level cache does not hold a panel of {} bytes",
            4 * b.line_bytes
        ));
    }
    let rows = spec.window_rows();
    if threads > 2 && rows > PACK_STRIP_ROWS {
        return Err(format!(
            "on {threads} threads windows of up to {PACK_STRIP_ROWS} rows gain by it, not of {rows}"
        ));
    }
    b.shares(case, 4)?;
    Ok((Panels::new(case, 4, b.least_row(beyond_core(machine)), k), why))
}

/// Bytes of B that a core's own caches do not hold, nor most of it.
const fn beyond_core(machine: Machine) -> usize {
    CACHE_BEYOND_PRIVATE * machine.private
}

/// How often a cache for so many rows of B fetches them.
fn fetches(facts: &impl Facts, rows: usize) -> Result<crate::analyze::Fetches, String> {
    facts
        .fetches(rows)
        .ok_or_else(|| "there is no memory to count how often B is fetched".to_owned())
}

/// Rows of B.
struct Rows {
    k: usize,
    row_bytes: usize,
    /// Bytes of a line of all rows.
    line_bytes: usize,
}

impl Rows {
    /// If they are wide enough.
    fn of(case: &Case, k: usize) -> Result<Self, String> {
        let too_large = || "B is larger than the address space".to_owned();
        let row_bytes = case.n.checked_mul(case.value_bytes).ok_or_else(too_large)?;
        if row_bytes < PACK_ROW_BYTES {
            return Err(format!("rows of B have {row_bytes} bytes; {PACK_ROW_BYTES} are needed"));
        }
        let line_bytes = k.checked_mul(case.lanes() * case.value_bytes).ok_or_else(too_large)?;
        k.checked_mul(row_bytes).ok_or_else(too_large)?;
        Ok(Self { k, row_bytes, line_bytes })
    }

    /// All of B.
    fn bytes(&self) -> usize {
        self.k * self.row_bytes
    }

    /// The least width of a row with which B takes at least so many bytes.
    fn least_row(&self, bytes: usize) -> usize {
        PACK_ROW_BYTES.max(bytes.div_ceil(self.k.max(1)))
    }

    /// Whether a panel stays in a core's own caches, or most of it.
    fn stays(&self, lines: usize, machine: Machine) -> bool {
        lines * self.line_bytes <= machine.private / 4 * CACHE_PRIVATE_PANEL
    }

    /// Why not, unless B is beyond a core's own caches.
    fn is_beyond(&self, machine: Machine) -> Result<(), String> {
        let (bytes, needed) = (self.bytes(), beyond_core(machine));
        if bytes >= needed {
            Ok(())
        } else {
            Err(format!("B has {bytes} bytes; {needed} are needed"))
        }
    }

    /// In how many shares threads multiply by panels of their own, 1 if there is a single thread; why not, where
    /// all would pack a panel together, which gains nothing over a cache that all share.
    fn shares(&self, case: &Case, lines: usize) -> Result<usize, String> {
        let &Case { n, threads, machine, .. } = case;
        if threads < 2 {
            return Ok(1);
        }
        let count = pieces(lines, case.lanes(), n).count();
        if !fit_for_each(threads, lines * self.line_bytes, machine) {
            return Err(format!(
                "the last-level cache does not hold a panel for each of {threads} threads"
            ));
        }
        shares(count, threads).ok_or_else(|| {
            format!("{count} panels can't be divided equally among {threads} threads")
        })
    }

    /// Lines of a panel of a B that the last-level cache does not hold, if packing is profitable.
    fn lines_far(
        &self,
        facts: &impl Facts,
        machine: Machine,
        by_tiles: bool,
    ) -> Result<(usize, String), String> {
        let Self { row_bytes, line_bytes, .. } = *self;
        let last_level = fetches(facts, machine.b / row_bytes)?;
        // Rows that no entry meets take no space in the cache.
        let met = last_level.met * row_bytes;
        if met < machine.b {
            return Err(format!(
                "the last-level cache holds the {met} bytes of B that entries meet"
            ));
        }
        let often = last_level.of_each();
        let mut why = format!(
            "the last-level cache fetches each row of B {often:.1} times; {PACK_FETCHES} are needed"
        );
        // A panel after the other, so that few sets of a core's own caches hold what is met meanwhile.
        let conflicts = by_tiles && row_bytes >= machine.far_row;
        if often < PACK_FETCHES {
            if !conflicts {
                return Err(why);
            }
            let often = fetches(facts, machine.private / row_bytes)?.of_each();
            why = format!("{why}, or by a core's own caches, which do {often:.1} times");
            if often < PACK_FETCHES {
                return Err(why);
            }
        }
        let local = facts.span().saturating_mul(row_bytes) <= machine.met;
        match line_bytes {
            _ if local => Ok((4, why)),
            bytes if 4 * bytes <= machine.panel => Ok((4, why)),
            bytes if 2 * bytes <= machine.panels => Ok((2, why)),
            bytes => {
                Err(format!("the last-level cache does not hold a panel of {} bytes", 2 * bytes))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;
    use girih_formats::generate::{banded, block_sparse, fem_3d, laplacian_5pt, rmat, uniform};

    use super::*;
    use crate::Isa;
    use crate::lowering::facts::testing::{Of, case};

    fn panels(
        csr: &Csr<f32>,
        n: usize,
        threads: usize,
        cache: Machine,
        by_tiles: bool,
    ) -> Option<Panels> {
        let case = case(csr.nrows(), csr.ncols(), n, threads, cache);
        for_rows(&Case { nnz: csr.nnz(), ..case }, &Of(csr), by_tiles)
            .ok()
            .map(|(panels, _)| panels)
    }

    /// Tilings other than CSR, of `m` rows with so many values.
    fn tiled(spec: FormatSpec, m: usize, k: usize, stored: usize) -> Case {
        Case { spec, stored, ..case(m, k, 0, 1, Machine::of(32 << 20, 1 << 20)) }
    }

    #[test]
    fn threads_have_panels_or_shares_of_them_if_all_have_equally_many() {
        let of_16 = |count| shares(count, 16);
        assert_eq!([16, 32, 64, 65].map(of_16), [Some(1); 4]);
        assert_eq!(of_16(8), Some(2));
        assert_eq!([0, 1, 4, 6, 9, 63].map(of_16), [None; 6]);
        assert_eq!(shares(16, 1), None);
        let panels = Panels::new(&case(1, 1, 512, 16, Machine::of(32 << 20, 1 << 20)), 4, 512, 1);
        assert_eq!((panels.shares(16, 16), panels.shares(17, 17)), (Some(1), None));
    }

    #[test]
    fn panels_cover_all_columns_and_keep_the_groups_at_the_end_whole() {
        let piece = |cols, of_group| Piece { cols, of_group };
        let pieces = |lines, n| pieces(lines, 16, n).collect::<Vec<_>>();
        assert_eq!(
            pieces(4, 130),
            [piece(0..64, true), piece(64..128, true), piece(128..130, false)]
        );
        assert_eq!(
            pieces(2, 100),
            [piece(0..32, true), piece(32..64, true), piece(64..96, true), piece(96..100, true),]
        );
        assert_eq!(pieces(2, 96)[2..], [piece(64..96, false)]);
    }

    #[test]
    fn two_four_packs_panels_where_the_last_level_cache_is_slow_and_bmat_everywhere() {
        let fast = Machine::of(32 << 20, 1 << 20);
        let slow = Machine { is_slow: true, ..fast };
        for (spec, packs) in [
            (FormatSpec::TwoFour, [false, true]),
            (FormatSpec::BMat { pattern_only: false }, [true, true]),
        ] {
            let tiles = Case { n: 256, ..tiled(spec, 4, 2048, 4096) };
            let of = |machine| for_decoded(&Case { machine, ..tiles }).is_ok();
            assert_eq!([of(fast), of(slow)], packs, "{spec}");
        }
    }

    #[test]
    fn a_large_b_is_packed_where_the_last_level_cache_keeps_fetching_its_rows() {
        let scattered: Csr<f32> = uniform(44_000, 44_000, 12, 1).unwrap();
        let cache = |mib: u64| Machine::of(mib << 20, 1 << 20);
        let new = |csr: &Csr<f32>, n, mib| panels(csr, n, 1, cache(mib), false);
        assert_eq!(new(&scattered, 256, 32).unwrap().lines, 4);
        assert!(new(&scattered, 64, 32).is_none());
        // Of a B a little larger than what it holds a cache fetches little again.
        assert!(new(&scattered, 128, 32).is_none());
        // B of 45 MB stays in a larger cache, and not even its panels do in a small one.
        assert!(new(&scattered, 256, 128).is_none());
        assert_eq!(new(&scattered, 256, 16).unwrap().lines, 2);
        assert!(new(&scattered, 256, 4).is_none());
        // Most entries meet few rows.
        let skewed: Csr<f32> = rmat(16, 12, 1).unwrap();
        assert!(new(&skewed, 256, 32).is_none());
        // Of a B as large, rows that are never met don't count.
        let few_met: Csr<f32> = uniform(44_000, 19_000, 12, 1).unwrap();
        let row_ptr = few_met.row_ptr().to_vec();
        let cols: Vec<u32> = few_met.col_idx().iter().map(|&col| col * 44 / 19).collect();
        let few_met =
            Csr::try_new(44_000, 44_000, row_ptr, cols, few_met.values().to_vec()).unwrap();
        assert!(new(&few_met, 256, 32).is_none());
    }

    #[test]
    fn rows_far_apart_are_packed_although_the_last_level_cache_fetches_them_once() {
        let mesh: Csr<f32> = fem_3d(24, 24, 24, 3, 1).unwrap();
        let cache = Machine::of(8 << 20, 512 << 10);
        let new = |n, cache| panels(&mesh, n, 1, cache, true);
        assert_eq!(new(256, cache).unwrap().lines, 4);
        assert!(new(128, cache).is_none());
        let asking = Machine { far_row: 2048, ..cache };
        assert!(new(256, asking).is_none());
        assert!(panels(&mesh, 256, 1, cache, false).is_none());
        // A stencil's rows meet five.
        let stencil: Csr<f32> = laplacian_5pt(220, 200).unwrap();
        assert!(panels(&stencil, 512, 1, cache, true).is_none());
    }

    #[test]
    fn what_a_core_does_not_hold_is_packed_where_it_keeps_fetching_its_rows() {
        let cache = Machine::of(64 << 20, 1 << 20);
        let on = |csr: &Csr<f32>, n, threads, cache| panels(csr, n, threads, cache, false);
        let panels = |csr: &Csr<f32>, n, threads| on(csr, n, threads, cache);
        let lines = |csr: &Csr<f32>, n, threads| panels(csr, n, threads).map(|panels| panels.lines);
        let weights = |m, k, row_len| uniform::<f32>(m, k, row_len, 1).unwrap();
        let often = weights(2048, 2048, 160);
        let packing = panels(&often, 256, 2).unwrap();
        assert_eq!((packing.lines, packing.rows, packing.copies), (4, 2048, 2));
        // Products that are narrower than the plan's, and whose B the core holds, are not packed.
        assert!(packing.serve(128) && !packing.serve(127));
        // Four panels leave most of 16 threads without one.
        assert_eq!([1, 8, 16].map(|threads| lines(&often, 256, threads)), [Some(4), Some(4), None]);
        // Nor would room for one for each of eight stay in a small last-level cache.
        let small = Machine { b: 3 << 20, ..cache };
        assert!(on(&often, 256, 8, small).is_none());
        // Threads that share panels pack them once each.
        let seldom = weights(512, 2048, 160);
        assert_eq!([2, 4, 8].map(|threads| lines(&seldom, 256, threads)), [Some(4), Some(4), None]);
        // A core holds much of a B that is no larger than its caches.
        assert_eq!([128, 256].map(|n| lines(&seldom, n, 1)), [None, Some(4)]);
        // Rows of C weigh as much as short rows of A, however often rows of B are met.
        assert_eq!(lines(&weights(1 << 16, 2048, 19), 256, 1), None);
        // Panels of two lines take more, and none stays if B has so many rows.
        let of_two = [2048, 512].map(|m| lines(&weights(m, 8192, 160), 256, 1));
        assert_eq!(of_two, [Some(2), None]);
        assert_eq!(lines(&weights(2048, 12_000, 160), 256, 1), None);
        // A band meets few rows of B at a time, however many there are, and neighbouring rows of blocks the
        // same ones.
        assert_eq!(lines(&banded(2048, 2048, 80, 80, 1).unwrap(), 256, 1), None);
        assert_eq!(lines(&block_sparse(2048, 2048, 64, 0.1, 1).unwrap(), 256, 1), None);
    }

    #[test]
    fn dense_tiles_pack_what_a_core_does_not_hold_where_each_row_meets_many() {
        let cache = Machine::of(32 << 20, 1 << 20);
        let in_cache = |k, stored, (window_rows, met), n, threads, machine| {
            let spec = FormatSpec::Wcsr { window_rows, pad_cols: 8 };
            let case = Case { n, threads, machine, ..tiled(spec, stored / met, k, stored) };
            for_strips(&case).ok().map(|(panels, _)| panels.lines)
        };
        let of = |stored, window, n, threads| in_cache(2048, stored, window, n, threads, cache);
        let gathers = Case {
            n: 256,
            isa: Isa::Avx2,
            ..tiled(FormatSpec::BlockedEll { block_size: 64 }, 1024, 2048, 1 << 21)
        };
        assert!(
            for_strips(&gathers).is_err()
                && for_strips(&Case { isa: Isa::Neon, ..gathers }).is_ok()
        );
        assert_eq!(of(1 << 21, (64, 2048), 256, 1), Some(4));
        assert!(of(1 << 21, (64, 2048), 255, 1).is_none());
        assert!(of(1 << 20, (64, 2048), 256, 1).is_none());
        // Blocks here and there: a core holds what a window meets.
        assert!(of(1 << 21, (64, 1024), 256, 1).is_none());
        // Many threads share low strips alone, and 16 would pack each of the four panels together.
        assert_eq!([2, 4].map(|threads| of(1 << 21, (64, 2048), 256, threads)), [Some(4), None]);
        assert_eq!([4, 16].map(|threads| of(1 << 21, (16, 2048), 256, threads)), [Some(4), None]);
        // Of a B this large not even a panel stays in the last-level cache.
        assert!(in_cache(1 << 16, 1 << 30, (64, 1 << 16), 256, 1, cache).is_none());
    }

    #[test]
    fn slabs_are_packed_where_tiles_load_their_rows_often_or_they_are_far_apart() {
        let cache = Machine::of(32 << 20, 1 << 20);
        let in_cache = |k, loads, n, threads, cache| {
            for_slabs(&case(512, k, n, threads, cache), 512, loads).is_ok()
        };
        let pays = |loads, n, threads| in_cache(2048, loads, n, threads, cache);
        assert!(pays(16, 128, 1) && !pays(15, 128, 1) && !pays(100, 127, 1));
        assert!(pays(4, 512, 1) && !pays(3, 512, 1));
        // Two threads pack every panel on their own, or no thread does.
        assert!(pays(8, 512, 16) && !pays(7, 512, 16) && !pays(100, 256, 16));
        // From a slow cache several threads read only their own rows of A, if they hold panels of all rows of B.
        let slow = |k, threads| in_cache(k, 100, 512, threads, Machine { is_slow: true, ..cache });
        assert!(slow(2048, 1) && !slow(4095, 2) && slow(4096, 2));
    }

    #[test]
    fn long_decoded_rows_are_packed_where_a_core_does_not_hold_what_they_meet() {
        let cache = Machine::of(32 << 20, 1 << 20);
        let of = |row_len: usize, n, threads| {
            let spec = FormatSpec::BMat { pattern_only: false };
            let case = Case { n, threads, machine: cache, ..tiled(spec, 16, 2048, 16 * row_len) };
            for_decoded(&case).ok().map(|(panels, _)| panels.lines)
        };
        assert_eq!(of(1024, 256, 1), Some(4));
        assert!(of(1023, 256, 1).is_none() && of(2048, 255, 1).is_none());
        assert!(of(1024, 256, 4).is_some() && of(1024, 256, 16).is_none());
    }
}
