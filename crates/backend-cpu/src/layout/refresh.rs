//! New values in a copy of CSR whose pattern stays.

use std::ops::Range;

use girih_formats::{PAD_ROW, RowCsr, Scalar};
use girih_parallel::prelude::*;
use girih_simd::{TILE_ROWS, Tile, lanes};

use super::CsrLayout;
use super::sorted::{PartRanges, SortedCsr};
use super::tiles::TiledCsr;
use crate::kernels::CpuScalar;

/// The fewest values that one task moves.
const TASK_VALUES: usize = 1 << 14;

/// The entry of the matrix that each value of a copy comes from. Values of a copy that no kernel reads come
/// from any.
#[derive(Debug)]
pub(crate) enum Sources {
    /// Entries that 32 bits can number.
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

/// The number of an entry.
trait Entry: Copy + Default + Send + Sync {
    fn from_usize(entry: usize) -> Self;
    fn to_usize(self) -> usize;
}

macro_rules! entry {
    ($($t:ty),*) => {$(
        impl Entry for $t {
            #[inline]
            fn from_usize(entry: usize) -> Self {
                entry as Self
            }

            #[inline]
            fn to_usize(self) -> usize {
                self as usize
            }
        }
    )*};
}

entry!(u32, u64);

impl<T: CpuScalar> CsrLayout<T> {
    /// Finds out where the values of this copy of `a` come from: O(nnz · log(longest row)), in parallel.
    ///
    /// # Errors
    /// If it is no copy of that matrix, which one that was loaded may not be.
    pub(crate) fn sources(&self, a: &RowCsr<T>) -> Result<Sources, String> {
        if u32::try_from(a.csr().nnz()).is_ok() {
            self.entries(a).map(Sources::Narrow)
        } else {
            self.entries(a).map(Sources::Wide)
        }
    }

    fn entries<E: Entry>(&self, a: &RowCsr<T>) -> Result<Vec<E>, String> {
        let rows = RowEntries::of(a);
        let found = match self {
            Self::Sorted(sorted) => sorted_entries(sorted, &rows),
            Self::Tiles(tiled) => tiled_entries(tiled, &rows),
        };
        found.ok_or_else(|| "the layout that the plan keeps is of another matrix".to_owned())
    }

    /// Takes the values of `a` over, widened: O(nnz), in parallel. Values that lie in a mapped file are
    /// copied first.
    pub(crate) fn refresh(&mut self, a: &RowCsr<T>, sources: &Sources) {
        let values = match self {
            Self::Sorted(sorted) => sorted.values.make_mut(),
            Self::Tiles(tiled) => tiled.values.make_mut(),
        };
        let from = &a.csr().values()[..];
        match sources {
            Sources::Narrow(entries) => fetch(values, entries, from),
            Sources::Wide(entries) => fetch(values, entries, from),
        }
    }
}

fn fetch<T: Scalar, E: Entry>(to: &mut [T::Acc], entries: &[E], from: &[T]) {
    let to = to.par_iter_mut().with_min_len(TASK_VALUES);
    to.zip(entries).for_each(|(to, entry)| *to = from[entry.to_usize()].to_acc());
}

/// The entries of a matrix by row of C.
struct RowEntries<'a, T: Scalar> {
    a: &'a RowCsr<T>,
    /// The slot of each row; `None` where they are the same.
    slots: Option<Vec<u32>>,
}

impl<'a, T: Scalar> RowEntries<'a, T> {
    fn of(a: &'a RowCsr<T>) -> Self {
        let layout = a.layout();
        let slots = (!layout.is_natural()).then(|| {
            let mut slots = vec![0; layout.nrows()];
            for slot in 0..layout.n_slots() {
                if let Some(row) = layout.row(slot) {
                    slots[row] = slot as u32;
                }
            }
            slots
        });
        Self { a, slots }
    }

    fn entries(&self, row: u32) -> Option<Range<usize>> {
        let slot = match &self.slots {
            Some(slots) => *slots.get(row as usize)? as usize,
            None => row as usize,
        };
        (slot < self.a.csr().nrows()).then(|| self.a.csr().row_range(slot))
    }
}

/// The values of each part: slices, whose rows are interleaved, and then single rows.
fn sorted_entries<T: CpuScalar, E: Entry>(
    sorted: &SortedCsr<T>,
    rows: &RowEntries<'_, T>,
) -> Option<Vec<E>> {
    let lanes = lanes::<T>();
    let mut found = vec![E::default(); sorted.values.len()];
    // Parts lie one after the other.
    let mut rest = &mut found[..];
    let mut parts = Vec::with_capacity(sorted.tasks.len());
    for part in &sorted.tasks {
        let piece;
        (piece, rest) = std::mem::take(&mut rest).split_at_mut_checked(part.values.len())?;
        parts.push((part, piece));
    }
    let fill = |(part, mut piece): (&PartRanges, &mut [E])| {
        let (slices, runs) = (&sorted.slices[part.slices.clone()], &sorted.runs[part.runs.clone()]);
        let lens = |of: &[girih_simd::Run], width: usize| {
            let each = |run: &girih_simd::Run| (run.len as usize, run.count as usize);
            let lens = of.iter().map(each).collect::<Vec<_>>();
            lens.into_iter().flat_map(move |(len, count)| std::iter::repeat_n((len, width), count))
        };
        let mut part_rows = sorted.rows[part.rows.clone()].iter();
        for (len, width) in lens(slices, lanes).chain(lens(runs, 1)) {
            let first = *part_rows.next()?;
            let to;
            (to, piece) = std::mem::take(&mut piece).split_at_mut_checked(len * width)?;
            for lane in 0..width {
                let entries = rows.entries(first.checked_add(lane as u32)?)?;
                if entries.len() != len {
                    return None;
                }
                for (t, entry) in entries.enumerate() {
                    to[t * width + lane] = E::from_usize(entry);
                }
            }
        }
        Some(())
    };
    parts.into_par_iter().map(fill).collect::<Option<Vec<()>>>()?;
    Some(found)
}

/// The values of each slab of each task, tile by tile and pattern by pattern. Within a tile and a pattern the
/// columns ascend, and each has a value for every row of the pattern.
fn tiled_entries<T: CpuScalar, E: Entry>(
    tiled: &TiledCsr<T>,
    rows: &RowEntries<'_, T>,
) -> Option<Vec<E>> {
    let of_slab = |slab: &super::fill::TaskSlab| -> Option<Vec<E>> {
        let mut found = Vec::with_capacity(slab.values.len());
        let mut cols = &tiled.col_idx[slab.cols.clone()];
        for tile in &tiled.tiles[slab.tiles.clone()] {
            tile_entries(tile, &mut cols, rows, &mut found)?;
        }
        (found.len() == slab.values.len()).then_some(found)
    };
    let slabs: Vec<_> = tiled.tasks.iter().flatten().collect();
    let of_slabs: Option<Vec<_>> = slabs.par_iter().map(|slab| of_slab(slab)).collect();
    let mut found = vec![E::default(); tiled.values.len()];
    for (slab, entries) in slabs.iter().zip(of_slabs?) {
        found[slab.values.clone()].copy_from_slice(&entries);
    }
    Some(found)
}

/// Takes a tile's columns off the front of `cols`.
fn tile_entries<T: Scalar, E: Entry>(
    tile: &Tile,
    cols: &mut &[u32],
    rows: &RowEntries<'_, T>,
    found: &mut Vec<E>,
) -> Option<()> {
    let col_idx = &rows.a.csr().col_idx()[..];
    let mut rests: [Range<usize>; TILE_ROWS] = Default::default();
    for (rest, &row) in rests.iter_mut().zip(&tile.rows) {
        if row != PAD_ROW {
            *rest = rows.entries(row)?;
        }
    }
    for (pattern, &count) in (1u32..).zip(&tile.counts) {
        let of_pattern = cols.split_off(..count as usize)?;
        for col in of_pattern {
            for (_, rest) in rests.iter().enumerate().filter(|(r, _)| pattern >> r & 1 == 1) {
                let at = col_idx[rest.clone()].binary_search(col).ok()?;
                found.push(E::from_usize(rest.start + at));
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use girih_formats::{Csr, RowLayout};
    use girih_generate::{fem_3d, laplacian_5pt, uniform};
    use half::bf16;

    use super::super::tiles::TiledCsr;
    use super::*;
    use crate::lowering::{SortConfig, TileConfig};

    fn rows<T: Scalar>(a: &Csr<T>, reversed: bool) -> RowCsr<T> {
        let m = a.nrows();
        let layout = match reversed {
            true => RowLayout::explicit(m, 1, (0..m as u32).rev().collect::<Vec<_>>()),
            false => RowLayout::natural(m, 1),
        };
        RowCsr::from_csr(a, layout.unwrap()).unwrap()
    }

    /// Copies of a matrix, of both kinds, whose tasks are all made of whole rows.
    fn copies<T: CpuScalar>(a: &RowCsr<T>) -> Vec<CsrLayout<T>> {
        let m = a.csr().nrows();
        let tasks = [0..m / 3, m / 3..m / 2, m / 2..m];
        let mut copies = Vec::new();
        for slab_cols in [None, Some(64)] {
            let config = TileConfig { slab_cols, joined_rows: 16, parts: 2, spared: 0 };
            copies.push(CsrLayout::Tiles(TiledCsr::new(a, &tasks, &config).unwrap()));
        }
        for slices in [false, true] {
            let config = SortConfig { slices, threads: 2, prefetch_b: false };
            copies.push(CsrLayout::Sorted(SortedCsr::new(a, &tasks, &config).unwrap().0));
        }
        copies
    }

    fn values<T: Scalar>(layout: &CsrLayout<T>) -> &[T::Acc] {
        match layout {
            CsrLayout::Sorted(sorted) => &sorted.values,
            CsrLayout::Tiles(tiled) => &tiled.values,
        }
    }

    fn refreshed_copies_are_those_made_anew<T: CpuScalar>(a: &Csr<f32>) {
        let a = a.cast::<T>();
        let other: Vec<T> = (0..a.nnz()).map(|i| T::from_f64((i % 97) as f64 - 40.0)).collect();
        let renewed = a.with_values::<T>(other).unwrap();
        for reversed in [false, true] {
            let (a, renewed) = (rows(&a, reversed), rows(&renewed, reversed));
            for (mut copy, anew) in copies(&a).into_iter().zip(copies(&renewed)) {
                let sources = copy.sources(&a).unwrap();
                copy.refresh(&renewed, &sources);
                assert!(values(&copy) == values(&anew), "reversed: {reversed}, {copy:?}");
                let wide = Sources::Wide(copy.entries(&a).unwrap());
                copy.refresh(&a, &wide);
                copy.refresh(&renewed, &wide);
                assert!(values(&copy) == values(&anew), "reversed: {reversed}, {copy:?}");
            }
        }
    }

    #[test]
    fn new_values_go_where_a_new_copy_has_them() {
        for a in [
            laplacian_5pt::<f32>(40, 13).unwrap(),
            fem_3d(4, 4, 5, 3, 1).unwrap(),
            uniform(200, 300, 9, 1).unwrap(),
            Csr::empty(20, 20).unwrap(),
        ] {
            refreshed_copies_are_those_made_anew::<f32>(&a);
            refreshed_copies_are_those_made_anew::<f64>(&a);
            refreshed_copies_are_those_made_anew::<bf16>(&a);
        }
    }

    #[test]
    fn a_copy_of_another_matrix_has_no_sources() {
        let [a, other] = [1, 2].map(|seed| rows(&uniform::<f32>(90, 90, 9, seed).unwrap(), false));
        let [tiles, slabs, ..] = &copies(&other)[..] else { unreachable!() };
        assert!(tiles.sources(&a).is_err() && slabs.sources(&a).is_err());
        let longer = rows(&uniform::<f32>(90, 90, 10, 1).unwrap(), false);
        assert!(copies(&other).iter().all(|copy| copy.sources(&longer).is_err()));
    }
}
