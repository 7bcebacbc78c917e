//! CSR as stored. Narrow values are widened a chunk at a time.

use std::ops::Range;

use girih_formats::{RowCsr, Scalar};
use girih_simd::{RowBlock, RowMap};

use super::finished::Sums;
use super::{Multiply, Panel, add_up};
use crate::kernels::CpuScalar;
use crate::thresholds::STACK_CSR_ENTRIES;

impl<T: CpuScalar> Multiply<T> for RowCsr<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        let csr = self.csr();
        let (row_ptr, col_idx, values) = (csr.row_ptr(), csr.col_idx(), csr.values());
        Entries { row_ptr, first: 0, col_idx, values }.multiply(slots, tiles, map, on);
    }
}

/// Some of the entries of rows.
pub(super) struct Entries<'a, T> {
    /// Where the entries of each slot's row begin.
    pub(super) row_ptr: &'a [u64],
    /// The entry that `col_idx[0]` and `values[0]` belong to.
    pub(super) first: u64,
    pub(super) col_idx: &'a [u32],
    pub(super) values: &'a [T],
}

impl<T: CpuScalar> Entries<'_, T> {
    /// Multiplies the rows in `slots` by those of their entries that lie in `entries` and are among these.
    pub(super) fn multiply(
        &self,
        slots: Range<usize>,
        entries: Range<u64>,
        map: RowMap<'_>,
        on: &Panel<'_, T>,
    ) {
        if on.out.is_finished() {
            return Sums::for_each_part(on, |sums, on| {
                for start in slots.clone().step_by(sums.rows()) {
                    let map = map.part(start - slots.start, sums.rows());
                    let slots = start..start + map.len();
                    let local = RowMap::Consecutive { first: 0, len: map.len() };
                    sums.finish(map, on, |on| self.multiply(slots, entries.clone(), local, on));
                }
            });
        }
        let &Self { row_ptr, first: begin, col_idx, values } = self;
        if let Some(values) = T::as_acc(values) {
            let block = RowBlock {
                row_ptr: &row_ptr[slots.start..=slots.end],
                entries: (entries.start, entries.end),
                first: begin,
                col_idx,
                values,
            };
            return on.kernels.rows(&block, on.b, &on.out, map, on.width);
        }
        let entry = |slot: usize| row_ptr[slot].clamp(entries.start, entries.end) as usize;
        let (begin, ends) = (begin as usize, entries.clone());
        let mut wide = [T::Acc::ZERO; STACK_CSR_ENTRIES];
        let mut widened =
            |slots: Range<usize>, entries: Range<usize>, map: RowMap<'_>, on: &Panel<'_, T>| {
                let wide = &mut wide[..entries.len()];
                let own = entries.start - begin..entries.end - begin;
                on.kernels.widen(&values[own.clone()], wide);
                let block = RowBlock {
                    row_ptr: &row_ptr[slots.start..=slots.end],
                    entries: (entries.start as u64, entries.end as u64),
                    first: entries.start as u64,
                    col_idx: &col_idx[own],
                    values: wide,
                };
                on.kernels.rows(&block, on.b, &on.out, map, on.width);
            };
        let mut slot = slots.start;
        while slot < slots.end {
            // As many whole rows as a chunk holds, or one row that is longer.
            let first = entry(slot);
            let fits = row_ptr[slot + 1..=slots.end].partition_point(|&p| {
                p.clamp(ends.start, ends.end) as usize - first <= STACK_CSR_ENTRIES
            });
            let rows = slot..slot + fits.max(1);
            let map = map.part(slot - slots.start, rows.len());
            let entries = first..entry(rows.end);
            add_up(
                entries,
                |p| p + STACK_CSR_ENTRIES,
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

#[cfg(test)]
mod tests {
    use girih_formats::Csr;
    use girih_generate::{fem_3d, laplacian_5pt, uniform};
    use ndarray::Array2;

    use super::*;
    use crate::Isa;
    use crate::kernels::BPanel;
    use crate::layout::sorted::SortedCsr;
    use crate::layout::tiles::TiledCsr;
    use crate::layout::{CsrLayout, natural};
    use crate::lowering::{SortConfig, TileConfig};
    use girih_simd::{Input, Output};

    /// Whether or not this processor gains by it.
    #[test]
    fn prefetching_changes_no_bit() {
        let scattered: Csr<f32> = uniform(500, 700, 9, 1).unwrap();
        let mesh = fem_3d(4, 4, 6, 3, 1).unwrap();
        let stencil = laplacian_5pt(40, 20).unwrap();
        // Each of the fifteen patterns has some twenty of the 300 columns.
        let long = uniform(30, 300, 150, 1).unwrap();
        for (a, has_tiles) in [(scattered, false), (mesh, true), (stencil, false), (long, true)] {
            let (m, k, a) = (a.nrows(), a.ncols(), natural(&a));
            let tasks = [0..m / 3, m / 3..m];
            let [plain, prefetching] = [false, true].map(|prefetches_b| {
                let tiles = TileConfig { slab_cols: None, joined_rows: 1024, parts: 1, spared: 0 };
                let sorting = SortConfig { slices: true, threads: 2, prefetch_b: prefetches_b };
                match has_tiles {
                    true => {
                        let mut tiled = TiledCsr::new(&a, &tasks, &tiles).unwrap();
                        tiled.prefetches_b = prefetches_b;
                        CsrLayout::Tiles(tiled)
                    }
                    false => CsrLayout::Sorted(SortedCsr::new(&a, &tasks, &sorting).unwrap().0),
                }
            });
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                let kernels = &crate::kernels::Kernels::<f32>::new(isa);
                for n in [1, 2, 4, 8, 13, 16, 31, 40, 64, 128, 150] {
                    let b =
                        Array2::from_shape_fn((k, n), |(i, j)| (i as f32 + 0.1) / (j as f32 + 0.7));
                    let product = |by: Option<&CsrLayout<f32>>, prefetch_a| {
                        let mut c = Array2::from_elem((m, n), f32::NAN);
                        let out = Output::new(&mut c.view_mut(), 1.0, 0.0);
                        let b = Input { prefetch_a, ..Input::in_place(&b.view()).unwrap() };
                        let b = BPanel::Given(b);
                        let width = n;
                        let panel = Panel {
                            kernels,
                            b,
                            out,
                            width,
                            csr_layout: None,
                            slab: None,
                            share: None,
                            packs_strips: true,
                        };
                        for (task, slots) in tasks.iter().enumerate() {
                            let map = RowMap::for_slots(a.layout(), slots.start, slots.len());
                            match by {
                                Some(by) if n > 1 || matches!(by, CsrLayout::Sorted(_)) => {
                                    (0..by.parts())
                                        .for_each(|part| by.multiply(task, part, &panel));
                                }
                                _ => a.multiply(slots.clone(), 0..u64::MAX, map, &panel),
                            }
                        }
                        c
                    };
                    for by in [Some(&plain), Some(&prefetching), None] {
                        let silent = by.map(|_| &plain);
                        let same = product(by, true) == product(silent, false);
                        assert!(same, "{isa}, n = {n}");
                    }
                }
            }
        }
    }
}
