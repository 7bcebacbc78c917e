//! BCSR, Blocked-ELL and WCSR: dense strips. Narrow values are widened a chunk at a time.

use std::ops::Range;

use girih_formats::{Bcsr, BlockedEll, PAD_COL, Scalar, Wcsr};
use girih_simd::{RowMap, Runs, Strip};

use super::packed_strip::PackedStrip;
use super::{Multiply, Panel, add_up, clamp, for_each_window};
use crate::kernels::CpuScalar;
use crate::thresholds::{STACK_STRIP_VALUES, SUMS_CARRIED_ROWS};

impl<T: CpuScalar> Multiply<T> for Bcsr<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        let (block_rows, block_cols) = (self.block_rows(), self.block_cols());
        let ptr: &[u64] = self.block_row_ptr();
        for_each_window(block_rows, slots, |w, slots, before| {
            let blocks = clamp(ptr[w]..ptr[w + 1], &tiles);
            let first = (blocks.start * block_rows + slots.start - w * block_rows) * block_cols;
            let strip = Strip {
                values: self.values().get(first..).unwrap_or(&[]),
                row_stride: block_cols,
                run_stride: block_rows * block_cols,
                resumes: false,
                runs: Runs {
                    starts: &self.block_col_idx()[blocks],
                    pitch: block_cols,
                    offset: 0,
                    len: block_cols,
                    ncols: self.ncols(),
                },
            };
            multiply_strip(&strip, map.part(before, slots.len()), on);
        });
    }
}

impl<T: CpuScalar> Multiply<T> for BlockedEll<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        let (block_size, ell_width) = (self.block_size(), self.ell_width());
        for_each_window(block_size, slots, |w, slots, before| {
            let (start, end) = (w * ell_width, (w + 1) * ell_width);
            let blocks = clamp(start as u64..end as u64, &tiles);
            let first = slots.start * self.row_stride()
                + (blocks.start - start.min(blocks.start)) * block_size;
            let strip = Strip {
                values: self.values().get(first..).unwrap_or(&[]),
                row_stride: self.row_stride(),
                run_stride: block_size,
                resumes: false,
                runs: Runs {
                    starts: without_padding(&self.ell_col_idx()[blocks]),
                    pitch: block_size,
                    offset: 0,
                    len: block_size,
                    ncols: self.ncols(),
                },
            };
            multiply_strip(&strip, map.part(before, slots.len()), on);
        });
    }
}

impl<T: CpuScalar> Multiply<T> for Wcsr<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        let (window_rows, pad) = (self.window_rows(), self.pad_cols() as u64);
        let ptr: &[u64] = self.window_ptr();
        // No packed column is beyond the last, so this can't overflow.
        let packed = tiles.start * pad..tiles.end.min(self.packed_cols() as u64 / pad) * pad;
        for_each_window(window_rows, slots, |w, slots, before| {
            let cols = clamp(ptr[w]..ptr[w + 1], &packed);
            let first = (slots.start - w * window_rows) * self.packed_cols() + cols.start;
            let strip = Strip {
                values: self.values().get(first..).unwrap_or(&[]),
                row_stride: self.packed_cols(),
                run_stride: 1,
                resumes: false,
                runs: Runs::columns(without_padding(&self.window_col_idx()[cols]), self.ncols()),
            };
            multiply_strip(&strip, map.part(before, slots.len()), on);
        });
    }
}

/// The list without the padding at its end.
pub(super) fn without_padding(list: &[u32]) -> &[u32] {
    let used = list.iter().rposition(|&c| c != PAD_COL).map_or(0, |last| last + 1);
    &list[..used]
}

/// Multiplies a strip, widening its values if need be.
pub(super) fn multiply_strip<T: CpuScalar>(
    strip: &Strip<'_, T>,
    map: RowMap<'_>,
    on: &Panel<'_, T>,
) {
    if let Some(values) = T::as_acc(strip.values) {
        let strip = strip.with_values(values);
        return match PackedStrip::try_new(&strip, map, on) {
            Some(packed) => packed.multiply(&strip, map, on),
            None => on.kernels.strip(&strip, on.b, &on.out, map, on.width),
        };
    }
    let Strip { runs, .. } = *strip;
    let mut wide = [T::Acc::ZERO; STACK_STRIP_VALUES];
    for first in (0..map.len()).step_by(SUMS_CARRIED_ROWS) {
        let map = map.part(first, SUMS_CARRIED_ROWS);
        let rows = map.len();
        // Packed columns are counted run by run. A piece is some whole runs or a part of one.
        let cols_at_once = STACK_STRIP_VALUES / rows;
        let next = |col: usize| match cols_at_once / runs.len {
            0 => (col + cols_at_once).min(col - col % runs.len + runs.len),
            whole => col + whole * runs.len,
        };
        add_up(0..runs.starts.len() * runs.len, next, map, on, |cols, map, on| {
            let (run, offset) = (cols.start / runs.len, cols.start % runs.len);
            let starts = &runs.starts[run..cols.end.div_ceil(runs.len)];
            let len = cols.len() / starts.len().max(1);
            let row_stride = cols.len();
            // A strip without columns has no values to point at.
            for r in (0..rows).filter(|_| len > 0) {
                let from = (first + r) * strip.row_stride + run * strip.run_stride + offset;
                let to = &mut wide[r * row_stride..][..starts.len() * len];
                on.kernels.widen_pieces(&strip.values[from..], len, strip.run_stride, to);
            }
            let piece = Strip {
                values: &wide[..rows * row_stride],
                row_stride,
                run_stride: len,
                resumes: false,
                runs: Runs { starts, offset, len, ..runs },
            };
            on.kernels.strip(&piece, on.b, &on.out, map, on.width);
        });
    }
}
