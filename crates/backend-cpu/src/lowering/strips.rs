//! Whether the rows of B that a dense strip uses are packed for it.

use girih_formats::FormatSpec;

use super::{Case, Decision, Kernel};
use crate::thresholds::{STRIP_PACK_ROWS_MAX, STRIP_PACK_ROWS_MIN, STRIP_PACK_RUN_COLS};

/// Decides by the format and the instruction set alone.
pub(super) fn packing(case: &Case) -> Decision<bool> {
    let rows = case.spec.window_rows();
    let run = match case.spec {
        FormatSpec::Bcsr { block_cols, .. } => block_cols,
        FormatSpec::BlockedEll { block_size } => block_size,
        _ => 1,
    };
    let no = |why: String| Decision::new(false, why);
    if case.kernel() != Kernel::Strips {
        return no("only dense strips pack the rows of B that they use".to_owned());
    }
    if !case.isa.packs_strips() {
        return no(format!(
            "with {} a strip is several vectors wide, or it was not measured",
            case.isa
        ));
    }
    if !case.is_wide() {
        return no("values of 16 bits are widened piece by piece".to_owned());
    }
    if !(STRIP_PACK_ROWS_MIN..=STRIP_PACK_ROWS_MAX).contains(&rows) {
        let range = format!("{STRIP_PACK_ROWS_MIN} to {STRIP_PACK_ROWS_MAX}");
        return no(format!("windows of {rows} rows; {range} gain by it"));
    }
    if run > STRIP_PACK_RUN_COLS {
        let most = STRIP_PACK_RUN_COLS;
        return no(format!("blocks of {run} columns; up to {most} fit the scratch"));
    }
    Decision::new(
        true,
        format!("all {rows} rows of a window go through the rows of B that it uses"),
    )
}
