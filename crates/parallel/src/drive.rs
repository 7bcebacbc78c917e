//! The machinery: how many pieces there are, and who works them off.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::source::Source;
use crate::threads::{current, current_num_threads};

/// Pieces of a loop for each thread: enough to even out uneven ones, few enough to cost nothing.
const PIECES_PER_THREAD: usize = 16;

/// The number of pieces of `len` items, each of `min_len` to `max_len` items; `min_len` gives way.
fn n_pieces(len: usize, (min_len, max_len): (usize, usize)) -> usize {
    let threads = current_num_threads();
    if threads == 1 {
        return len.min(1);
    }
    let wanted = (len / min_len.max(1)).clamp(1, PIECES_PER_THREAD * threads);
    wanted.max(len.div_ceil(max_len.max(1))).min(len)
}

/// Calls `f` with each index below `count`, on all threads. This is the loop that all others run on.
fn for_each_index(count: usize, f: &(dyn Fn(usize) + Sync)) {
    match current() {
        Some(threads) => threads.for_each_below(count, 1, f),
        None => (0..count).into_par_iter().with_max_len(1).for_each(f),
    }
}

/// Calls `f` with each index below `count`, at least `min_len` of them in a row on a thread.
///
/// Unlike other loops it allocates nothing on a thread of the pool, and is cut where threads are idle.
pub fn for_each_below(count: usize, min_len: usize, f: &(dyn Fn(usize) + Sync)) {
    match current() {
        Some(threads) => threads.for_each_below(count, min_len, f),
        None => (0..count).into_par_iter().with_min_len(min_len).for_each(f),
    }
}

/// Calls `f` with each chunk of `size` items, the last of which may be shorter, and its index.
///
/// As [`for_each_below`], it allocates nothing on a thread of the pool.
///
/// # Panics
/// If `size` is zero.
pub fn for_each_chunk<T: Send>(items: &mut [T], size: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    match current() {
        Some(_) => {
            let chunks = crate::ParallelSliceMut::par_chunks_mut(items, size);
            chunks.enumerate().for_each(|(i, chunk)| f(i, chunk));
        }
        None => items.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk)),
    }
}

/// Calls `work` with each piece of `source`, and the index of its first item.
///
/// What is cut, and how its pieces are taken, is compiled for each [base](Source::Base) alone.
#[inline]
pub(crate) fn run<S: Source>(source: S, limits: (usize, usize), work: impl Fn(usize, S) + Sync) {
    let (base, applied) = source.open();
    let count = n_pieces(base.len(), limits);
    for_each_piece(base, count, &|_, start, piece| work(start, S::close(piece, start, &applied)));
}

/// What `work` makes of each piece of `source`, in order.
#[inline]
pub(crate) fn results<S: Source, R: Send>(
    source: S,
    limits: (usize, usize),
    work: impl Fn(usize, S) -> R + Sync,
) -> Vec<R> {
    let (base, applied) = source.open();
    results_of(base, limits, &|start, piece| work(start, S::close(piece, start, &applied)))
}

/// What `work` makes of each piece, in order.
fn results_of<S: Source, R: Send>(
    source: S,
    limits: (usize, usize),
    work: &(dyn Fn(usize, S) -> R + Sync),
) -> Vec<R> {
    let count = n_pieces(source.len(), limits);
    let found: Vec<Mutex<Option<R>>> = (0..count).map(|_| Mutex::new(None)).collect();
    for_each_piece(source, count, &|i, start, piece| {
        let result = work(start, piece);
        *found[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    found
        .into_iter()
        .filter_map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// Calls `work` with each of `count` pieces: its number, the index of its first item, and the piece.
fn for_each_piece<S: Source>(source: S, count: usize, work: &(dyn Fn(usize, usize, S) + Sync)) {
    if count <= 1 {
        if count == 1 {
            work(0, 0, source);
        }
        return;
    }
    let pieces = cut(source, count);
    for_each_index(count, &|i| {
        let (start, piece) = &pieces[count - 1 - i];
        let piece = piece.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(piece) = piece {
            work(i, *start, piece);
        }
    });
}

/// The pieces and the indices of their first items, the last first. A piece is taken by who works it off.
fn cut<S: Source>(source: S, count: usize) -> Vec<(usize, Mutex<Option<S>>)> {
    let len = source.len();
    let mut pieces = Vec::with_capacity(count);
    let mut rest = source;
    for i in (1..count).rev() {
        let start = (len as u128 * i as u128 / count as u128) as usize;
        let (before, piece) = rest.split_at(start);
        pieces.push((start, Mutex::new(Some(piece))));
        rest = before;
    }
    pieces.push((0, Mutex::new(Some(rest))));
    pieces
}

/// Calls both, the second on another thread if one is idle, and returns what they return.
pub fn join<A, B>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B)
where
    A: Send,
    B: Send,
{
    let (mut found_a, mut found_b) = (None, None);
    let (mut a, mut b) = (Some(a), Some(b));
    join_two(&mut || found_a = a.take().map(|a| a()), &mut || found_b = b.take().map(|b| b()));
    match (found_a, found_b) {
        (Some(a), Some(b)) => (a, b),
        _ => unreachable!("both were called, or one panicked and so did `join_two`"),
    }
}

/// [`join`], compiled once.
fn join_two<'a>(a: &'a mut (dyn FnMut() + Send + 'a), b: &'a mut (dyn FnMut() + Send + 'a)) {
    let Some(threads) = current() else {
        rayon::join(a, b);
        return;
    };
    let both = [Mutex::new(a), Mutex::new(b)];
    threads.for_each_below(2, 1, &|i| both[i].lock().unwrap_or_else(PoisonError::into_inner)());
}
