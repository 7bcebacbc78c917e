//! BCSR: one row of every block of the block row, cut off at the last column.

use girih_formats::{Bcsr, Scalar};

pub(super) fn visit<T: Scalar>(t: &Bcsr<T>, slot: usize, mut visit: impl FnMut(usize, T)) {
    let (block_rows, block_cols) = (t.block_rows(), t.block_cols());
    let (block_row, r) = (slot / block_rows, slot % block_rows);
    for block in t.block_row_ptr()[block_row]..t.block_row_ptr()[block_row + 1] {
        let block = block as usize;
        let first_col = t.block_col_idx()[block] as usize * block_cols;
        let values = &t.values()[(block * block_rows + r) * block_cols..][..block_cols];
        for (col, &value) in (first_col..t.ncols()).zip(values) {
            visit(col, value);
        }
    }
}
