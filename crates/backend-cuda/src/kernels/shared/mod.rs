//! What several kernels share: headers, the host's side of `output.cuh`, and what tensor copies can move.

mod copied;
mod elements;
#[cfg(test)]
mod faults_rounded;
pub(crate) mod passed;
mod tf32;

use girih_formats::DType;

use crate::epilogue::PlacedEpilogue;
use crate::operand::Place;
pub(crate) use copied::{Reading, is_matrix, map_of_c};
pub(crate) use elements::Elements;
use passed::passed;
pub(crate) use tf32::round_tf32;

/// A value type's name in `values.cuh`: CUDA cores multiply all of them.
pub(crate) fn value_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "F16",
        DType::Bf16 => "Bf16",
        DType::F32 => "F32",
        DType::F64 => "F64",
        DType::C32 => "C32",
        DType::C64 => "C64",
    }
}

passed! {
    "shared/passed_output.cuh";

    /// C as a kernel writes it. Addresses are of device memory, strides count elements.
    pub(crate) struct Output as "PlacedOutput" {
        c: u64 as "OfC*",
        /// The row of C for each slot, all bits set if it has none; null where slot i is row i.
        rows: u64 as "const u32*",
        m: u64,
        n: u64,
        row_stride: u64,
        col_stride: u64,
        alpha: f32,
        beta: f32,
        epilogue: PlacedEpilogue,
    }
}

impl Output {
    /// The columns `c` of a C of `m` rows. `rows` is the address of the row for each slot, or 0. α and β are rounded to
    /// f32.
    pub(crate) fn new(
        c: &Place,
        (rows, m): (u64, u64),
        (alpha, beta): (f64, f64),
        epilogue: PlacedEpilogue,
    ) -> Self {
        Self {
            c: c.address,
            rows,
            m,
            n: c.cols as u64,
            row_stride: c.row_stride,
            col_stride: c.col_stride,
            alpha: alpha as f32,
            beta: beta as f32,
            epilogue,
        }
    }
}
