//! Gathering the rows of B that a window of A meets.

use girih_formats::Scalar;

use super::runs::Runs;
use crate::isa::{Vector, VectorsFor};
use crate::operands::Input;

/// Copies the rows of B that `runs` name, `count` of them and `width` columns wide, to `to`: in panels as
/// wide as the register tile of a dense strip, one after the other, and in each the rows next to each
/// other.
///
/// # Safety
/// The machine must have `I`. B must have those rows and columns; `to` must be valid for `count` rows of
/// `width` columns, rounded up to whole panels, and accessed by no other thread.
pub(crate) unsafe fn gather<I: VectorsFor<T>, T: Scalar>(
    runs: &Runs<'_>,
    count: usize,
    b: Input<T>,
    width: usize,
    to: *mut T,
) {
    let runs = *runs;
    // SAFETY: the caller's contract.
    unsafe {
        I::call(
            #[inline(always)]
            move || {
                let panel = const { panel::<I, T>() };
                let mut row = to;
                for &run in runs.starts {
                    let (start, len) = runs.run(run);
                    for col in start..start + len {
                        let from = b.ptr.wrapping_offset(col as isize * b.row_stride);
                        copy::<T>(from, width, row, panel, count * panel);
                        row = row.add(panel);
                    }
                }
            },
        );
    }
}

/// Columns of a panel.
pub(crate) const fn panel<I: VectorsFor<T>, T: Scalar>() -> usize {
    I::STRIP_VECTORS * I::Vector::LANES
}

/// Copies a row to its places in all panels, `apart` elements from one to the next.
///
/// # Safety
/// As for [`gather`].
#[inline(always)]
unsafe fn copy<T: Scalar>(from: *const T, width: usize, to: *mut T, panel: usize, apart: usize) {
    let vector = const { 64 / size_of::<T::Acc>() };
    for (p, first) in (0..width).step_by(panel).enumerate() {
        // SAFETY: the caller's contract.
        unsafe {
            let to = to.add(p * apart);
            let mut j = 0;
            // Whole vectors of a constant size, so that the copy takes vectors instead of a call.
            while j < panel && first + j + vector <= width {
                let from = from.add(first + j).cast::<[u8; 32]>();
                let to = to.add(j).cast::<[u8; 32]>();
                to.write_unaligned(from.read_unaligned());
                if const { size_of::<T>() == size_of::<T::Acc>() } {
                    to.add(1).write_unaligned(from.add(1).read_unaligned());
                }
                j += vector;
            }
            while j < panel.min(width - first) {
                *to.add(j) = *from.add(first + j);
                j += 1;
            }
        }
    }
}
