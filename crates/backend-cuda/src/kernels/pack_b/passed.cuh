// What the host passes, generated from kernels/pack_b/mod.rs: change it there.
#pragma once

// What the entry points are passed. Addresses are of device memory, strides count elements.
struct Params {
    void* to;
    const void* from;
    u64 rows;
    u64 cols;
    // From one row of the copy to the next: whole vectors.
    u64 pitch;
    u64 row_stride;
    u64 col_stride;
    u64 tiles_of_columns;
};
static_assert(sizeof(Params) == 64, "the host has 64 bytes");
