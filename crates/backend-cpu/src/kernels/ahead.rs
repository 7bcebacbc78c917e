//! Asking for rows of B before they are multiplied.

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
