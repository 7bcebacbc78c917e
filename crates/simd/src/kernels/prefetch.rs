//! Prefetching rows of B, and entries of A, before they are multiplied.
//!
//! Rows of B are prefetched into the second-level cache: the first-level cache waits for few lines at once,
//! and a line that is prefetched into it takes the place of one that is needed.

use super::edges::{ENDS, Edges, FIRST};
use crate::isa::Vector;
use crate::thresholds::{
    PREFETCH_A_AHEAD, PREFETCH_AHEAD_ROW_BYTES, PREFETCH_AHEAD_WIDE, TILE_COLS_AT_ONCE,
    TILE_PREFETCH_BYTES, TILE_PREFETCH_FAR_BYTES, TILE_VALUES_AHEAD,
};

/// How many entries, or columns of a tile, ahead rows of B are prefetched. Column indices must be readable
/// that far beyond the last entry.
pub use crate::thresholds::PREFETCH_AHEAD;

/// How many rows ahead, where each row of A uses the rows of B after those of the row before it.
pub(crate) use crate::thresholds::PREFETCH_AHEAD_ROWS;

/// How many entries ahead sorted rows prefetch rows of B of `row_bytes` bytes. What is prefetched fills the
/// cache until it is used, so wide rows are prefetched later.
pub(crate) const fn entries_ahead(row_bytes: usize) -> usize {
    if row_bytes <= PREFETCH_AHEAD_ROW_BYTES { PREFETCH_AHEAD } else { PREFETCH_AHEAD_WIDE }
}

/// Whether tiles prefetch rows of B of `row_bytes` bytes, where rows are prefetched at all. A cache line holds several narrow ones: the
/// processor fetches those itself, unless B `is_far`: beyond the last-level cache.
pub const fn tiles_prefetch(row_bytes: usize, is_far: bool) -> bool {
    row_bytes > if is_far { TILE_PREFETCH_FAR_BYTES } else { TILE_PREFETCH_BYTES }
}

/// What kernels prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetch {
    /// Nothing.
    Nothing,
    /// Entries of A.
    Entries,
    /// Entries of A, and rows of B that later entries use.
    Rows,
}

/// Prefetches the columns and values of entries further on, which need not exist.
#[inline(always)]
pub(crate) fn prefetch_entries<V: Vector, A>(col_idx: *const u32, values: *const A) {
    V::prefetch(values.wrapping_byte_add(PREFETCH_A_AHEAD));
    V::prefetch(col_idx.wrapping_byte_add(PREFETCH_A_AHEAD));
}

/// Prefetches `K` vectors of a row of B: the cache lines where they begin, and where the last ends unless rows are whole lines.
#[inline(always)]
pub(super) fn prefetch_vectors<V: Vector, T, const K: usize, const EDGES: u8>(
    row: *const T,
    edges: &Edges<V>,
) {
    // The line where a last vector begins that ends with the row is likely to be one of the others.
    let is_between = const { EDGES == ENDS && K * V::LANES * size_of::<T>() <= 64 }
        || EDGES == ENDS && edges.rest <= V::LANES / 2;
    for u in 0..K {
        if u == 0 || u + 1 < K || !is_between {
            V::prefetch_l2(row.wrapping_add(u * V::LANES));
        }
    }
    let last = match EDGES {
        FIRST if K == 1 => V::LANES,
        ENDS => (K - 1) * V::LANES + edges.rest,
        _ => return,
    };
    V::prefetch_l2(row.wrapping_add(last - 1));
}

/// How far entries of tiles are prefetched, which follow one another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntriesAhead {
    col_idx: *const u32,
    values: *const u8,
}

impl EntriesAhead {
    /// As far ahead as entries are prefetched, of a column and its first value.
    #[inline(always)]
    pub(crate) fn of<A>((col_idx, values): (*const u32, *const A)) -> Self {
        Self {
            col_idx: col_idx.wrapping_byte_add(PREFETCH_A_AHEAD),
            values: values.wrapping_byte_add(TILE_VALUES_AHEAD).cast(),
        }
    }

    /// Prefetches the cache lines from this column and value on, up to those that are as far ahead.
    #[inline(always)]
    pub(crate) fn prefetch<V: Vector, A>(&mut self, (col_idx, values): (*const u32, *const A)) {
        let to = Self::of((col_idx, values));
        *self = Self { col_idx: self.col_idx.max(col_idx), values: self.values.max(values.cast()) };
        while self.col_idx < to.col_idx {
            V::prefetch(self.col_idx);
            self.col_idx = self.col_idx.wrapping_byte_add(64);
        }
        while self.values < to.values {
            V::prefetch(self.values);
            self.values = self.values.wrapping_add(64);
        }
    }

    /// Prefetches the cache lines that lie as far ahead of the last [`TILE_COLS_AT_ONCE`] columns. These end before this column
    /// and value, and each has `rows` values.
    #[inline(always)]
    pub(crate) fn prefetch_again<V: Vector, A>(
        (col_idx, values): (*const u32, *const A),
        rows: usize,
    ) {
        let ahead = Self::of((col_idx, values));
        V::prefetch(ahead.col_idx.wrapping_byte_sub(64));
        for line in 0..rows * TILE_COLS_AT_ONCE * size_of::<A>() / 64 {
            V::prefetch(ahead.values.wrapping_sub(64 * (line + 1)));
        }
    }
}

// That many columns take a whole cache line, and so do as many values of four bytes.
const _: () = assert!(TILE_COLS_AT_ONCE * size_of::<u32>() == 64);
