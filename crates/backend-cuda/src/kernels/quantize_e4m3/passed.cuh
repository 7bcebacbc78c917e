// What the host passes, generated from kernels/quantize_e4m3/mod.rs: change it there.
#pragma once

// What the entry points are passed. Addresses are of device memory, strides count elements.
struct Params {
    const void* b;
    u64 row_stride;
    u64 col_stride;
    u64 k;
    u64 n;
    // Column j from codes + j * pitch on; k and then zeros, a multiple of 16 bytes.
    unsigned char* codes;
    u64 pitch;
    // Of each part of k, the bits of the largest magnitude of each column.
    u32* largest;
    // From one part to the next.
    u64 part_stride;
    float* scales;
    // Rows of a part, a multiple of `kDepth`.
    u32 part_rows;
    u32 n_parts;
};
static_assert(sizeof(Params) == 88, "the host has 88 bytes");
