//! Panels for dense strips.

use super::PackingResult;
use super::b_rows::{RowsOfB, beyond_core};
use super::config::PanelConfig;
use crate::lowering::Case;
use crate::thresholds::{PACK_STRIP_ROWS, PACK_STRIP_USES};

/// Packs if each window uses more of B than a core's own caches hold. A few of a strip's rows at a time go
/// through all rows of B that the strip uses, four vectors of each. If these rows are far apart, their
/// vectors fall into few sets of the caches.
pub(in crate::lowering) fn for_strips(case: &Case) -> PackingResult {
    let &Case { spec, isa, m, k, stored, threads, machine, .. } = case;
    if isa.packs_strips() {
        return Err(format!(
            "with {isa} each window packs the rows of B that it uses, or reads them in place"
        ));
    }
    let b = RowsOfB::try_new(case, k)?;
    if stored / PACK_STRIP_USES < k {
        let uses = stored as f64 / k.max(1) as f64;
        return Err(format!(
            "tiles have {uses:.0} values for each row of B; {PACK_STRIP_USES} are needed"
        ));
    }
    let used = (stored / m.max(1)).saturating_mul(b.row_bytes);
    let why = format!("a window uses {used} bytes of B; {} are needed", beyond_core(machine));
    if used < beyond_core(machine) {
        return Err(why);
    }
    let panel_bytes = 4 * b.vector_bytes;
    if panel_bytes > machine.wide_panel_budget {
        return Err(format!("the last-level cache does not hold a panel of {panel_bytes} bytes"));
    }
    let rows = spec.window_rows();
    if threads > 2 && rows > PACK_STRIP_ROWS {
        return Err(format!(
            "on {threads} threads windows of up to {PACK_STRIP_ROWS} rows gain by it, not of {rows}"
        ));
    }
    b.shares(case, 4)?;
    Ok((PanelConfig::new(case, 4, b.least_row(beyond_core(machine)), k), why))
}

#[cfg(test)]
mod tests {
    use girih_formats::FormatSpec;

    use super::*;
    use crate::Isa;
    use crate::lowering::testing::case;
    use crate::machine::Machine;

    /// Tilings other than CSR, of `m` rows with `stored` values.
    fn tiled(spec: FormatSpec, m: usize, k: usize, stored: usize) -> Case {
        Case { spec, stored, ..case(m, k, 0, 1, Machine::with_caches(32 << 20, 1 << 20)) }
    }

    #[test]
    fn dense_tiles_pack_what_a_core_does_not_hold_where_each_row_uses_many() {
        let cache = Machine::with_caches(32 << 20, 1 << 20);
        let in_cache = |k, stored, (window_rows, used), n, threads, machine| {
            let spec = FormatSpec::Wcsr { window_rows, pad_cols: 8 };
            let case = Case { n, threads, machine, ..tiled(spec, stored / used, k, stored) };
            for_strips(&case).ok().map(|(panels, _)| panels.vectors)
        };
        let vectors =
            |stored, window, n, threads| in_cache(2048, stored, window, n, threads, cache);
        let avx2 = Case {
            n: 256,
            isa: Isa::Avx2,
            ..tiled(FormatSpec::BlockedEll { block_size: 64 }, 1024, 2048, 1 << 21)
        };
        assert!(for_strips(&avx2).is_err() && for_strips(&Case { isa: Isa::Neon, ..avx2 }).is_ok());
        assert_eq!(vectors(1 << 21, (64, 2048), 256, 1), Some(4));
        assert!(vectors(1 << 21, (64, 2048), 255, 1).is_none());
        assert!(vectors(1 << 20, (64, 2048), 256, 1).is_none());
        // Blocks here and there: a core holds what a window uses.
        assert!(vectors(1 << 21, (64, 1024), 256, 1).is_none());
        // ManyVectors threads share low strips alone, and 16 would pack each of the four panels together.
        assert_eq!(
            [2, 4].map(|threads| vectors(1 << 21, (64, 2048), 256, threads)),
            [Some(4), None]
        );
        assert_eq!(
            [4, 16].map(|threads| vectors(1 << 21, (16, 2048), 256, threads)),
            [Some(4), None]
        );
        // Of a B this large not even a panel stays in the last-level cache.
        assert!(in_cache(1 << 16, 1 << 30, (64, 1 << 16), 256, 1, cache).is_none());
    }
}
