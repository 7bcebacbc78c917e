//! Packing panels of B.

use girih_formats::Scalar;

use crate::isa::{Line, LineFor};
use crate::operands::Input;

/// Rows ahead of the one that is copied: rows of B are too far apart for the processor to see a
/// stream in them.
const AHEAD: usize = 16;

/// Copies `rows` rows of `width` columns from row `first` of B on to rows of `stride` elements.
///
/// # Safety
/// The machine must have `I`. B must have those rows and columns; `to` must be valid for `rows` rows of
/// `stride ≥ width` elements, and accessed by no other thread.
pub(crate) unsafe fn pack<I: LineFor<T>, T: Scalar>(
    b: Input<T>,
    first: usize,
    rows: usize,
    width: usize,
    to: *mut T,
    stride: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        I::call(
            #[inline(always)]
            move || copy::<I::Line, T>(b, first, rows, width, to, stride),
        );
    }
}

/// # Safety
/// As for [`pack`], with the instruction set of `V`.
#[inline(always)]
unsafe fn copy<V: Line, T: Copy>(
    b: Input<T>,
    first: usize,
    rows: usize,
    width: usize,
    to: *mut T,
    stride: usize,
) {
    for i in 0..rows {
        let from = b.ptr.wrapping_offset((first + i) as isize * b.row_stride);
        // SAFETY: the caller's contract, for every access below.
        unsafe {
            let to = to.add(i * stride);
            if b.col_stride != 1 {
                for j in 0..width {
                    *to.add(j) = *from.offset(j as isize * b.col_stride);
                }
            } else if width == stride {
                // Whole lines, so that the copy takes vectors instead of a call.
                let ahead = from.wrapping_offset(AHEAD as isize * b.row_stride);
                for j in (0..width).step_by(64 / size_of::<T>()) {
                    V::prefetch(ahead.wrapping_add(j));
                    let line = from.add(j).cast::<[u8; 64]>().read_unaligned();
                    to.add(j).cast::<[u8; 64]>().write_unaligned(line);
                }
            } else {
                std::ptr::copy_nonoverlapping(from, to, width);
            }
        }
    }
}
