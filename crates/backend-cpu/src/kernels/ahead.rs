//! Asking for rows of B before they are multiplied.

/// How many entries ahead rows of B are asked for where that pays. So many column indices more than
/// there are entries must be readable.
pub(crate) const AHEAD: usize = 32;
