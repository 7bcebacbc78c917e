//! The reference backend, and what every backend shares.

mod conformance;
mod ordered;
