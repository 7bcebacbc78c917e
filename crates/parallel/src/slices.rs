//! Slices as sources: items, chunks and windows. Sorting.

use std::cmp::Ordering;

use crate::par::Par;
use crate::source::{Exact, Source, is_its_base};

macro_rules! chunks {
    ($(#[$doc:meta])* $name:ident, $bound:ident, $slice:ty, $item:ty, $seq:ty, $split:ident, $into:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<'a, T> {
            slice: $slice,
            size: usize,
        }

        impl<'a, T: $bound> Source for $name<'a, T> {
            type Item = $item;
            type Seq = $seq;
            is_its_base!();

            #[inline]
            fn len(&self) -> usize {
                self.slice.len().div_ceil(self.size)
            }
            #[inline]
            fn split_at(self, at: usize) -> (Self, Self) {
                let at = (at * self.size).min(self.slice.len());
                let (a, b) = self.slice.$split(at);
                (Self { slice: a, size: self.size }, Self { slice: b, size: self.size })
            }
            #[inline]
            fn into_seq(self) -> Self::Seq {
                self.slice.$into(self.size)
            }
        }
        impl<T: $bound> Exact for $name<'_, T> {}
    };
}

chunks!(
    /// Chunks of a slice.
    Chunks, Sync, &'a [T], &'a [T], std::slice::Chunks<'a, T>, split_at, chunks
);
chunks!(
    /// Chunks of a slice, to be written.
    ChunksMut, Send, &'a mut [T], &'a mut [T], std::slice::ChunksMut<'a, T>, split_at_mut, chunks_mut
);
chunks!(
    /// Whole chunks of a slice, to be written.
    ChunksExactMut, Send, &'a mut [T], &'a mut [T], std::slice::ChunksExactMut<'a, T>, split_at_mut,
    chunks_exact_mut
);

/// Overlapping windows of a slice.
#[derive(Debug)]
pub struct Windows<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<'a, T: Sync> Source for Windows<'a, T> {
    type Item = &'a [T];
    type Seq = std::slice::Windows<'a, T>;
    is_its_base!();

    #[inline]
    fn len(&self) -> usize {
        (self.slice.len() + 1).saturating_sub(self.size)
    }
    #[inline]
    fn split_at(self, at: usize) -> (Self, Self) {
        let end = if at == 0 { 0 } else { at + self.size - 1 };
        let (a, b) = (&self.slice[..end.min(self.slice.len())], &self.slice[at..]);
        (Self { slice: a, size: self.size }, Self { slice: b, size: self.size })
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        self.slice.windows(self.size)
    }
}
impl<T: Sync> Exact for Windows<'_, T> {}

/// Parallel loops over a slice.
pub trait ParallelSlice<T: Sync> {
    /// Its items.
    fn par_iter(&self) -> Par<&[T]>;

    /// Chunks of `size` items, the last one possibly shorter.
    ///
    /// # Panics
    /// If `size` is zero.
    fn par_chunks(&self, size: usize) -> Par<Chunks<'_, T>>;

    /// Chunks of exactly `size` items, without the rest.
    ///
    /// # Panics
    /// If `size` is zero.
    fn par_chunks_exact(&self, size: usize) -> Par<Chunks<'_, T>>;

    /// Windows of `size` items.
    ///
    /// # Panics
    /// If `size` is zero.
    fn par_windows(&self, size: usize) -> Par<Windows<'_, T>>;
}

impl<T: Sync> ParallelSlice<T> for [T] {
    fn par_iter(&self) -> Par<&[T]> {
        Par::new(self)
    }
    fn par_chunks(&self, size: usize) -> Par<Chunks<'_, T>> {
        assert!(size > 0, "chunks have items");
        Par::new(Chunks { slice: self, size })
    }
    fn par_chunks_exact(&self, size: usize) -> Par<Chunks<'_, T>> {
        assert!(size > 0, "chunks have items");
        Par::new(Chunks { slice: &self[..self.len() / size * size], size })
    }
    fn par_windows(&self, size: usize) -> Par<Windows<'_, T>> {
        assert!(size > 0, "windows have items");
        Par::new(Windows { slice: self, size })
    }
}

/// Parallel loops that write a slice, and sorting.
pub trait ParallelSliceMut<T: Send> {
    /// Its items.
    fn par_iter_mut(&mut self) -> Par<&mut [T]>;

    /// Chunks of `size` items, the last one possibly shorter.
    ///
    /// # Panics
    /// If `size` is zero.
    fn par_chunks_mut(&mut self, size: usize) -> Par<ChunksMut<'_, T>>;

    /// Chunks of exactly `size` items, without the rest.
    ///
    /// # Panics
    /// If `size` is zero.
    fn par_chunks_exact_mut(&mut self, size: usize) -> Par<ChunksExactMut<'_, T>>;

    /// Sorts; equal items come in any order.
    fn par_sort_unstable(&mut self)
    where
        T: Ord;

    /// Sorts by a comparison; equal items come in any order.
    fn par_sort_unstable_by(&mut self, compare: impl Fn(&T, &T) -> Ordering + Sync);

    /// Sorts by a key; items of equal keys keep their order.
    fn par_sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync);
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    fn par_iter_mut(&mut self) -> Par<&mut [T]> {
        Par::new(self)
    }
    fn par_chunks_mut(&mut self, size: usize) -> Par<ChunksMut<'_, T>> {
        assert!(size > 0, "chunks have items");
        Par::new(ChunksMut { slice: self, size })
    }
    fn par_chunks_exact_mut(&mut self, size: usize) -> Par<ChunksExactMut<'_, T>> {
        assert!(size > 0, "chunks have items");
        let whole = self.len() / size * size;
        Par::new(ChunksExactMut { slice: &mut self[..whole], size })
    }
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        rayon::slice::ParallelSliceMut::par_sort_unstable(self);
    }
    fn par_sort_unstable_by(&mut self, compare: impl Fn(&T, &T) -> Ordering + Sync) {
        rayon::slice::ParallelSliceMut::par_sort_unstable_by(self, compare);
    }
    fn par_sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync) {
        rayon::slice::ParallelSliceMut::par_sort_by_key(self, key);
    }
}
