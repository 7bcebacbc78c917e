// Policies of the L2 cache, for copies that take one.
#pragma once

#include "shared/types.cuh"

namespace ptx {

// What is read or written with it is evicted first.
__device__ __forceinline__ u64 policy_evict_first() {
    u64 policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// What is read or written with it goes last.
__device__ __forceinline__ u64 policy_evict_last() {
    u64 policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

}  // namespace ptx
