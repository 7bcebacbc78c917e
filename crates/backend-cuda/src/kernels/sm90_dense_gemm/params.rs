//! What the entry points are passed: the host's side of the structures in `config.cuh`.

use bytemuck::{Pod, Zeroable};

use crate::kernels::shared::Output;
use crate::operand::Place;
use crate::prepared::tensor_map::EncodedMap;

/// B as it is read element by element: `Elements` in CUDA.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Elements {
    pub(crate) first: u64,
    pub(crate) row_stride: u64,
    pub(crate) col_stride: u64,
    pub(crate) k: u64,
    pub(crate) n: u64,
}

impl Elements {
    pub(crate) fn of(b: &Place) -> Self {
        let &Place { address: first, rows, cols, row_stride, col_stride, .. } = b;
        Self { first, row_stride, col_stride, k: rows as u64, n: cols as u64 }
    }
}

/// What the entry points are passed: `Params` in CUDA. Addresses are of device memory, strides count
/// elements.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    pub(crate) a: EncodedMap,
    pub(crate) b: EncodedMap,
    pub(crate) c: EncodedMap,
    pub(crate) b_elements: Elements,
    pub(crate) output: Output,
    pub(crate) block_rows: u32,
    pub(crate) block_cols: u32,
    pub(crate) tiles_down: u32,
    pub(crate) tiles_across: u32,
    pub(crate) walk: u32,
    pub(crate) copies_c: u32,
    pub(crate) padding: [u32; 10],
}

const _: () = assert!(size_of::<Elements>() == 40 && size_of::<Params>() == 576);
