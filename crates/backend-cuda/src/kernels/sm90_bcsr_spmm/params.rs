//! What the entry points are passed: `passed.cuh` has the same in CUDA.

use crate::kernels::shared::Output;
use crate::kernels::shared::passed::passed;
use crate::launch::tensor_map::EncodedMap;

/// Block rows of a CTA that takes several.
pub(crate) const GROUP_ROWS: usize = 3;
/// What stands for a row or a block that is not there.
pub(crate) const NONE: u32 = u32::MAX;

passed! {
    "sm90_bcsr_spmm/passed.cuh";

    /// Block rows that one CTA multiplies.
    #[derive(PartialEq, Eq)]
    pub(crate) struct Group {
        /// Steps before the first of this group.
        first_step: u64,
        n_steps: u32,
        /// `kNoRow` where there are fewer.
        block_rows: [u32; 3],
    }

    /// What the entry points are passed. Addresses are of device memory, strides count elements.
    pub(crate) struct Params {
        /// Blocks below each other: boxes of 64 rows and what one row of shared memory holds.
        a: EncodedMap,
        /// B: boxes of `kPerRow` rows and columns, or of `kPerRow` rows and all columns of a tile, transposed.
        b: EncodedMap,
        /// C: boxes of 64 rows and 32 columns.
        c: EncodedMap,
        groups: u64 as "const Group*",
        steps: u64 as "const Step*",
        b_elements: u64 as "const void*",
        b_row_stride: u64,
        b_col_stride: u64,
        k: u64,
        output: Output,
        /// Whether C is written by tensor copies.
        copies_c: u32,
        /// Whether alpha is zero, and nothing is multiplied.
        is_scaling: u32,
        /// Groups, and tiles of columns.
        n_groups: u32,
        n_tiles: u32,
        padding: [u32; 10],
    }
}
