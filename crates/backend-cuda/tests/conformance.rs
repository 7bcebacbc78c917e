//! The conformance suite, on a device.

mod common;

use girih_backend::SpmmBackend;
use girih_formats::{DType, FormatKind};
use girih_planner::Precision;
use girih_testkit::conformance::{assert_conforms, named_dtype, named_format, run_refusals};
use girih_testkit::{Coverage, InPrecision};

macro_rules! conformance {
    ($format:ident, $coverage:ident: $($dtype:ident),*) => {
        mod $format {
            use super::*;

            $(#[test]
            fn $dtype() {
                conforms(stringify!($format), stringify!($dtype), Coverage::$coverage);
            })*
        }
    };
}

/// Puts the device through the suite, if there are kernels of the format for it.
#[expect(clippy::print_stderr, reason = "a test says why it is skipped")]
fn conforms(format: &str, dtype: &str, coverage: Coverage) {
    let Some(backend) = common::backend() else { return };
    let (format, dtype) = (named_format(format), named_dtype(dtype));
    let can = backend.capabilities().unwrap();
    if can.formats.contains(&format) {
        assert_conforms(&backend, format, dtype, coverage);
    } else {
        eprintln!("skipped: there are no kernels of {format} for {}", can.device);
    }
}

conformance!(csr, EverySpec: f16, bf16, f32, f64, c32, c64);
conformance!(bcsr, SupportedSpecs: f16, bf16, f32);
conformance!(wcsr, SupportedSpecs: f16, bf16, f32);
conformance!(bmat, EverySpec: f16, bf16, f32);
conformance!(two_four, EverySpec: f16, bf16);
conformance!(hybrid, SupportedSpecs: f16, bf16, f32);

/// Plans of f32 in BMat that are not to be rounded to TF32.
#[expect(clippy::print_stderr, reason = "a test says why it is skipped")]
fn bmat_in(precision: Precision) {
    let Some(backend) = common::backend() else { return };
    let can = backend.capabilities().unwrap();
    if can.formats.contains(&FormatKind::BMat) {
        let backend = InPrecision::new(backend, precision);
        assert_conforms(&backend, FormatKind::BMat, DType::F32, Coverage::EverySpec);
    } else {
        eprintln!("skipped: there are no kernels of bmat for {}", can.device);
    }
}

#[test]
fn bmat_in_3xtf32() {
    bmat_in(Precision::ThreeTf32);
}

#[test]
fn bmat_in_f32() {
    bmat_in(Precision::F32);
}

#[test]
fn refuses_the_rest() {
    let Some(backend) = common::backend() else { return };
    let report = run_refusals(&backend);
    assert!(report.failures.is_empty(), "{report}");
}
