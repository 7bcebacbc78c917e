//! Advice to the system on how it pages memory in.

/// Bytes from which memory is advised. Below, glibc keeps what was freed for the next allocation, so it is paged in once;
/// above, each allocation is mapped anew.
const ADVISED_FROM: usize = 32 << 20;

/// Bytes of a huge page, on the systems that are advised to use them.
const HUGE_PAGE: usize = 2 << 20;

/// Advises the system to give `memory` huge pages, where it spans whole ones. What is refused costs speed, nothing else.
pub(super) fn advise<T>(memory: &mut [T]) {
    let bytes = size_of_val(memory);
    if bytes < ADVISED_FROM {
        return;
    }
    let begin = memory.as_mut_ptr().cast::<u8>();
    let skip = begin.align_offset(HUGE_PAGE);
    let whole = bytes.saturating_sub(skip) / HUGE_PAGE * HUGE_PAGE;
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the range lies within memory that is borrowed here alone, and begins with a page. The advice changes none
    // of its bytes.
    unsafe {
        libc::madvise(begin.wrapping_add(skip).cast(), whole, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = whole;
}
