//! What the fuzz targets do with an input. `fuzz_targets` hands them inputs of libFuzzer, and `tests/seeds` those
//! in `fuzz/seeds`, with the compiler that everything else is built with.

mod device;
mod matrix_market;
mod npy;
mod npz;
mod orders;
mod plan;
mod ptx;
mod smtx;

/// The targets: their names, which are those of their folders of seeds, and what they run.
pub(crate) const TARGETS: [(&str, fn(&[u8])); 8] = [
    ("device", device::run),
    ("matrix_market", matrix_market::run),
    ("npy", npy::run),
    ("npz", npz::run),
    ("orders", orders::run),
    ("plan", plan::run),
    ("ptx", ptx::run),
    ("smtx", smtx::run),
];
