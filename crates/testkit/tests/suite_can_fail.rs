//! Backends that are wrong on purpose, each with a fault that some kernel in the field has had: the
//! suite must find every one of them, and find nothing in the backend they are made from.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use girih_backend::{
    Activation, Aggregation, BackendError, Bias, Capabilities, DenseView, DenseViewMut, Epilogue,
    Lowering, PreparedSpmm, ProductShape, ReferenceBackend, SpmmBackend, Unsupported,
};
use girih_formats::{AnyTiling, DType, FormatKind, PAD_COL, RowLayout, Tiling};
use girih_planner::Plan;
use girih_reorder::Permutation;
use girih_testkit::conformance::{run, run_in_turns, run_refusals};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};

/// What a broken backend does to f32 products; everything else it leaves to the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    ReadsPaddingAsColumnZero,
    ReadsEveryRowOfB,
    ReadsBForAlphaZero,
    ForgetsBeta,
    ReadsCForBetaZero,
    CountsBetaOncePerTask,
    DropsTheLastPartialWindow,
    DropsColumnsPastAMultipleOfEight,
    TruncatesToBf16,
    RoundsSumsToF16,
    SumsOnlyTheFirstTask,
    IgnoresTheRowOrder,
    IgnoresTheColumnOrder,
    ReadsNegativeStridesForwards,
    ReadsColumnMajorAsRowMajor,
    ComputesOffsetsIn32Bits,
    GivesOtherBitsTheSecondTime,
    GivesOtherBitsOnOtherThreads,
    WritesBeforeItChecks,
    ChecksNothing,
    RefusesEveryPlan,
    RefusesLargeBlocks,
    TakesWhatItDoesNotClaim,
    KeepsOldValues,
    PutsNewValuesInReverse,
    ForgetsTheBias,
    ActivatesBeforeTheBias,
    ActivatesBeforeBeta,
    ActivatesTwice,
    TakesErfForTanh,
    FlushesNanInRelu,
    GivesEveryPanelTheFirstBias,
    ExecutesWhatItRefuses,
    BeginsMaximaWithZero,
    IgnoresNanInMaxima,
    MeansOfTooMany,
}

#[derive(Debug)]
struct Broken(Fault);

impl SpmmBackend for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn capabilities(&self) -> Result<Capabilities, BackendError> {
        let mut can = ReferenceBackend.capabilities()?;
        if self.0 == Fault::TakesWhatItDoesNotClaim {
            can.formats.retain(|&kind| kind != FormatKind::BMat);
        }
        Ok(can)
    }

    fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
        let refuse = |reason: &str| Unsupported::Sizes { spec: plan.spec(), reason: reason.into() };
        match self.0 {
            Fault::RefusesEveryPlan => Err(refuse("it is broken")),
            Fault::RefusesLargeBlocks if plan.tiling().layout().window_rows() > 16 => {
                Err(refuse("its blocks are too large"))
            }
            _ => Ok(()),
        }
    }

    fn supports_epilogue(&self, _: &Plan, epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
        match self.0 {
            Fault::ExecutesWhatItRefuses if !epilogue.is_none() => {
                Err(Unsupported::Epilogue { reason: "it says so".to_owned() })
            }
            _ => Ok(()),
        }
    }

    fn supports_aggregation(
        &self,
        plan: &Plan,
        aggregation: Aggregation,
    ) -> Result<(), Unsupported> {
        ReferenceBackend.supports_aggregation(plan, aggregation)
    }

    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        let inner = match self.0 {
            Fault::IgnoresTheColumnOrder => {
                ReferenceBackend.prepare(&with_natural_columns(plan))?
            }
            _ => ReferenceBackend.prepare(plan)?,
        };
        let (fault, plan) = (self.0, plan.clone());
        Ok(Box::new(PreparedBroken { fault, plan, inner, executions: Arc::default() }))
    }
}

#[derive(Debug)]
struct PreparedBroken {
    fault: Fault,
    plan: Plan,
    inner: Box<dyn PreparedSpmm>,
    executions: Arc<AtomicUsize>,
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
            (b, c) => self.inner.execute(alpha, b, beta, c),
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
            (b, c) => self.inner.execute_with(alpha, b, beta, c, epilogue),
        }
    }

    fn aggregate(
        &self,
        aggregation: Aggregation,
        b: DenseView<'_>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
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
                c.mapv_inplace(|x| half::f16::from_f32(x).to_f32());
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

/// The plan as if its tiles held the columns in the matrix's order.
fn with_natural_columns(plan: &Plan) -> Plan {
    plan.clone().with_columns(Permutation::identity(plan.ncols()).unwrap()).unwrap()
}

/// Runs the suite on the fault, with all products and in turns, and checks that a failure tells of `sign`, in
/// what was checked or in what was wrong.
fn must_fail(fault: Fault, kind: FormatKind, sign: &str) {
    for run in [run, run_in_turns] {
        let report = run(&Broken(fault), kind, DType::F32);
        assert!(!report.passed(), "{fault:?} was not noticed");
        assert!(
            report.failures.iter().any(|f| f.check.contains(sign) || f.reason.contains(sign)),
            "{fault:?} was noticed, but not as {sign:?}: {report}"
        );
    }
}

macro_rules! faults {
    ($($name:ident: $fault:ident on $kind:ident shows as $sign:expr;)*) => {$(
        #[test]
        fn $name() {
            must_fail(Fault::$fault, FormatKind::$kind, $sign);
        }
    )*};
}

faults! {
    padding_as_column_zero: ReadsPaddingAsColumnZero on Wcsr shows as "NaN under padding";
    every_row_of_b: ReadsEveryRowOfB on BMat shows as "NaN in every absent column";
    b_for_alpha_zero: ReadsBForAlphaZero on Csr shows as "α = 0";
    beta_forgotten: ForgetsBeta on Bcsr shows as "β = 0.5";
    c_read_for_beta_zero: ReadsCForBetaZero on Csr shows as "β = 0,";
    beta_once_per_task: CountsBetaOncePerTask on Csr shows as "tiles per task";
    last_partial_window: DropsTheLastPartialWindow on Wcsr shows as "wcsr 16/8";
    last_partial_block_row: DropsTheLastPartialWindow on BlockedEll shows as "blocked-ell 16x16";
    columns_past_eight: DropsColumnsPastAMultipleOfEight on Csr shows as "n = 33";
    inputs_truncated: TruncatesToBf16 on Csr shows as "max_error_over_bound";
    sums_rounded: RoundsSumsToF16 on TwoFour shows as "max_error_over_bound";
    first_task_only: SumsOnlyTheFirstTask on Csr shows as "1 tiles per task";
    row_order_ignored: IgnoresTheRowOrder on Bcsr shows as "rows Reversed";
    column_order_ignored: IgnoresTheColumnOrder on Bcsr shows as "columns shuffled";
    negative_strides: ReadsNegativeStridesForwards on Csr shows as "B Reversed";
    column_major: ReadsColumnMajorAsRowMajor on Csr shows as "B ColMajor";
    offsets_in_32_bits: ComputesOffsetsIn32Bits on Csr shows as "over 2³² elements";
    other_bits_again: GivesOtherBitsTheSecondTime on Csr shows as "executed again";
    other_bits_on_threads: GivesOtherBitsOnOtherThreads on Csr shows as "3 threads";
    writes_before_checks: WritesBeforeItChecks on Csr shows as "C was written";
    old_values_kept: KeepsOldValues on Csr shows as "other bits than those of a new plan";
    new_values_reversed: PutsNewValuesInReverse on Wcsr shows as "new values, transposed";
    no_checks: ChecksNothing on Csr shows as "not the error it should be";
    bias_forgotten: ForgetsTheBias on Csr shows as "epilogue PerRow";
    activated_before_the_bias: ActivatesBeforeTheBias on Wcsr shows as "epilogue PerColumn Relu";
    activated_before_beta: ActivatesBeforeBeta on Bcsr shows as "Relu";
    activated_twice: ActivatesTwice on Csr shows as "Gelu";
    erf_for_tanh: TakesErfForTanh on Csr shows as "Gelu";
    nan_flushed: FlushesNanInRelu on Csr shows as "NaN and Inf, epilogue Relu";
    first_bias_for_every_panel: GivesEveryPanelTheFirstBias on Csr shows as "epilogue PerColumn";
    maxima_begin_with_zero: BeginsMaximaWithZero on Csr shows as "aggregation Max";
    nan_ignored_by_maxima: IgnoresNanInMaxima on Csr shows as "aggregation Max";
    means_of_too_many: MeansOfTooMany on BMat shows as "aggregation Mean";
    executes_what_it_refuses: ExecutesWhatItRefuses on Csr shows as "refused, but computed";
}

/// Library baselines are judged by this: what fails for row 0 of B alone is a known defect of theirs, anything
/// else is not.
#[test]
fn failures_say_whether_row_0_of_b_is_to_blame() {
    let by_first_row = |fault, kind| {
        let report = run(&Broken(fault), kind, DType::F32);
        let all = report.failures.len();
        (report.failures.iter().filter(|f| f.reads_first_row).count(), all)
    };
    let (blamed, all) = by_first_row(Fault::ReadsPaddingAsColumnZero, FormatKind::Wcsr);
    assert!(blamed == all && all > 0, "{blamed} of {all}");
    let (blamed, all) = by_first_row(Fault::ReadsEveryRowOfB, FormatKind::BMat);
    assert!(blamed < all, "{blamed} of {all}");
    for fault in [Fault::ForgetsBeta, Fault::TruncatesToBf16, Fault::IgnoresTheRowOrder] {
        let (blamed, all) = by_first_row(fault, FormatKind::Bcsr);
        assert!(blamed == 0 && all > 0, "{fault:?}: {blamed} of {all}");
    }
}

#[test]
fn the_backend_the_faults_are_put_into_is_sound() {
    let report = run(&Broken(Fault::None), FormatKind::Wcsr, DType::F32);
    assert!(report.passed() && report.unsupported.is_empty(), "{report}");
    assert!(report.refreshed > 100 && report.finished > 100, "{report}");
    let in_turns = run_in_turns(&Broken(Fault::None), FormatKind::Wcsr, DType::F32);
    assert!(in_turns.passed() && in_turns.unsupported.is_empty(), "{in_turns}");
    assert!(in_turns.checks < report.checks / 2, "{} of {}", in_turns.checks, report.checks);
}

#[test]
fn a_backend_that_refuses_everything_does_not_pass() {
    let report = run(&Broken(Fault::RefusesEveryPlan), FormatKind::Csr, DType::F32);
    assert!(!report.passed() && report.checks == 0, "{report}");
}

#[test]
fn a_backend_that_refuses_some_plans_is_not_complete() {
    let report = run(&Broken(Fault::RefusesLargeBlocks), FormatKind::Bcsr, DType::F32);
    assert!(report.passed() && !report.unsupported.is_empty(), "{report}");
}

#[test]
fn what_is_not_claimed_must_be_refused() {
    assert!(!run_refusals(&Broken(Fault::TakesWhatItDoesNotClaim)).failures.is_empty());
    assert!(run_refusals(&Broken(Fault::None)).failures.is_empty());
}
