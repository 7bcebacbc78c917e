//! Sampled products of patterns in CSR, by `csr_sddmm.cu`: `S = α·(X·Yᵀ) ⊙ pattern + β·S`.
//!
//! # What bounds it
//! X is m×d, Y k×d, an element has `e` bytes and a sum `a`. CUDA cores compute 2·nnz·d flops. Memory moves at least:
//!
//! - (m + k)·d·e bytes of X and Y;
//! - nnz·(4 + a) bytes of columns and S, and nnz·a more where β is not zero;
//! - for where runs begin, half a byte an entry, and 16 a row that has entries.
//!
//! That floor holds where Y stays in the second-level cache. The cache serves nnz·d·e bytes of Y's rows, less what
//! neighbouring rows of the pattern share within a first-level cache. At 2/e flops a byte, that traffic takes the
//! time, not arithmetic. Where rows have an entry or two, X is read as often as Y.

#[cfg(test)]
mod faults;
mod launch;
mod params;
mod rows;

use girih_formats::DType;

use super::shared::value_name;
use super::{Budget, Kernel};

pub use launch::SampledOperands;
pub(crate) use launch::{Sampling, parts};

/// Threads of a block that samples.
const THREADS: u32 = 128;
/// Threads of a block that scales.
const SCALE_THREADS: u32 = 256;

/// Lanes of a team and the vectors that each has, by how X and Y are read; the last of each goes through panels of
/// columns.
const ENTRIES: [&str; 17] = [
    "csr_sddmm_vectors_1x1",
    "csr_sddmm_vectors_2x1",
    "csr_sddmm_vectors_4x1",
    "csr_sddmm_vectors_8x1",
    "csr_sddmm_vectors_8x2",
    "csr_sddmm_vectors_8x4",
    "csr_sddmm_vectors_32x2",
    "csr_sddmm_vectors_panels",
    "csr_sddmm_elements_1x1",
    "csr_sddmm_elements_2x1",
    "csr_sddmm_elements_4x1",
    "csr_sddmm_elements_8x1",
    "csr_sddmm_elements_8x2",
    "csr_sddmm_elements_8x4",
    "csr_sddmm_elements_32x2",
    "csr_sddmm_elements_panels",
    SCALE,
];

/// Multiplies S by β.
const SCALE: &str = "csr_sddmm_scale";

/// The kernel for a value type.
#[must_use]
pub(crate) fn kernel(dtype: DType) -> Kernel {
    Kernel {
        stem: "csr_sddmm",
        config: dtype.name().to_owned(),
        source: include_str!("csr_sddmm.cu"),
        defines: vec![("VALUE", value_name(dtype).to_owned())],
        only: None,
        budget: Budget {
            // Of 16 bits element by element, where a lane holds 32 of X and has as many of Y under way.
            registers: 160,
            shared: 0,
            dynamic_shared: 0,
            entries: &ENTRIES,
            instructions: &["LDG.E.128", "SHFL.BFLY"],
        },
    }
}
