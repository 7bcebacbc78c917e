//! What the entry points are passed: `passed.cuh` has the same in CUDA.

use crate::kernels::shared::Output;
use crate::kernels::shared::passed::passed;
use crate::launch::tensor_map::EncodedMap;

passed! {
    "sm90_two_four_spmm/passed.cuh";

    /// What the entry points are passed. Addresses are of device memory, strides count elements.
    pub(crate) struct Params {
        /// B: boxes of 64 columns and a CTA's share of 64 rows, or of 64 rows and a CTA's share of a tile's
        /// columns, transposed.
        b: EncodedMap,
        /// C: boxes of 64 rows and 32 columns.
        c: EncodedMap,
        /// Of every 128 slots and every step what a stage holds: values, and a word for each lane of a consumer.
        values: u64 as "const unsigned char*",
        metadata: u64 as "const unsigned char*",
        b_elements: u64 as "const void*",
        b_row_stride: u64,
        b_col_stride: u64,
        k: u64,
        n_slots: u64,
        output: Output,
        n_steps: u32,
        /// Whether C is written by tensor copies.
        copies_c: u32,
        /// Whether alpha is zero, and nothing is multiplied.
        is_scaling: u32,
        unused: u32,
        /// Of every slot and of every column, where values are narrow.
        slot_scales: u64 as "const float*",
        column_scales: u64 as "const float*",
        padding: [u32; 4],
    }
}
