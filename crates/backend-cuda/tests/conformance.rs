//! The conformance suite, on a device.

mod common;

use girih_testkit::Coverage;
use girih_testkit::conformance::{assert_conforms, named_dtype, run_refusals};

macro_rules! csr {
    ($($dtype:ident),*) => {
        mod csr {
            use super::*;

            $(#[test]
            fn $dtype() {
                let Some(backend) = common::backend() else { return };
                let dtype = named_dtype(stringify!($dtype));
                let csr = girih_formats::FormatKind::Csr;
                assert_conforms(&backend, csr, dtype, Coverage::EverySpec);
            })*
        }
    };
}

csr!(f16, bf16, f32, f64);

#[test]
fn refuses_the_rest() {
    let Some(backend) = common::backend() else { return };
    let report = run_refusals(&backend);
    assert!(report.failures.is_empty(), "{report}");
}
