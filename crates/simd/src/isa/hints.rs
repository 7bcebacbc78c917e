//! Instructions that change when memory is read or written, and never what.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Prefetches a cache line into the first-level cache; `p` need not be valid.
#[inline(always)]
pub(super) fn prefetch<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of every x86-64, and faults for no address.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(p.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// Prefetches a cache line into the second-level cache; `p` need not be valid.
#[inline(always)]
pub(super) fn prefetch_l2<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of every x86-64, and faults for no address.
    unsafe {
        _mm_prefetch::<_MM_HINT_T1>(p.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// Makes writes past the caches visible before writes that follow.
#[inline(always)]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of every x86-64.
    unsafe {
        _mm_sfence();
    }
}
