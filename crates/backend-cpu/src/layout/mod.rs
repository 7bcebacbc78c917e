//! CSR laid out once more, in an order that suits the number of columns.

mod fill;
mod join;
mod order;
mod saved;
pub(crate) mod sorted;
pub(crate) mod tiles;

use std::ops::Range;

use girih_formats::{PAD_ROW, RowCsr, Scalar};

use crate::exec::formats::Panel;
use crate::isa::KernelScalar;
use sorted::Sorted;
use tiles::Patterns;

/// A matrix laid out once more, in an order that suits the number of columns.
#[derive(Debug)]
pub(crate) enum Relaid<T: Scalar> {
    Sorted(Sorted<T>),
    Patterns(Patterns<T>),
}

impl<T: KernelScalar> Relaid<T> {
    /// The ranges of rows of B that its slabs meet: one or several.
    pub(crate) fn slabs(&self, k: usize) -> impl Iterator<Item = Range<usize>> {
        let cols = match self {
            Self::Sorted(_) => None,
            Self::Patterns(patterns) => patterns.slab_cols(),
        };
        let cols = cols.unwrap_or(k.max(1));
        (0..k.div_ceil(cols).max(1)).map(move |s| s * cols..k.min((s + 1) * cols))
    }

    /// In how many parts each task is multiplied.
    pub(crate) fn parts(&self) -> usize {
        match self {
            Self::Sorted(sorted) => sorted.parts(),
            Self::Patterns(_) => 1,
        }
    }

    /// Multiplies the rows of a part of a task.
    pub(crate) fn multiply(&self, task: usize, part: usize, on: &Panel<'_, T>) {
        match self {
            Self::Sorted(sorted) => sorted.multiply(task, part, on),
            Self::Patterns(patterns) => patterns.multiply(task, on),
        }
    }
}

/// The row of C that a slot goes to. Only where rows are numbered in 32 bits.
pub(crate) fn row_of<T: Scalar>(a: &RowCsr<T>, slot: usize) -> u32 {
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
pub(crate) fn natural(a: &girih_formats::Csr<f32>) -> RowCsr<f32> {
    let layout = girih_formats::RowLayout::natural(a.nrows(), 1).unwrap();
    RowCsr::try_new(layout, a.clone()).unwrap()
}
