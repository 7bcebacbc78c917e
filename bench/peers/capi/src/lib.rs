//! The CPU backend behind a C ABI, so that a benchmark can call it and other libraries by turns in
//! one process.
//!
//! Functions that return a pointer return null on failure, functions that return an `int` return 0
//! on success; [`girih_last_error`] then has the reason. No handle is bound to a thread.

#![expect(unsafe_code, reason = "a C ABI")]

mod crew;
mod error;
mod format;
mod matrix;
mod product;
mod reads;
mod roofline;
#[cfg(test)]
mod tests;

pub use error::girih_last_error;
pub use matrix::{CsrArrays, Matrix, girih_csr_free, girih_csr_open};
pub use product::{
    Product, girih_spmm_execute, girih_spmm_format, girih_spmm_free, girih_spmm_prepare,
};
pub use reads::{Reads, girih_reads_free, girih_reads_prepare, girih_reads_run};
pub use roofline::{
    BandwidthPoint, girih_roofline_bandwidth, girih_roofline_floor, girih_roofline_free,
    girih_roofline_measure, girih_roofline_peak,
};
