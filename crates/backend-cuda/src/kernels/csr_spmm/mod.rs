//! Products of plans in CSR, by `csr_spmm.cu`: its entry points, its parameters, and which entry point a
//! product runs.

mod copies;
mod entries;
#[cfg(test)]
pub(super) mod faults;
#[cfg(test)]
mod faults_complex;
mod launch;
mod layout;
mod limits;
mod params;
mod rows;
mod statistics;
mod teams;
mod wide;
mod work;

use girih_formats::DType;

use super::shared::value_name;
use super::{Budget, Kernel};

pub(crate) use entries::{SCALE, aggregating};
pub(crate) use launch::device_plan;
pub(crate) use layout::has_tiles_of;
use layout::{ItemCounts, Layout, Operation, Problem, exchanged_bytes, lanes};
use params::{Item, Last, Params, SplitRow};
pub(crate) use rows::Rows;
use statistics::Statistics;
pub use teams::{CsrLayout, CsrTeams};

/// Warps of a block.
pub(crate) const WARPS: u64 = 4;
/// Lanes of a warp.
pub(crate) const WARP: u32 = 32;
/// Items that a warp goes through as if they were one, where they are short and many.
pub(crate) const RUN: u32 = 8;
/// Threads of a block that multiplies.
pub(crate) const THREADS: u32 = WARPS as u32 * WARP;
/// Threads of a block of the kernel that works element by element.
pub(crate) const ELEMENT_THREADS: u32 = 256;

/// The kernels for a value type, each in a binary of its own, so that they are compiled side by side: those that read B
/// in vectors of 16 bytes, and those that read it in parts of them.
#[must_use]
pub(crate) fn kernels(dtype: DType) -> [Kernel; 2] {
    let mut defines = vec![("VALUE", value_name(dtype).to_owned())];
    if dtype.is_complex() {
        defines.push(("COMPLEX", (8 * dtype.part().size()).to_string()));
    }
    // Staged entries of c64 take 32 bytes, and all others 16 at the most.
    let (registers, entry) = match dtype {
        DType::C64 => (128, 32),
        // Two vectors of 16-bit values are 16 sums.
        DType::F16 | DType::Bf16 => (128, 16),
        _ => (112, 16),
    };
    let vectors = Kernel {
        stem: "csr_spmm",
        config: dtype.name().to_owned(),
        source: include_str!("csr_spmm.cu"),
        defines,
        only: None,
        budget: Budget {
            registers,
            shared: THREADS * entry,
            // Of 16 warps, each lane of which stages up to four entries, and exchanges sums.
            dynamic_shared: 16 * 32 * (4 * entry + exchanged_bytes(dtype)),
            entries: entries::in_vectors(),
            instructions: &["LDG.E.128", "STG.E.128", "LDS", "SHFL", "ATOMG"],
        },
    };
    let mut parts = vectors.clone();
    parts.config = format!("{dtype} in parts");
    parts.defines.push(("IN_PARTS", (16 / dtype.size()).to_string()));
    parts.budget.entries = entries::in_parts(dtype);
    if dtype.size() == 2 {
        // A vector is eight loads.
        parts.budget.registers = 144;
    }
    parts.budget.instructions = &["LDG.E", "STG.E", "LDS", "SHFL", "ATOMG"];
    [vectors, parts]
}

/// The grid of a kernel that goes through `elements` one by one, in turns where there are too many.
pub(crate) fn element_grid(elements: u64) -> u32 {
    elements.div_ceil(u64::from(ELEMENT_THREADS)).clamp(1, 1 << 20) as u32
}
