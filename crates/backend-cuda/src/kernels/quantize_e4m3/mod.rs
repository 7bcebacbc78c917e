//! B in e4m3 with a scale for each column, k contiguous, by `quantize_e4m3.cu`: what products of e4m3 read.
//!
//! # What bounds it
//! Memory: B, k·n elements of `e` bytes, is read twice, the second time from the second-level cache where it stays
//! there; k·n bytes of codes are written. The host's twin is
//! [`E4m3Scales::narrow_dense`](girih_formats::E4m3Scales::narrow_dense).

#[cfg(test)]
mod faults;
#[cfg(test)]
mod tests;

use bytemuck::bytes_of;
use girih_formats::DType;

use super::shared::passed::passed;
use super::shared::value_name;
use super::{Budget, Kernel};
use crate::CudaError;
use crate::launch::{ALIGN, Each, Launch};
use crate::operand::Place;

/// Its name.
pub(crate) const STEM: &str = "quantize_e4m3";

/// Columns of a CTA.
const COLUMNS: u64 = 32;
/// Threads of one.
const THREADS: u32 = 256;
/// Rows of B that a CTA has in shared memory at a time.
const DEPTH: u64 = 128;
/// The least rows of a part of k, of which each has a CTA, and the most parts.
const PART_ROWS: u64 = 512;
const MAX_PARTS: u64 = 64;

const LARGEST: &str = "quantize_e4m3_largest";
const CODES: &str = "quantize_e4m3_codes";

/// The value types of B that are quantized.
pub(crate) const DTYPES: [DType; 3] = [DType::F16, DType::Bf16, DType::F32];

passed! {
    "quantize_e4m3/passed.cuh";

    /// What the entry points are passed. Addresses are of device memory, strides count elements.
    struct Params {
        b: u64 as "const void*",
        row_stride: u64,
        col_stride: u64,
        k: u64,
        n: u64,
        /// Column j from codes + j * pitch on; k and then zeros, a multiple of 16 bytes.
        codes: u64 as "unsigned char*",
        pitch: u64,
        /// Of each part of k, the bits of the largest magnitude of each column.
        largest: u64 as "u32*",
        /// From one part to the next.
        part_stride: u64,
        scales: u64 as "float*",
        /// Rows of a part, a multiple of `kDepth`.
        part_rows: u32,
        n_parts: u32,
    }
}

/// The kernel for a value type of B.
pub(crate) fn kernel(dtype: DType) -> Kernel {
    Kernel {
        stem: STEM,
        config: dtype.name().to_owned(),
        source: include_str!("quantize_e4m3.cu"),
        defines: vec![("VALUE", value_name(dtype).to_owned())],
        only: Some(crate::Arch::SM_90A),
        budget: Budget {
            registers: 64,
            shared: 4480,
            dynamic_shared: 0,
            entries: &[LARGEST, CODES],
            instructions: &["F2FP", "STG.E.128"],
        },
    }
}

/// Where a B of `k` rows and at most `columns` columns goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quantized {
    k: u64,
    columns: u64,
}

impl Quantized {
    /// For products of a matrix with `k` columns, `columns` columns of B at a time.
    pub(crate) fn new(k: u64, columns: u64) -> Self {
        Self { k, columns }
    }

    /// Columns that there is space for.
    pub(crate) fn columns(&self) -> u64 {
        self.columns
    }

    /// Bytes from one column's codes to the next.
    pub(crate) fn pitch(&self) -> u64 {
        self.k.next_multiple_of(16)
    }

    /// Rows of a part of k, and how many there are.
    fn parts(&self) -> (u64, u64) {
        let rows = self.k.div_ceil(MAX_PARTS).next_multiple_of(DEPTH).max(PART_ROWS);
        // A column without rows has a scale too.
        (rows, self.k.div_ceil(rows).max(1))
    }

    /// Where the scales begin, from the first code.
    fn scales(&self) -> u64 {
        (self.pitch() * self.columns).next_multiple_of(ALIGN)
    }

    /// Where the largest magnitudes begin.
    fn largest(&self) -> u64 {
        (self.scales() + 4 * self.columns).next_multiple_of(ALIGN)
    }

    /// Bytes of it all: codes, scales, largest magnitudes.
    pub(crate) fn bytes(&self) -> u64 {
        self.largest() + 4 * self.columns * self.parts().1
    }

    /// The address of the scales of what is at `workspace`.
    pub(crate) fn scales_at(&self, workspace: u64) -> u64 {
        workspace + self.scales()
    }

    /// Quantizes a B that there is space for: `kernel` is which of the device plan's is this one.
    pub(crate) fn launches(
        &self,
        kernel: usize,
        b: &Place,
        workspace: u64,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let (n, (part_rows, n_parts)) = (b.cols as u64, self.parts());
        debug_assert!(n <= self.columns);
        let params = Params {
            b: b.address,
            row_stride: b.row_stride,
            col_stride: b.col_stride,
            k: self.k,
            n,
            codes: workspace,
            pitch: self.pitch(),
            largest: workspace + self.largest(),
            part_stride: self.columns,
            scales: self.scales_at(workspace),
            part_rows: part_rows as u32,
            n_parts: n_parts as u32,
        };
        for entry in [LARGEST, CODES] {
            each(&Launch {
                kernel,
                entry,
                grid: [n.div_ceil(COLUMNS) as u32, n_parts as u32, 1],
                block: THREADS,
                params: bytes_of(&params),
                ..Launch::default()
            })?;
        }
        Ok(())
    }
}
