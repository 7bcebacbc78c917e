//! Values into tiles: which slot of a tiling each entry of the matrix belongs to.

use std::ops::Range;

use girih_parallel::prelude::*;

use super::windows::{Pool, occupied, split_at_ends, window_chunks};
use crate::csr::Csr;
use crate::layout::RowLayout;
use crate::scalar::Scalar;

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

    /// Whether the tiling has a place for each of the entries `cols` of row `r` of the window `w`
    /// that is loaded.
    fn holds(&self, scratch: &Self::Scratch, w: usize, r: usize, cols: &[u32]) -> bool;

    /// Tells `sink` the place in its strip of each of the entries `cols` of row `r` of the window
    /// `w` that is loaded. The tiling holds them.
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
    let pool = Pool::new();
    let (layout, n_strips) = (locator.layout(), locator.n_strips());
    let places = StripPlaces { layout, n_strips, strip_ptr: &|w| locator.strip_ptr(w) };
    for_each_chunk(places, csr.row_ptr(), values, &|windows, mut strips| {
        pool.with(
            || locator.scratch(),
            |scratch| {
                for w in windows {
                    locator.load(scratch, w);
                    for (r, row) in occupied(locator.layout(), w) {
                        let (cols, from) = csr.row(row);
                        let (strip, strip_start) = strips.of_row(r);
                        let mut copy = Copy { from, strip, strip_start };
                        locator.locate(scratch, w, r, cols, &mut copy);
                    }
                }
            },
        );
    });
}

/// The part of every strip that the thread at work on a chunk of windows owns.
pub(crate) struct Strips<'a, T> {
    parts: Vec<&'a mut [T]>,
    /// Where in their strips the parts begin.
    start: usize,
}

impl<T> Strips<'_, T> {
    /// The part of the strip that row `r` of a window lives in, and where in the strip it begins.
    #[inline(always)]
    pub(crate) fn of_row(&mut self, r: usize) -> (&mut [T], usize) {
        let strip = if self.parts.len() == 1 { 0 } else { r };
        (self.parts.get_mut(strip).map_or(&mut [], |part| &mut part[..]), self.start)
    }
}

/// Where the values of windows are, whatever the format.
#[derive(Clone, Copy)]
pub(crate) struct StripPlaces<'a> {
    pub(crate) layout: &'a RowLayout,
    pub(crate) n_strips: usize,
    /// Where the values of a window begin in a strip.
    pub(crate) strip_ptr: &'a (dyn Fn(usize) -> usize + Sync),
}

/// Calls `work(windows, strips)` for chunks of windows in parallel, with the parts of `values` that
/// are theirs.
pub(crate) fn for_each_chunk<T: Send>(
    places: StripPlaces<'_>,
    row_ptr: &[u64],
    values: &mut [T],
    work: &(dyn Fn(Range<usize>, Strips<'_, T>) + Sync),
) {
    let StripPlaces { layout, n_strips, strip_ptr } = places;
    let strip_len = values.len() / n_strips;
    // A slice per strip and chunk is 16 bytes: keep them few next to the values they cover.
    let chunks = window_chunks(layout, row_ptr, (strip_len / 64).max(1));
    let mut parts: Vec<Vec<&mut [T]>> = chunks.iter().map(|_| Vec::new()).collect();
    for strip in values.chunks_exact_mut(strip_len.max(1)) {
        let pieces = split_at_ends(strip, chunks.iter().map(|c| strip_ptr(c.end)));
        for (part, piece) in parts.iter_mut().zip(pieces) {
            part.push(piece);
        }
    }
    chunks.into_par_iter().with_max_len(1).zip(parts).for_each(|(windows, parts)| {
        let start = strip_ptr(windows.start);
        work(windows, Strips { parts, start });
    });
}
