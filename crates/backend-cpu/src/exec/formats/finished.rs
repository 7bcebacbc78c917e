//! CSR whose elements go through a bias, an activation or rounding before they are stored.
//!
//! Kernels write plain sums of some rows at a time to scratch that the first-level cache holds, and those are finished and
//! stored together. A call for every short row would take longer than the row.

use girih_formats::{PAD_ROW, Scalar};
use girih_simd::{
    Output, PATTERNS, PatternBlock, RowMap, Run, SortedBlock, TILE_ROWS, Tile, fence, lanes,
};

use super::Panel;
use crate::kernels::CpuScalar;
use crate::thresholds::{FINISHED_COLS, FINISHED_ROWS, FINISHED_SUMS};

/// Rows of scratch.
const IN_ORDER: [u32; FINISHED_ROWS] = {
    let mut rows = [0; FINISHED_ROWS];
    let mut i = 0;
    while i < FINISHED_ROWS {
        rows[i] = i as u32;
        i += 1;
    }
    rows
};

/// Tiles that are finished together, at most.
const MOST_TILES: usize = 32;

/// Scratch for the sums of some rows.
pub(super) struct Sums<'a, T: Scalar> {
    sums: &'a mut [T::Acc],
    /// How many rows there is scratch for.
    rows: usize,
}

impl<T: CpuScalar> Sums<'_, T> {
    /// Calls `multiply` for some columns of a panel at a time, with scratch for some rows of them.
    pub(super) fn for_each_part(
        on: &Panel<'_, T>,
        mut multiply: impl FnMut(&mut Sums<'_, T>, &Panel<'_, T>),
    ) {
        let mut scratch = T::thread_scratch().take();
        let (_, sums) = scratch.split(0, FINISHED_SUMS);
        for j in (0..on.width).step_by(FINISHED_COLS) {
            let on = on.part(&(j..on.width.min(j + FINISHED_COLS)));
            let rows = FINISHED_ROWS.min(FINISHED_SUMS / on.width);
            multiply(&mut Sums { sums, rows }, &on);
        }
        if on.out.streams_sums() {
            fence();
        }
        T::thread_scratch().set(scratch);
    }

    /// How many rows there is scratch for.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Calls `multiply` with a panel whose row `i` is the scratch of slot `i`, and stores what is there then.
    pub(super) fn finish(
        &mut self,
        map: RowMap<'_>,
        on: &Panel<'_, T>,
        multiply: impl FnOnce(&Panel<'_, T>),
    ) {
        let out = Output::sums(self.sums, on.width, false);
        multiply(&Panel { out, ..*on });
        on.kernels.finish(self.sums, &on.out, map, on.width);
    }
}

/// Multiplies sorted rows.
pub(super) fn sorted<T: CpuScalar>(block: &SortedBlock<'_, T::Acc>, on: &Panel<'_, T>) {
    Sums::for_each_part(on, |sums, on| {
        let lanes = lanes::<T>();
        let mut left = *block;
        for_each_piece(block.slices, sums.rows() / lanes, |slices, count| {
            let (mut firsts, mut to) = ([0; FINISHED_ROWS], [0; FINISHED_ROWS]);
            for (i, (to, &row)) in to.chunks_exact_mut(lanes).zip(&left.rows[..count]).enumerate() {
                firsts[i] = (i * lanes) as u32;
                to.iter_mut().zip(row..).for_each(|(to, row)| *to = row);
            }
            let these = SortedBlock { slices, runs: &[], rows: &firsts[..count], ..left };
            sums.finish(RowMap::Scattered(&to[..count * lanes]), on, |on| {
                on.kernels.sorted(&these, on.b, &on.out, on.width);
            });
            left = after(&left, slices, count, lanes);
        });
        for_each_piece(block.runs, sums.rows(), |runs, count| {
            let these = SortedBlock { slices: &[], runs, rows: &IN_ORDER[..count], ..left };
            sums.finish(RowMap::Scattered(&left.rows[..count]), on, |on| {
                on.kernels.sorted(&these, on.b, &on.out, on.width);
            });
            left = after(&left, runs, count, 1);
        });
    });
}

/// What is left of a block after some of its runs: `count` slices of `rows_each` rows, or rows.
fn after<'a, A>(
    block: &SortedBlock<'a, A>,
    runs: &[Run],
    count: usize,
    rows_each: usize,
) -> SortedBlock<'a, A> {
    let cols: usize = runs.iter().map(|run| run.len as usize * run.count as usize).sum();
    SortedBlock {
        rows: &block.rows[count..],
        col_idx: &block.col_idx[cols..],
        values: &block.values[cols * rows_each..],
        ..*block
    }
}

/// Calls `f` for pieces of runs that follow one another, and how many rows or slices each has: `most` at most.
fn for_each_piece(mut runs: &[Run], most: usize, mut f: impl FnMut(&[Run], usize)) {
    while let Some(run) = runs.first() {
        let mut count = 0;
        let fits = |run: &&Run| {
            count += run.count as usize;
            count <= most
        };
        let whole = runs.iter().take_while(fits).count();
        if whole > 0 {
            f(&runs[..whole], runs[..whole].iter().map(|run| run.count as usize).sum());
        } else {
            let all = run.count as usize;
            for first in (0..all).step_by(most) {
                let count = most.min(all - first);
                f(&[Run { count: count as u32, ..*run }], count);
            }
        }
        runs = &runs[whole.max(1)..];
    }
}

/// Multiplies tiles.
pub(super) fn patterns<T: CpuScalar>(block: &PatternBlock<'_, T::Acc>, on: &Panel<'_, T>) {
    Sums::for_each_part(on, |sums, on| {
        let mut left = *block;
        let mut in_order = [Tile { rows: [PAD_ROW; TILE_ROWS], counts: [0; PATTERNS] }; MOST_TILES];
        let mut to = [[PAD_ROW; TILE_ROWS]; MOST_TILES];
        for tiles in block.tiles.chunks((sums.rows() / TILE_ROWS).min(MOST_TILES)) {
            if let Some((first, len)) = neighbours(tiles) {
                let these = PatternBlock { tiles, ..left };
                sums.finish(RowMap::Consecutive { first, len }, on, |on| {
                    let out = on.out.before_row(first);
                    on.kernels.patterns(&these, on.b, &out, on.width);
                });
            } else {
                let places = in_order.iter_mut().zip(&mut to).zip(IN_ORDER.as_chunks().0);
                for (tile, ((in_order, to), places)) in tiles.iter().zip(places) {
                    (*in_order, *to) = (*tile, tile.rows);
                    for (row, &place) in in_order.rows.iter_mut().zip::<&[u32; TILE_ROWS]>(places) {
                        *row = if *row == PAD_ROW { PAD_ROW } else { place };
                    }
                }
                let these = PatternBlock { tiles: &in_order[..tiles.len()], ..left };
                sums.finish(RowMap::Scattered(to[..tiles.len()].as_flattened()), on, |on| {
                    on.kernels.patterns(&these, on.b, &on.out, on.width);
                });
            }
            let (cols, values) = Tile::sizes(tiles);
            let (col_idx, values) = (&left.col_idx[cols..], &left.values[values..]);
            left = PatternBlock { col_idx, values, ..left };
        }
    });
}

/// The first row of tiles, and how many there are, if they follow one another.
fn neighbours(tiles: &[Tile]) -> Option<(usize, usize)> {
    let rows = || tiles.iter().flat_map(|tile| tile.rows).filter(|&row| row != PAD_ROW);
    let first = rows().next()?;
    let follow = rows().zip(first..).all(|(row, next)| row == next);
    follow.then(|| (first as usize, rows().count()))
}
