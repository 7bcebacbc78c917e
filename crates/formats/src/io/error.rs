//! What can be wrong with a file, and where.

use std::fmt;
use std::io;

use thiserror::Error;

use super::{Field, Symmetry};
use crate::dtype::DType;
use crate::error::FormatError;

/// A place in a text: both numbers count from 1, columns in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The byte in the line.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a matrix could not be read.
///
/// The message names the place and the value found, not the file: the caller knows which file it
/// reads.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// A text that breaks its format's rules.
    #[error("{place}: {fault}")]
    Text {
        /// Where.
        place: Place,
        /// What is wrong there.
        fault: TextFault,
    },
    /// A gzip stream that ends early or is corrupt.
    #[error(
        "{place} of the text: the gzip stream {}; get the file again",
        if *.truncated { "ends early" } else { "is corrupt" }
    )]
    Gzip {
        /// How far the text could be read.
        place: Place,
        /// Whether it ends early; otherwise it is corrupt.
        truncated: bool,
        /// What the decompressor says.
        #[source]
        source: io::Error,
    },
    /// Something is wrong with the container of a `.npz`.
    #[error("not a readable .npz: {reason}")]
    Zip {
        /// What.
        reason: String,
    },
    /// Something is wrong with a dense `.npy` array.
    #[error("{reason}")]
    Npy {
        /// What.
        reason: String,
    },
    /// Something is wrong with an array of a `.npz`.
    #[error("{array}.npy: {reason}")]
    Npz {
        /// The array.
        array: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The arrays do not form a matrix.
    #[error("{0}")]
    Matrix(#[from] FormatError),
    /// The matrix holds complex numbers, and a real value type was requested.
    #[error(
        "{what} holds complex numbers, and values of {dtype} have no imaginary part; read it as c64, or as c32"
    )]
    Complex {
        /// Which part of the file says so.
        what: String,
        /// The value type that was requested.
        dtype: DType,
    },
    /// More rows than the entries justify.
    #[error("{nrows} rows for {entries} entries need {} MB of row offsets alone; if that is meant, set ReadOptions::allow_hypersparse", nrows / 125_000)]
    Hypersparse {
        /// Rows the file claims.
        nrows: u64,
        /// Entries it claims or has.
        entries: u64,
    },
    /// A format that is known but not read.
    #[error("{what} cannot be read; {advice}")]
    Unsupported {
        /// The format.
        what: &'static str,
        /// What to do about it.
        advice: &'static str,
    },
    /// A format that is not known.
    #[error(
        "neither the contents nor the name of this file say what it is; girih reads Matrix Market (.mtx, .mtx.gz), scipy's .npz and DLMC's .smtx"
    )]
    UnknownFormat,
}

impl ReadError {
    /// The place in the text, where there is one.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Text { place, .. } | Self::Gzip { place, .. } => Some(*place),
            _ => None,
        }
    }

    /// The error for a text that could be read no further.
    pub(super) fn broken(source: io::Error, line: u64, column: u64) -> Self {
        let place = Place { line, column };
        match source.kind() {
            io::ErrorKind::UnexpectedEof => Self::Gzip { place, truncated: true, source },
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                Self::Gzip { place, truncated: false, source }
            }
            _ => Self::Io(source),
        }
    }

    pub(super) fn text(line: u64, column: u64, fault: TextFault) -> Self {
        Self::Text { place: Place { line, column }, fault }
    }
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TextFault {
    /// The first line is not a Matrix Market banner.
    #[error(
        "a Matrix Market file starts with \"%%MatrixMarket matrix …\", but this one starts with {found:?}"
    )]
    Banner {
        /// The line's start.
        found: String,
    },
    /// A word of the banner is not one of the format's, or missing.
    #[error("the banner's {what} is {found:?}; it should be {expected}")]
    Keyword {
        /// What the word stands for.
        what: &'static str,
        /// The word, empty if it is missing.
        found: String,
        /// The words there are.
        expected: &'static str,
    },
    /// A pattern cannot be written as an array or be skew-symmetric.
    #[error("a pattern matrix cannot be {what}: a pattern has no values")]
    PatternWithValues {
        /// The contradicting word.
        what: &'static str,
    },
    /// A hermitian matrix of numbers that have no conjugate but themselves.
    #[error("a hermitian matrix is complex, but the banner says {field}; say symmetric there")]
    HermitianReals {
        /// The field declared.
        field: Field,
    },
    /// The text ends before the line with the sizes.
    #[error("the file ends before the line with the matrix's size")]
    NoSize,
    /// A symmetric matrix that is not square.
    #[error("a {symmetry} matrix must be square, but this one is {nrows} × {ncols}")]
    NotSquare {
        /// The symmetry declared.
        symmetry: Symmetry,
        /// Rows.
        nrows: u64,
        /// Columns.
        ncols: u64,
    },
    /// A dimension beyond 32-bit indices.
    #[error(
        "{what} is {found}, but indices are 32-bit and at most {} are supported",
        crate::MAX_DIM
    )]
    TooLarge {
        /// Which dimension.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// A number of entries that the bytes left in the file cannot hold.
    #[error(
        "{claimed} entries are announced, but the {bytes} bytes that follow can hold at most {most}"
    )]
    ClaimTooLarge {
        /// Entries announced.
        claimed: u128,
        /// Bytes that follow.
        bytes: u64,
        /// Entries they can hold.
        most: u64,
    },
    /// More entries in the text than announced.
    #[error("this is one entry more than the {expected} announced")]
    TooManyEntries {
        /// Entries announced.
        expected: u64,
    },
    /// Fewer entries in the text than announced.
    #[error("the file ends after {found} of the {expected} entries announced")]
    TooFewEntries {
        /// Entries found.
        found: u64,
        /// Entries announced.
        expected: u128,
    },
    /// A line ends too early.
    #[error("the line ends where {what} should stand")]
    Missing {
        /// What should stand there.
        what: &'static str,
    },
    /// Something follows where a line should end.
    #[error("{found:?} follows where the line should end")]
    Trailing {
        /// What follows.
        found: String,
    },
    /// Text where an integer belongs.
    #[error("{found:?} stands where {what}, an integer, belongs")]
    NotAnInteger {
        /// What belongs there.
        what: &'static str,
        /// What stands there.
        found: String,
    },
    /// Text where a number belongs.
    #[error("{found:?} stands where a value, a number, belongs")]
    NotANumber {
        /// What stands there.
        found: String,
    },
    /// A value that is not an integer in a matrix declared integer.
    #[error("{found:?} is not an integer, but the banner says {}; say real there", Field::Integer)]
    NotAnIntegerValue {
        /// What stands there.
        found: String,
    },
    /// Index 0 in a format that counts from 1.
    #[error("{what} is 0, but Matrix Market counts from 1")]
    ZeroIndex {
        /// Which index.
        what: &'static str,
    },
    /// A negative number where only others make sense.
    #[error("{what} is negative: {found}")]
    Negative {
        /// Which number.
        what: &'static str,
        /// The number as it stands there.
        found: String,
    },
    /// An index past the end.
    #[error("{what} is {found}, but the matrix has only {limit}")]
    IndexTooLarge {
        /// Which index.
        what: &'static str,
        /// The index as it stands there.
        found: String,
        /// Rows or columns there are.
        limit: u64,
    },
    /// Entries on both sides of the diagonal of a file that stores one side only.
    #[error(
        "entries stand on both sides of the diagonal, but a {symmetry} file holds one side only; store the lower triangle, or say general"
    )]
    BothTriangles {
        /// The symmetry declared.
        symmetry: Symmetry,
    },
    /// An entry on the diagonal of a skew-symmetric matrix.
    #[error("a skew-symmetric file has no entries on the diagonal")]
    SkewDiagonal,
    /// An entry given twice, where that is refused.
    #[error("entry ({row}, {col}), counted from 1, is given more than once")]
    Duplicate {
        /// One-based row.
        row: u64,
        /// One-based column.
        col: u64,
    },
    /// A line beyond all reason.
    #[error("a line of more than {limit} bytes is not one of this format")]
    LineTooLong {
        /// The limit.
        limit: usize,
    },
    /// Offsets of a `.smtx` that do not start at 0, decrease, or end elsewhere than at nnz.
    #[error("row offset {found} {reason}")]
    Offsets {
        /// The offset.
        found: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// The start of some text of a file, short enough for a message.
pub(super) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 40;
    let mut s = String::from_utf8_lossy(&text[..text.len().min(LONGEST)]).into_owned();
    if text.len() > LONGEST {
        s.push('…');
    }
    s
}

/// Why a matrix could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A value type that the format does not have.
    #[error("{format} has no {dtype}; convert to f32, which is exact")]
    NoSuchType {
        /// The format.
        format: &'static str,
        /// The value type.
        dtype: DType,
    },
    /// The file's name does not say which format to write.
    #[error("{name:?} does not say which format to write: use .mtx, .mtx.gz or .npz")]
    UnknownExtension {
        /// The name.
        name: String,
    },
}
