//! What the entry points are passed.

use bytemuck::{Pod, Zeroable};

/// A row that has entries: `Row` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Row {
    /// Where its entries end.
    pub(crate) end: u64,
    /// The row of X.
    pub(crate) row: u32,
    pub(crate) unused: u32,
}

/// What the entry points are passed: `Params` in CUDA. Addresses are of device memory, strides count
/// elements.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    pub(crate) rows: u64,
    pub(crate) first_row: u64,
    pub(crate) col_idx: u64,
    pub(crate) x: u64,
    pub(crate) y: u64,
    pub(crate) s: u64,
    pub(crate) nnz: u64,
    pub(crate) d: u64,
    pub(crate) x_row_stride: u64,
    pub(crate) x_col_stride: u64,
    pub(crate) y_row_stride: u64,
    pub(crate) y_col_stride: u64,
    pub(crate) s_stride: u64,
    /// In the accumulation type, its bits the lowest.
    pub(crate) alpha: u64,
    pub(crate) beta: u64,
    pub(crate) run: u32,
    pub(crate) unused: u32,
}

const _: () = assert!(size_of::<Row>() == 16);
const _: () = assert!(size_of::<Params>() == 128);
