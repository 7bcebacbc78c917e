//! The reference backend, against the oracle.

use girih_backend::ReferenceBackend;
use girih_testkit::{Coverage, conformance_tests};

conformance_tests!(ReferenceBackend, Coverage::EverySpec);

mod complex {
    use super::*;

    conformance_tests!(ReferenceBackend, Coverage::EverySpec, formats: [csr, bcsr], dtypes: [c32, c64]);
}

#[test]
fn sampled_products_conform() {
    for dtype in girih_formats::DType::REAL {
        let report = girih_testkit::conformance::run_sddmm(&ReferenceBackend, dtype);
        assert!(report.passed(), "{dtype}: {report}");
    }
}
