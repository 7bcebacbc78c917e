//! Asking for rows of B, and for entries of A, before they are multiplied.

use crate::isa::Vector;
use crate::thresholds::{PREFETCH_A_AHEAD, PREFETCH_AHEAD_ROW_BYTES, PREFETCH_AHEAD_WIDE};

/// How many entries, or columns of a tile, ahead rows of B are prefetched. That many more column indices than
/// there are entries must be readable.
pub(crate) use crate::thresholds::PREFETCH_AHEAD;

/// How many rows ahead, where each row of A meets the rows of B after those that the one before met.
pub(crate) use crate::thresholds::PREFETCH_AHEAD_ROWS;

/// How many entries of single rows ahead rows of B of so many bytes are asked for: what is asked for
/// fills the cache until it is needed.
pub(crate) const fn ahead(row_bytes: usize) -> usize {
    if row_bytes <= PREFETCH_AHEAD_ROW_BYTES { PREFETCH_AHEAD } else { PREFETCH_AHEAD_WIDE }
}

/// What kernels of rows ask for: nothing, entries of A, or these and rows of B.
pub(crate) const NOTHING: u8 = 0;
pub(crate) const ENTRIES: u8 = 1;
pub(crate) const ROWS: u8 = 2;

/// Asks for the columns and values of entries further on, which need not be there.
#[inline(always)]
pub(crate) fn prefetch_entries<V: Vector, A>(col_idx: *const u32, values: *const A) {
    V::prefetch(values.wrapping_byte_add(PREFETCH_A_AHEAD));
    V::prefetch(col_idx.wrapping_byte_add(PREFETCH_A_AHEAD));
}
