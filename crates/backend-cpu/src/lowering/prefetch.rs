//! What is prefetched: rows of B that entries of A use, and entries of A.

use girih_formats::FormatSpec;

use super::{Case, Decision};
use crate::analyze::MatrixNumbers;
use crate::machine::{Machine, Vendor};
use crate::thresholds::*;

/// Whether rows of B, or of a packed panel, of `row_bytes` bytes are prefetched: O(entries of 16 stretches).
pub(super) fn decide_for_b(
    case: &Case,
    matrix: &impl MatrixNumbers,
    row_bytes: usize,
) -> Decision<bool> {
    let machine = case.machine;
    if case.n == 1 {
        return Decision::new(false, "a single column is no row to fetch");
    }
    if let Some(why) = never(case) {
        return Decision::new(false, why);
    }
    let times = case.k.saturating_mul(row_bytes) / machine.private.max(1);
    if times >= PREFETCH_FAR {
        let why = format!("B takes {times}× a core's own caches; {PREFETCH_FAR}× are enough");
        return Decision::new(true, why);
    }
    if times < PREFETCH_NEAR {
        let takes = if times == 0 { "less than 1".to_owned() } else { times.to_string() };
        let why = format!("B takes {takes}× a core's own caches; {PREFETCH_NEAR}× are needed");
        return Decision::new(false, why);
    }
    let share = matrix.unpredicted_share(row_bytes, machine.private);
    let why = format!(
        "{share:.2} of the entries use rows of B that the processor does not predict; {PREFETCH_SHARE} are needed"
    );
    Decision::new(share >= PREFETCH_SHARE, why)
}

/// Why nothing is prefetched on this machine, whatever the matrix is.
fn never(case: &Case) -> Option<String> {
    if !case.machine.gains_by_prefetch {
        return Some(match case.machine.vendor {
            Vendor::Intel => "Intel's processors lose by it".to_owned(),
            _ => "only AMD's processors were seen to gain by it".to_owned(),
        });
    }
    (!case.isa.prefetches()).then(|| format!("{} has no prefetch", case.isa))
}

/// When entries of A are prefetched: for any B if A is far away, else for a large B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PrefetchA {
    /// By products with a single column.
    pub(crate) single_column: bool,
    /// A is far away for products whose rows of B have less than 16 bytes.
    pub(crate) far_for_narrow: bool,
    /// A is far away for products with wider rows of B.
    pub(crate) far_for_wide: bool,
    /// A is so small that it comes fast enough while B is in the last-level cache.
    pub(crate) is_near: bool,
    /// Whether anything is prefetched at all.
    pub(crate) gains: bool,
}

impl PrefetchA {
    /// Whether a product prefetches entries of A; its B has `k` rows of `row_bytes` bytes.
    pub(crate) fn applies(
        self,
        k: usize,
        row_bytes: usize,
        is_column: bool,
        machine: Machine,
    ) -> bool {
        let is_far =
            if row_bytes < PREFETCH_A_ROW_BYTES { self.far_for_narrow } else { self.far_for_wide };
        if is_column || !self.gains {
            return self.single_column;
        }
        let b_gains = !self.is_near || k.saturating_mul(row_bytes) > machine.b_budget;
        is_far || b_gains && machine.large_b_needs_a_prefetch(k, row_bytes)
    }
}

/// When entries of A are prefetched: O(entries of 16 stretches).
pub(super) fn decide_for_a(case: &Case, matrix: &impl MatrixNumbers) -> Decision<PrefetchA> {
    let &Case { spec, n, stored, machine, value_bytes, .. } = case;
    if let Some(why) = never(case) {
        return Decision::new(PrefetchA::default(), why);
    }
    let gains = true;
    match spec {
        FormatSpec::Csr => {
            let bytes = stored.saturating_mul(size_of::<u32>() + value_bytes);
            let (far_for_wide, is_near) =
                (bytes > machine.b_budget, bytes <= machine.blocks_budget);
            let is_narrow = n * value_bytes < PREFETCH_A_ROW_BYTES;
            let far_for_narrow = far_for_wide && is_narrow && matrix.has_scattered_columns();
            let single_column = n == 1 && (far_for_narrow || is_scattered_column(case, matrix));
            let size = if far_for_wide { "beyond" } else { "within" };
            let mut why = format!(
                "A of {bytes} bytes is {size} the {} of the last-level cache",
                machine.b_budget
            );
            if is_near {
                why = format!("{why}, and up to {} comes fast enough", machine.blocks_budget);
            }
            if n == 1 {
                let elements = if single_column { "come" } else { "don't come" };
                why = format!(
                    "{why}; elements of the column {elements} unpredicted from beyond the first-level cache"
                );
            }
            Decision::new(
                PrefetchA { single_column, far_for_narrow, far_for_wide, is_near, gains },
                why,
            )
        }
        // Some windows are strips and others rows, each of its own stream.
        FormatSpec::Hybrid { .. } => {
            let why = "windows of both kinds take turns".to_owned();
            Decision::new(PrefetchA::default(), why)
        }
        // Each block is read some rows at a time.
        FormatSpec::Bcsr { .. } => {
            let bytes = stored.saturating_mul(value_bytes);
            let is_far = bytes > machine.blocks_budget;
            let why = format!(
                "blocks of {bytes} bytes are read some rows at a time; beyond {} that is no stream",
                machine.blocks_budget
            );
            let far = PrefetchA {
                single_column: is_far,
                far_for_narrow: is_far,
                far_for_wide: is_far,
                is_near: false,
                gains,
            };
            Decision::new(far, why)
        }
        _ => Decision::new(
            PrefetchA { gains, ..PrefetchA::default() },
            "between rows of a large B the processor sees no stream in A",
        ),
    }
}

/// Whether elements of a single column come unpredicted from beyond the first-level cache. Between them the
/// processor does not see that entries of A follow one another.
fn is_scattered_column(case: &Case, matrix: &impl MatrixNumbers) -> bool {
    case.k * case.value_bytes > CACHE_FIRST_LEVEL
        && matrix.unpredicted_share(case.value_bytes, CACHE_FIRST_LEVEL) >= PREFETCH_SHARE
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;
    use girih_generate::{banded, laplacian_5pt, uniform};

    use super::*;
    use crate::Isa;
    use crate::lowering::testing::{Counted, case};

    fn amd(last_level: u64, private: u64) -> Machine {
        Machine::with_caches(last_level, private).with_vendor(Vendor::Amd)
    }

    fn prefetch_a(
        a: &Csr<f32>,
        spec: FormatSpec,
        stored: usize,
        n: usize,
        machine: Machine,
    ) -> PrefetchA {
        let case = case(a.nrows(), a.ncols(), n, 1, machine);
        decide_for_a(&Case { spec, stored, nnz: a.nnz(), ..case }, &Counted(a)).choice
    }

    fn is_prefetched(a: &Csr<f32>, n: usize, machine: Machine) -> bool {
        prefetch_a(a, FormatSpec::Csr, a.nnz(), n, machine).applies(4, 4 * n, n == 1, machine)
    }

    #[test]
    fn an_a_beyond_the_last_level_cache_is_prefetched_by_narrow_products_if_columns_are_scattered()
    {
        let machine = amd(1 << 20, 1 << 14);
        let weights: Csr<f32> = uniform(400, 1000, 300, 1).unwrap();
        let band: Csr<f32> = banded(4000, 4000, 15, 15, 1).unwrap();
        assert_eq!([1, 2, 4, 64].map(|n| is_prefetched(&weights, n, machine)), [true; 4]);
        assert_eq!(
            [1, 2, 4, 64].map(|n| is_prefetched(&band, n, machine)),
            [false, false, true, true]
        );
        let large = amd(8 << 20, 1 << 14);
        assert_eq!([1, 2, 4, 64].map(|n| is_prefetched(&weights, n, large)), [false; 4]);
        let intel = machine.with_vendor(Vendor::Intel);
        assert_eq!([1, 2, 4, 64].map(|n| is_prefetched(&weights, n, intel)), [false; 4]);
    }

    #[test]
    fn a_small_a_is_prefetched_where_the_last_level_cache_does_not_hold_b() {
        let machine = amd(1 << 20, 1 << 14);
        let by = |m, k| {
            let a: Csr<f32> = uniform(m, 100, 80, 1).unwrap();
            prefetch_a(&a, FormatSpec::Csr, a.nnz(), 64, machine).applies(k, 256, false, machine)
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
            prefetch_a(&band, spec, 125 * 3 * 64, n, machine).applies(4, 4 * n, n == 1, machine)
        };
        assert!([1, 2, 8].iter().all(|&n| by(512 << 10, n) && !by(2 << 20, n)));
    }

    #[test]
    fn rows_of_b_are_prefetched_where_they_come_unpredicted_or_from_far_beyond_a_cores_caches() {
        let is = |a: &Csr<f32>, row_bytes, machine| {
            decide_for_b(&case(a.nrows(), a.ncols(), 40, 1, machine), &Counted(a), row_bytes).choice
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
        // Not on other processors, nor without an instruction for it.
        assert!(!is(&scattered, 160, caches.with_vendor(Vendor::Intel)));
        let without = Case { isa: Isa::Portable, ..case(40_000, 40_000, 40, 1, caches) };
        assert!(!decide_for_b(&without, &Counted(&scattered), 160).choice);
    }

    #[test]
    fn a_scattered_column_prefetches_a_beyond_the_first_cache() {
        let is_scattered = |a: &Csr<f32>| {
            is_scattered_column(
                &case(a.nrows(), a.ncols(), 1, 1, amd(32 << 20, 1 << 20)),
                &Counted(a),
            )
        };
        assert!(is_scattered(&uniform(40_000, 40_000, 12, 1).unwrap()));
        assert!(!is_scattered(&uniform(4000, 4000, 12, 1).unwrap()));
        assert!(!is_scattered(&laplacian_5pt(200, 200).unwrap()));
    }
}
