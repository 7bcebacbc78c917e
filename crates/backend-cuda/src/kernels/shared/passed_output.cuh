// What the host passes, generated from kernels/shared/mod.rs: change it there.
#pragma once

// C as a kernel writes it. Addresses are of device memory, strides count elements.
struct PlacedOutput {
    OfC* c;
    // The row of C for each slot, all bits set if it has none; null where slot i is row i.
    const u32* rows;
    u64 m;
    u64 n;
    u64 row_stride;
    u64 col_stride;
    float alpha;
    float beta;
    Epilogue epilogue;
};
static_assert(sizeof(PlacedOutput) == 88, "the host has 88 bytes");
