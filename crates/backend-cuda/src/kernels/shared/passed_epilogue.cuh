// What the host passes, generated from epilogue.rs: change it there.
#pragma once

// What the kernels are passed of an epilogue. The address is of device memory, strides count elements.
struct PlacedEpilogue {
    // In the type of C; null where nothing is added.
    const void* bias;
    // From one row's, or one column's, to the next one's. The other is zero.
    u64 row_stride;
    u64 col_stride;
    Activation activation;
    // What elements of C are rounded to: 0 if they are not, 1 for f16, 2 for bf16. Kernels are made
    // for one or the other, and do not read it.
    u32 output;
};
static_assert(sizeof(PlacedEpilogue) == 32, "the host has 32 bytes");
