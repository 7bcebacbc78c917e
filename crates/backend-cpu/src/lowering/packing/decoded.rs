//! Panels for rows that are decoded one by one: BMat and 2:4.

use girih_formats::FormatSpec;

use super::PackingResult;
use super::b_rows::{RowsOfB, beyond_core};
use super::config::PanelConfig;
use crate::lowering::Case;

/// Packs if each row uses more of B than a core's own caches hold.
pub(in crate::lowering) fn for_decoded(case: &Case) -> PackingResult {
    let &Case { spec, m, stored, machine, .. } = case;
    if spec == FormatSpec::TwoFour && !machine.slow_last_level {
        return Err(
            "2:4 would be decoded for each panel, which a fast last-level cache does not repay"
                .to_owned(),
        );
    }
    let b = RowsOfB::try_new(case, case.k)?;
    let row_len = stored / m.max(1);
    let used = row_len.saturating_mul(b.row_bytes);
    b.require_beyond_core(machine)?;
    let why = format!("a row uses {used} bytes of B; {} are needed", machine.private);
    if used < machine.private {
        return Err(why);
    }
    b.require_panel_stays(4, machine)?;
    b.shares(case, 4)?;
    Ok((PanelConfig::new(case, 4, b.least_row(beyond_core(machine)), case.k), why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lowering::testing::case;
    use crate::machine::Machine;

    /// Tilings other than CSR, of `m` rows with `stored` values.
    fn tiled(spec: FormatSpec, m: usize, k: usize, stored: usize) -> Case {
        Case { spec, stored, ..case(m, k, 0, 1, Machine::with_caches(32 << 20, 1 << 20)) }
    }

    #[test]
    fn two_four_packs_panels_where_the_last_level_cache_is_slow_and_bmat_everywhere() {
        let fast = Machine::with_caches(32 << 20, 1 << 20);
        let slow = Machine { slow_last_level: true, ..fast };
        for (spec, packs) in [
            (FormatSpec::TwoFour, [false, true]),
            (FormatSpec::BMat { pattern_only: false }, [true, true]),
        ] {
            let tiles = Case { n: 256, ..tiled(spec, 4, 2048, 4096) };
            let packs_on = |machine| for_decoded(&Case { machine, ..tiles }).is_ok();
            assert_eq!([packs_on(fast), packs_on(slow)], packs, "{spec}");
        }
    }

    #[test]
    fn long_decoded_rows_are_packed_where_a_core_does_not_hold_what_they_use() {
        let cache = Machine::with_caches(32 << 20, 1 << 20);
        let vectors = |row_len: usize, n, threads| {
            let spec = FormatSpec::BMat { pattern_only: false };
            let case = Case { n, threads, machine: cache, ..tiled(spec, 16, 2048, 16 * row_len) };
            for_decoded(&case).ok().map(|(panels, _)| panels.vectors)
        };
        assert_eq!(vectors(1024, 256, 1), Some(4));
        assert!(vectors(1023, 256, 1).is_none() && vectors(2048, 255, 1).is_none());
        assert!(vectors(1024, 256, 4).is_some() && vectors(1024, 256, 16).is_none());
    }
}
