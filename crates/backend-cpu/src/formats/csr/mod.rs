//! CSR: rows as they are, narrow values widened a chunk at a time; or in an order that suits the
//! number of columns.

mod order;
mod patterns;
mod sorted;

use std::ops::Range;

use girih_formats::{PAD_ROW, RowCsr, Scalar};

use patterns::Patterns;
use sorted::Sorted;

use super::{Multiply, Panel, add_up};
use crate::isa::KernelScalar;
use crate::kernels::rows::RowBlock;
use crate::operands::RowMap;

/// Entries widened at a time.
const CHUNK: usize = 2048;

/// A matrix laid out once more, in an order that suits the number of columns.
#[derive(Debug)]
pub(crate) enum Relaid<T: Scalar> {
    Sorted(Sorted<T>),
    Patterns(Patterns<T>),
}

/// Whether `n` columns are two lines at most: then to guess wrong where a row ends costs as much as
/// some of its entries.
fn is_narrow<A>(n: usize) -> bool {
    n <= 2 * 64 / size_of::<A>()
}

impl<T: KernelScalar> Relaid<T> {
    /// What pays for products with `n` columns, B packed or not, its rows asked for ahead or not, if
    /// anything does; `tasks` are ranges of slots.
    pub(crate) fn new(
        a: &RowCsr<T>,
        tasks: &[Range<usize>],
        n: usize,
        packed: bool,
        ahead: bool,
    ) -> Option<Self> {
        let narrow = is_narrow::<T::Acc>(n);
        let patterns = if n == 1 { None } else { Patterns::new(a, tasks) };
        match patterns {
            Some(patterns) => Some(Self::Patterns(patterns)),
            None if packed || narrow || ahead => {
                Sorted::new(a, tasks, narrow && !ahead, ahead).map(Self::Sorted)
            }
            None => None,
        }
    }

    /// Whether it is for products with `n` columns.
    pub(crate) fn suits(&self, n: usize) -> bool {
        match self {
            Self::Sorted(_) => true,
            Self::Patterns(_) => n > 1,
        }
    }

    /// Multiplies the rows of a task.
    pub(crate) fn multiply(&self, task: usize, on: &Panel<'_, T>) {
        match self {
            Self::Sorted(sorted) => sorted.multiply(task, on),
            Self::Patterns(patterns) => patterns.multiply(task, on),
        }
    }
}

impl<T: KernelScalar> Multiply<T> for RowCsr<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        let csr = self.csr();
        let row_ptr: &[u64] = csr.row_ptr();
        if let Some(values) = T::as_acc(csr.values()) {
            let block = RowBlock {
                row_ptr: &row_ptr[slots.start..=slots.end],
                entries: (tiles.start, tiles.end),
                first: 0,
                col_idx: csr.col_idx(),
                values,
            };
            return on.kernels.rows(&block, on.b, &on.out, map, on.width);
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

/// The row of C that a slot goes to. Only where rows are numbered in 32 bits.
fn row_of<T: Scalar>(a: &RowCsr<T>, slot: usize) -> u32 {
    a.layout().row(slot).map_or(PAD_ROW, |row| row as u32)
}

/// Cuts an array into the given ranges, which ascend without overlap.
fn to_parts<T>(mut all: &mut [T], ranges: impl Iterator<Item = Range<usize>>) -> Vec<&mut [T]> {
    let mut begin = 0;
    ranges
        .map(|range| {
            let (_, rest) = std::mem::take(&mut all).split_at_mut(range.start.max(begin) - begin);
            let (part, rest) = rest.split_at_mut(range.len());
            (all, begin) = (rest, range.end.max(begin));
            part
        })
        .collect()
}

/// A matrix with its rows in their own order.
#[cfg(test)]
fn natural(a: &girih_formats::Csr<f32>) -> RowCsr<f32> {
    let layout = girih_formats::RowLayout::natural(a.nrows(), 1).unwrap();
    RowCsr::try_new(layout, a.clone()).unwrap()
}
