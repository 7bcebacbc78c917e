//! B as kernels read it element by element.

use super::passed::passed;
use crate::operand::Place;

passed! {
    "shared/passed_elements.cuh";

    /// B as it is read element by element. Strides count elements.
    pub(crate) struct Elements {
        first: u64 as "const void*",
        row_stride: u64,
        col_stride: u64,
        /// Rows and columns; beyond them all is zero.
        k: u64,
        n: u64,
    }
}

impl Elements {
    pub(crate) fn of(b: &Place) -> Self {
        let &Place { address: first, rows, cols, row_stride, col_stride, .. } = b;
        Self { first, row_stride, col_stride, k: rows as u64, n: cols as u64 }
    }
}
