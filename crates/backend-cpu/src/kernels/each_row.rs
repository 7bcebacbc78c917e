//! What is done to each of some rows, whatever order they come in.

use girih_formats::Scalar;

use super::panel::{By, Few, Many};
use super::sum::Entries;
use crate::isa::{Line, LineFor};
use crate::operands::{Input, Output};

/// Rows in some order.
pub(crate) trait Rows {
    /// The type of their values.
    type Acc;

    /// Does `what` to every row.
    ///
    /// # Safety
    /// As for `what`.
    unsafe fn each(self, what: impl OnRow<Acc = Self::Acc>);

    /// The same, in code of its own for every short length.
    ///
    /// # Safety
    /// As for `what`.
    unsafe fn each_by_length<W: OnRow<Acc = Self::Acc>>(self, what: W);
}

/// What is done to a row.
pub(crate) trait OnRow {
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

/// Multiplies rows by `width` columns of B; `ASK` says what is asked for [ahead](super::ahead).
///
/// # Safety
/// As for [`OnRow::row`], for every row. With `ASK` of [`ROWS`](super::ahead::ROWS),
/// [`AHEAD`](super::ahead::AHEAD) more columns.
pub(crate) unsafe fn each_row<I: LineFor<T>, T: Scalar, const ASK: u8>(
    rows: impl Rows<Acc = T::Acc>,
    b: Input<T>,
    out: Output<T::Acc>,
    width: usize,
) {
    let lanes = const { <I::Line as Line>::LANES };
    // SAFETY: the caller's contract, for every call below.
    unsafe {
        macro_rules! few {
            (@ $line:ty, $lines:literal, $chains:literal, $tail:literal) => {
                I::call(
                    #[inline(always)]
                    move || {
                        let (mut b, mut out, mut width) = (b, out, width);
                        if !$tail {
                            width = $lines * <$line>::LANES;
                            (b.row_stride, out.row_stride) = (width as isize, width as isize);
                        }
                        let by = By::<$line, T>::new(b, out, width);
                        all::<$line>(rows, Few::<_, _, $lines, $chains, $tail, ASK>(by));
                    },
                )
            };
            ($line:ty, $lines:literal, $chains:literal) => {{
                // Whole lines with no gap between rows are at distances that the compiler knows.
                let whole = $lines * <$line>::LANES;
                let stride = whole as isize;
                if (width, b.row_stride, out.row_stride) == (whole, stride, stride) {
                    few!(@ $line, $lines, $chains, false)
                } else {
                    few!(@ $line, $lines, $chains, true)
                }
            }};
        }
        if const { I::HAS_QUARTER } && !b.of_group && width <= I::Quarter::LANES {
            few!(I::Quarter, 1, 4);
        } else if const { I::HAS_HALF } && !b.of_group && width <= I::Half::LANES {
            few!(I::Half, 1, 4);
        } else if !b.of_group && width <= lanes {
            few!(I::Line, 1, 4);
        } else if !b.of_group && width <= 2 * lanes {
            few!(I::Line, 2, 2);
        } else {
            I::call(
                #[inline(always)]
                move || {
                    let by = By::<I::Line, T>::new(b, out, width);
                    if const { I::STRIP_LINES == 4 } {
                        rows.each(Many::<_, _, 8, ASK> { by, width });
                    } else {
                        rows.each(Many::<_, _, 4, ASK> { by, width });
                    }
                },
            );
        }
        if out.streams() {
            I::Line::fence();
        }
    }
}

/// All rows, by their lengths where that pays.
///
/// # Safety
/// As for [`Rows::each`].
#[inline(always)]
pub(super) unsafe fn all<V: Line>(rows: impl Rows<Acc = V::Acc>, what: impl OnRow<Acc = V::Acc>) {
    // SAFETY: the caller's contract.
    unsafe {
        if const { V::WIDE } {
            rows.each_by_length(what);
        } else {
            rows.each(what);
        }
    }
}
