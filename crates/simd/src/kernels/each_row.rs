//! A kernel for each row of a block, whatever order the rows come in.

use girih_formats::Scalar;

use super::edges::{ENDS, Edges, Headed, LAST, NONE, end_with_rows};
use super::panel::{FewVectors, HeadedVectors, ManyVectors, RowOperands};
use super::prefetch::Prefetch;
use super::sum::{Entries, is_own_accumulator};
use crate::isa::{Vector, VectorsFor, Widen};
use crate::operands::{Input, Output, Store};

/// Rows in some order.
///
/// # Safety
/// Both methods require the same:
///
/// 1. The machine has the instruction set of the kernel.
/// 2. The columns and values of all rows are readable, with the next columns if the kernel prefetches rows of
///    B, and each column is a row of the kernel's B.
/// 3. Each row of C that they go to exists, and no other thread accesses it.
pub(crate) trait Rows {
    /// The type of their values.
    type Acc;
    /// Whether rows are so short that C matters more than B, if one of both [begins with cache lines](Headed).
    const C_LEADS: bool;

    /// Whether most rows use the rows of B after those of the row before, so that the cache line of a next row is needed anyway.
    fn are_shifted(&self) -> bool {
        false
    }

    /// Calls `kernel` with every row.
    ///
    /// # Safety
    /// Points 1 to 3 of the trait.
    unsafe fn each(self, kernel: impl RowKernel<Acc = Self::Acc>);

    /// The same, in code of its own for every short length.
    ///
    /// # Safety
    /// Points 1 to 3 of the trait.
    unsafe fn each_by_length<K: RowKernel<Acc = Self::Acc>>(self, kernel: K);
}

/// Multiplies one row by all columns of a panel, and stores the products.
pub(crate) trait RowKernel {
    /// The type of a row's values.
    type Acc;

    /// Rows up to this length get code of their own.
    const SHORT: usize;

    /// Multiplies the row with these entries, which goes to row `row` of C.
    ///
    /// # Safety
    /// 1. The machine has the instruction set that the kernel is made for.
    /// 2. The columns and values of `entries` are readable, with the next columns if the kernel prefetches
    ///    rows of B. Every column plus `shift` is a row of the kernel's B.
    /// 3. Row `row` of the kernel's C exists, and no other thread accesses it.
    unsafe fn row(&self, entries: Entries<Self::Acc>, row: usize);
}

/// Multiplies rows by `width` columns of B. `prefetch` says what is [prefetched](super::prefetch) meanwhile.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. The columns and values of all rows are readable, with their next columns if rows of B are
///    prefetched. Each column is a row of B, and B has `width` columns.
/// 3. The rows of C that they go to are valid for `width` columns, and no other thread accesses them.
pub(crate) unsafe fn each_row<I: VectorsFor<T>, T: Scalar>(
    rows: impl Rows<Acc = T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    width: usize,
    prefetch: Prefetch,
) {
    // SAFETY: the points of `each_row_as` are these. On machines that never prefetch, one copy is enough.
    unsafe {
        if const { I::Vector::PREFETCHES } && prefetch != Prefetch::Nothing {
            each_row_as::<I, T, _, true>(rows, b, out, width, prefetch);
        } else {
            each_row_as::<I, T, _, false>(rows, b, out, width, Prefetch::Nothing);
        }
    }
}

/// [`each_row`] by kernels that prefetch, or by kernels that do not: a loop that may prefetch keeps what it
/// would need for that in registers, which costs short rows up to half of their time.
///
/// # Safety
/// Points 1 to 3 of [`each_row`].
#[inline(always)]
unsafe fn each_row_as<I, T, R, const PREFETCHES: bool>(
    rows: R,
    b: Input<T>,
    out: Output<T::Acc>,
    width: usize,
    prefetch: Prefetch,
) where
    I: VectorsFor<T>,
    T: Scalar,
    R: Rows<Acc = T::Acc>,
{
    let lanes = const { <I::Vector as Vector>::LANES };
    let ends = const { PREFETCHES } && vectors_end(&rows, &b, &out, prefetch);
    macro_rules! ending {
        ($vector:ty, $chains:literal) => {
            // SAFETY: the points of `few_vectors` are these. The panel has more columns than one of these vectors.
            unsafe {
                few_vectors::<I, $vector, T, 2, $chains, ENDS, PREFETCHES>(rows, b, out, width, prefetch);
            }
        };
    }
    macro_rules! few {
        ($vector:ty, $vectors:literal, $chains:literal) => {{
            // Whole vectors with no gap between rows are at distances that the compiler knows.
            let whole = $vectors * <$vector>::LANES;
            let is_dense = (width, b.row_stride, out.row_stride) == (whole, whole as isize, whole as isize)
                && matches!(out.store, Store::Write | Store::Stream);
            // SAFETY: the points of `few_vectors` and `many_columns` are these. All vectors are whole if the panel is dense.
            unsafe {
                if is_dense {
                    few_vectors::<I, $vector, T, $vectors, $chains, NONE, PREFETCHES>(rows, b, out, width, prefetch);
                } else if const { !is_own_accumulator::<T>() && !I::Vector::MASKS_HALVES } {
                    // Narrow panels of such values are widened before: what is left needs no code of its own.
                    many_columns::<I, T, PREFETCHES>(rows, b, out, width, prefetch);
                } else {
                    few_vectors::<I, $vector, T, $vectors, $chains, LAST, PREFETCHES>(rows, b, out, width, prefetch);
                }
            }
        }};
    }
    // Long rows read whole rows of a B that is far.
    let may_begin_before = const { R::C_LEADS } || !b.is_far;
    if may_begin_before
        && let Some(panel) = Headed::new::<I::Vector>(&b, &out, width, const { R::C_LEADS })
    {
        panel.b.ran_from_lines(panel.out.streams());
        // SAFETY: the points of `from_lines` are these, and the instruction set masks first lanes.
        unsafe { from_lines::<I, T, PREFETCHES>(rows, &panel, width, prefetch) }
        if panel.out.streams() {
            I::Vector::fence();
        }
        return;
    }
    let is_own = !b.is_part_of_group;
    if const { !I::Vector::WIDE } {
        // SAFETY: the points of `many_columns` are these.
        unsafe { many_columns::<I, T, PREFETCHES>(rows, b, out, width, prefetch) }
    } else if const { I::HAS_QUARTER } && is_own && width <= I::Quarter::LANES {
        few!(I::Quarter, 1, 4);
    } else if const { I::HAS_HALF } && is_own && width <= I::Half::LANES {
        few!(I::Half, 1, 4);
    } else if const { PREFETCHES && I::HAS_HALF } && is_own && ends && width < lanes {
        ending!(I::Half, 4);
    } else if is_own && width <= lanes {
        few!(I::Vector, 1, 4);
    } else if const { PREFETCHES } && is_own && ends && lanes < width && width < 2 * lanes {
        ending!(I::Vector, 2);
    } else if is_own && width <= 2 * lanes {
        few!(I::Vector, 2, 2);
    } else {
        // SAFETY: the points of `many_columns` are these.
        unsafe { many_columns::<I, T, PREFETCHES>(rows, b, out, width, prefetch) }
    }
    if out.streams() {
        I::Vector::fence();
    }
}

/// Whether partial vectors [end with rows](end_with_rows), of rows that need no more of B.
fn vectors_end<T: Scalar>(
    rows: &impl Rows,
    b: &Input<T>,
    out: &Output<T::Acc>,
    prefetch: Prefetch,
) -> bool {
    !rows.are_shifted() && end_with_rows(b, out, prefetch)
}

/// Multiplies rows by a panel of `K` vectors, some of them partial as `EDGES` says. With `NONE` of them no gap is between rows
/// of B nor between rows of C, and C is written, not updated.
///
/// # Safety
/// 1. The machine has the instruction set `I`, and with it that of `V`.
/// 2. Rows, their columns and B are as [`each_row`] requires; `width` is up to `K` vectors, with
///    `NONE` just as much, and more than one with `ENDS`.
/// 3. Rows of C are as [`each_row`] requires.
#[inline(always)]
unsafe fn few_vectors<
    I,
    V,
    T,
    const K: usize,
    const CHAINS: usize,
    const EDGES: u8,
    const PREFETCHES: bool,
>(
    rows: impl Rows<Acc = T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    width: usize,
    prefetch: Prefetch,
) where
    I: VectorsFor<T>,
    V: Widen<T> + Vector<Acc = T::Acc>,
    T: Scalar,
{
    // SAFETY: the instruction set by point 1, rows and B by point 2, C by point 3.
    unsafe {
        I::call(
            #[inline(always)]
            move || {
                let (mut b, mut out, mut width) = (b, out, width);
                if const { EDGES == NONE } {
                    width = K * V::LANES;
                    (b.row_stride, out.row_stride) = (width as isize, width as isize);
                    out.store = if out.streams() { Store::Stream } else { Store::Write };
                }
                let edges = Edges::new(width);
                let operands = RowOperands::<V, T, PREFETCHES>::new(b, out, edges, prefetch);
                all::<V, _>(rows, FewVectors::<V, T, K, CHAINS, EDGES, PREFETCHES>(operands));
            },
        );
    }
}

/// Multiplies rows by a panel of any width, as many vectors at a time as the registers hold.
///
/// # Safety
/// Points 1 to 3 of [`many_vectors`].
#[inline(always)]
unsafe fn many_columns<I: VectorsFor<T>, T: Scalar, const PREFETCHES: bool>(
    rows: impl Rows<Acc = T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    width: usize,
    prefetch: Prefetch,
) {
    // SAFETY: the points of `many_vectors` are these.
    unsafe {
        if const { I::STRIP_VECTORS == 4 } {
            many_vectors::<I, T, 8, PREFETCHES>(rows, b, out, width, prefetch);
        } else {
            many_vectors::<I, T, 4, PREFETCHES>(rows, b, out, width, prefetch);
        }
    }
}

/// Multiplies rows by a panel of any width, up to `AT_ONCE` vectors at a time.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. Rows, their columns and B are as [`each_row`] requires.
/// 3. Rows of C are as [`each_row`] requires.
#[inline(always)]
unsafe fn many_vectors<
    I: VectorsFor<T>,
    T: Scalar,
    const AT_ONCE: usize,
    const PREFETCHES: bool,
>(
    rows: impl Rows<Acc = T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    width: usize,
    prefetch: Prefetch,
) {
    // SAFETY: the instruction set by point 1, rows and B by point 2, C by point 3.
    unsafe {
        I::call(
            #[inline(always)]
            move || {
                let edges = Edges::new(width);
                let operands =
                    RowOperands::<I::Vector, T, PREFETCHES>::new(b, out, edges, prefetch);
                let ends = const { PREFETCHES } && vectors_end(&rows, &b, &out, prefetch);
                rows.each(ManyVectors::<_, _, AT_ONCE, PREFETCHES> { operands, width, ends });
            },
        );
    }
}

/// Multiplies rows by a panel of more than two vectors, from the cache line before its first column on.
///
/// # Safety
/// Points 1 to 3 of [`each_row`], for columns from `panel.head` on. The instruction set has
/// [heads](Vector::HEADS).
#[inline(always)]
unsafe fn from_lines<I: VectorsFor<T>, T: Scalar, const PREFETCHES: bool>(
    rows: impl Rows<Acc = T::Acc>,
    &Headed { head, b, out }: &Headed<T>,
    width: usize,
    prefetch: Prefetch,
) {
    // SAFETY: the instruction set by point 1, rows and B by point 2, C by point 3.
    unsafe {
        I::call(
            #[inline(always)]
            move || {
                let edges = Edges::headed(head, width);
                let vectors = (head + width).div_ceil(I::Vector::LANES);
                let operands = RowOperands::new(b, out, edges, prefetch);
                rows.each(HeadedVectors::<I::Vector, T, PREFETCHES> { operands, vectors });
            },
        );
    }
}

/// Calls `kernel` with all rows, by their lengths if it asks for that.
///
/// # Safety
/// Points 1 to 3 of [`Rows`].
#[inline(always)]
unsafe fn all<V: Vector, K: RowKernel<Acc = V::Acc>>(rows: impl Rows<Acc = V::Acc>, kernel: K) {
    // SAFETY: points 1 to 3 are those of both methods.
    unsafe {
        if const { K::SHORT > 0 } {
            rows.each_by_length(kernel);
        } else {
            rows.each(kernel);
        }
    }
}
