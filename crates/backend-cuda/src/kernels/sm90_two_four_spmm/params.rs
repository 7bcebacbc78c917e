//! What the entry points are passed: the host's side of the structure in `config.cuh`.

use bytemuck::{Pod, Zeroable};

use crate::kernels::shared::Output;
use crate::prepared::tensor_map::EncodedMap;

/// What the entry points are passed: `Params` in CUDA. Addresses are of device memory, strides count
/// elements.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    pub(crate) b: EncodedMap,
    pub(crate) c: EncodedMap,
    pub(crate) values: u64,
    pub(crate) metadata: u64,
    pub(crate) b_elements: u64,
    pub(crate) b_row_stride: u64,
    pub(crate) b_col_stride: u64,
    pub(crate) k: u64,
    pub(crate) n_slots: u64,
    pub(crate) output: Output,
    pub(crate) n_steps: u32,
    pub(crate) copies_c: u32,
    pub(crate) is_scaling: u32,
    pub(crate) unused: u32,
    pub(crate) slot_scales: u64,
    pub(crate) column_scales: u64,
    pub(crate) padding: [u32; 4],
}

const _: () = assert!(size_of::<Params>() == 448);
