// What the products of a row's entries come to: their sum or, with AGGREGATE, something else.
//
// AGGREGATE is defined in kernels of aggregations: 1 where the greatest product is wanted, 2 where the mean. The
// least product is the greatest of products with A's signs changed, with its sign changed again: alpha is the
// sign, and A is multiplied by it as it is loaded. Host side: prepared/total.rs.
#pragma once

#include "shared/values.cuh"
#include "ptx/convert.cuh"

// No variable, so that nothing of it is left in binaries of sums.
#ifdef AGGREGATE
enum : bool { kAggregates = true, kIsGreatest = AGGREGATE == 1 };
#else
enum : bool { kAggregates = false, kIsGreatest = false };
#endif

// A value of A as its products are made of it.
template <class Acc>
__device__ __forceinline__ Acc signed_value(Acc sign, Acc value) {
    if constexpr (kIsGreatest) return sign * value;
    return value;
}

// What no products come to, before they are finished.
template <class Acc, u32 COLUMNS>
__device__ __forceinline__ void clear(Acc (&total)[COLUMNS]) {
#pragma unroll
    for (u32 i = 0; i < COLUMNS; ++i) {
        if constexpr (kIsGreatest) {
            total[i] = -Acc(__int_as_float(0x7f800000));
        } else {
            total[i] = Acc(0);
        }
    }
}

// What `total`, of earlier products, and a product come to.
template <class Acc>
__device__ __forceinline__ Acc add_product(Acc a, Acc b, Acc total) {
    if constexpr (kIsGreatest) {
        return ptx::greater(a * b, total);
    } else {
        return multiply_add(a, b, total);
    }
}

// What both parts of a row's products come to.
template <class Acc>
__device__ __forceinline__ Acc join(Acc x, Acc y) {
    if constexpr (kIsGreatest) {
        return ptx::greater(x, y);
    } else {
        return x + y;
    }
}

// The element of C, of what the products of `entries` entries came to. The reciprocal is rounded, and then the
// product with it.
template <class Acc>
__device__ __forceinline__ Acc finished(Acc total, Acc sign, u32 entries) {
    if (entries == 0) return Acc(0);
    return kIsGreatest ? sign * total : total * (Acc(1) / Acc(entries));
}
