//! What can be wrong with a permutation or its use.

use girih_formats::FormatError;
use thiserror::Error;

/// A permutation that is none, or one that doesn't fit what it is applied to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReorderError {
    /// An index leaves the range that is permuted.
    #[error("permutation: position {position} holds {found}, which must be below {len}")]
    OutOfRange {
        /// Where in the permutation.
        position: usize,
        /// The index found there.
        found: u32,
        /// How many indices are permuted.
        len: usize,
    },
    /// An index stands twice, so another is missing.
    #[error("permutation: {found} stands at position {position} and at {first}")]
    Repeated {
        /// The index.
        found: u32,
        /// Where it stands first.
        first: usize,
        /// Where it stands again.
        position: usize,
    },
    /// A permutation is applied to something of another size.
    #[error("a permutation of {found} indices can't be applied to {expected} {what}")]
    Length {
        /// What it was applied to.
        what: &'static str,
        /// Length of the permutation.
        found: usize,
        /// Length it would have to have.
        expected: usize,
    },
    /// A symmetric permutation needs as many columns as rows.
    #[error(
        "the matrix is {nrows}×{ncols}; rows and columns take one permutation only if it is square, so permute them separately"
    )]
    NotSquare {
        /// Rows of the matrix.
        nrows: usize,
        /// Columns of the matrix.
        ncols: usize,
    },
    /// More indices than 32 bits can number.
    #[error("{found} {what} are too many for 32-bit indices")]
    TooLarge {
        /// What was to be numbered.
        what: &'static str,
        /// How many there are.
        found: usize,
    },
    /// An order of the columns would take far more memory than the matrix.
    #[error(
        "an order of {ncols} columns takes far more memory than a matrix of {nrows} rows and {entries} entries; drop the empty columns first"
    )]
    TooManyColumns {
        /// Rows of the matrix.
        nrows: usize,
        /// Columns of the matrix.
        ncols: usize,
        /// Its entries.
        entries: usize,
    },
    /// The permuted matrix or layout can't be built.
    #[error(transparent)]
    Format(#[from] FormatError),
}
