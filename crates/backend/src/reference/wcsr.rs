//! WCSR: one row of the window's strip, without its padded columns.

use girih_formats::{PAD_COL, Scalar, Wcsr};

pub(super) fn visit<T: Scalar>(t: &Wcsr<T>, slot: usize, mut visit: impl FnMut(usize, T)) {
    let (window, r) = (slot / t.window_rows(), slot % t.window_rows());
    let strip = t.window_ptr()[window] as usize..t.window_ptr()[window + 1] as usize;
    let values = &t.values()[r * t.packed_cols()..][..t.packed_cols()];
    for (&col, &value) in t.window_col_idx()[strip.clone()].iter().zip(&values[strip]) {
        if col != PAD_COL {
            visit(col as usize, value);
        }
    }
}
