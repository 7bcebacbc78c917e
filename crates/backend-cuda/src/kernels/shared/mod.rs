//! What several kernels share: headers, the host's side of `output.cuh`, and what tensor copies can move.

mod copied;
#[cfg(test)]
mod faults_rounded;
mod tf32;

use bytemuck::{Pod, Zeroable};
use girih_formats::DType;

use crate::epilogue::PlacedEpilogue;
use crate::operand::Place;
pub(crate) use copied::{Reading, is_matrix, map_of_c};
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

/// C as a kernel writes it: `Output` in CUDA. Addresses are of device memory, strides count elements.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Output {
    pub(crate) c: u64,
    /// The row of C for each slot; 0 where slot i is row i.
    pub(crate) rows: u64,
    pub(crate) m: u64,
    pub(crate) n: u64,
    pub(crate) row_stride: u64,
    pub(crate) col_stride: u64,
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
    pub(crate) epilogue: PlacedEpilogue,
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

const _: () = assert!(size_of::<Output>() == 88);
