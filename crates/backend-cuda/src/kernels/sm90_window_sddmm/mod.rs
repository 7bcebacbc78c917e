//! Sampled products of patterns in windows on tensor cores, by `sm90_window_sddmm.cu`:
//! `S = α·(X·Yᵀ) ⊙ pattern + β·S`.
//!
//! A pattern is laid out as WCSR's is (AsyncSparse §III-B), in windows of 16 rows times packed columns, and bitmasks
//! say which elements are entries (Voltrix §3.1). Values have 16 bits; sums are in f32, rounded as tensor cores do.
//!
//! # What bounds it
//! X is m×d and Y k×d, of 2 bytes an element. A row of Y is read once for all entries in its column of a window,
//! where [`csr_sddmm`](super::csr_sddmm) reads it once for each. The second-level cache serves:
//!
//! - 2·d bytes of Y for each packed column, and 14 of the tile that it is in;
//! - 32·d bytes of X for each 64 tiles of a window, or fewer;
//! - 4 bytes of S for each entry, and 4 more where β is not zero.
//!
//! Tensor cores compute 2·16·d flops for each packed column, whatever share of them are entries.

#[cfg(test)]
mod faults;
mod launch;
mod params;
mod windows;

use girih_formats::DType;

use super::shared::value_name;
use super::{Budget, Kernel};
use crate::error::Arch;

pub(crate) use launch::{WindowSampling, parts};
pub(crate) use params::WINDOW_ROWS;

/// Threads of a block.
const THREADS: u32 = 128;

const VECTORS: &str = "window_sddmm_vectors";
const ELEMENTS: &str = "window_sddmm_elements";

/// The value types that there are kernels for: tensor cores would round the others.
pub(crate) const DTYPES: [DType; 2] = [DType::F16, DType::Bf16];

/// The kernel for a value type, one of [`DTYPES`].
#[must_use]
pub(crate) fn kernel(dtype: DType) -> Kernel {
    Kernel {
        stem: "sm90_window_sddmm",
        config: dtype.name().to_owned(),
        source: include_str!("sm90_window_sddmm.cu"),
        defines: vec![("VALUE", value_name(dtype).to_owned())],
        only: Some(Arch::SM_90A),
        budget: Budget {
            registers: 96,
            // 16 rows of 512 columns of X, and what puts them into different banks.
            shared: 16 * (512 * 2 + 64),
            dynamic_shared: 0,
            entries: &[VECTORS, ELEMENTS],
            instructions: &["HMMA.16816.F32", "LDG.E.128", "LDS.128"],
        },
    }
}
