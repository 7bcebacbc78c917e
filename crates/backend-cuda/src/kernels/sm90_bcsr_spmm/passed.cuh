// What the host passes, generated from kernels/sm90_bcsr_spmm/params.rs: change it there.
#pragma once

// Block rows that one CTA multiplies.
struct Group {
    // Steps before the first of this group.
    u64 first_step;
    u32 n_steps;
    // `kNoRow` where there are fewer.
    u32 block_rows[3];
};
static_assert(sizeof(Group) == 24, "the host has 24 bytes");

// What the entry points are passed. Addresses are of device memory, strides count elements.
struct Params {
    // Blocks below each other: boxes of 64 rows and what one row of shared memory holds.
    ptx::TensorMap a;
    // B: boxes of `kPerRow` rows and columns, or of `kPerRow` rows and all columns of a tile, transposed.
    ptx::TensorMap b;
    // C: boxes of 64 rows and 32 columns.
    ptx::TensorMap c;
    const Group* groups;
    const Step* steps;
    const void* b_elements;
    u64 b_row_stride;
    u64 b_col_stride;
    u64 k;
    Output output;
    // Whether C is written by tensor copies.
    u32 copies_c;
    // Whether alpha is zero, and nothing is multiplied.
    u32 is_scaling;
    // Groups, and tiles of columns.
    u32 n_groups;
    u32 n_tiles;
    u32 padding[10];
};
static_assert(sizeof(Params) == 576, "the host has 576 bytes");
