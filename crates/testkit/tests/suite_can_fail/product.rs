//! Wrong products.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use girih_backend::{
    Activation, Aggregation, BackendError, Bias, DenseView, DenseViewMut, Epilogue, Lowering,
    PreparedSpmm, ProductShape, ReferenceBackend, SpmmBackend,
};
use girih_formats::{AnyTiling, Complex, PAD_COL, RowLayout, Tiling};
use girih_planner::Plan;
use half::f16;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};

use crate::broken::Fault;

/// A plan whose products are wrong.
#[derive(Debug)]
pub(crate) struct PreparedBroken {
    pub(crate) fault: Fault,
    pub(crate) plan: Plan,
    pub(crate) inner: Box<dyn PreparedSpmm>,
    pub(crate) executions: Arc<AtomicUsize>,
}

impl PreparedSpmm for PreparedBroken {
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let sound = matches!(self.fault, Fault::None | Fault::RefusesLargeBlocks);
        match (b, c) {
            (DenseView::F32(b), DenseViewMut::F32(c)) if !sound => {
                self.break_f32(alpha, &b, beta, c)
            }
            (b, DenseViewMut::C32(c)) if !sound => self.break_c32(alpha.into(), b, beta.into(), c),
            (b, c) => self.inner.execute(alpha, b, beta, c),
        }
    }

    fn execute_complex(
        &self,
        alpha: Complex<f64>,
        b: DenseView<'_>,
        beta: Complex<f64>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        match c {
            DenseViewMut::C32(c) => self.break_c32(alpha, b, beta, c),
            c => self.inner.execute_complex(alpha, b, beta, c),
        }
    }

    fn execute_with(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(), BackendError> {
        match (b, c) {
            (DenseView::F32(b), DenseViewMut::F32(c)) => {
                self.break_epilogue(alpha, &b, beta, c, epilogue)
            }
            (DenseView::F32(b), DenseViewMut::F16(mut c)) => {
                let mut exact = c.mapv(f32::from);
                let into = exact.view_mut().into();
                self.inner.execute_with(alpha, b.into(), beta, into, epilogue)?;
                c.zip_mut_with(&exact, |c, &x| *c = self.break_rounding(x));
                Ok(())
            }
            (b, c) => self.inner.execute_with(alpha, b, beta, c, epilogue),
        }
    }

    fn aggregate(
        &self,
        aggregation: Aggregation,
        b: DenseView<'_>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        if b.dtype().is_complex() {
            return self.inner.aggregate(aggregation, b, c);
        }
        let (DenseView::F32(b), DenseViewMut::F32(mut c)) = (b.reborrow(), c) else {
            unreachable!("faults are planted in f32");
        };
        let read = match self.fault {
            Fault::IgnoresNanInMaxima => b.mapv(|x| if x.is_nan() { f32::NEG_INFINITY } else { x }),
            _ => b.to_owned(),
        };
        self.inner.aggregate(aggregation, (&read).into(), c.view_mut().into())?;
        match (self.fault, aggregation) {
            // Sums may begin with 0, maxima may not.
            (Fault::BeginsMaximaWithZero, Aggregation::Max) => c.mapv_inplace(|x| x.max(0.0)),
            (Fault::MeansOfTooMany, Aggregation::Mean) => c.mapv_inplace(|x| x * 0.999),
            _ => {}
        }
        Ok(())
    }

    fn refresh(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        match (self.fault, values) {
            (Fault::KeepsOldValues, _) => Ok(()),
            (Fault::PutsNewValuesInReverse, DenseView::F32(mut values)) => {
                values.invert_axis(Axis(0));
                self.inner.refresh(values.into())
            }
            (_, values) => self.inner.refresh(values),
        }
    }

    fn lowering(&self, n: usize) -> Lowering {
        self.inner.lowering(n)
    }
}

impl PreparedBroken {
    /// An element of a C of f16.
    fn break_rounding(&self, x: f32) -> f16 {
        let nearest = f16::from_f32(x);
        match self.fault {
            Fault::SaturatesC if x.is_finite() => nearest.clamp(f16::MIN, f16::MAX),
            Fault::TruncatesC if f32::from(nearest).abs() > x.abs() => {
                f16::from_bits(nearest.to_bits() - 1)
            }
            _ => nearest,
        }
    }

    fn break_epilogue(
        &self,
        alpha: f64,
        b: &ArrayView2<'_, f32>,
        beta: f64,
        mut c: ArrayViewMut2<'_, f32>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(), BackendError> {
        epilogue.check(&ProductShape::of(&self.plan), b.ncols())?;
        let activation = epilogue.activation;
        let activate = |x: &mut f32| *x = activation.apply(f64::from(*x)) as f32;
        let execute = |beta, c: &mut ArrayViewMut2<'_, f32>, epilogue: &Epilogue<'_>| {
            let (b, c) = (b.view().into(), c.view_mut().into());
            self.inner.execute_with(alpha, b, beta, c, epilogue)
        };
        let mut bias = epilogue.clone();
        bias.activation = Activation::None;
        match self.fault {
            Fault::ForgetsTheBias => execute(beta, &mut c, &activation.into()),
            Fault::ActivatesBeforeTheBias => {
                execute(beta, &mut c, &activation.into())?;
                c.indexed_iter_mut().for_each(|((i, j), x)| *x += bias.bias_at(i, j) as f32);
                Ok(())
            }
            Fault::ActivatesBeforeBeta if beta != 0.0 => {
                let before = c.to_owned();
                execute(0.0, &mut c, epilogue)?;
                c.scaled_add(beta as f32, &before);
                Ok(())
            }
            Fault::ActivatesTwice => {
                execute(beta, &mut c, epilogue)?;
                c.iter_mut().for_each(activate);
                Ok(())
            }
            Fault::TakesErfForTanh if activation == Activation::Gelu => {
                execute(beta, &mut c, &bias)?;
                c.mapv_inplace(|x| gelu_by_erf(f64::from(x)) as f32);
                Ok(())
            }
            Fault::FlushesNanInRelu if activation == Activation::Relu => {
                execute(beta, &mut c, &bias)?;
                c.mapv_inplace(|x| x.max(0.0));
                Ok(())
            }
            Fault::GivesEveryPanelTheFirstBias => match &epilogue.bias {
                Some(Bias::PerColumn(DenseView::F32(values))) if values.nrows() > 8 => {
                    let first: Vec<f32> = (0..values.nrows()).map(|j| values[[j % 8, 0]]).collect();
                    let wrong = Epilogue::new().bias_per_column(&first).activation(activation);
                    execute(beta, &mut c, &wrong)
                }
                _ => execute(beta, &mut c, epilogue),
            },
            _ => execute(beta, &mut c, epilogue),
        }
    }

    fn break_c32(
        &self,
        alpha: Complex<f64>,
        b: DenseView<'_>,
        beta: Complex<f64>,
        mut c: ArrayViewMut2<'_, Complex<f32>>,
    ) -> Result<(), BackendError> {
        let (alpha, beta) = match self.fault {
            Fault::ScalesByTheRealPart => (alpha.re.into(), beta.re.into()),
            _ => (alpha, beta),
        };
        self.inner.execute_complex(alpha, b, beta, c.view_mut().into())?;
        if self.fault == Fault::DropsImaginaryParts {
            c.mapv_inplace(|x| Complex::new(x.re, 0.0));
        }
        Ok(())
    }

    fn break_f32(
        &self,
        alpha: f64,
        b: &ArrayView2<'_, f32>,
        beta: f64,
        mut c: ArrayViewMut2<'_, f32>,
    ) -> Result<(), BackendError> {
        let before = c.to_owned();
        let execution = self.executions.fetch_add(1, Ordering::Relaxed);
        let fits = b.nrows() == self.plan.ncols() && c.dim() == (self.plan.nrows(), b.ncols());
        if self.fault == Fault::WritesBeforeItChecks && !fits {
            c.fill(0.0);
        }
        if self.fault == Fault::ChecksNothing && !fits {
            return Ok(());
        }
        let read = self.read(b);
        let beta_used = if self.fault == Fault::ForgetsBeta { 0.0 } else { beta };
        let multiply = |inner: &dyn PreparedSpmm, c: &mut ArrayViewMut2<'_, f32>| {
            inner.execute(alpha, read.view().into(), beta_used, c.view_mut().into())
        };
        if self.fault == Fault::SumsOnlyTheFirstTask {
            multiply(&*ReferenceBackend.prepare(&first_tasks(&self.plan))?, &mut c)?;
        } else {
            multiply(&*self.inner, &mut c)?;
        }
        self.spoil(alpha, b, beta, &before, &mut c);
        if self.fault == Fault::GivesOtherBitsTheSecondTime && execution % 2 == 1 {
            c.iter_mut().take(1).for_each(|x| *x = x.next_up());
        }
        Ok(())
    }

    /// B as the fault makes it out.
    fn read(&self, b: &ArrayView2<'_, f32>) -> Array2<f32> {
        let mut read = b.to_owned();
        match self.fault {
            Fault::TruncatesToBf16 => {
                read.mapv_inplace(|x| f32::from_bits(x.to_bits() & 0xffff_0000));
            }
            Fault::ReadsNegativeStridesForwards => {
                for axis in [Axis(0), Axis(1)] {
                    if b.strides()[axis.0] < 0 {
                        read.invert_axis(axis);
                    }
                }
            }
            Fault::ReadsColumnMajorAsRowMajor if b.strides()[0] == 1 && b.strides()[1] > 1 => {
                let in_memory: Vec<f32> = b.t().iter().copied().collect();
                read = Array2::from_shape_vec(b.dim(), in_memory).unwrap();
            }
            Fault::ComputesOffsetsIn32Bits => {
                for ((i, j), x) in read.indexed_iter_mut() {
                    let offset = i as isize * b.strides()[0] + j as isize * b.strides()[1];
                    if i32::try_from(offset).is_err() {
                        *x = 0.0;
                    }
                }
            }
            _ => {}
        }
        read
    }

    /// C as the fault leaves it.
    fn spoil(
        &self,
        alpha: f64,
        b: &ArrayView2<'_, f32>,
        beta: f64,
        before: &Array2<f32>,
        c: &mut ArrayViewMut2<'_, f32>,
    ) {
        let tiling = self.plan.tiling();
        let layout = tiling.layout();
        let beta = beta as f32;
        match self.fault {
            Fault::ReadsPaddingAsColumnZero => {
                let first = self.plan.b_permutation().map_or(0, |order| order.order()[0] as usize);
                for row in padded_rows(tiling) {
                    add_zero_times(c, row, b, first);
                }
            }
            Fault::ReadsEveryRowOfB => {
                for (row, col) in (0..c.nrows()).flat_map(|i| (0..b.nrows()).map(move |j| (i, j))) {
                    add_zero_times(c, row, b, col);
                }
            }
            Fault::ReadsBForAlphaZero if alpha == 0.0 && b.nrows() > 0 => {
                (0..c.nrows()).for_each(|row| add_zero_times(c, row, b, 0));
            }
            Fault::ReadsCForBetaZero if beta == 0.0 => {
                c.zip_mut_with(before, |c, &before| *c += 0.0 * before);
            }
            Fault::CountsBetaOncePerTask => {
                let tasks = self.plan.schedule().tasks();
                for pair in tasks.windows(2).filter(|t| t[0].window_start == t[1].window_start) {
                    for row in layout.rows(pair[0].window_start as usize).flatten() {
                        c.row_mut(row).scaled_add(beta, &before.row(row));
                    }
                }
            }
            Fault::DropsTheLastPartialWindow => {
                let whole = c.nrows() / layout.window_rows() * layout.window_rows();
                (whole..c.nrows()).for_each(|row| c.row_mut(row).assign(&before.row(row)));
            }
            Fault::DropsColumnsPastAMultipleOfEight => {
                let whole = c.ncols() / 8 * 8;
                (whole..c.ncols()).for_each(|col| c.column_mut(col).assign(&before.column(col)));
            }
            Fault::RoundsSumsToF16 => {
                c.mapv_inplace(|x| f16::from_f32(x).to_f32());
            }
            Fault::IgnoresTheRowOrder => {
                let right = c.to_owned();
                let rows = (0..layout.n_slots()).filter_map(|slot| layout.row(slot));
                for (stored, row) in rows.enumerate() {
                    c.row_mut(stored).assign(&right.row(row));
                }
            }
            Fault::GivesOtherBitsOnOtherThreads if rayon::current_num_threads() == 3 => {
                c.iter_mut().take(1).for_each(|x| *x = x.next_up());
            }
            _ => {}
        }
    }
}

/// The other form of GELU, by the Taylor series of erf around 0 within 3, and its limits beyond.
fn gelu_by_erf(x: f64) -> f64 {
    let z = x / 2f64.sqrt();
    let mut term = z;
    let mut sum = z;
    for k in 1..60 {
        let k = f64::from(k);
        term *= -z * z / k;
        sum += term / (2.0 * k + 1.0);
    }
    let erf = if z.abs() < 3.0 { sum * 2.0 / std::f64::consts::PI.sqrt() } else { z.signum() };
    x / 2.0 * (1.0 + erf)
}

/// What a multiplication of row `col` of B with a stored zero adds to a row of C.
fn add_zero_times(c: &mut ArrayViewMut2<'_, f32>, row: usize, b: &ArrayView2<'_, f32>, col: usize) {
    c.row_mut(row).scaled_add(0.0, &b.row(col));
}

/// The rows of windows with a padded column, where B has a row 0 to be read.
fn padded_rows(tiling: &AnyTiling) -> Vec<usize> {
    let AnyTiling::F32(Tiling::Wcsr(t)) = tiling else { return Vec::new() };
    let padded = |w: &usize| {
        let strip = t.window_ptr()[*w] as usize..t.window_ptr()[*w + 1] as usize;
        t.window_col_idx()[strip].contains(&PAD_COL)
    };
    (0..t.layout().n_windows())
        .filter(padded)
        .flat_map(|w| t.layout().rows(w).flatten().collect::<Vec<_>>())
        .collect()
}

/// The CSR plan without the entries that a split row's later tasks hold.
fn first_tasks(plan: &Plan) -> Plan {
    let AnyTiling::F32(Tiling::Csr(t)) = plan.tiling() else { return plan.clone() };
    let csr = t.csr();
    let mut values = csr.values().to_vec();
    for pair in plan.schedule().tasks().windows(2) {
        if pair[0].window_start == pair[1].window_start {
            values[pair[1].tiles()].fill(0.0);
        }
    }
    let csr = csr.with_values::<f32>(values).unwrap();
    let layout: RowLayout = t.layout().clone();
    Plan::from_tiling(Tiling::Csr(girih_formats::RowCsr::try_new(layout, csr).unwrap()))
}
