//! What the entry points are passed: the host's side of the structures in `sm90_bcsr_spmm.cu`.

use bytemuck::{Pod, Zeroable};

use crate::kernels::shared::Output;
use crate::prepared::tensor_map::EncodedMap;

/// Block rows of a CTA that takes several.
pub(crate) const GROUP_ROWS: usize = 3;
/// What stands for a row or a block that is not there.
pub(crate) const NONE: u32 = u32::MAX;

/// Block rows that one CTA multiplies: `Group` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Group {
    /// Steps before its first.
    pub(crate) first_step: u64,
    pub(crate) n_steps: u32,
    /// [`NONE`] where there are fewer.
    pub(crate) block_rows: [u32; GROUP_ROWS],
}

/// What the entry points are passed: `Params` in CUDA. Addresses are of device memory, strides count
/// elements.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    pub(crate) a: EncodedMap,
    pub(crate) b: EncodedMap,
    pub(crate) c: EncodedMap,
    pub(crate) groups: u64,
    pub(crate) steps: u64,
    pub(crate) b_elements: u64,
    pub(crate) b_row_stride: u64,
    pub(crate) b_col_stride: u64,
    pub(crate) k: u64,
    pub(crate) output: Output,
    pub(crate) copies_c: u32,
    pub(crate) is_scaling: u32,
    pub(crate) n_groups: u32,
    pub(crate) n_tiles: u32,
    pub(crate) padding: [u32; 10],
}

const _: () = assert!(size_of::<Group>() == 24 && size_of::<Params>() == 576);
