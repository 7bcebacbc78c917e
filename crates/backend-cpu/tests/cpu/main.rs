//! The CPU backend: right, in any width, and the same on any number of threads.

mod aggregation;
mod columns;
mod complex;
mod conformance;
mod epilogue;
mod far_b;
mod refresh;
mod reproducible;
mod sampled;
mod value_types;
