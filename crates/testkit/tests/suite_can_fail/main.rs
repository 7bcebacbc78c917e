//! Backends that are wrong on purpose, each with a fault that some kernel in the field has had: the
//! suite must find every one of them, and find nothing in the backend they are made from.

mod broken;
mod product;

use girih_formats::{DType, FormatKind};
use girih_testkit::conformance::{run, run_in_turns, run_refusals};

use broken::{Broken, Fault};

/// Runs the suite on the fault and checks that a failure tells of `sign`, in what was checked or in what was wrong. It
/// runs in turns: all products are these and more.
fn must_fail(fault: Fault, kind: FormatKind, sign: &str) {
    let report = run_in_turns(&Broken(fault), kind, DType::F32);
    assert!(!report.passed(), "{fault:?} was not noticed");
    assert!(
        report.failures.iter().any(|f| f.check.contains(sign) || f.reason.contains(sign)),
        "{fault:?} was noticed, but not as {sign:?}: {report}"
    );
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
    c_truncated: TruncatesC on Csr shows as "C of f16";
    c_saturated: SaturatesC on Bcsr shows as "found: 65504";
    maxima_begin_with_zero: BeginsMaximaWithZero on Csr shows as "aggregation Max";
    nan_ignored_by_maxima: IgnoresNanInMaxima on Csr shows as "aggregation Max";
    means_of_too_many: MeansOfTooMany on BMat shows as "aggregation Mean";
    executes_what_it_refuses: ExecutesWhatItRefuses on Csr shows as "refused, but computed";
}

/// What is wrong with complex values alone.
#[test]
fn faults_of_complex_values_are_found() {
    for (fault, sign) in [
        (Fault::ConjugatesA, "is_imaginary: true"),
        (Fault::DropsImaginaryParts, "is_imaginary: true"),
        (Fault::ScalesByTheRealPart, "α = 0+1i"),
    ] {
        let report = run_in_turns(&Broken(fault), FormatKind::Csr, DType::C32);
        let found = |f: &girih_testkit::conformance::Failure| {
            f.check.contains(sign) || f.reason.contains(sign)
        };
        assert!(report.failures.iter().any(found), "{fault:?}: {report}");
    }
    let report = run(&Broken(Fault::None), FormatKind::Csr, DType::C32);
    assert!(report.passed() && report.unsupported.is_empty() && report.refreshed > 10, "{report}");
}

/// Library baselines are judged by this: what fails for row 0 of B alone is a known defect of theirs, anything
/// else is not.
#[test]
fn failures_say_whether_row_0_of_b_is_to_blame() {
    let by_first_row = |fault, kind| {
        let report = run_in_turns(&Broken(fault), kind, DType::F32);
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
    assert!(report.refreshed > 100 && report.finished > 100 && report.rounded > 50, "{report}");
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
