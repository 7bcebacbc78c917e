//! What a sampled product by windows uploads and launches: pure, from the pattern and the operands.

use bytemuck::{bytes_of, cast_slice};
use girih_formats::{CsrPattern, RowLayout};

use super::params::Params;
use super::windows::Windows;
use super::{ELEMENTS, THREADS, VECTORS};
use crate::CudaError;
use crate::kernels::csr_sddmm::SampledOperands;
use crate::launch::{Each, Launch};

/// What decides the launches of sampled products by windows, besides their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowSampling {
    pub(crate) m: u64,
    pub(crate) n_tasks: u64,
    pub(crate) n_tiles: u64,
    /// Whether slots are not rows.
    pub(crate) scatters: bool,
}

/// Calls `with` with what is uploaded of a pattern with rows in the order of a layout of windows of
/// [`WINDOW_ROWS`](super::WINDOW_ROWS): tasks, tiles, slots, where rows begin. O(rows + nnz · log).
pub(crate) fn parts<R>(
    pattern: CsrPattern<'_>,
    layout: &RowLayout,
    with: impl FnOnce(&[&[u8]]) -> R,
) -> (WindowSampling, R) {
    let Windows { tasks, tiles } = Windows::of(pattern, layout);
    let slots = layout.slots().map_or(&[][..], |slots| &slots[..]);
    let sampling = WindowSampling {
        m: pattern.nrows() as u64,
        n_tasks: tasks.len() as u64,
        n_tiles: tiles.len() as u64,
        scatters: !layout.is_natural(),
    };
    let parts =
        [cast_slice(&tasks), cast_slice(&tiles), cast_slice(slots), cast_slice(pattern.row_ptr())];
    (sampling, with(&parts))
}

impl WindowSampling {
    /// Hands the launch of a product to `each`; its kernel is number 0. The operands fit the pattern, whose
    /// [parts] have these addresses, and there is at least one entry.
    ///
    /// # Errors
    /// Those of `each`, and [`CudaError::Operand`] if there are more tasks than a grid has blocks for.
    pub(crate) fn launch(
        &self,
        parts: &[u64],
        operands: &SampledOperands,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let &SampledOperands { alpha, beta, x, y, s } = operands;
        // α as the kernel sees it. Where it is zero nothing is multiplied, as if there were no columns.
        let d = if alpha as f32 == 0.0 { 0 } else { x.cols as u64 };
        let params = Params {
            tasks: parts[0],
            tiles: parts[1],
            rows: if self.scatters { parts[2] } else { 0 },
            row_ptr: parts[3],
            x: x.address,
            y: y.address,
            s: s.address,
            m: self.m,
            d,
            x_row_stride: x.row_stride,
            x_col_stride: x.col_stride,
            y_row_stride: y.row_stride,
            y_col_stride: y.col_stride,
            s_stride: s.row_stride,
            alpha: if d == 0 { 0.0 } else { alpha as f32 },
            beta: beta as f32,
        };
        let blocks = u32::try_from(self.n_tasks).ok().filter(|&blocks| blocks < 1 << 31);
        let Some(blocks) = blocks else {
            let reason = "has more windows than a grid has blocks for".to_owned();
            return Err(CudaError::Operand { operand: "the pattern", reason });
        };
        let (grid, params) = ([blocks, 1, 1], bytes_of(&params));
        let (entry, block) = (self.entry(operands), THREADS);
        each(&Launch { kernel: 0, entry, grid, block, params, ..Launch::default() })
    }

    /// The entry point that reads such operands.
    pub(crate) fn entry(&self, operands: &SampledOperands) -> &'static str {
        let in_vectors = [operands.x, operands.y].iter().all(|of| of.reads_in_vectors(8));
        if in_vectors { VECTORS } else { ELEMENTS }
    }
}
