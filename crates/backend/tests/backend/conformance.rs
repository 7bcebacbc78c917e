//! The reference backend, against the oracle.

use girih_backend::ReferenceBackend;
use girih_testkit::{Coverage, conformance_tests};

conformance_tests!(ReferenceBackend, Coverage::EverySpec);
