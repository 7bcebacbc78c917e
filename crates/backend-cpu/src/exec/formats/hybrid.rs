//! Packed windows as WCSR's are multiplied, the rows of others as CSR's.

use std::ops::Range;

use girih_formats::Hybrid;
use girih_simd::{RowMap, Runs, Strip};

use super::csr::Entries;
use super::dense::{multiply_strip, without_padding};
use super::{Multiply, Panel, clamp, for_each_window};
use crate::kernels::CpuScalar;

impl<T: CpuScalar> Multiply<T> for Hybrid<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        for_each_window(self.window_rows(), slots, |w, slots, before| {
            let map = map.part(before, slots.len());
            // Tiles of this window, counted from its first.
            let first = self.tile_ptr(w);
            let of_window = tiles.start.saturating_sub(first)..tiles.end.saturating_sub(first);
            match self.is_packed(w) {
                true => multiply_packed(self, (w, slots), of_window, map, on),
                false => multiply_rows(self, (w, slots), of_window, map, on),
            }
        });
    }
}

/// Multiplies rows of a packed window by some of its tiles, counted from its first.
fn multiply_packed<T: CpuScalar>(
    a: &Hybrid<T>,
    (w, slots): (usize, Range<usize>),
    tiles: Range<u64>,
    map: RowMap<'_>,
    on: &Panel<'_, T>,
) {
    let pad = a.pad_cols() as u64;
    let packed = a.window_ptr()[w]..a.window_ptr()[w + 1];
    let width = (packed.end - packed.start) as usize;
    let at = |tile: u64| packed.start + tile.saturating_mul(pad).min(width as u64);
    let cols = clamp(packed.clone(), &(at(tiles.start)..at(tiles.end)));
    let row = slots.start - w * a.window_rows();
    let first = row * width + cols.start - packed.start as usize;
    let strip = Strip {
        values: a.values()[a.window_values(w)].get(first..).unwrap_or(&[]),
        row_stride: width,
        run_stride: 1,
        resumes: false,
        runs: Runs::columns(without_padding(&a.window_col_idx()[cols]), a.ncols()),
    };
    multiply_strip(&strip, map, on);
}

/// The same of a window whose rows are held one by one.
fn multiply_rows<T: CpuScalar>(
    a: &Hybrid<T>,
    (w, slots): (usize, Range<usize>),
    tiles: Range<u64>,
    map: RowMap<'_>,
    on: &Panel<'_, T>,
) {
    let rows = a.layout().window(w);
    let of_window = a.row_ptr()[rows.start]..a.row_ptr()[rows.end];
    let each = a.tile_entries() as u64;
    let len = of_window.end - of_window.start;
    let at = |tile: u64| of_window.start + tile.saturating_mul(each).min(len);
    let entries = Entries {
        row_ptr: a.row_ptr(),
        first: of_window.start,
        col_idx: &a.col_idx()[of_window.start as usize..of_window.end as usize],
        values: &a.values()[a.window_values(w)],
    };
    entries.multiply(slots, at(tiles.start)..at(tiles.end), map, on);
}
