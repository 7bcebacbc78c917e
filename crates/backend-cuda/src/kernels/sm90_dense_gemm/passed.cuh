// What the host passes, generated from kernels/sm90_dense_gemm/params.rs: change it there.
#pragma once

// What the entry points are passed. Addresses are of device memory, strides count elements.
struct Params {
    // Blocks below each other, all that block rows can have: boxes of 64 rows and what one row of shared
    // memory holds.
    ptx::TensorMap a;
    // B: boxes of `kPerRow` rows and columns, or of `kPerRow` rows and a CTA's share of a tile's columns,
    // transposed.
    ptx::TensorMap b;
    // C: boxes as large as a patch.
    ptx::TensorMap c;
    Elements b_elements;
    Output output;
    // Block rows, and blocks of each; none of those if alpha is zero, so that nothing is multiplied.
    u32 block_rows;
    u32 block_cols;
    // Tiles below and beside each other, those of a cluster counted once.
    u32 tiles_down;
    u32 tiles_across;
    // Tiles below each other that are walked through before the next beside them.
    u32 walk;
    // Whether C is written by tensor copies.
    u32 copies_c;
    u32 padding[10];
};
static_assert(sizeof(Params) == 576, "the host has 576 bytes");
