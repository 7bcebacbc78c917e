//! Storing rows of sums from scratch after a bias, an activation or rounding: without a call for every few vectors.

use girih_backend::Activation;
use girih_formats::{RealNumber, Scalar};

use super::elements::{VECTORIZED, act, elements};
use super::finish_narrow::{WIDE, finish_narrow};
use super::rounded::widened;
use crate::isa::{Compile, Vector};
use crate::operands::{Finish, Output, RoundedC, RowMap};

/// Elements that are finished at a time.
pub(super) const AT_ONCE: usize = 64;
/// Elements of 16 bits in a cache line.
const LINE: usize = 32;

/// Elements from a cache line's beginning on.
#[repr(align(64))]
pub(super) struct Aligned<A>(pub(super) [A; AT_ONCE]);

// What is added to the elements of a row: nothing, its own value, or a value for each column.
const NONE: u8 = 0;
pub(super) const PER_ROW: u8 = 1;
pub(super) const PER_COLUMN: u8 = 2;

/// Stores rows of sums, those of slot `i` at `sums[i·width ..]`: `out = act(α·sum + β·out + bias)`, with the bits of
/// [`finish_vectors`](super::finish::finish_vectors). Cache lines of a C that leaves the caches are written past them, if the
/// [finish](Finish::streams) says so: other threads see them after a fence.
///
/// # Safety
/// 1. The machine has the instruction set of `V`.
/// 2. `sums` holds `width` sums for every slot of `map`.
/// 3. The rows of C in `map` are valid for `width` columns, and no other thread accesses them.
/// 4. The finish is the output's.
#[inline(always)]
pub(super) unsafe fn finish_rows<V: Vector>(
    sums: &[V::Acc],
    out: Output<V::Acc>,
    finish: &Finish<V::Acc>,
    map: RowMap<'_>,
    width: usize,
) {
    let is_alone = !finish.has_bias();
    // Rows that follow one another without gaps are finished as one, if no element needs to know its row; rows of a single
    // column always are.
    let (out, map, cols) = match map {
        RowMap::Consecutive { first, len } if finish.is_column() => {
            (out.across(), RowMap::Consecutive { first, len: len.min(1) }, len)
        }
        RowMap::Consecutive { first, len } if is_alone && out.has_no_gaps(width) => {
            (out, RowMap::Consecutive { first, len: len.min(1) }, len * width)
        }
        _ => (out, map, width),
    };
    assert!(map.len() * cols <= sums.len());
    macro_rules! call {
        ($code:expr) => {
            V::Isa::call(
                #[inline(always)]
                move || $code,
            )
        };
    }
    let streams = finish.streams();
    let by_vectors = out.col_stride == 1 && out.beta.is_zero();
    let is_narrow = by_vectors && cols < WIDE && !finish.is_column();
    let rounds_alone = out.beta.is_zero() && finish.rounds_alone() && out.alpha == V::Acc::ONE;
    let is_scattered_column = finish.is_column() && matches!(map, RowMap::Scattered(_));
    // SAFETY: the instruction set by point 1. There are as many sums as asserted, and elements of C by point 3: those that
    // addresses stand for if it is rounded. The finish is the output's by point 4, and as each needs where it is called.
    unsafe {
        match (finish.rounded_at(out.ptr), finish.row_bias(out.ptr)) {
            (Some(c), _) if is_scattered_column && rounds_alone => {
                call!(round_column::<V>(sums, c, out.row_stride, map));
            }
            _ if is_scattered_column => call!(finish_column::<V>(sums, &out, finish, map)),
            (c, None) if is_narrow => {
                call!(finish_narrow::<V, NONE>(sums, &out, finish, c, &[], map, cols));
            }
            (c, Some((bias, true))) if is_narrow => {
                call!(finish_narrow::<V, PER_ROW>(sums, &out, finish, c, bias, map, cols));
            }
            (c, Some((bias, false))) if is_narrow => {
                call!(finish_narrow::<V, PER_COLUMN>(sums, &out, finish, c, bias, map, cols));
            }
            (Some(c), _) if by_vectors && rounds_alone && c.is_bf16 => {
                call!(round_rows::<V, true>(sums, c, out.row_stride, streams, map, cols));
            }
            (Some(c), _) if by_vectors && rounds_alone => {
                call!(round_rows::<V, false>(sums, c, out.row_stride, streams, map, cols));
            }
            (c, None) if by_vectors && is_alone => {
                call!(finish_by_vectors::<V, NONE>(sums, &out, finish, c, &[], map, cols));
            }
            (c, Some((bias, true))) if by_vectors && !finish.is_column() => {
                call!(finish_by_vectors::<V, PER_ROW>(sums, &out, finish, c, bias, map, cols));
            }
            (c, Some((bias, false))) if by_vectors && !finish.is_column() => {
                call!(finish_by_vectors::<V, PER_COLUMN>(sums, &out, finish, c, bias, map, cols));
            }
            _ => call!(finish_by_elements::<V>(sums, &out, map, cols)),
        }
    }
}

/// Rounds rows of sums of f32 to a C whose columns are next to each other. `c` is its element in row 0 and the first column.
///
/// # Safety
/// 1. The machine has the instruction set of `V`, and this is part of a function that is compiled for it.
/// 2. There are `cols` sums for every slot of `map`, and as many elements in its row of C, which no other thread accesses.
#[inline(always)]
unsafe fn round_rows<V: Vector, const BF16: bool>(
    sums: &[V::Acc],
    c: RoundedC,
    row_stride: isize,
    streams: bool,
    map: RowMap<'_>,
    cols: usize,
) {
    for i in 0..map.len() {
        let Some(row) = map.row(i) else { continue };
        let to = c.at(row as isize * row_stride).ptr;
        // Whole cache lines, of a row that begins with one.
        let in_lines = streams && to.addr().is_multiple_of(2 * LINE);
        let past = if in_lines { cols - cols % LINE } else { 0 };
        // SAFETY: the instruction set by point 1; sums and elements of C by point 2, which begin with a cache line if any
        // are written past the caches.
        unsafe {
            let from = sums.as_ptr().add(i * cols).cast::<f32>();
            if past > 0 {
                V::Isa::narrow::<true>(from, to, past, BF16);
            }
            V::Isa::narrow::<false>(from.add(past), to.add(past), cols - past, BF16);
        }
    }
}

/// Finishes rows of sums by vectors: `act(α·sum + bias)`.
///
/// # Safety
/// 1. The machine has the instruction set of `V`, and this is part of a function that is compiled for it.
/// 2. There are `cols` sums for every slot of `map`, and as many elements in its row of C, next to each other, which no
///    other thread accesses: those from `c` on in row 0, if that is one.
/// 3. `bias` has a value for every row, or for every column, as `BIAS` says.
/// 4. β is zero.
#[inline(always)]
unsafe fn finish_by_vectors<V: Vector, const BIAS: u8>(
    sums: &[V::Acc],
    out: &Output<V::Acc>,
    finish: &Finish<V::Acc>,
    c: Option<RoundedC>,
    bias: &[V::Acc],
    map: RowMap<'_>,
    cols: usize,
) {
    // Nothing is less, and NaN stays.
    let least = match finish.activation {
        Activation::Relu => V::Acc::ZERO,
        _ => V::Acc::from_f64(f64::NEG_INFINITY),
    };
    // SAFETY: the instruction set by point 1.
    let (alpha, least) = unsafe { (V::splat(out.alpha), V::splat(least)) };
    let is_gelu = finish.activation == Activation::Gelu;
    let streams = finish.streams() && c.is_none() && !is_gelu;
    let mut some = Aligned([V::Acc::ZERO; AT_ONCE]);
    for i in 0..map.len() {
        let Some(row) = map.row(i) else { continue };
        // SAFETY: the instruction set by point 1.
        let of_row = unsafe { V::splat(if BIAS == PER_ROW { bias[row] } else { V::Acc::ZERO }) };
        let from = &sums[i * cols..][..cols];
        for j in (0..cols).step_by(AT_ONCE) {
            let len = AT_ONCE.min(cols - j);
            let from = from[j..j + len].as_ptr();
            let of_cols = if BIAS == PER_COLUMN { bias[j..j + len].as_ptr() } else { from };
            let dst = out.row(row).wrapping_add(j);
            let to = if c.is_some() || is_gelu { some.0.as_mut_ptr() } else { dst };
            let streams = streams && to.addr().is_multiple_of(2 * LINE);
            macro_rules! finish {
                ($at:expr, |$p:ident| $load:expr) => {{
                    let $p = from.add($at);
                    let mut vector = $load.mul(alpha);
                    if BIAS == PER_ROW {
                        vector = vector.add(of_row);
                    }
                    if BIAS == PER_COLUMN {
                        let $p = of_cols.add($at);
                        vector = vector.add($load);
                    }
                    // Of equal ones the element stays, and so does NaN.
                    vector.greater(least)
                }};
            }
            let whole = len - len % V::LANES;
            // SAFETY: the instruction set by point 1; sums and bias have as many elements, and so has C or the scratch for
            // what is rounded. Vectors from the beginning of a cache line on are aligned.
            unsafe {
                for at in (0..whole).step_by(V::LANES) {
                    let vector = finish!(at, |p| V::load(p));
                    if streams { vector.stream(to.add(at)) } else { vector.store(to.add(at)) }
                }
                if whole < len {
                    let mask = V::mask(len - whole);
                    let vector = finish!(whole, |p| V::load_masked(p, mask));
                    vector.store_masked(to.add(whole), mask);
                }
                if is_gelu {
                    // In whole vectors of the compiler's.
                    act::<V>(Activation::Gelu, &mut some.0[..len.next_multiple_of(VECTORIZED)]);
                }
                if let Some(c) = c {
                    let c = c.at(row as isize * out.row_stride + j as isize);
                    V::Isa::narrow::<false>(some.0.as_ptr().cast(), c.ptr, len, c.is_bf16);
                } else if is_gelu {
                    std::ptr::copy_nonoverlapping(some.0.as_ptr(), dst, len);
                }
            }
        }
    }
}

/// Finishes rows of sums element by element.
///
/// # Safety
/// 1. The machine has the instruction set of `V`, and this is part of a function that is compiled for it.
/// 2. There are `cols` sums for every slot of `map`, and as many elements in its row of C, which no other thread accesses.
#[inline(always)]
unsafe fn finish_by_elements<V: Vector>(
    sums: &[V::Acc],
    out: &Output<V::Acc>,
    map: RowMap<'_>,
    cols: usize,
) {
    let mut some = Aligned([V::Acc::ZERO; AT_ONCE]);
    for i in 0..map.len() {
        let Some(row) = map.row(i) else { continue };
        for j in (0..cols).step_by(AT_ONCE) {
            let len = AT_ONCE.min(cols - j);
            some.0[..len].copy_from_slice(&sums[i * cols + j..][..len]);
            let dst = out.row(row).wrapping_offset(j as isize * out.col_stride);
            // SAFETY: the instruction set by point 1, the elements of C by point 2.
            unsafe { elements::<V>(&mut some.0[..len], out, dst) };
        }
    }
}

/// Rounds the sums of a C of one column whose rows are scattered.
///
/// # Safety
/// 1. The machine has the instruction set of `V`, and this is part of a function that is compiled for it.
/// 2. There is a sum for every slot of `map`, and an element of C, which no other thread accesses.
#[inline(always)]
unsafe fn round_column<V: Vector>(
    sums: &[V::Acc],
    c: RoundedC,
    row_stride: isize,
    map: RowMap<'_>,
) {
    let mut rounded = [0u16; AT_ONCE];
    for first in (0..map.len()).step_by(AT_ONCE) {
        let map = map.part(first, AT_ONCE);
        let from = sums[first..first + map.len()].as_ptr().cast();
        // SAFETY: the instruction set by point 1; there is space for as many.
        unsafe { V::Isa::narrow::<false>(from, rounded.as_mut_ptr(), map.len(), c.is_bf16) };
        for (i, &rounded) in rounded[..map.len()].iter().enumerate() {
            if let Some(row) = map.row(i) {
                // SAFETY: the element of C by point 2.
                unsafe { *c.at(row as isize * row_stride).ptr = rounded };
            }
        }
    }
}

/// Finishes the sums of a C of one column whose rows are scattered.
///
/// # Safety
/// 1. The machine has the instruction set of `V`, and this is part of a function that is compiled for it.
/// 2. There is a sum for every slot of `map`, and an element of C, which no other thread accesses.
#[inline(always)]
unsafe fn finish_column<V: Vector>(
    sums: &[V::Acc],
    out: &Output<V::Acc>,
    finish: &Finish<V::Acc>,
    map: RowMap<'_>,
) {
    let c = finish.rounded_at(out.ptr);
    let bias = finish.row_bias(out.ptr);
    let mut some = Aligned([V::Acc::ZERO; AT_ONCE]);
    let mut rounded = [0u16; AT_ONCE];
    for first in (0..map.len()).step_by(AT_ONCE) {
        let map = map.part(first, AT_ONCE);
        let sums = &sums[first..first + map.len()];
        let some = &mut some.0[..map.len()];
        for (some, &sum) in some.iter_mut().zip(sums) {
            *some = out.alpha * sum;
        }
        let rows = || (0..sums.len()).filter_map(|i| Some((i, map.row(i)?)));
        for (i, row) in rows() {
            if !out.beta.is_zero() {
                // SAFETY: the element by point 2.
                let before = unsafe {
                    match c {
                        Some(c) => widened(c.at(row as isize * out.row_stride)),
                        None => *out.row(row),
                    }
                };
                some[i] = V::mul_add_one(before, out.beta, some[i]);
            }
            if let Some((bias, per_row)) = bias {
                some[i] += bias[if per_row { row } else { 0 }];
            }
        }
        act::<V>(finish.activation, some);
        let Some(c) = c else {
            for (i, row) in rows() {
                // SAFETY: the element by point 2.
                unsafe { *out.row(row) = some[i] };
            }
            continue;
        };
        // SAFETY: the instruction set by point 1; there is space for as many, and the elements by point 2.
        unsafe {
            let to = rounded.as_mut_ptr();
            V::Isa::narrow::<false>(some.as_ptr().cast(), to, some.len(), c.is_bf16);
            for (i, row) in rows() {
                *c.at(row as isize * out.row_stride).ptr = rounded[i];
            }
        }
    }
}
