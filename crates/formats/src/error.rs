//! What can be wrong with a matrix, and where.

use thiserror::Error;

use crate::dtype::DType;

/// A matrix, a layout or a conversion that cannot be.
///
/// Every variant names the place and the value found, so that the message alone is enough to mend
/// the input.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// A dimension exceeds what `u32` indices can address.
    #[error("{what} is {found}, but indices are 32-bit and at most {max} are supported", max = crate::MAX_DIM)]
    TooLarge {
        /// Which dimension.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// An array has the wrong length.
    #[error("{what} has {found} elements where {expected} are needed")]
    Length {
        /// Which array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length the shape calls for.
        expected: usize,
    },
    /// An offset array does not start at 0, decreases, or does not end at the array's length.
    #[error("{what}[{position}] is {found}, which is {reason}")]
    Offsets {
        /// Which array.
        what: &'static str,
        /// Where in it.
        position: usize,
        /// The offset found.
        found: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An index points outside the matrix.
    #[error(
        "{what}: index {found} at row {row}, position {position} is out of range (must be below {limit})"
    )]
    IndexOutOfRange {
        /// Which array.
        what: &'static str,
        /// The row, window or block row it belongs to.
        row: usize,
        /// Where in the array.
        position: usize,
        /// The index found.
        found: u64,
        /// The first index that is too large.
        limit: u64,
    },
    /// Indices of one row are not strictly increasing.
    #[error(
        "{what}: row {row} is not strictly increasing at position {position} ({previous} is followed by {found}); sort rows and sum duplicates first"
    )]
    NotIncreasing {
        /// Which array.
        what: &'static str,
        /// The row, window or block row.
        row: usize,
        /// Where in the array.
        position: usize,
        /// The index before.
        previous: u32,
        /// The index found.
        found: u32,
    },
    /// The same entry is given twice and the caller wants that refused.
    #[error("entry ({row}, {col}) is given more than once")]
    Duplicate {
        /// Zero-based row.
        row: u32,
        /// Zero-based column.
        col: u32,
    },
    /// A tiling would have more elements than an address space holds.
    #[error(
        "{found} elements are more than memory can address; choose smaller blocks or another format"
    )]
    TooManyElements {
        /// How many.
        found: u128,
    },
    /// A row is missing from a layout, or stands in it twice.
    #[error("row layout: row {row} {reason}")]
    RowLayout {
        /// The row.
        row: u32,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A row layout is of another matrix, or its windows are of another height, than the format needs.
    #[error("the row layout has {found} {what} where the matrix and the format need {expected}")]
    LayoutMismatch {
        /// Which quantity.
        what: &'static str,
        /// The layout's.
        found: usize,
        /// The one it must have.
        expected: usize,
    },
    /// An array could not be allocated.
    #[error(
        "no memory for an array of {bytes} bytes; free some, or choose smaller blocks or another format"
    )]
    OutOfMemory {
        /// Its size.
        bytes: u128,
    },
    /// A size parameter is out of its range.
    #[error("{what} is {found}; {expected}")]
    Parameter {
        /// Which parameter.
        what: &'static str,
        /// Its value.
        found: usize,
        /// The range it must lie in.
        expected: &'static str,
    },
    /// A fraction is out of its range.
    #[error("{what} is {found}; it must lie in 0..=1")]
    Fraction {
        /// Which parameter.
        what: &'static str,
        /// Its value, as text.
        found: String,
    },
    /// A row has three or four nonzeros in a group of four columns.
    #[error("row {row} has {found} nonzeros in columns {col}..{end}, and 2:4 holds two; prune to 2:4 first", end = col + 4)]
    NotTwoFour {
        /// The row, in the original order.
        row: usize,
        /// First column of the group.
        col: usize,
        /// Nonzeros found in it.
        found: usize,
    },
    /// A tile's contents contradict its index.
    #[error("{what} at {position}: {reason}")]
    Inconsistent {
        /// Which array.
        what: &'static str,
        /// Where in it.
        position: usize,
        /// The contradiction.
        reason: &'static str,
    },
    /// A section of a mapped file cannot be borrowed as an array.
    #[error("cannot map {len} elements at byte {offset}: {reason}")]
    Mapping {
        /// Byte offset in the file.
        offset: usize,
        /// Elements requested.
        len: usize,
        /// Why not.
        reason: &'static str,
    },
    /// A matrix has another shape than an operation needs.
    #[error("the matrix is {found_rows}×{found_cols} where {rows}×{cols} is needed")]
    Shape {
        /// Its rows.
        found_rows: usize,
        /// Its columns.
        found_cols: usize,
        /// The rows it must have.
        rows: usize,
        /// The columns it must have.
        cols: usize,
    },
    /// The values of one matrix were offered to a tiling of another.
    #[error("{what} is {found} where the tiling was built from {expected}")]
    Mismatch {
        /// Which quantity.
        what: &'static str,
        /// The value offered.
        found: u64,
        /// The value the tiling has.
        expected: u64,
    },
    /// A row of a pattern differs from the row the tiling was built from.
    #[error(
        "row {row} does not have the entries the tiling was built from; values can be refreshed on the same pattern only"
    )]
    PatternMismatch {
        /// The row, in the original order.
        row: usize,
    },
    /// Two matrices that must have one pattern differ in a row.
    #[error(
        "row {row} has other columns than the same row of the other matrix; both need the same entries"
    )]
    OtherPattern {
        /// The first row that differs.
        row: usize,
    },
    /// A slot map was offered to a tiling that it was not made for.
    #[error("the slot map was made for another tiling; make one for this tiling with slot_map")]
    OtherTiling,
    /// Zeros among the entries of a matrix look like zeros that fill tiles up.
    #[error(
        "{expected} entries were laid out and {found} of them are not zero; only a slot map that was made with the matrix says where its zeros are"
    )]
    LostZeros {
        /// Nonzeros that the tiling holds.
        found: usize,
        /// Entries that it was built from.
        expected: usize,
    },
    /// A value is beyond what e4m3 holds: NaN, infinite, or more than 464 times its scale.
    #[error(
        "e4m3 can't hold {found} at row {row}, column {col}, with a scale of {scale}: at most 448 times that"
    )]
    BeyondE4m3 {
        /// Its row.
        row: usize,
        /// Its column.
        col: usize,
        /// The value, for people.
        found: String,
        /// The scale, for people.
        scale: String,
    },
    /// The tiling stores no values that new ones could take the place of.
    #[error("the tiling stores its pattern only, or values in e4m3, and takes no new values")]
    NoValues,
    /// Something exists for some value types only.
    #[error("{what} exist for {expected}, not for {found}")]
    DTypeUnsupported {
        /// What was requested.
        what: &'static str,
        /// The value type.
        found: DType,
        /// The value types it exists for.
        expected: &'static str,
    },
    /// A name that is not one of ours.
    #[error("unknown {what} {found:?}: use {expected}")]
    UnknownName {
        /// What was to be named.
        what: &'static str,
        /// The name given.
        found: String,
        /// The names there are.
        expected: &'static str,
    },
}
