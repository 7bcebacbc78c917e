//! CSR for wide products: neighbouring rows in tiles that load the rows of B they share once.

use std::ops::Range;

use girih_formats::{Buffer, Csr, PAD_ROW, RowCsr, Scalar};
use rayon::prelude::*;

use super::{row_of, to_parts};
use crate::formats::Panel;
use crate::isa::KernelScalar;
use crate::kernels::ahead::AHEAD;
use crate::kernels::patterns::{PATTERNS, PatternBlock, TILE_ROWS, Tile};
use crate::packing::lanes;

/// Loads of rows of B that a tile has to spare on average to make up for walking its patterns.
const WORTH: usize = 24;

/// The same for four to eight lines of columns, and for up to sixteen: a pattern's way takes as long as fewer
/// loads do there. Further lines walk the patterns again, four at a time, while rows alone read their rows of B
/// whole.
const WORTH_WIDE: [(usize, usize); 2] = [(8, 6), (16, 16)];

/// Lines of columns that patterns are multiplied by together.
const LINES: usize = 4;

/// Tasks looked at to see whether tiles pay.
const SAMPLE: usize = 8;

/// A copy of a matrix in tiles of up to four rows, columns grouped by which of the rows hold them.
#[derive(Debug)]
pub(crate) struct Patterns<T: Scalar> {
    /// Whether the rows of B that columns meet are asked for ahead.
    ahead: bool,
    tasks: Vec<TaskTiles>,
    /// A task's columns begin where its entries begin in the matrix, and are fewer.
    col_idx: Buffer<u32>,
    /// Widened, so that one kernel multiplies them all.
    values: Buffer<T::Acc>,
}

/// A task's tiles, and its positions among columns and values.
#[derive(Debug)]
struct TaskTiles {
    tiles: Vec<Tile>,
    cols: Range<usize>,
    values: Range<usize>,
}

impl<T: KernelScalar> Patterns<T> {
    /// Lays out the rows of tasks, each a range of slots: O(nnz) in parallel, and a copy of the
    /// matrix with one column index for all rows of a tile that hold it.
    ///
    /// `None` where it does not pay for `n` columns, since neighbouring rows share too few of theirs, or where
    /// there is no memory for it.
    pub(crate) fn new(a: &RowCsr<T>, tasks: &[Range<usize>], n: usize) -> Option<Self> {
        let csr = a.csr();
        if a.layout().nrows() >= PAD_ROW as usize || !pays(csr, tasks, worth(n / lanes::<T>())) {
            return None;
        }
        let entries = |slots: &Range<usize>| {
            csr.row_ptr()[slots.start] as usize..csr.row_ptr()[slots.end] as usize
        };
        let mut col_idx = Buffer::zeroed(csr.nnz() + AHEAD).ok()?;
        let mut values = Buffer::zeroed(csr.nnz()).ok()?;
        let cols = to_parts(col_idx.make_mut(), tasks.iter().map(entries));
        let vals = to_parts(values.make_mut(), tasks.iter().map(entries));
        let parts: Vec<_> = tasks.iter().zip(cols.into_iter().zip(vals)).collect();
        let tasks = parts
            .into_par_iter()
            .map(|(slots, (cols, vals))| {
                let values = entries(slots);
                let mut fill = Fill { cols, values: vals, used: [0; 2] };
                let mut merged = Vec::new();
                let tiles = tiles(csr, slots.clone())
                    .map(|slots| {
                        merge(csr, slots.clone(), &mut merged);
                        fill.tile(a, slots, &merged)
                    })
                    .collect();
                TaskTiles { tiles, cols: values.start..values.start + fill.used[0], values }
            })
            .collect();
        Some(Self { ahead: false, tasks, col_idx, values })
    }

    /// The same, asking for rows of B ahead or not.
    pub(crate) fn asking(self, ahead: bool) -> Self {
        Self { ahead, ..self }
    }

    /// Multiplies the rows of a task.
    pub(crate) fn multiply(&self, task: usize, on: &Panel<'_, T>) {
        let of = &self.tasks[task];
        let block = PatternBlock {
            tiles: &of.tiles,
            col_idx: &self.col_idx[of.cols.start..of.cols.end + AHEAD],
            ahead: self.ahead,
            values: &self.values[of.values.clone()],
        };
        on.kernels.patterns(&block, on.b, &on.out, on.width);
    }
}

/// Loads that a tile has to spare for so many whole lines of columns.
fn worth(lines: usize) -> usize {
    let wide = || WORTH_WIDE.into_iter().find(|&(most, _)| lines <= most);
    if lines < LINES { WORTH } else { wide().map_or(WORTH, |(_, worth)| worth) }
}

/// Whether tiles spare so many loads on average, judged by some of the tasks.
fn pays<T: Scalar>(csr: &Csr<T>, tasks: &[Range<usize>], worth: usize) -> bool {
    // Even rows that are all alike spare no more than three quarters of their loads.
    if csr.nnz() * TILE_ROWS < csr.nrows() * worth {
        return false;
    }
    let spared = |slots: &Range<usize>| {
        let (mut spared, mut n_tiles, mut merged) = (0, 0, Vec::new());
        for slots in tiles(csr, slots.clone()) {
            merge(csr, slots.clone(), &mut merged);
            spared += slots.map(|slot| csr.row_range(slot).len()).sum::<usize>() - merged.len();
            n_tiles += 1;
        }
        (spared, n_tiles)
    };
    let sample = tasks.par_iter().step_by(tasks.len().div_ceil(SAMPLE).max(1)).map(spared);
    let (spared, n_tiles) = sample.reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    spared >= n_tiles * worth && n_tiles > 0
}

/// Cuts slots into tiles, before and after neighbours that have the same columns.
fn tiles<T: Scalar>(csr: &Csr<T>, slots: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut next = slots.start;
    let same = move |slot: usize| slot < slots.end && csr.row(slot).0 == csr.row(slot - 1).0;
    std::iter::from_fn(move || {
        if next >= slots.end {
            return None;
        }
        let start = next;
        next += 1;
        let limit = slots.end.min(start + TILE_ROWS);
        while next < limit {
            let ends = next > start + 1 && same(next - 1) && !same(next);
            let begins = !same(next) && same(next + 1);
            if ends || begins {
                break;
            }
            next += 1;
        }
        Some(start..next)
    })
}

/// The columns of up to four rows in order, each with its pattern.
fn merge<T: Scalar>(csr: &Csr<T>, slots: Range<usize>, merged: &mut Vec<(u32, u8)>) {
    merged.clear();
    let first = csr.row(slots.start).0;
    if slots.clone().skip(1).all(|slot| csr.row(slot).0 == first) {
        let all = (1 << slots.len()) - 1;
        return merged.extend(first.iter().map(|&col| (col, all)));
    }
    let col_idx: &[u32] = csr.col_idx();
    let mut rows = [(0, 0); TILE_ROWS];
    for (row, slot) in rows.iter_mut().zip(slots) {
        *row = (csr.row_range(slot).start, csr.row_range(slot).end);
    }
    // No column is the largest index, so an exhausted row never has the least. Which rows advance
    // can't be foreseen: selections instead of jumps.
    let head = |(next, end): (usize, usize)| {
        let col = col_idx.get(next).copied().unwrap_or(u32::MAX);
        if next < end { col } else { u32::MAX }
    };
    let mut heads = rows.map(head);
    loop {
        let col = heads[0].min(heads[1]).min(heads[2].min(heads[3]));
        if col == u32::MAX {
            return;
        }
        let mut pattern = 0;
        for r in 0..TILE_ROWS {
            let held = heads[r] == col;
            pattern |= u8::from(held) << r;
            rows[r].0 += usize::from(held);
            heads[r] = head(rows[r]);
        }
        merged.push((col, pattern));
    }
}

/// A task's columns and values, and how many of each are written.
struct Fill<'a, A> {
    cols: &'a mut [u32],
    values: &'a mut [A],
    used: [usize; 2],
}

impl<A: Scalar> Fill<'_, A> {
    /// Writes a tile's columns and values, pattern by pattern.
    fn tile<T: Scalar<Acc = A>>(
        &mut self,
        a: &RowCsr<T>,
        slots: Range<usize>,
        merged: &[(u32, u8)],
    ) -> Tile {
        let mut counts = [0; PATTERNS];
        merged.iter().for_each(|&(_, pattern)| counts[pattern as usize - 1] += 1);
        let mut next = [[0; 2]; PATTERNS + 1];
        for (p, count) in (1u32..).zip(counts) {
            next[p as usize] = self.used;
            self.used[0] += count as usize;
            self.used[1] += count as usize * p.count_ones() as usize;
        }
        let mut rows = [PAD_ROW; TILE_ROWS];
        let mut left: [&[T]; TILE_ROWS] = [&[]; TILE_ROWS];
        for (r, slot) in slots.enumerate() {
            rows[r] = row_of(a, slot);
            left[r] = a.csr().row(slot).1;
        }
        for &(col, pattern) in merged {
            let [col_at, value_at] = &mut next[pattern as usize];
            self.cols[*col_at] = col;
            *col_at += 1;
            for r in (0..TILE_ROWS).filter(|r| pattern >> r & 1 == 1) {
                self.values[*value_at] = left[r][0].to_acc();
                left[r] = &left[r][1..];
                *value_at += 1;
            }
        }
        Tile { rows, counts }
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::generate::fem_3d;

    use super::super::natural;
    use super::*;

    #[test]
    fn columns_are_grouped_by_the_rows_that_hold_them() {
        let row_ptr = vec![0, 3, 5, 6];
        let a = Csr::try_new(3, 9, row_ptr, vec![1, 4, 8, 4, 6, 4], vec![1., 2., 3., 4., 5., 6.]);
        let a = natural(&a.unwrap());
        assert!(tiles(a.csr(), 0..3).eq(std::iter::once(0..3)));
        let mut merged = Vec::new();
        merge(a.csr(), 0..3, &mut merged);
        assert_eq!(merged, [(1, 0b001), (4, 0b111), (6, 0b010), (8, 0b001)]);
        let (mut cols, mut values) = ([0; 6], [0.0; 6]);
        let mut fill = Fill { cols: &mut cols, values: &mut values, used: [0; 2] };
        let tile = fill.tile(&a, 0..3, &merged);
        assert_eq!(tile.rows, [0, 1, 2, PAD_ROW]);
        assert_eq!((tile.counts[0], tile.counts[1], tile.counts[6]), (2, 1, 1));
        assert_eq!(fill.used, [4, 6]);
        assert_eq!((cols, values), ([1, 8, 6, 4, 0, 0], [1., 3., 5., 2., 4., 6.]));
    }

    #[test]
    fn tiles_have_to_spare_least_where_all_columns_are_multiplied_together() {
        assert_eq!([0, 3, 4, 8, 9, 16, 17].map(worth), [24, 24, 6, 6, 16, 16, 24]);
        let a: Csr<f32> = fem_3d(4, 4, 4, 1, 1).unwrap();
        let pays = |worth| pays(&a, &[0..30, 30..64], worth);
        assert!(pays(6) && !pays(24));
    }

    #[test]
    fn tiles_keep_equal_rows_together() {
        let a: Csr<f32> = fem_3d(4, 4, 4, 3, 1).unwrap();
        assert!(tiles(&a, 0..a.nrows()).all(|slots| slots.len() == 3 && slots.start % 3 == 0));
    }

    #[test]
    fn rows_that_share_nothing_are_not_tiled() {
        let dense =
            |offset: u32| (0..16u32).flat_map(move |i| (0..32).map(move |j| 32 * i * offset + j));
        let make = |offset| {
            let col_idx: Vec<u32> = dense(offset).collect();
            let row_ptr: Vec<u64> = (0..=16).map(|i| 32 * i).collect();
            natural(&Csr::try_new(16, 512, row_ptr, col_idx, vec![1.0; 512]).unwrap())
        };
        let tasks = [0..7, 7..7, 7..16];
        assert!(Patterns::new(&make(1), &tasks, 16).is_none());
        assert!(Patterns::new(&make(0), &tasks, 16).is_some());
    }
}
