//! Inner products of rows of two dense matrices, where a sparse pattern has entries.

use girih_formats::Scalar;

use crate::isa::{VectorsFor, Widen};

/// Inner products that are summed at once: each is a chain of its own.
const CHAINS: usize = 4;

/// The rows of X and Y, whose elements are next to each other.
#[derive(Clone, Copy, Debug)]
pub struct SampledRows<T> {
    /// The first row of X.
    pub x: *const T,
    /// Elements from one row of X to the next.
    pub x_stride: isize,
    /// The first row of Y.
    pub y: *const T,
    /// Elements from one row of Y to the next.
    pub y_stride: isize,
    /// Elements of a row.
    pub d: usize,
}

/// Entries of a pattern, in the order of CSR.
#[derive(Clone, Copy, Debug)]
pub struct SampledEntries<'a> {
    /// Where each row of the pattern begins.
    pub row_ptr: &'a [u64],
    /// The column of each entry of the pattern.
    pub col_idx: &'a [u32],
    /// The first of the entries.
    pub first: usize,
}

/// Computes `s = α·(x·y) + β·s` for each entry, x the row of X of its row and y the row of Y of its column. With
/// `β = 0`, `s` is not read.
///
/// An inner product is summed lane by lane in one chain of vectors, and then over the lanes of the
/// vector by halves: in an order that depends on the length alone.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. `row_ptr` ascends. It begins at or before `first` and ends at or after entry `first + s.len()`, and each of
///    the entries has a column.
/// 3. Rows of X and Y are valid for reads of `d` elements: those of X that the entries' rows name, and those of Y
///    that their columns name.
pub(crate) unsafe fn sampled<I: VectorsFor<T>, T: Scalar>(
    rows: SampledRows<T>,
    entries: SampledEntries<'_>,
    [alpha, beta]: [T::Acc; 2],
    s: &mut [T::Acc],
) {
    // SAFETY: the instruction set by point 1, entries and rows by points 2 and 3.
    unsafe {
        I::call(
            #[inline(always)]
            move || each_row::<I::Vector, T>(&rows, entries, alpha, beta, s),
        );
    }
}

/// [`sampled`], in the function that is compiled for the instruction set.
///
/// # Safety
/// Points 1 to 3 of [`sampled`].
#[inline(always)]
unsafe fn each_row<V: Widen<T>, T: Scalar<Acc = V::Acc>>(
    rows: &SampledRows<T>,
    SampledEntries { row_ptr, col_idx, first }: SampledEntries<'_>,
    alpha: V::Acc,
    beta: V::Acc,
    s: &mut [V::Acc],
) {
    let cols = &col_idx[first..first + s.len()];
    // SAFETY: the instruction set by point 1.
    let mask = unsafe { V::mask(rows.d % V::LANES) };
    // The last row that begins at or before the first entry.
    let mut row = row_ptr.partition_point(|&start| start <= first as u64) - 1;
    let mut at = 0;
    while at < cols.len() {
        let x = rows.x.wrapping_offset(row as isize * rows.x_stride);
        let end = (row_ptr[row + 1] as usize - first).min(cols.len());
        while at < end {
            let len = (end - at).min(CHAINS);
            let of = Group { cols, at, len };
            // SAFETY: the instruction set by point 1. The row of X is that of an entry, and the rows of Y are
            // those of columns: valid by point 3.
            let sums = unsafe {
                match len {
                    1 => products::<V, T, 1>(rows, x, of, mask),
                    2 => products::<V, T, 2>(rows, x, of, mask),
                    _ => products::<V, T, CHAINS>(rows, x, of, mask),
                }
            };
            for (s, sum) in s[at..at + len].iter_mut().zip(sums) {
                let product = alpha * sum;
                *s = if beta.is_zero() { product } else { product + beta * *s };
            }
            at += len;
        }
        row += 1;
    }
}

/// Entries of one row whose inner products are summed at once.
#[derive(Clone, Copy)]
struct Group<'a> {
    /// The columns of all entries.
    cols: &'a [u32],
    /// The first entry of the group.
    at: usize,
    /// Entries of the group.
    len: usize,
}

/// The inner products of `x` with the rows of Y that up to `N` entries name; what follows them is of no use. The rows
/// that the next entries name are prefetched meanwhile.
///
/// # Safety
/// 1. The machine has the vector's instruction set.
/// 2. `x` and the rows of Y are valid for reads of `rows.d` elements. There is an entry.
/// 3. The mask has the lanes of a last vector that is not whole.
#[inline(always)]
unsafe fn products<V: Widen<T>, T: Scalar<Acc = V::Acc>, const N: usize>(
    rows: &SampledRows<T>,
    x: *const T,
    Group { cols, at, len }: Group<'_>,
    mask: V::Mask,
) -> [V::Acc; 4] {
    const { assert!(N <= CHAINS) };
    let row = |entry: usize| rows.y.wrapping_offset(cols[entry] as isize * rows.y_stride);
    let (mut from, mut next) = ([rows.y; N], [rows.y; N]);
    for i in 0..N {
        // A group that is not whole has its last row several times.
        from[i] = row(at + i.min(len - 1));
        next[i] = row((at + len + i).min(cols.len() - 1));
    }
    let (mut at, whole) = (0, rows.d / V::LANES * V::LANES);
    // SAFETY: the instruction set by point 1. Loads of a vector stop before the end of a row, and the mask has
    // the elements that are left by point 3: all lie in x and the rows of Y, valid by point 2.
    unsafe {
        let mut sums = [V::splat(V::Acc::ZERO); CHAINS];
        while at < whole {
            let x: V = Widen::<T>::widen(x.wrapping_add(at));
            for i in 0..N {
                let y: V = Widen::<T>::widen(from[i].wrapping_add(at));
                sums[i] = x.mul_add(y, sums[i]);
            }
            at += V::LANES;
        }
        if at < rows.d {
            let x: V = Widen::<T>::widen_masked(x.wrapping_add(at), mask);
            for i in 0..N {
                let y: V = Widen::<T>::widen_masked(from[i].wrapping_add(at), mask);
                sums[i] = x.mul_add(y, sums[i]);
            }
        }
        V::totals(sums)
    }
}
