// Adding up what others have stored in parts.
#pragma once

#include "shared/types.cuh"

// What `count` parts and `sum` come to, joined in order. They lie `stride` elements apart. AT_ONCE of them are waited for
// at a time: there may be hundreds, and each comes from beyond the first-level cache.
template <u32 AT_ONCE, class T, class Join>
__device__ __forceinline__ T join_parts(const T* from, u64 stride, u32 count, T sum, Join join) {
    for (u32 left = count; left > 0; left -= min(left, AT_ONCE)) {
        T parts[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; ++i, from += stride) {
            if (i < left) parts[i] = *from;
        }
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; ++i) {
            if (i < left) sum = join(sum, parts[i]);
        }
    }
    return sum;
}
