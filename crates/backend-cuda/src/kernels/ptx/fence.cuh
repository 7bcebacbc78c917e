// Fences between ordinary accesses and the asynchronous ones of copies and tensor cores.
#pragma once

namespace ptx {

// Lets the asynchronous accesses that follow - a copy out of shared memory, a wgmma - see what this
// thread wrote to shared memory by ordinary stores. Each writing thread fences, before the barrier.
__device__ __forceinline__ void fence_proxy_async_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace ptx
