//! CSR: rows as they are, narrow values widened a chunk at a time; or in an order that suits the
//! number of columns.

mod order;
mod sorted;

use std::ops::Range;

use girih_formats::{RowCsr, Scalar};

pub(crate) use sorted::{NARROW_BYTES, Sorted};

use super::{Multiply, Panel, add_up};
use crate::isa::KernelScalar;
use crate::kernels::rows::RowBlock;
use crate::kernels::strip::{Strip, TILE_ROWS};
use crate::operands::RowMap;

/// Entries widened at a time.
const CHUNK: usize = 2048;

/// Panels wider than this many bytes of sums pay for a strip that fills the register tile, and
/// twice as wide ones for any: narrower ones leave its lines idle.
const STRIP_BYTES: usize = 64;

impl<T: KernelScalar> Multiply<T> for RowCsr<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        let csr = self.csr();
        let row_ptr: &[u64] = csr.row_ptr();
        if let Some(values) = T::as_acc(csr.values()) {
            let rows = |slots: Range<usize>, map: RowMap<'_>| {
                let block = RowBlock {
                    row_ptr: &row_ptr[slots.start..=slots.end],
                    entries: (tiles.start, tiles.end),
                    first: 0,
                    col_idx: csr.col_idx(),
                    values,
                };
                on.kernels.rows(&block, on.b, &on.out, map, on.width);
            };
            let whole = tiles.start <= row_ptr[slots.start] && row_ptr[slots.end] <= tiles.end;
            let bytes = on.width * size_of::<T>();
            let wide = bytes > 2 * STRIP_BYTES;
            let Some(twins) = on.twins.filter(|_| whole && bytes > STRIP_BYTES) else {
                return rows(slots, map);
            };
            let mut slot = slots.start;
            while slot < slots.end {
                let (end, same) = twins.run(slot, slots.end);
                let same = same && (end - slot >= TILE_ROWS || wide);
                let map = map.part(slot - slots.start, end - slot);
                if same {
                    let (first, len) = (csr.row_range(slot).start, csr.row_range(slot).len());
                    let strip = Strip {
                        values: &values[first..csr.row_range(end - 1).end],
                        row_stride: len,
                        run_stride: 1,
                        runs: csr.row(slot).0,
                        pitch: 1,
                        offset: 0,
                        len: 1,
                        ncols: csr.ncols(),
                    };
                    on.kernels.strip(&strip, on.b, &on.out, map, on.width);
                } else {
                    rows(slot..end, map);
                }
                slot = end;
            }
            return;
        }
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
