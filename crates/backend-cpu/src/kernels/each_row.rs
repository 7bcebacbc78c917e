//! What is done to each of some rows, whatever order they come in.

use girih_formats::Scalar;

use super::panel::{By, FewVectors, ManyVectors};
use super::sum::Entries;
use crate::isa::{Vector, VectorsFor};
use crate::operands::{Input, Output};

/// Rows in some order.
pub(crate) trait Rows {
    /// The type of their values.
    type Acc;

    /// Does `what` to every row.
    ///
    /// # Safety
    /// As for `what`.
    unsafe fn each(self, what: impl RowKernel<Acc = Self::Acc>);

    /// The same, in code of its own for every short length.
    ///
    /// # Safety
    /// As for `what`.
    unsafe fn each_by_length<W: RowKernel<Acc = Self::Acc>>(self, what: W);
}

/// What is done to a row.
pub(crate) trait RowKernel {
    /// The type of its values.
    type Acc;

    /// Lengths up to this are worth code of their own.
    const SHORT: usize;

    /// Takes the row's entries and where it goes.
    ///
    /// # Safety
    /// The instruction set that it is made for, entries whose columns are rows of B, and a row of C
    /// that no other thread accesses.
    unsafe fn row(&self, entries: Entries<Self::Acc>, row: usize);
}

/// Multiplies rows by `width` columns of B; `PREFETCH` says what is asked for [ahead](super::prefetch).
///
/// # Safety
/// As for [`RowKernel::row`], for every row. With `PREFETCH` of [`ROWS`](super::prefetch::ROWS),
/// [`PREFETCH_AHEAD`](super::prefetch::PREFETCH_AHEAD) more columns.
pub(crate) unsafe fn each_row<I: VectorsFor<T>, T: Scalar, const PREFETCH: u8>(
    rows: impl Rows<Acc = T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    width: usize,
) {
    let lanes = const { <I::Vector as Vector>::LANES };
    // SAFETY: the caller's contract, for every call below.
    unsafe {
        macro_rules! few {
            (@ $vector:ty, $vectors:literal, $chains:literal, $tail:literal) => {
                I::call(
                    #[inline(always)]
                    move || {
                        let (mut b, mut out, mut width) = (b, out, width);
                        if !$tail {
                            width = $vectors * <$vector>::LANES;
                            (b.row_stride, out.row_stride) = (width as isize, width as isize);
                        }
                        let by = By::<$vector, T>::new(b, out, width);
                        all::<$vector>(rows, FewVectors::<_, _, $vectors, $chains, $tail, PREFETCH>(by));
                    },
                )
            };
            ($vector:ty, $vectors:literal, $chains:literal) => {{
                // Whole vectors with no gap between rows are at distances that the compiler knows.
                let whole = $vectors * <$vector>::LANES;
                let stride = whole as isize;
                if (width, b.row_stride, out.row_stride) == (whole, stride, stride) {
                    few!(@ $vector, $vectors, $chains, false)
                } else {
                    few!(@ $vector, $vectors, $chains, true)
                }
            }};
        }
        if const { I::HAS_QUARTER } && !b.is_part_of_group && width <= I::Quarter::LANES {
            few!(I::Quarter, 1, 4);
        } else if const { I::HAS_HALF } && !b.is_part_of_group && width <= I::Half::LANES {
            few!(I::Half, 1, 4);
        } else if !b.is_part_of_group && width <= lanes {
            few!(I::Vector, 1, 4);
        } else if !b.is_part_of_group && width <= 2 * lanes {
            few!(I::Vector, 2, 2);
        } else {
            I::call(
                #[inline(always)]
                move || {
                    let by = By::<I::Vector, T>::new(b, out, width);
                    if const { I::STRIP_VECTORS == 4 } {
                        rows.each(ManyVectors::<_, _, 8, PREFETCH> { by, width });
                    } else {
                        rows.each(ManyVectors::<_, _, 4, PREFETCH> { by, width });
                    }
                },
            );
        }
        if out.streams() {
            I::Vector::fence();
        }
    }
}

/// All rows, by their lengths where that pays.
///
/// # Safety
/// As for [`Rows::each`].
#[inline(always)]
pub(super) unsafe fn all<V: Vector>(
    rows: impl Rows<Acc = V::Acc>,
    what: impl RowKernel<Acc = V::Acc>,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if const { V::WIDE } {
            rows.each_by_length(what);
        } else {
            rows.each(what);
        }
    }
}
