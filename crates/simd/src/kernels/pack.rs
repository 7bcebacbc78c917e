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
    macro_rules! by_pieces {
        ($bytes:literal) => {
            // SAFETY: rows of B by point 1, their places by point 2. They have as many bytes.
            unsafe { copy_by::<V, T, $bytes>(b, rows, width, to, stride) }
        };
    }
    match width * size_of::<T>() {
        0 => {}
        64.. => by_pieces!(64),
        32.. => by_pieces!(32),
        16.. => by_pieces!(16),
        8.. => by_pieces!(8),
        4.. => by_pieces!(4),
        2.. => by_pieces!(2),
        1 => by_pieces!(1),
    }
}

/// The same by pieces of `N` bytes instead of calls. The last piece of a row ends with it.
///
/// # Safety
/// 1. As for [`copy`].
/// 2. `width` columns have at least `N` bytes.
#[inline(always)]
unsafe fn copy_by<V: Vector, T: Copy, const N: usize>(
    b: Source<T>,
    rows: usize,
    width: usize,
    to: *mut T,
    stride: usize,
) {
    let bytes = width * size_of::<T>();
    for i in 0..rows {
        let from = b.ptr.wrapping_offset(i as isize * b.row_stride);
        let ahead = from.wrapping_offset(PACK_AHEAD as isize * b.row_stride).cast::<u8>();
        let (from, to) = (from.cast::<u8>(), to.wrapping_add(i * stride).cast::<u8>());
        for at in (0..bytes).step_by(N) {
            V::prefetch(ahead.wrapping_add(at));
            let at = at.min(bytes - N);
            // SAFETY: `N` bytes are left of the row and of its place, by point 2.
            unsafe {
                let copied = from.add(at).cast::<[u8; N]>().read_unaligned();
                to.add(at).cast::<[u8; N]>().write_unaligned(copied);
            }
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
