//! Values into tiles: which slot of a tiling each entry of the matrix belongs to.

use rayon::prelude::*;

use super::windows::{Pool, occupied, split_at_ends, window_chunks};
use crate::{Csr, RowLayout, Scalar};

/// Where a tiling keeps each entry.
///
/// The value array is seen as `n_strips` strips of equal length, in each of which a window owns one
/// contiguous range: one strip for most formats, one per row of a window for WCSR. That is what
/// lets threads write to disjoint slices.
pub(crate) trait Locate: Sync {
    /// What a thread needs to look entries up in one window.
    type Scratch: Send;

    fn scratch(&self) -> Self::Scratch;

    fn layout(&self) -> &RowLayout;

    /// 1, or the rows of a window: row `r` of a window then lives in strip `r`.
    fn n_strips(&self) -> usize {
        1
    }

    /// Where window `w`'s range begins in every strip, for `w` up to and including `n_windows`.
    fn strip_ptr(&self, w: usize) -> usize;

    /// Makes `scratch` ready for window `w`.
    fn load(&self, scratch: &mut Self::Scratch, w: usize);

    /// Tells `sink` the place in its strip of each of the entries `cols` of row `r` of the window
    /// `w` that is loaded. The row must be one the tiling was built from; of another, places are
    /// arbitrary but below the strip's length.
    fn locate<S: Sink>(
        &self,
        scratch: &Self::Scratch,
        w: usize,
        r: usize,
        cols: &[u32],
        sink: &mut S,
    );
}

/// Receives the places of one row's entries.
pub(crate) trait Sink {
    /// Entry `i` of the row belongs at `place`.
    fn put(&mut self, i: usize, place: usize);

    /// Entries `i..i + len` belong at `place..place + len`.
    #[inline(always)]
    fn put_run(&mut self, i: usize, place: usize, len: usize) {
        for j in 0..len {
            self.put(i + j, place + j);
        }
    }
}

struct Copy<'a, T> {
    from: &'a [T],
    strip: &'a mut [T],
    strip_start: usize,
}

impl<T: Scalar> Sink for Copy<'_, T> {
    #[inline(always)]
    fn put(&mut self, i: usize, place: usize) {
        self.strip[place - self.strip_start] = self.from[i];
    }

    #[inline(always)]
    fn put_run(&mut self, i: usize, place: usize, len: usize) {
        let place = place - self.strip_start;
        self.strip[place..place + len].copy_from_slice(&self.from[i..i + len]);
    }
}

/// Writes every entry of `csr` to its place in `values`, which holds zeros elsewhere. O(nnz), in
/// parallel over windows.
pub(crate) fn fill<T: Scalar, L: Locate>(locator: &L, csr: &Csr<T>, values: &mut [T]) {
    for_each_strip(locator, csr.row_ptr(), values, |scratch, w, r, row, strip, strip_start| {
        let (cols, from) = csr.row(row);
        locator.locate(scratch, w, r, cols, &mut Copy { from, strip, strip_start });
    });
}

/// Calls `work(scratch, w, r, row, strip, strip_start)` for every row of every window `w`, in
/// parallel: `strip` is the part of `values` that the calling thread may write to, beginning at
/// `strip_start` of the row's strip.
pub(crate) fn for_each_strip<T: Send, L: Locate>(
    locator: &L,
    row_ptr: &[u64],
    values: &mut [T],
    work: impl Fn(&L::Scratch, usize, usize, usize, &mut [T], usize) + Sync,
) {
    // A slice per strip and chunk is 16 bytes: keep them few next to the values they cover.
    let limit = (values.len() / locator.n_strips() / 64).max(1);
    let chunks = window_chunks(locator.layout(), row_ptr, limit);
    let mut parts: Vec<Vec<&mut [T]>> = chunks.iter().map(|_| Vec::new()).collect();
    let strip_len = values.len() / locator.n_strips();
    if strip_len > 0 {
        for strip in values.chunks_exact_mut(strip_len) {
            let pieces = split_at_ends(strip, chunks.iter().map(|c| locator.strip_ptr(c.end)));
            for (part, piece) in parts.iter_mut().zip(pieces) {
                part.push(piece);
            }
        }
    }
    let pool = Pool::new();
    chunks.into_par_iter().with_max_len(1).zip(parts).for_each(|(windows, mut strips)| {
        let strip_start = locator.strip_ptr(windows.start);
        let several = strips.len() > 1;
        pool.with(
            || locator.scratch(),
            |scratch| {
                for w in windows {
                    locator.load(scratch, w);
                    for (r, row) in occupied(locator.layout(), w) {
                        if let Some(strip) = strips.get_mut(if several { r } else { 0 }) {
                            work(scratch, w, r, row, strip, strip_start);
                        }
                    }
                }
            },
        );
    });
}
