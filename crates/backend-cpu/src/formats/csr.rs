//! CSR: rows as they are; narrow values are widened a chunk at a time.

use std::ops::Range;

use girih_formats::{RowCsr, Scalar};

use super::{Multiply, Panel, add_up};
use crate::isa::KernelScalar;
use crate::kernels::rows::RowBlock;
use crate::operands::RowMap;

/// Entries widened at a time.
const CHUNK: usize = 2048;

impl<T: KernelScalar> Multiply<T> for RowCsr<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        let csr = self.csr();
        if let Some(values) = T::as_acc(csr.values()) {
            let block = RowBlock {
                row_ptr: &csr.row_ptr()[slots.start..=slots.end],
                entries: (tiles.start, tiles.end),
                first: 0,
                col_idx: csr.col_idx(),
                values,
            };
            return on.kernels.rows(&block, on.b, &on.out, map, on.width);
        }
        let row_ptr: &[u64] = csr.row_ptr();
        let entry = |slot: usize| row_ptr[slot].clamp(tiles.start, tiles.end) as usize;
        let mut wide = [T::Acc::ZERO; CHUNK];
        let mut widened =
            |slots: Range<usize>, entries: Range<usize>, map: RowMap<'_>, on: &Panel<'_, T>| {
                let wide = &mut wide[..entries.len()];
                on.kernels.widen(&csr.values()[entries.clone()], wide);
                let block = RowBlock {
                    row_ptr: &row_ptr[slots.start..=slots.end],
                    entries: (entries.start as u64, entries.end as u64),
                    first: entries.start as u64,
                    col_idx: &csr.col_idx()[entries],
                    values: wide,
                };
                on.kernels.rows(&block, on.b, &on.out, map, on.width);
            };
        let mut slot = slots.start;
        while slot < slots.end {
            // As many whole rows as a chunk holds, or one row that is longer.
            let first = entry(slot);
            let fits = row_ptr[slot + 1..=slots.end]
                .partition_point(|&p| p.clamp(tiles.start, tiles.end) as usize - first <= CHUNK);
            let rows = slot..slot + fits.max(1);
            let map = map.part(slot - slots.start, rows.len());
            let entries = first..entry(rows.end);
            add_up(
                entries,
                |p| p + CHUNK,
                map,
                on,
                |entries, map, on| {
                    widened(rows.clone(), entries, map, on);
                },
            );
            slot = rows.end;
        }
    }
}
