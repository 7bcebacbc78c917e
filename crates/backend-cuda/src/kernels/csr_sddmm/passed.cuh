// What the host passes, generated from kernels/csr_sddmm/params.rs: change it there.
#pragma once

// A row that has entries, and where they end.
struct alignas(16) Row {
    // Where its entries end.
    u64 end;
    // The row of X.
    u32 row;
    u32 unused;
};
static_assert(sizeof(Row) == 16, "the host has 16 bytes");

// What the entry points are passed. Addresses are of device memory, strides count elements.
struct Params {
    // Those that have entries, in order, and one more.
    const Row* rows;
    // Of each group of entries, the number among `rows` of the row that the first is in.
    const u32* first_row;
    const u32* col_idx;
    const void* x;
    const void* y;
    void* s;
    u64 nnz;
    u64 d;
    u64 x_row_stride;
    u64 x_col_stride;
    u64 y_row_stride;
    u64 y_col_stride;
    u64 s_stride;
    // In 8 bytes each.
    alignas(8) Acc alpha;
    alignas(8) Acc beta;
    // Entries that a team takes: a multiple of `kGroup`.
    alignas(8) u32 run;
    u32 unused;
};
static_assert(sizeof(Params) == 128, "the host has 128 bytes");
