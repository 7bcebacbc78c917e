//! Writing the tiles of a task, slab by slab and pattern by pattern. A pattern says which rows of a tile hold
//! a column.

use std::ops::Range;

use girih_formats::{PAD_ROW, RowCsr, Scalar};
use girih_simd::{PATTERNS, TILE_ROWS, Tile};

use super::pieces::row_of;
use crate::analyze::row_tiles::{TileEntries, merge, row_entries, take_before};

/// Where the tiles of a task in one slab of columns lie, and their columns and values.
#[derive(Clone, Debug)]
pub(crate) struct TaskSlab {
    pub(crate) tiles: Range<usize>,
    pub(crate) cols: Range<usize>,
    pub(crate) values: Range<usize>,
}

impl TaskSlab {
    /// Whether its tiles have as many columns and values as the slab.
    pub(super) fn holds(&self, tiles: &[Tile]) -> bool {
        Tile::sizes(tiles) == (self.cols.len(), self.values.len())
    }
}

/// Arrays for a task's columns and values, and how much of each is written.
pub(crate) struct TileWriter<'a, A> {
    cols: &'a mut [u32],
    values: &'a mut [A],
    used: [usize; 2],
    /// Where the arrays begin in those of the matrix.
    first: usize,
}

impl<'a, A: Scalar> TileWriter<'a, A> {
    /// Writes to arrays that begin at entry `first` of the matrix.
    pub(crate) fn new(cols: &'a mut [u32], values: &'a mut [A], first: usize) -> Self {
        Self { cols, values, used: [0; 2], first }
    }

    /// Writes tiles, each a range of slots, slab by slab. The first slab has all tiles, since its sums are
    /// stored, and so has the last, where products are finished; other slabs have those with columns in them.
    /// Also returns the tiles of all slabs, among which those of a slab lie.
    pub(crate) fn slabs<T: Scalar<Acc = A>>(
        mut self,
        a: &RowCsr<T>,
        tiles: &[Range<usize>],
        slab_cols: usize,
    ) -> (Vec<Tile>, Vec<TaskSlab>) {
        let csr = a.csr();
        let mut merged = Vec::new();
        let mut rests: Vec<_> =
            tiles.iter().map(|slots| row_entries(csr.pattern(), slots)).collect();
        let count = csr.ncols().div_ceil(slab_cols).max(1);
        let mut written = Vec::with_capacity(tiles.len());
        let slabs = (0..count).map(|s| {
            let (start, first) = (self.used, written.len());
            for (slots, rests) in tiles.iter().zip(&mut rests) {
                let parts = take_before(csr.pattern(), rests, slab_cols.saturating_mul(s + 1));
                merge(csr.pattern(), &parts[..slots.len()], &mut merged);
                if s == 0 || s + 1 == count || !merged.is_empty() {
                    written.push(self.tile(a, slots, &parts, &merged));
                }
            }
            let [cols, values] = [0, 1].map(|i| self.first + start[i]..self.first + self.used[i]);
            TaskSlab { tiles: first..written.len(), cols, values }
        });
        let slabs = slabs.collect();
        (written, slabs)
    }

    /// Writes a tile's columns and values, pattern by pattern.
    fn tile<T: Scalar<Acc = A>>(
        &mut self,
        a: &RowCsr<T>,
        slots: &Range<usize>,
        parts: &TileEntries,
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
        rows.iter_mut().zip(slots.clone()).for_each(|(row, slot)| *row = row_of(a, slot));
        let mut left = parts.each_ref().map(|part| &a.csr().values()[part.clone()]);
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
    use girih_formats::Csr;

    use super::super::natural;
    use super::*;

    #[test]
    fn columns_are_grouped_by_the_rows_that_hold_them() {
        let row_ptr = vec![0, 3, 5, 6];
        let a = Csr::try_new(3, 9, row_ptr, vec![1, 4, 8, 4, 6, 4], vec![1., 2., 3., 4., 5., 6.]);
        let a = natural(&a.unwrap());
        let (mut cols, mut values) = ([0; 6], [0.0; 6]);
        let writer = TileWriter::new(&mut cols, &mut values, 10);
        let (tiles, slabs) = writer.slabs(&a, std::slice::from_ref(&(0..3)), 9);
        let [TaskSlab { tiles: tiles_at, cols: cols_at, values: values_at }] = &slabs[..] else {
            unreachable!()
        };
        assert_eq!((tiles_at.clone(), cols_at.clone(), values_at.clone()), (0..1, 10..14, 10..16));
        assert_eq!(tiles[0].rows, [0, 1, 2, PAD_ROW]);
        let counts = tiles[0].counts;
        assert_eq!((counts[0], counts[1], counts[6]), (2, 1, 1));
        assert_eq!((cols, values), ([1, 8, 6, 4, 0, 0], [1., 3., 5., 2., 4., 6.]));
    }
}
