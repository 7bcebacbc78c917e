//! Statistics: numbers of a matrix that say how its entries use the rows of B.
//!
//! Decisions read them through [`MatrixNumbers`] and never look at the matrix itself. So the same decisions
//! are taken from numbers that were just counted and from numbers that a plan has saved.

mod access;
mod cache_misses;
pub(crate) mod row_tiles;
mod sharing;

pub(crate) use access::{has_scattered_columns, row_span, unpredicted_share};
pub(crate) use cache_misses::CacheMisses;
pub(crate) use sharing::RowSharing;

/// Numbers of a CSR matrix and its tasks. Each is counted when it is first needed, since some take as long as
/// a product.
pub(crate) trait MatrixNumbers {
    /// Whether no row is split between tasks.
    fn has_whole_rows(&self) -> bool;
    /// Whether 32 bits can number the rows of the layout.
    fn rows_fit_u32(&self) -> bool;
    /// What neighbouring rows share, in a sample of the tasks.
    fn row_sharing(&self) -> RowSharing;
    /// Misses of a cache that holds `rows` rows of B; `None` if there is no memory to count them.
    fn cache_misses(&self, rows: usize) -> Option<CacheMisses>;
    /// Rows of B from the first to the last that a row of A uses, on average over the entries.
    fn row_span(&self) -> usize;
    /// The share of entries whose row of B, of `row_bytes` bytes, the processor does not predict and a cache
    /// of `cache` bytes does not hold.
    fn unpredicted_share(&self, row_bytes: usize, cache: usize) -> f64;
    /// Whether most entries do not follow the entry before them by one column.
    fn has_scattered_columns(&self) -> bool;
}
