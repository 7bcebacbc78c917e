//! Packing panels of B.

use girih_formats::Scalar;

use crate::isa::{Vector, VectorsFor};
use crate::operands::Source;
use crate::thresholds::{PACK_AHEAD, PACK_TOGETHER};

/// Copies `rows` rows of `width` columns, from row `first` of B on, to rows of `stride` elements.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. B has these rows and columns.
/// 3. `to` is valid for `rows` rows of `stride ≥ width` elements, and no other thread accesses it.
pub(crate) unsafe fn pack<I: VectorsFor<T>, T: Scalar>(
    b: Source<T>,
    first: usize,
    rows: usize,
    width: usize,
    to: *mut T,
    stride: usize,
) {
    let b = Source { ptr: b.ptr.wrapping_offset(first as isize * b.row_stride), ..b };
    // SAFETY: the instruction set by point 1, elements of B by point 2, those of `to` by point 3.
    unsafe {
        I::call(
            #[inline(always)]
            move || {
                if b.col_stride == 1 {
                    copy::<I::Vector, T>(b, rows, width, to, stride);
                } else {
                    transpose(b, rows, width, to, stride);
                }
            },
        );
    }
}

/// Rows whose columns are next to each other.
///
/// # Safety
/// 1. B has `rows` rows of `width` columns, next to each other.
/// 2. `to` is valid for `rows` rows of `stride ≥ width` elements, and no other thread accesses it.
#[inline(always)]
unsafe fn copy<V: Vector, T: Copy>(
    b: Source<T>,
    rows: usize,
    width: usize,
    to: *mut T,
    stride: usize,
) {
    let cache_line = const { 64 / size_of::<T>() };
    for i in 0..rows {
        let from = b.ptr.wrapping_offset(i as isize * b.row_stride);
        let to = to.wrapping_add(i * stride);
        if width == stride && width.is_multiple_of(cache_line) {
            // Whole cache lines, so that the copy takes vectors instead of a call.
            let ahead = from.wrapping_offset(PACK_AHEAD as isize * b.row_stride);
            for j in (0..width).step_by(cache_line) {
                V::prefetch(ahead.wrapping_add(j));
                // SAFETY: `width` is whole cache lines, so one is left of the row by point 1, and of `to` by
                // point 2.
                unsafe {
                    let copied = from.add(j).cast::<[u8; 64]>().read_unaligned();
                    to.add(j).cast::<[u8; 64]>().write_unaligned(copied);
                }
            }
        } else {
            // SAFETY: the row has `width` elements by point 1, and so has its place by point 2.
            unsafe { std::ptr::copy_nonoverlapping(from, to, width) };
        }
    }
}

/// Rows whose columns are anywhere: a column of some rows after the other.
///
/// # Safety
/// 1. B has `rows` rows of `width` columns.
/// 2. `to` is valid for `rows` rows of `stride ≥ width` elements, and no other thread accesses it.
#[inline(always)]
unsafe fn transpose<T: Copy>(b: Source<T>, rows: usize, width: usize, to: *mut T, stride: usize) {
    for start in (0..rows).step_by(PACK_TOGETHER) {
        for j in 0..width {
            let column = b.ptr.wrapping_offset(j as isize * b.col_stride);
            for i in start..rows.min(start + PACK_TOGETHER) {
                // SAFETY: element `j` of row `i` is in B by point 1, and its place in `to` by point 2.
                unsafe { *to.add(i * stride + j) = *column.offset(i as isize * b.row_stride) };
            }
        }
    }
}
