//! A B beside cache lines, copied into them before it is multiplied.

use girih_formats::Scalar;
use girih_simd::{Input, Output};

use super::Prepared;
use super::team::Team;
use crate::kernels::{BPanel, CpuScalar};
use crate::lowering::ProductLowering;
use crate::thresholds::{LINE_BYTES, THREADS_COPIED};

/// Whether rows of `n` columns begin with cache lines, or divide one.
pub(super) fn is_in_lines<T: Scalar>(b: &Input<T>, n: usize) -> bool {
    let unit = n.saturating_mul(size_of::<T>()).checked_next_power_of_two();
    let unit = unit.map_or(LINE_BYTES, |bytes| bytes.min(LINE_BYTES));
    let row_bytes = b.row_stride.unsigned_abs().saturating_mul(size_of::<T>());
    b.ptr.addr().is_multiple_of(unit) && row_bytes.is_multiple_of(unit)
}

impl<T: CpuScalar> Prepared<T> {
    /// Multiplies a copy of B whose rows are `stride` elements apart. `None` if other products use the memory for it, or if there is
    /// none: then nothing was multiplied.
    pub(super) fn multiply_lines(
        &self,
        product: &ProductLowering,
        b: Input<T>,
        out: Output<T::Acc>,
        n: usize,
        stride: usize,
    ) -> Option<()> {
        let len = self.tiling.ncols().saturating_mul(stride);
        let team = if len < THREADS_COPIED { &Team::Alone } else { &self.team };
        self.b_copies.with_lent(len, |copy| {
            #[cfg(test)]
            if let Some(recorder) = self.recorder {
                recorder.copied_into_lines();
            }
            self.copy_rows(b.source(), 0, n, copy, stride, team);
            let lines = Input::new(copy.as_ptr(), stride as isize, n);
            self.multiply_b(product, BPanel::Given(self.input(lines, product)), out, n);
        })
    }
}

#[cfg(test)]
mod tests {
    use girih_backend::PreparedSpmm;
    use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
    use girih_generate::uniform;
    use girih_planner::Schedule;
    use ndarray::{Array2, ArrayViewMut2, s};

    use super::*;
    use crate::Isa;

    /// Where rows of B begin decides whether they are copied, and nothing else.
    #[test]
    fn copying_into_lines_changes_no_bit() {
        let (m, k) = (600, 200);
        let a: Csr<f32> = uniform(m, k, 60, 1).unwrap();
        let tiling =
            Tiling::from_csr(&a, FormatSpec::Csr, RowLayout::natural(m, 1).unwrap()).unwrap();
        let schedule = Schedule::by_tiles(&tiling, 4000);
        for (n, threads) in [(4, 1), (6, 1), (10, 1), (16, 1), (16, 2), (50, 1), (50, 2), (64, 1)] {
            let team = Team::with_threads(threads).unwrap();
            let mut prepared = Prepared::new(Isa::best(), team, &tiling, &schedule, n).unwrap();
            let recorder = girih_simd::Recorder::leaked();
            prepared.recorder = Some(recorder);
            // Rows of 128 elements: B begins with a line, or one element beside it.
            let from = |skip: usize, stride: usize| {
                let mut memory = vec![f32::NAN; k * stride + 32];
                let first = memory.as_ptr().align_offset(LINE_BYTES) + skip;
                let shape = (k, stride);
                let b = &mut memory[first..first + k * stride];
                let mut b = ArrayViewMut2::from_shape(shape, b).unwrap();
                let mut b = b.slice_mut(s![.., ..n]);
                b.indexed_iter_mut().for_each(|((i, j), x)| *x = ((i + 3 * j) % 29) as f32 / 7.0);
                let mut c = Array2::from_elem((m, n), f32::NAN);
                recorder.take();
                prepared.execute(1.5, b.view().into(), 0.0, c.view_mut().into()).unwrap();
                (c, recorder.take().copied_into_lines)
            };
            let (expected, copied) = from(0, 128);
            assert!(!copied, "n = {n}: rows begin with cache lines");
            let (beside, copied) = from(1, 128);
            assert_eq!(beside, expected, "n = {n}");
            // Four columns are too narrow.
            assert_eq!(copied, n > 4, "n = {n}");
            let (dense, copied) = from(0, n);
            assert_eq!(dense, expected, "n = {n}");
            assert_eq!(copied, !n.is_power_of_two(), "n = {n}, without gaps");
        }
    }
}
