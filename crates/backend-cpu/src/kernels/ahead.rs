//! Asking for rows of B, and for entries of A, before they are multiplied.

use crate::isa::Line;

/// How many entries, or columns of a tile, ahead rows of B are asked for where that pays. So many column
/// indices more than there are entries must be readable.
pub(crate) const AHEAD: usize = 128;

/// How many entries of single rows ahead rows of B of so many bytes are asked for: what is asked for
/// fills the cache until it is needed.
pub(crate) const fn ahead(row_bytes: usize) -> usize {
    if row_bytes <= 256 { AHEAD } else { AHEAD / 4 }
}

/// How many rows ahead, where each row of A meets the rows of B after those that the one before met.
pub(crate) const AHEAD_ROWS: usize = 64;

/// What kernels of rows ask for: nothing, entries of A, or these and rows of B.
pub(crate) const NOTHING: u8 = 0;
pub(crate) const ENTRIES: u8 = 1;
pub(crate) const ROWS: u8 = 2;

/// How many bytes ahead A is asked for: some hundred entries.
const FORESEEN: usize = 1024;

/// Asks for the columns and values of entries further on, which need not be there.
#[inline(always)]
pub(crate) fn foresee<V: Line, A>(col_idx: *const u32, values: *const A) {
    V::prefetch(values.wrapping_byte_add(FORESEEN));
    V::prefetch(col_idx.wrapping_byte_add(FORESEEN));
}
