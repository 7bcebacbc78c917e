//! How a line of B is read: unit column stride, or any.

use girih_formats::Scalar;

use crate::isa::Widen;

/// A way to read lines of B.
pub(crate) trait Access {
    /// Whether several lines at once pay.
    const WIDE: bool;

    /// A whole line, `line` lines to the right of `p`.
    ///
    /// # Safety
    /// The instruction set of `V`; its lanes must lie inside B.
    unsafe fn line<T: Scalar, V: Widen<T>>(p: *const T, line: usize, col_stride: isize) -> V;

    /// The first `len` lanes of a line; `mask` is of that length.
    ///
    /// # Safety
    /// The instruction set of `V`; those lanes must lie inside B.
    unsafe fn part<T: Scalar, V: Widen<T>>(
        p: *const T,
        line: usize,
        col_stride: isize,
        mask: V::Mask,
        len: usize,
    ) -> V;
}

/// Columns next to each other.
pub(crate) struct Unit;

impl Access for Unit {
    const WIDE: bool = true;

    #[inline(always)]
    unsafe fn line<T: Scalar, V: Widen<T>>(p: *const T, line: usize, _: isize) -> V {
        // SAFETY: the caller's contract.
        unsafe { V::widen(p.add(line * V::LANES)) }
    }

    #[inline(always)]
    unsafe fn part<T: Scalar, V: Widen<T>>(
        p: *const T,
        line: usize,
        _: isize,
        mask: V::Mask,
        _: usize,
    ) -> V {
        // SAFETY: the caller's contract.
        unsafe { V::widen_masked(p.add(line * V::LANES), mask) }
    }
}

/// Columns at any distance, gathered one by one.
pub(crate) struct Strided;

impl Access for Strided {
    const WIDE: bool = false;

    #[inline(always)]
    unsafe fn line<T: Scalar, V: Widen<T>>(p: *const T, line: usize, col_stride: isize) -> V {
        // SAFETY: the caller's contract.
        unsafe { gather(p, line, col_stride, V::LANES) }
    }

    #[inline(always)]
    unsafe fn part<T: Scalar, V: Widen<T>>(
        p: *const T,
        line: usize,
        col_stride: isize,
        _: V::Mask,
        len: usize,
    ) -> V {
        // SAFETY: the caller's contract.
        unsafe { gather(p, line, col_stride, len) }
    }
}

/// The first `len` lanes of a line with a column stride, zero in the rest.
#[inline(always)]
unsafe fn gather<T: Scalar, V: Widen<T>>(
    p: *const T,
    line: usize,
    col_stride: isize,
    len: usize,
) -> V {
    let mut all = [T::ZERO; 16];
    let first = (line * V::LANES) as isize;
    for (i, x) in all.iter_mut().enumerate().take(len) {
        // SAFETY: the lanes lie inside B.
        *x = unsafe { *p.offset((first + i as isize) * col_stride) };
    }
    // SAFETY: `all` holds at least a line; the instruction set is the caller's.
    unsafe { V::widen(all.as_ptr()) }
}
