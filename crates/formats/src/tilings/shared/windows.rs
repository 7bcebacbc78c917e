//! How a conversion is cut into pieces for threads, and what the pieces share.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use girih_parallel::prelude::*;

use crate::buffer::Buffer;
use crate::error::FormatError;
use crate::layout::RowLayout;

/// Rows plus entries below which a thread keeps a piece of work: handing it over takes longer.
const MIN_CHUNK_WORK: u64 = 1 << 13;

/// Pieces per thread: enough to even out windows of unequal cost.
const CHUNKS_PER_THREAD: usize = 8;

/// Checks that `layout` is one of a matrix with `nrows` rows, in windows of `window_rows`.
pub(crate) fn check_layout(
    layout: &RowLayout,
    nrows: usize,
    window_rows: usize,
) -> Result<(), FormatError> {
    for (what, found, expected) in
        [("rows", layout.nrows(), nrows), ("rows per window", layout.window_rows(), window_rows)]
    {
        if found != expected {
            return Err(FormatError::LayoutMismatch { what, found, expected });
        }
    }
    Ok(())
}

/// The occupied slots of window `w`: position in the window, and original row.
///
/// Costs O(rows of the window) for the natural layout, however high the window is.
pub(crate) fn occupied(layout: &RowLayout, w: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut slots = layout.window(w);
    if layout.is_natural() {
        slots.end = slots.end.min(layout.nrows());
    }
    let first = slots.start;
    slots.filter_map(move |slot| layout.row(slot).map(|row| (slot - first, row)))
}

/// Entries of window `w`: O(1) for the natural layout, O(rows of the window) for others.
pub(crate) fn window_entries(layout: &RowLayout, row_ptr: &[u64], w: usize) -> usize {
    if layout.is_natural() {
        let slots = layout.window(w);
        let at = |slot: usize| row_ptr[slot.min(layout.nrows())];
        return (at(slots.end) - at(slots.start)) as usize;
    }
    occupied(layout, w).map(|(_, row)| (row_ptr[row + 1] - row_ptr[row]) as usize).sum()
}

/// Cuts the windows into at most `limit` runs of about equal work, in order. What a conversion
/// computes must not depend on where the cuts are.
pub(crate) fn window_chunks(
    layout: &RowLayout,
    row_ptr: &[u64],
    limit: usize,
) -> Vec<Range<usize>> {
    let n_windows = layout.n_windows();
    let weights = layout.slots().map(|_| explicit_weights(layout, row_ptr));
    let weight = |w: usize| match &weights {
        Some(weights) => weights[w],
        None => {
            let row = (w * layout.window_rows()).min(layout.nrows());
            row_ptr[row] + row as u64
        }
    };
    cut(n_windows, weight, limit)
}

/// Cuts `0..n` into at most `limit` runs of about equal weight; `weight(i)` is that of `0..i`.
fn cut(n: usize, weight: impl Fn(usize) -> u64, limit: usize) -> Vec<Range<usize>> {
    let total = weight(n);
    let wanted = CHUNKS_PER_THREAD * girih_parallel::current_num_threads();
    let n_chunks = (total / MIN_CHUNK_WORK).min(wanted.min(limit) as u64).max(1);
    let mut start = 0;
    let mut chunks = Vec::with_capacity(n_chunks as usize);
    for c in 1..=n_chunks {
        let target = (u128::from(total) * u128::from(c) / u128::from(n_chunks)) as u64;
        let end = if c == n_chunks { n } else { first_at_least(start..n, |i| weight(i) >= target) };
        if end > start {
            chunks.push(start..end);
            start = end;
        }
    }
    chunks
}

/// Cuts rows, given their offsets, into runs of about equal work, in order.
pub(crate) fn row_chunks(row_ptr: &[u64]) -> Vec<Range<usize>> {
    cut(row_ptr.len() - 1, |row| row_ptr[row] + row as u64, usize::MAX)
}

/// Entries and slots before each window of an explicit layout.
fn explicit_weights(layout: &RowLayout, row_ptr: &[u64]) -> Vec<u64> {
    let mut weights = vec![0; layout.n_windows() + 1];
    weights[1..].par_iter_mut().with_min_len(64).enumerate().for_each(|(w, weight)| {
        *weight = layout.window_rows() as u64
            + occupied(layout, w).map(|(_, row)| row_ptr[row + 1] - row_ptr[row]).sum::<u64>();
    });
    accumulate(&mut weights);
    weights
}

fn first_at_least(range: Range<usize>, reached: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if reached(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Turns counts, each one place to the right, into offsets.
pub(crate) fn accumulate(ptr: &mut [u64]) {
    let mut sum = 0;
    for p in ptr {
        sum += *p;
        *p = sum;
    }
}

/// Cuts `rest` into the pieces that end at `ends`.
pub(crate) fn split_at_ends<T>(
    slice: &mut [T],
    ends: impl IntoIterator<Item = usize>,
) -> Vec<&mut [T]> {
    let mut ends = ends.into_iter();
    split_at_each(slice, &mut || ends.next())
}

/// [`split_at_ends`], compiled once for each type of elements.
fn split_at_each<'a, T>(
    mut rest: &'a mut [T],
    next: &mut dyn FnMut() -> Option<usize>,
) -> Vec<&'a mut [T]> {
    let mut start = 0;
    let mut pieces = Vec::new();
    while let Some(end) = next() {
        let (piece, tail) = rest.split_at_mut(end - start);
        pieces.push(piece);
        (rest, start) = (tail, end);
    }
    pieces
}

/// Zeros for a value array of `factors` multiplied.
///
/// # Errors
/// If they are more than memory can address, or holds.
pub(crate) fn zeroed<T: Pod>(factors: &[usize]) -> Result<Buffer<T>, FormatError> {
    Buffer::zeroed(crate::tilings::spec::checked_elements(factors)?)
}

/// Scratch that threads hand to one another: at most as many as there are threads at work.
pub(crate) struct Pool<S> {
    idle: Mutex<Vec<S>>,
}

impl<S> Pool<S> {
    pub(crate) fn new() -> Self {
        Self { idle: Mutex::new(Vec::new()) }
    }

    /// Runs `work` with an idle scratch, or a new one if there is none.
    pub(crate) fn with<R>(&self, make: impl FnOnce() -> S, work: impl FnOnce(&mut S) -> R) -> R {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = idle.unwrap_or_else(make);
        let result = work(&mut scratch);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::PAD_ROW;

    #[test]
    fn chunks_cover_every_window_once_whatever_the_weights() {
        let n = 1000;
        let row_ptr: Vec<u64> = (0..=n as u64).map(|i| if i > 700 { 1 << 20 } else { i }).collect();
        let reversed = (0..n as u32).rev().chain([PAD_ROW; 2]).collect::<Vec<_>>();
        for layout in [
            RowLayout::natural(n, 3).unwrap(),
            RowLayout::explicit(n, 3, reversed).unwrap(),
            RowLayout::natural(n, 1 << 30).unwrap(),
        ] {
            for limit in [1, 2, 100] {
                let chunks = window_chunks(&layout, &row_ptr, limit);
                assert!(chunks.len() <= limit && chunks.iter().all(|c| !c.is_empty()));
                let covered: Vec<usize> = chunks.into_iter().flatten().collect();
                assert_eq!(covered, (0..layout.n_windows()).collect::<Vec<_>>());
            }
        }
        assert!(window_chunks(&RowLayout::natural(0, 4).unwrap(), &[0], 9).is_empty());
    }

    #[test]
    fn an_allocation_that_cannot_be_is_an_error() {
        assert!(matches!(zeroed::<f64>(&[1 << 28, 1 << 31]), Err(FormatError::OutOfMemory { .. })));
        assert!(matches!(
            zeroed::<f64>(&[1 << 32, 1 << 32]),
            Err(FormatError::TooManyElements { .. })
        ));
    }
}
