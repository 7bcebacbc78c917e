//! Blocked-ELL: one row of every block that is not padding, cut off at the last column.

use girih_formats::{BlockedEll, PAD_COL, Scalar};

pub(super) fn visit<T: Scalar>(t: &BlockedEll<T>, slot: usize, mut visit: impl FnMut(usize, T)) {
    let (size, width) = (t.block_size(), t.ell_width());
    let blocks = &t.ell_col_idx()[slot / size * width..][..width];
    let values = &t.values()[slot * t.row_stride()..][..t.row_stride()];
    for (&block_col, values) in blocks.iter().zip(values.chunks_exact(size)) {
        if block_col == PAD_COL {
            continue;
        }
        for (col, &value) in (block_col as usize * size..t.ncols()).zip(values) {
            visit(col, value);
        }
    }
}
