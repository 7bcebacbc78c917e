//! The reference backend, and what every backend shares.

mod by_function;
mod conformance;
mod ordered;
