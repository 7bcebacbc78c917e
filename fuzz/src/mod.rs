//! What the fuzz targets do with an input. `fuzz_targets` hands them inputs of libFuzzer, and `tests/seeds` those
//! in `fuzz/seeds`, with the compiler that everything else is built with.

mod device;
mod lowered;
mod matrix_market;
mod npy;
mod npz;
mod orders;
mod plan;
mod ptx;
mod smtx;

/// A target's name, which is that of its folder of seeds, and what it does with an input.
type Target = (&'static str, fn(&[u8]));

/// All targets.
pub(crate) const TARGETS: [Target; 9] = [
    ("device", device::run),
    ("lowered", lowered::run),
    ("matrix_market", matrix_market::run),
    ("npy", npy::run),
    ("npz", npz::run),
    ("orders", orders::run),
    ("plan", plan::run),
    ("ptx", ptx::run),
    ("smtx", smtx::run),
];
