//! What a sampled product uploads and launches: pure, from the pattern and the operands.

use bytemuck::{bytes_of, cast_slice};
use girih_formats::{CsrPattern, DType};

use super::params::Params;
use super::rows::{GROUP, Rows};
use super::{ENTRIES, SCALE, SCALE_THREADS, THREADS};
use crate::CudaError;
use crate::launch::{Each, Launch};
use crate::operand::Place;

/// Warps of a multiprocessor that wait for rows of Y at the same time, about.
const RESIDENT: u64 = 32;
/// Runs that each team of these takes at least, one after the other, unless runs would be of less than a group:
/// so the last ones are a small part of the time.
const TURNS: u64 = 2;
/// The longest run: X is loaded once for as many entries, and a row's end costs little.
const LONGEST: u64 = 64;

/// The shapes of teams: lanes, and vectors of a lane, in the order of their entry points. What is wider than the
/// last one's goes through panels of its width.
const SHAPES: [(u64, u64); 7] = [(1, 1), (2, 1), (4, 1), (8, 1), (8, 2), (8, 4), (32, 2)];

/// The operands of `S = α·(X·Yᵀ) ⊙ pattern + β·S` but the pattern: scalars, and where X (m×d), Y (k×d) and S
/// (nnz×1) are in device memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledOperands {
    /// α; where it is 0, X and Y are not read.
    pub alpha: f64,
    /// X.
    pub x: Place,
    /// Y.
    pub y: Place,
    /// β; where it is 0, S is not read.
    pub beta: f64,
    /// S.
    pub s: Place,
}

/// Calls `with` with what is uploaded of a pattern: rows, first rows, columns. O(rows + nnz).
pub(crate) fn parts<R>(pattern: CsrPattern<'_>, with: impl FnOnce(&[&[u8]]) -> R) -> R {
    let Rows { rows, first_row } = Rows::of(pattern);
    with(&[cast_slice(&rows), cast_slice(&first_row), cast_slice(pattern.col_idx())])
}

/// What decides the launches of sampled products, besides their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sampling {
    pub(crate) dtype: DType,
    pub(crate) nnz: u64,
    pub(crate) multiprocessors: u32,
}

/// How a product is laid over lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    entry: &'static str,
    /// Of a team.
    lanes: u64,
    /// Entries of a team.
    run: u64,
}

impl Sampling {
    /// Hands the launch of a product to `each`; its kernel is number 0. The operands fit the pattern, whose
    /// [parts] have these addresses, and there is at least one entry.
    ///
    /// # Errors
    /// Those of `each`, and [`CudaError::Operand`] if there are more entries than a grid has blocks for.
    pub(crate) fn launch(
        &self,
        parts: &[u64],
        operands: &SampledOperands,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let &SampledOperands { alpha, beta, x, y, s } = operands;
        let nnz = self.nnz;
        let params = Params {
            s: s.address,
            nnz,
            s_stride: s.row_stride,
            alpha: self.scale(alpha),
            beta: self.scale(beta),
            ..Params::default()
        };
        let mut launch = |entry, blocks: u64, block, params: &Params| {
            let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks < 1 << 31);
            let Some(blocks) = blocks else {
                let reason = "has more entries than a grid has blocks for".to_owned();
                return Err(CudaError::Operand { operand: "the pattern", reason });
            };
            let (grid, params) = ([blocks, 1, 1], bytes_of(params));
            each(&Launch { kernel: 0, entry, grid, block, params, ..Launch::default() })
        };
        if self.is_scaling(operands) {
            let blocks = nnz.div_ceil(u64::from(SCALE_THREADS)).min(1 << 20);
            return launch(SCALE, blocks, SCALE_THREADS, &params);
        }
        let layout = self.layout(operands);
        let params = Params {
            rows: parts[0],
            first_row: parts[1],
            col_idx: parts[2],
            x: x.address,
            y: y.address,
            d: x.cols as u64,
            x_row_stride: x.row_stride,
            x_col_stride: x.col_stride,
            y_row_stride: y.row_stride,
            y_col_stride: y.col_stride,
            run: layout.run as u32,
            ..params
        };
        let teams = nnz.div_ceil(layout.run);
        launch(layout.entry, (teams * layout.lanes).div_ceil(u64::from(THREADS)), THREADS, &params)
    }

    fn layout(&self, operands: &SampledOperands) -> Layout {
        let per_vector = 16 / self.dtype.size() as u64;
        let vectors = (operands.x.cols as u64).div_ceil(per_vector);
        let fits = |&(lanes, of_lane): &(u64, u64)| lanes * of_lane >= vectors;
        let shape = SHAPES.iter().position(fits);
        let (lanes, _) = SHAPES[shape.unwrap_or(SHAPES.len() - 1)];
        let in_vectors = [operands.x, operands.y].iter().all(|of| of.reads_in_vectors(per_vector));
        let first = if in_vectors { 0 } else { SHAPES.len() + 1 };
        let teams = u64::from(self.multiprocessors.max(1)) * RESIDENT * 32 / lanes;
        let share = (self.nnz / (TURNS * teams)).clamp(GROUP, LONGEST);
        let run = share / GROUP * GROUP;
        Layout { entry: ENTRIES[first + shape.unwrap_or(SHAPES.len())], lanes, run }
    }

    /// The bits of a scalar in the accumulation type.
    fn scale(&self, scale: f64) -> u64 {
        match self.dtype {
            DType::F64 => scale.to_bits(),
            _ => u64::from((scale as f32).to_bits()),
        }
    }

    /// Whether nothing is multiplied: α is zero as the kernels see it, in the accumulation type, or d is.
    fn is_scaling(&self, operands: &SampledOperands) -> bool {
        let is_zero = match self.dtype {
            DType::F64 => operands.alpha == 0.0,
            _ => operands.alpha as f32 == 0.0,
        };
        is_zero || operands.x.cols == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(dtype: DType, nnz: u64, d: usize, aligned: bool) -> Layout {
        let place = |rows, cols| Place {
            col_stride: if aligned { 1 } else { 2 },
            ..Place::row_major(256, (rows, cols), dtype.size())
        };
        let (x, y, s) = (place(9, d), place(7, d), place(nnz as usize, 1));
        let sampling = Sampling { dtype, nnz, multiprocessors: 132 };
        sampling.layout(&SampledOperands { alpha: 1.0, x, y, beta: 0.0, s })
    }

    #[test]
    fn lanes_have_whole_rows_of_x_until_they_would_hold_too_much() {
        for (d, entry, lanes) in [
            (4, "csr_sddmm_vectors_1x1", 1),
            (5, "csr_sddmm_vectors_2x1", 2),
            (16, "csr_sddmm_vectors_4x1", 4),
            (32, "csr_sddmm_vectors_8x1", 8),
            (64, "csr_sddmm_vectors_8x2", 8),
            (128, "csr_sddmm_vectors_8x4", 8),
            (129, "csr_sddmm_vectors_32x2", 32),
            (256, "csr_sddmm_vectors_32x2", 32),
            (257, "csr_sddmm_vectors_panels", 32),
        ] {
            let found = layout(DType::F32, 100, d, true);
            assert_eq!((found.entry, found.lanes), (entry, lanes), "d = {d}");
            let strided = layout(DType::F32, 100, d, false);
            assert_eq!(strided.entry, entry.replace("vectors", "elements"));
        }
        assert_eq!(layout(DType::F16, 100, 64, true).entry, "csr_sddmm_vectors_8x1");
        assert_eq!(layout(DType::F64, 100, 64, true).entry, "csr_sddmm_vectors_8x4");
        // A row shorter than a vector is sent without gaps.
        assert_eq!(layout(DType::F32, 100, 1, true).entry, "csr_sddmm_elements_1x1");
    }

    #[test]
    fn runs_are_as_long_as_leaves_all_warps_several() {
        assert_eq!(layout(DType::F32, 1, 32, true).run, GROUP);
        assert_eq!(layout(DType::F32, 1_000_000, 32, true).run, 24);
        assert_eq!(layout(DType::F32, 1_000_000, 256, true).run, LONGEST);
        assert_eq!(layout(DType::F32, u64::MAX / 4, 1, true).run, LONGEST);
    }
}
