//! The tuned numbers on which decisions depend, in one table.

pub mod thresholds;
