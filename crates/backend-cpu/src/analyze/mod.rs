//! Numbers of a matrix: how its entries use the rows of B.

mod cache_misses;
pub(crate) mod patterns;
mod sharing;

pub(crate) use cache_misses::{Fetches, leaps, span, unpredicted};
pub(crate) use sharing::Sharing;
