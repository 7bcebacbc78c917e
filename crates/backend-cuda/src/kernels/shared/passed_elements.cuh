// What the host passes, generated from kernels/shared/elements.rs: change it there.
#pragma once

// B as it is read element by element. Strides count elements.
struct Elements {
    const void* first;
    u64 row_stride;
    u64 col_stride;
    // Rows and columns; beyond them all is zero.
    u64 k;
    u64 n;
};
static_assert(sizeof(Elements) == 40, "the host has 40 bytes");
