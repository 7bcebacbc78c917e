//! Storing rows of a few sums from scratch: an activation and rounding by vectors of several rows.

use girih_formats::Scalar;

use super::elements::{VECTORIZED, act};
use super::finish_rows::{AT_ONCE, Aligned, PER_COLUMN, PER_ROW};
use crate::isa::{Compile, Vector};
use crate::operands::{Finish, Output, RoundedC, RowMap};

/// Rows of fewer columns share vectors.
pub(super) const WIDE: usize = VECTORIZED;

/// Finishes rows of fewer than [`WIDE`] sums, several at a time: `act(α·sum + bias)`.
///
/// # Safety
/// 1. The machine has the instruction set of `V`, and this is part of a function that is compiled for it.
/// 2. There are `cols` sums for every slot of `map`, one at least, and as many elements in its row of C, next to each
///    other, which no other thread accesses: those from `c` on in row 0, if that is one.
/// 3. `bias` has a value for every row, or for every column, as `BIAS` says.
/// 4. β is zero.
#[inline(always)]
pub(super) unsafe fn finish_narrow<V: Vector, const BIAS: u8>(
    sums: &[V::Acc],
    out: &Output<V::Acc>,
    finish: &Finish<V::Acc>,
    c: Option<RoundedC>,
    bias: &[V::Acc],
    map: RowMap<'_>,
    cols: usize,
) {
    let at_once = AT_ONCE / cols;
    let mut of_cols = Aligned([V::Acc::ZERO; AT_ONCE]);
    if BIAS == PER_COLUMN {
        of_cols.0.chunks_exact_mut(cols).for_each(|row| row.copy_from_slice(&bias[..cols]));
    }
    let mut some = Aligned([V::Acc::ZERO; AT_ONCE]);
    let mut rounded = [0u16; AT_ONCE];
    for first in (0..map.len()).step_by(at_once) {
        let map = map.part(first, at_once);
        let sums = &sums[first * cols..][..map.len() * cols];
        let some = &mut some.0[..sums.len()];
        for ((some, &sum), &bias) in some.iter_mut().zip(sums).zip(&of_cols.0) {
            *some = out.alpha * sum;
            if BIAS == PER_COLUMN {
                *some += bias;
            }
        }
        if BIAS == PER_ROW {
            for (i, some) in some.chunks_exact_mut(cols).enumerate() {
                let bias = map.row(i).map_or(V::Acc::ZERO, |row| bias[row]);
                some.iter_mut().for_each(|some| *some += bias);
            }
        }
        act::<V>(finish.activation, some);
        // SAFETY: the instruction set by point 1; there is space for as many rounded numbers, and the elements of C by
        // point 2.
        unsafe {
            let Some(c) = c else {
                scatter(some, cols, map, out.ptr, out.row_stride);
                continue;
            };
            V::Isa::narrow::<false>(
                some.as_ptr().cast(),
                rounded.as_mut_ptr(),
                some.len(),
                c.is_bf16,
            );
            scatter(&rounded[..some.len()], cols, map, c.ptr, out.row_stride);
        }
    }
}

/// Copies rows of `cols` elements to rows of C, from `to` on in row 0.
///
/// # Safety
/// 1. There is a row for every slot of `map`, and as many elements in its row of C, which no other thread accesses.
#[inline(always)]
unsafe fn scatter<E: Copy>(
    rows: &[E],
    cols: usize,
    map: RowMap<'_>,
    to: *mut E,
    row_stride: isize,
) {
    macro_rules! by_pieces {
        ($bytes:literal) => {
            // SAFETY: point 1. Rows have as many bytes.
            unsafe { scatter_by::<E, $bytes>(rows, cols, map, to, row_stride) }
        };
    }
    match cols * size_of::<E>() {
        16.. => by_pieces!(16),
        8.. => by_pieces!(8),
        4.. => by_pieces!(4),
        2.. => by_pieces!(2),
        _ => by_pieces!(1),
    }
}

/// The same by pieces of `N` bytes instead of calls. The last piece of a row ends with it.
///
/// # Safety
/// 1. As for [`scatter`]. Rows have at least `N` bytes.
#[inline(always)]
unsafe fn scatter_by<E: Copy, const N: usize>(
    rows: &[E],
    cols: usize,
    map: RowMap<'_>,
    to: *mut E,
    row_stride: isize,
) {
    let bytes = cols * size_of::<E>();
    for (i, from) in rows.chunks_exact(cols).enumerate() {
        let Some(row) = map.row(i) else { continue };
        let from = from.as_ptr().cast::<u8>();
        let to = to.wrapping_offset(row as isize * row_stride).cast::<u8>();
        for at in (0..bytes).step_by(N) {
            let at = at.min(bytes - N);
            // SAFETY: `N` bytes are left of the row and of its place, by point 1.
            unsafe {
                let copied = from.add(at).cast::<[u8; N]>().read_unaligned();
                to.add(at).cast::<[u8; N]>().write_unaligned(copied);
            }
        }
    }
}
