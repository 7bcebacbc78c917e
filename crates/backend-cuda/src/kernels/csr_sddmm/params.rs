//! What the entry points are passed.

use crate::kernels::shared::passed::passed;

passed! {
    "csr_sddmm/passed.cuh";

    /// A row that has entries, and where they end.
    #[align(16)]
    #[derive(PartialEq, Eq)]
    pub(crate) struct Row {
        /// Where its entries end.
        end: u64,
        /// The row of X.
        row: u32,
        unused: u32,
    }

    /// What the entry points are passed. Addresses are of device memory, strides count elements.
    pub(crate) struct Params {
        /// Those that have entries, in order, and one more.
        rows: u64 as "const Row*",
        /// Of each group of entries, the number among `rows` of the row that the first is in.
        first_row: u64 as "const u32*",
        col_idx: u64 as "const u32*",
        x: u64 as "const void*",
        y: u64 as "const void*",
        s: u64 as "void*",
        nnz: u64,
        d: u64,
        x_row_stride: u64,
        x_col_stride: u64,
        y_row_stride: u64,
        y_col_stride: u64,
        s_stride: u64,
        /// In 8 bytes each.
        alpha: u64 as "alignas(8) Acc",
        beta: u64 as "alignas(8) Acc",
        /// Entries that a team takes: a multiple of `kGroup`.
        run: u32 as "alignas(8) u32",
        unused: u32,
    }
}
