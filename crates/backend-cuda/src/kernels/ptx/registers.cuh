// Registers handed from one warpgroup to another: setmaxnreg.
//
// The kernel needs __launch_bounds__ with both numbers, and each role is one branch of one if: else the
// assembler ignores the instruction. COUNT is a multiple of 8 from 24 to 256; all warps of a warpgroup
// execute it.
#pragma once

#include "shared/types.cuh"

namespace ptx {

// Gives registers back until each thread has COUNT.
template <u32 COUNT>
__device__ __forceinline__ void decrease_registers() {
    static_assert(COUNT % 8 == 0 && COUNT >= 24 && COUNT <= 256, "no such number of registers");
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// Takes registers that others gave back, waiting for them, until each thread has COUNT.
template <u32 COUNT>
__device__ __forceinline__ void increase_registers() {
    static_assert(COUNT % 8 == 0 && COUNT >= 24 && COUNT <= 256, "no such number of registers");
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

}  // namespace ptx
