//! The tuned numbers on which decisions depend.

pub mod thresholds;
