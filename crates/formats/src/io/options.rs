//! What a caller can ask of a reader, and what the reader says about a file.

use std::fmt;
use std::sync::Arc;

use crate::csr::Duplicates;
use crate::dtype::DType;
use crate::narrowing::Narrowing;

/// Called while a file is read, with the bytes read so far and their total where it is known.
///
/// Bytes are those of the file itself, so of the compressed form of a compressed one. Calls come
/// from any thread, one at a time, a few per megabyte at most.
pub type Progress = Arc<dyn Fn(u64, Option<u64>) + Send + Sync>;

/// How a file is to be read.
///
/// ```
/// use girih_formats::Duplicates;
/// use girih_formats::io::ReadOptions;
///
/// let options = ReadOptions::default().duplicates(Duplicates::Refuse).prune_zeros(true);
/// assert!(options.prune_zeros);
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Entries given more than once: added up (the default) or refused.
    pub duplicates: Duplicates,
    /// Drop entries whose value is zero. They are kept by default.
    pub prune_zeros: bool,
    /// Accept a matrix of more than 2²⁴ + 64·entries rows, whose offsets alone would take far more
    /// memory than the file.
    pub allow_hypersparse: bool,
    /// Called as reading proceeds.
    pub progress: Option<Progress>,
}

impl ReadOptions {
    /// With entries given more than once added up, or refused.
    #[must_use]
    pub fn duplicates(self, duplicates: Duplicates) -> Self {
        Self { duplicates, ..self }
    }

    /// With zeros dropped, or kept.
    #[must_use]
    pub fn prune_zeros(self, prune_zeros: bool) -> Self {
        Self { prune_zeros, ..self }
    }

    /// With matrices of far more rows than entries accepted, or refused.
    #[must_use]
    pub fn allow_hypersparse(self, allow_hypersparse: bool) -> Self {
        Self { allow_hypersparse, ..self }
    }

    /// With a function that is called as reading proceeds.
    #[must_use]
    pub fn progress(self, progress: Progress) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Whether row offsets of `nrows` rows are in proportion to `entries`.
    pub(super) fn allows(&self, nrows: u64, entries: u64) -> bool {
        self.allow_hypersparse || nrows <= entries.saturating_mul(64).saturating_add(1 << 24)
    }
}

impl fmt::Debug for ReadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOptions")
            .field("duplicates", &self.duplicates)
            .field("prune_zeros", &self.prune_zeros)
            .field("allow_hypersparse", &self.allow_hypersparse)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}

/// What a file says its values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// There are none: every entry stands for 1.
    Pattern,
    /// Integers.
    Integer,
    /// Floating-point numbers.
    Real,
    /// Complex numbers, of two floating-point numbers each.
    Complex,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pattern => "pattern",
            Self::Integer => "integer",
            Self::Real => "real",
            Self::Complex => "complex",
        })
    }
}

/// Which entries a file leaves out because others stand for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// None.
    General,
    /// One triangle: `a[j][i] = a[i][j]`.
    Symmetric,
    /// One triangle and the diagonal, which is zero: `a[j][i] = −a[i][j]`.
    SkewSymmetric,
    /// One triangle of complex numbers: `a[j][i]` is the conjugate of `a[i][j]`. The diagonal is as it stands there.
    Hermitian,
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::General => "general",
            Self::Symmetric => "symmetric",
            Self::SkewSymmetric => "skew-symmetric",
            Self::Hermitian => "hermitian",
        })
    }
}

/// Which format a file is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Matrix Market, one line per entry.
    MatrixMarketCoordinate,
    /// Matrix Market, one line per element of a dense matrix.
    MatrixMarketArray,
    /// A sparse matrix saved by scipy.
    Npz,
    /// A pattern of the Deep Learning Matrix Collection.
    Smtx,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::MatrixMarketCoordinate => "Matrix Market coordinate",
            Self::MatrixMarketArray => "Matrix Market array",
            Self::Npz => "scipy npz",
            Self::Smtx => "smtx",
        })
    }
}

/// What a file declares about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// Its format.
    pub kind: FileKind,
    /// What its values are.
    pub field: Field,
    /// The symmetry declared; [`Symmetry::General`] for formats that know none.
    pub symmetry: Symmetry,
    /// Entries in the file: before symmetric ones are mirrored and duplicates added up.
    pub stored_entries: u64,
    /// The value type in the file, where it has one of ours.
    pub dtype: Option<DType>,
    /// Whether the file is gzipped.
    pub gzip: bool,
    /// What rounding to the requested value type made of the values: of every entry the file stands
    /// for, mirrored ones too, before duplicates are added up. A sum of finite duplicates that is
    /// infinite counts as one more that overflowed.
    pub narrowing: Narrowing,
}
