// What the host passes, generated from kernels/sm90_two_four_spmm/params.rs: change it there.
#pragma once

// What the entry points are passed. Addresses are of device memory, strides count elements.
struct Params {
    // B: boxes of 64 columns and a CTA's share of 64 rows, or of 64 rows and a CTA's share of a tile's
    // columns, transposed.
    ptx::TensorMap b;
    // C: boxes of 64 rows and 32 columns.
    ptx::TensorMap c;
    // Of every 128 slots and every step what a stage holds: values, and a word for each lane of a consumer.
    const unsigned char* values;
    const unsigned char* metadata;
    const void* b_elements;
    u64 b_row_stride;
    u64 b_col_stride;
    u64 k;
    u64 n_slots;
    Output output;
    u32 n_steps;
    // Whether C is written by tensor copies.
    u32 copies_c;
    // Whether alpha is zero, and nothing is multiplied.
    u32 is_scaling;
    u32 unused;
    // Of every slot and of every column, where values are narrow.
    const float* slot_scales;
    const float* column_scales;
    u32 padding[4];
};
static_assert(sizeof(Params) == 448, "the host has 448 bytes");
