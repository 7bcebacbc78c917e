//! Products of plans in CSR, by `csr_spmm.cu`: its entry points, its parameters, and which entry point a
//! product runs.

#[cfg(test)]
mod faults;
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

pub(crate) use launch::device_plan;
pub(crate) use layout::has_tiles_of;
use layout::{ItemCounts, Layout, Operation, Problem, lanes};
use params::{Item, Last, Params, SplitRow};
pub(crate) use rows::Rows;
use statistics::Statistics;
pub use teams::{CsrLayout, CsrTeams};

/// Warps of a block.
pub(crate) const WARPS: u64 = 4;
/// Lanes of a warp.
pub(crate) const WARP: u32 = 32;
/// Threads of a block that multiplies.
pub(crate) const THREADS: u32 = WARPS as u32 * WARP;
/// Threads of a block of the kernel that works element by element.
pub(crate) const ELEMENT_THREADS: u32 = 256;

/// By how B is read: in vectors, by their lanes; a single column; element by element, by lanes again; in
/// vectors by several items to a warp, by how many; by teams without items, by lanes, by depth and by vectors.
const ENTRIES: [&str; 27] = [
    "csr_spmm_vectors_1x1",
    "csr_spmm_vectors_2x1",
    "csr_spmm_vectors_4x1",
    "csr_spmm_vectors_8x1",
    "csr_spmm_vectors_16x1",
    "csr_spmm_vectors_32x1",
    "csr_spmm_vectors_32x2",
    "csr_spmm_elements_column",
    "csr_spmm_elements_1x1",
    "csr_spmm_elements_2x1",
    "csr_spmm_elements_4x1",
    "csr_spmm_elements_8x1",
    "csr_spmm_elements_16x1",
    "csr_spmm_elements_32x1",
    "csr_spmm_elements_32x2",
    "csr_spmm_runs_32x1",
    "csr_spmm_runs_32x2",
    "csr_spmm_rows_2x4",
    "csr_spmm_rows_4x4",
    "csr_spmm_rows_8x4",
    "csr_spmm_rows_16x4",
    "csr_spmm_rows_32x4",
    "csr_spmm_rows_8x8",
    "csr_spmm_rows_16x8",
    "csr_spmm_rows_32x8",
    "csr_spmm_rows_32x4x2",
    SCALE,
];

/// The entries that compute aggregations: all but those that take several items to a warp, and the one that
/// multiplies nothing.
pub(super) const AGGREGATING: [&str; 24] = {
    let mut entries = [""; 24];
    let mut i = 0;
    while i < entries.len() {
        entries[i] = ENTRIES[if i < 15 { i } else { i + 2 }];
        i += 1;
    }
    entries
};

/// The entries for c64, whose single columns are read in vectors too: a vector is one number.
const WITHOUT_COLUMN: [&str; 25] = {
    let mut entries = [""; 25];
    let mut i = 0;
    while i < entries.len() {
        entries[i] = ENTRIES[if i < 7 { i } else { i + 2 }];
        i += 1;
    }
    entries
};

/// Multiplies C by β.
pub(crate) const SCALE: &str = "csr_scale";

/// The kernel for a value type.
#[must_use]
pub(crate) fn kernel(dtype: DType) -> Kernel {
    let mut defines = vec![("VALUE", value_name(dtype).to_owned())];
    if dtype.is_complex() {
        defines.push(("COMPLEX", (8 * dtype.part().size()).to_string()));
    }
    // Staged entries of c64 take 32 bytes, and all others 16 at the most.
    let (registers, entry, entries) = match dtype {
        DType::C64 => (128, 32, &WITHOUT_COLUMN[..]),
        // Two vectors of 16-bit values are 16 sums.
        DType::F16 | DType::Bf16 => (120, 16, &ENTRIES[..]),
        _ => (112, 16, &ENTRIES[..]),
    };
    Kernel {
        stem: "csr_spmm",
        config: dtype.name().to_owned(),
        source: include_str!("csr_spmm.cu"),
        defines,
        only: None,
        budget: Budget {
            registers,
            shared: THREADS * entry,
            // Of 16 warps, each lane of which stages two entries.
            dynamic_shared: 16 * 32 * 2 * entry,
            entries,
            instructions: &["LDG.E.128", "STG.E.128", "LDS", "SHFL", "ATOMG"],
        },
    }
}

/// The grid of a kernel that goes through `elements` one by one, in turns where there are too many.
pub(crate) fn element_grid(elements: u64) -> u32 {
    elements.div_ceil(u64::from(ELEMENT_THREADS)).clamp(1, 1 << 20) as u32
}
