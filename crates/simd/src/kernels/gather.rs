//! Copying the rows of B that a window of A uses next to each other.

use girih_formats::Scalar;

use super::runs::Runs;
use crate::isa::{Vector, VectorsFor};
use crate::operands::{Input, lanes};

/// Copies the rows of B in `runs`, `count` of them and `width` columns wide, to `to`: one panel after the
/// other, each as wide as a dense strip. The rows of a panel are next to each other.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
/// 2. The columns of `runs`, `count` of them, are rows of B, and B has `width` columns.
/// 3. `to` is valid for `count` rows of `width` columns, rounded up to whole panels, and no other thread
///    accesses it.
pub(crate) unsafe fn gather<I: VectorsFor<T>, T: Scalar>(
    runs: &Runs<'_>,
    count: usize,
    b: Input<T>,
    width: usize,
    to: *mut T,
) {
    let runs = *runs;
    // SAFETY: the instruction set by point 1. Each row of B is there by point 2; row `i` of `count` has its
    // place in every panel by point 3.
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
                        row = row.wrapping_add(panel);
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

/// Copies a row of B to its places in all panels, `apart` elements from one to the next.
///
/// # Safety
/// 1. `from` is valid for `width` elements.
/// 2. `to` is valid for `panel` elements, every `apart` elements again, as often as a row has panels. No
///    other thread accesses these.
#[inline(always)]
unsafe fn copy<T: Scalar>(from: *const T, width: usize, to: *mut T, panel: usize, apart: usize) {
    let vector = const { lanes::<T>() };
    for (p, first) in (0..width).step_by(panel).enumerate() {
        let (from, to) = (from.wrapping_add(first), to.wrapping_add(p * apart));
        let cols = panel.min(width - first);
        let mut j = 0;
        // Whole vectors of a constant size, so that the copy takes vectors instead of a call.
        while j + vector <= cols {
            // SAFETY: a vector is left of the row by point 1, and of the panel by point 2.
            unsafe {
                let from = from.add(j).cast::<[u8; 32]>();
                let to = to.add(j).cast::<[u8; 32]>();
                to.write_unaligned(from.read_unaligned());
                if const { size_of::<T>() == size_of::<T::Acc>() } {
                    to.add(1).write_unaligned(from.add(1).read_unaligned());
                }
            }
            j += vector;
        }
        while j < cols {
            // SAFETY: an element is left of the row by point 1, and of the panel by point 2.
            unsafe { *to.add(j) = *from.add(j) };
            j += 1;
        }
    }
}
