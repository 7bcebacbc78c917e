// What the host passes, generated from kernels/put_values/mod.rs: change it there.
#pragma once

// What the entry points are passed. Addresses are of device memory.
struct Params {
    // Elements of the part.
    void* to;
    // The entry that each holds, counted from 1; 0 if none, which is zero then.
    const u32* from;
    // Entries, in the order of the matrix that was planned.
    const void* values;
    // Elements from one entry to the next.
    u64 stride;
    u64 count;
};
static_assert(sizeof(Params) == 40, "the host has 40 bytes");
