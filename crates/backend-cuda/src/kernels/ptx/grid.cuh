// Grids of which one begins before the one before it in the stream has ended. Without such a launch, and on devices
// before Hopper, these do nothing.
#pragma once

namespace ptx {

// Lets the next grid begin once all blocks of this one have come here or ended. What it must wait for, it waits for
// itself.
__device__ __forceinline__ void let_next_grid_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Waits until the grid before this one has ended, and sees what it wrote.
__device__ __forceinline__ void wait_for_grid_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace ptx
