//! What is prefetched: rows of B that entries of A meet, and entries of A.

use girih_formats::FormatSpec;

use super::{Case, Decided, Facts};
use crate::machine::{Machine, Vendor};
use crate::thresholds::*;

/// Whether rows of B of so many bytes, or of a packed panel of it, are prefetched: O(entries of 16 stretches).
pub(super) fn of_b(case: &Case, facts: &impl Facts, row_bytes: usize) -> Decided<bool> {
    let machine = case.machine;
    if case.n == 1 {
        return Decided::new(false, "a single column is no row to fetch");
    }
    if let Some(why) = never(case) {
        return Decided::new(false, why);
    }
    let times = case.k.saturating_mul(row_bytes) / machine.private.max(1);
    if times >= PREFETCH_FAR {
        let why = format!(
            "B is {times} times as large as a core's own caches; {PREFETCH_FAR} are enough"
        );
        return Decided::new(true, why);
    }
    if times < PREFETCH_NEAR {
        let why = format!(
            "B is {times} times as large as a core's own caches; {PREFETCH_NEAR} are needed"
        );
        return Decided::new(false, why);
    }
    let share = facts.unpredicted(row_bytes, machine.private);
    let why = format!(
        "{share:.2} of the entries meet rows of B that the processor does not predict; {PREFETCH_SHARE} are needed"
    );
    Decided::new(share >= PREFETCH_SHARE, why)
}

/// Why nothing is prefetched on this machine, whatever the matrix is.
fn never(case: &Case) -> Option<String> {
    if !case.machine.asks {
        return Some(match case.machine.vendor {
            Vendor::Intel => "Intel's processors lose by it".to_owned(),
            _ => "only AMD's processors were seen to gain by it".to_owned(),
        });
    }
    (!case.isa.prefetches()).then(|| format!("{} has no prefetch", case.isa))
}

/// When entries of A are prefetched: whatever B is where A is far away, else where B is large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PrefetchA {
    /// Of a product with a single column.
    pub(crate) of_column: bool,
    /// Of one with rows of B below 16 bytes, and of one with wider ones: A is far away.
    pub(crate) of_narrow: bool,
    pub(crate) of_wide: bool,
    /// A is so small that it comes fast enough while B is in the last-level cache.
    pub(crate) is_near: bool,
    /// Whether anything is prefetched at all.
    pub(crate) gains: bool,
}

impl PrefetchA {
    /// Whether entries are prefetched by a product with a B of `k` rows of so many bytes.
    pub(crate) fn by(self, k: usize, row_bytes: usize, is_column: bool, machine: Machine) -> bool {
        let is_far = if row_bytes < PREFETCH_A_ROW_BYTES { self.of_narrow } else { self.of_wide };
        if is_column || !self.gains {
            return self.of_column;
        }
        let by_b = !self.is_near || k.saturating_mul(row_bytes) > machine.b;
        is_far || by_b && machine.hides_a(k, row_bytes)
    }
}

/// When entries of A are prefetched: O(entries that are looked at).
pub(super) fn of_a(case: &Case, facts: &impl Facts) -> Decided<PrefetchA> {
    let &Case { spec, n, stored, machine, value_bytes, .. } = case;
    if let Some(why) = never(case) {
        return Decided::new(PrefetchA::default(), why);
    }
    let gains = true;
    match spec {
        FormatSpec::Csr => {
            let bytes = stored.saturating_mul(size_of::<u32>() + value_bytes);
            let (of_wide, is_near) = (bytes > machine.b, bytes <= machine.blocks);
            let is_narrow = n * value_bytes < PREFETCH_A_ROW_BYTES;
            let of_narrow = of_wide && is_narrow && facts.leaps();
            let of_column = n == 1 && (of_narrow || is_scattered_column(case, facts));
            let size = if of_wide { "beyond" } else { "within" };
            let mut why =
                format!("A of {bytes} bytes is {size} the {} of the last-level cache", machine.b);
            if is_near {
                why = format!("{why}, and up to {} comes fast enough", machine.blocks);
            }
            if n == 1 {
                let elements = if of_column { "come" } else { "don't come" };
                why = format!(
                    "{why}; elements of the column {elements} unpredicted from beyond the first-level cache"
                );
            }
            Decided::new(PrefetchA { of_column, of_narrow, of_wide, is_near, gains }, why)
        }
        // Each block is read some rows at a time.
        FormatSpec::Bcsr { .. } => {
            let bytes = stored.saturating_mul(value_bytes);
            let is_far = bytes > machine.blocks;
            let why = format!(
                "blocks of {bytes} bytes are read some rows at a time; beyond {} that is no stream",
                machine.blocks
            );
            let far = PrefetchA {
                of_column: is_far,
                of_narrow: is_far,
                of_wide: is_far,
                is_near: false,
                gains,
            };
            Decided::new(far, why)
        }
        _ => Decided::new(
            PrefetchA { gains, ..PrefetchA::default() },
            "between rows of a large B the processor sees no stream in A",
        ),
    }
}

/// Whether elements of a single column come unpredicted from beyond the first-level cache, so that the processor does
/// not see between them that entries of A follow one another.
fn is_scattered_column(case: &Case, facts: &impl Facts) -> bool {
    case.k * case.value_bytes > CACHE_FIRST_LEVEL
        && facts.unpredicted(case.value_bytes, CACHE_FIRST_LEVEL) >= PREFETCH_SHARE
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;
    use girih_formats::generate::{banded, laplacian_5pt, uniform};

    use super::*;
    use crate::Isa;
    use crate::lowering::facts::testing::{Of, case};

    fn amd(last_level: u64, private: u64) -> Machine {
        Machine::of(last_level, private).made_by(Vendor::Amd)
    }

    fn of(a: &Csr<f32>, spec: FormatSpec, stored: usize, n: usize, machine: Machine) -> PrefetchA {
        let case = case(a.nrows(), a.ncols(), n, 1, machine);
        of_a(&Case { spec, stored, nnz: a.nnz(), ..case }, &Of(a)).choice
    }

    fn by(a: &Csr<f32>, n: usize, machine: Machine) -> bool {
        of(a, FormatSpec::Csr, a.nnz(), n, machine).by(4, 4 * n, n == 1, machine)
    }

    #[test]
    fn an_a_beyond_the_last_level_cache_is_prefetched_by_narrow_products_where_columns_leap() {
        let asking = amd(1 << 20, 1 << 14);
        let weights: Csr<f32> = uniform(400, 1000, 300, 1).unwrap();
        let band: Csr<f32> = banded(4000, 4000, 15, 15, 1).unwrap();
        assert_eq!([1, 2, 4, 64].map(|n| by(&weights, n, asking)), [true; 4]);
        assert_eq!([1, 2, 4, 64].map(|n| by(&band, n, asking)), [false, false, true, true]);
        let large = amd(8 << 20, 1 << 14);
        assert_eq!([1, 2, 4, 64].map(|n| by(&weights, n, large)), [false; 4]);
        let intel = asking.made_by(Vendor::Intel);
        assert_eq!([1, 2, 4, 64].map(|n| by(&weights, n, intel)), [false; 4]);
    }

    #[test]
    fn a_small_a_is_prefetched_where_the_last_level_cache_does_not_hold_b() {
        let machine = amd(1 << 20, 1 << 14);
        let by = |m, k| {
            let a: Csr<f32> = uniform(m, 100, 80, 1).unwrap();
            of(&a, FormatSpec::Csr, a.nnz(), 64, machine).by(k, 256, false, machine)
        };
        // 640 bytes for each row of A, of which 128 KiB come fast; 640 KiB of B stay.
        assert_eq!([by(200, 2560), by(210, 2560), by(200, 2561)], [false, true, true]);
    }

    #[test]
    fn blocks_are_prefetched_from_an_eighth_of_the_last_level_cache_on() {
        let spec = FormatSpec::Bcsr { block_rows: 8, block_cols: 8 };
        let band: Csr<f32> = banded(1000, 1000, 8, 8, 1).unwrap();
        let by = |last_level: u64, n: usize| {
            let machine = amd(last_level, 1 << 14);
            // Three blocks in each of 125 block rows.
            of(&band, spec, 125 * 3 * 64, n, machine).by(4, 4 * n, n == 1, machine)
        };
        assert!([1, 2, 8].iter().all(|&n| by(512 << 10, n) && !by(2 << 20, n)));
    }

    #[test]
    fn rows_of_b_are_prefetched_where_they_come_unpredicted_or_from_far_beyond_a_cores_caches() {
        let is = |a: &Csr<f32>, row_bytes, machine| {
            of_b(&case(a.nrows(), a.ncols(), 40, 1, machine), &Of(a), row_bytes).choice
        };
        let caches = amd(32 << 20, 1 << 20);
        let scattered: Csr<f32> = uniform(40_000, 40_000, 12, 1).unwrap();
        assert!(is(&scattered, 160, caches));
        assert!(!is(&scattered, 16, caches));
        assert!(!is(&scattered, 160, amd(32 << 20, 8 << 20)));
        // Its rows are predicted.
        let stencil: Csr<f32> = laplacian_5pt(200, 200).unwrap();
        assert!(!is(&stencil, 160, caches));
        assert!(is(&stencil, 256, caches));
        assert!(!is(&stencil, 256, amd(32 << 20, 4 << 20)));
        // Neither on other processors, nor without an instruction for it.
        assert!(!is(&scattered, 160, caches.made_by(Vendor::Intel)));
        let without = Case { isa: Isa::Portable, ..case(40_000, 40_000, 40, 1, caches) };
        assert!(!of_b(&without, &Of(&scattered), 160).choice);
    }

    #[test]
    fn a_column_hides_a_where_its_elements_come_unpredicted_from_beyond_the_first_cache() {
        let hides = |a: &Csr<f32>| {
            is_scattered_column(&case(a.nrows(), a.ncols(), 1, 1, amd(32 << 20, 1 << 20)), &Of(a))
        };
        assert!(hides(&uniform(40_000, 40_000, 12, 1).unwrap()));
        assert!(!hides(&uniform(4000, 4000, 12, 1).unwrap()));
        assert!(!hides(&laplacian_5pt(200, 200).unwrap()));
    }
}
