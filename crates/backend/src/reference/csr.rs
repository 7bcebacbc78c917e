//! CSR: the entries of the row in the slot.

use girih_formats::{RowCsr, Scalar};

pub(super) fn visit<T: Scalar>(t: &RowCsr<T>, slot: usize, mut visit: impl FnMut(usize, T)) {
    let (cols, values) = t.csr().row(slot);
    for (&col, &value) in cols.iter().zip(values) {
        visit(col as usize, value);
    }
}
