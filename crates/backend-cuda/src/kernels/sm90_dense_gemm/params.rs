//! What the entry points are passed: `passed.cuh` has the same in CUDA.

use crate::kernels::shared::passed::passed;
use crate::kernels::shared::{Elements, Output};
use crate::launch::tensor_map::EncodedMap;

passed! {
    "sm90_dense_gemm/passed.cuh";

    /// What the entry points are passed. Addresses are of device memory, strides count elements.
    pub(crate) struct Params {
        /// Blocks below each other, all that block rows can have: boxes of 64 rows and what one row of shared
        /// memory holds.
        a: EncodedMap,
        /// B: boxes of `kPerRow` rows and columns, or of `kPerRow` rows and a CTA's share of a tile's columns,
        /// transposed.
        b: EncodedMap,
        /// C: boxes as large as a patch.
        c: EncodedMap,
        b_elements: Elements,
        output: Output,
        /// Block rows, and blocks of each; none of those if alpha is zero, so that nothing is multiplied.
        block_rows: u32,
        block_cols: u32,
        /// Tiles below and beside each other, those of a cluster counted once.
        tiles_down: u32,
        tiles_across: u32,
        /// Tiles below each other that are walked through before the next beside them.
        walk: u32,
        /// Whether C is written by tensor copies.
        copies_c: u32,
        padding: [u32; 10],
    }
}
