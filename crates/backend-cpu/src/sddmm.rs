//! Sampled products: `S = α·(X·Yᵀ) ⊙ pattern + β·S`.

use std::borrow::Cow;

use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, SampledShape, SddmmBackend, check_sddmm,
    no_complex_samples,
};
use girih_formats::{CsrPattern, DType, RealNumber, Scalar};
use girih_parallel::prelude::*;
use girih_planner::DeviceSpec;
use half::{bf16, f16};
use ndarray::{ArrayView2, CowArray};

use crate::kernels::{CpuScalar, Kernels};
use crate::{CpuBackend, NAME};

/// Entries of a task: long enough to hide what a task costs, short enough to share out.
const TASK_ENTRIES: usize = 1 << 11;

/// Runs on the rayon pool that it is called in, with tasks of equally many entries. Rows of X and Y with unit
/// stride are read in place; a Y with other strides is copied first. The bits are the same on every instruction
/// set that fuses multiply and add.
impl SddmmBackend for CpuBackend {
    fn sddmm(
        &self,
        pattern: CsrPattern<'_>,
        alpha: f64,
        x: DenseView<'_>,
        y: DenseView<'_>,
        beta: f64,
        s: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        check_sddmm(pattern, &x, &y, &s)?;
        let run = match x.dtype() {
            DType::F16 => typed::<f16>,
            DType::Bf16 => typed::<bf16>,
            DType::F32 => typed::<f32>,
            DType::F64 => typed::<f64>,
            dtype @ (DType::C32 | DType::C64) => return Err(no_complex_samples(dtype).by(NAME)),
        };
        run(self, pattern, alpha, x, y, beta, s);
        Ok(())
    }

    /// The time on this CPU with all of its cores.
    fn sddmm_estimate(&self, shape: &SampledShape) -> Result<Option<f64>, BackendError> {
        Ok(Some(shape.seconds_on(&DeviceSpec::this_cpu())))
    }
}

fn typed<T: CpuScalar + DenseScalar>(
    backend: &CpuBackend,
    pattern: CsrPattern<'_>,
    alpha: f64,
    x: DenseView<'_>,
    y: DenseView<'_>,
    beta: f64,
    s: DenseViewMut<'_>,
) {
    let (Some(x), Some(y), Some(mut s)) = (T::view(x), T::view(y), T::acc_view_mut(s)) else {
        unreachable!("the operands' types were checked")
    };
    let (alpha, beta) = (T::Acc::from_f64(alpha), T::Acc::from_f64(beta));
    let mut s = s.column_mut(0);
    if alpha.is_zero() {
        return s.mapv_inplace(|s| if beta.is_zero() { T::Acc::ZERO } else { beta * s });
    }
    let y = if y.dim().1 < 2 || y.strides()[1] == 1 {
        CowArray::from(y)
    } else {
        CowArray::from(y.as_standard_layout().into_owned())
    };
    let sample =
        Sample { pattern, kernels: Kernels::<T>::new(backend.isa()), x, y: y.view(), alpha, beta };
    match s.as_slice_mut() {
        Some(s) => sample.entries(s),
        None => {
            let mut copy = s.to_vec();
            sample.entries(&mut copy);
            s.iter_mut().zip(copy).for_each(|(to, from)| *to = from);
        }
    }
}

struct Sample<'a, T: CpuScalar> {
    pattern: CsrPattern<'a>,
    kernels: Kernels<T>,
    x: ArrayView2<'a, T>,
    /// Its rows have unit stride.
    y: ArrayView2<'a, T>,
    alpha: T::Acc,
    beta: T::Acc,
}

impl<T: CpuScalar> Sample<'_, T> {
    /// All entries of S.
    fn entries(&self, s: &mut [T::Acc]) {
        let row_ptr = self.pattern.row_ptr();
        s.par_chunks_mut(TASK_ENTRIES).enumerate().for_each(|(task, s)| {
            let first = task * TASK_ENTRIES;
            // The last row that begins at or before the first entry; rows may be cut.
            let mut row = row_ptr.partition_point(|&start| start <= first as u64) - 1;
            let (mut at, mut rest) = (first, s);
            while !rest.is_empty() {
                let len = (self.pattern.row_range(row).end - at).min(rest.len());
                let part;
                (part, rest) = rest.split_at_mut(len);
                if len > 0 {
                    self.part(row, &self.pattern.col_idx()[at..at + len], part);
                }
                (row, at) = (row + 1, at + len);
            }
        });
    }

    /// Entries of one row of S.
    fn part(&self, row: usize, cols: &[u32], s: &mut [T::Acc]) {
        let row = self.x.row(row);
        let values = row.to_slice().map_or_else(|| Cow::Owned(row.to_vec()), Cow::Borrowed);
        let widened = match T::as_acc(&values) {
            Some(values) => Cow::Borrowed(values),
            None => Cow::Owned(values.iter().map(|x| x.to_acc()).collect::<Vec<_>>()),
        };
        let mut sums = [T::Acc::ZERO; 64];
        for (cols, s) in cols.chunks(sums.len()).zip(s.chunks_mut(sums.len())) {
            let sums = &mut sums[..cols.len()];
            self.kernels.dots(&widened, &self.y, cols, sums);
            for (s, &mut sum) in s.iter_mut().zip(sums) {
                *s = match self.beta.is_zero() {
                    true => self.alpha * sum,
                    false => self.alpha * sum + self.beta * *s,
                };
            }
        }
    }
}
