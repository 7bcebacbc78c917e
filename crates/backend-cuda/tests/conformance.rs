//! The conformance suite, on a device.

mod common;

use girih_backend::SpmmBackend;
use girih_testkit::Coverage;
use girih_testkit::conformance::{assert_conforms, named_dtype, named_format, run_refusals};

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

conformance!(csr, EverySpec: f16, bf16, f32, f64);
conformance!(bcsr, SupportedSpecs: f16, bf16, f32);
conformance!(wcsr, SupportedSpecs: f16, bf16, f32);
conformance!(bmat, EverySpec: f16, bf16, f32);
conformance!(two_four, EverySpec: f16, bf16);

#[test]
fn refuses_the_rest() {
    let Some(backend) = common::backend() else { return };
    let report = run_refusals(&backend);
    assert!(report.failures.is_empty(), "{report}");
}
