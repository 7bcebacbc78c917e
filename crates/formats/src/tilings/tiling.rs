//! One type for any tiling, and one for any tiling of any value type.

use crate::{
    BMat, Bcsr, BlockedEll, DType, FormatKind, FormatSpec, RowCsr, RowLayout, Scalar, TwoFour, Wcsr,
};

/// A matrix in any of the formats.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is named for the type it holds")]
pub enum Tiling<T: Scalar> {
    Csr(RowCsr<T>),
    Bcsr(Bcsr<T>),
    Wcsr(Wcsr<T>),
    BlockedEll(BlockedEll<T>),
    BMat(BMat<T>),
    TwoFour(TwoFour<T>),
}

macro_rules! each {
    ($self:expr, $t:ident => $body:expr) => {
        match $self {
            Tiling::Csr($t) => $body,
            Tiling::Bcsr($t) => $body,
            Tiling::Wcsr($t) => $body,
            Tiling::BlockedEll($t) => $body,
            Tiling::BMat($t) => $body,
            Tiling::TwoFour($t) => $body,
        }
    };
}

impl<T: Scalar> Tiling<T> {
    /// The format with its sizes.
    #[must_use]
    pub fn spec(&self) -> FormatSpec {
        match self {
            Self::Csr(_) => FormatSpec::Csr,
            Self::Bcsr(t) => {
                FormatSpec::Bcsr { block_rows: t.block_rows(), block_cols: t.block_cols() }
            }
            Self::Wcsr(t) => {
                FormatSpec::Wcsr { window_rows: t.window_rows(), pad_cols: t.pad_cols() }
            }
            Self::BlockedEll(t) => FormatSpec::BlockedEll { block_size: t.block_size() },
            Self::BMat(t) => FormatSpec::BMat { pattern_only: t.values().is_none() },
            Self::TwoFour(_) => FormatSpec::TwoFour,
        }
    }

    /// The format.
    #[must_use]
    pub fn kind(&self) -> FormatKind {
        self.spec().kind()
    }

    /// Which original row stands in which slot.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        each!(self, t => t.layout())
    }

    /// Number of rows (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.layout().nrows()
    }

    /// Number of columns (k).
    #[must_use]
    pub fn ncols(&self) -> usize {
        match self {
            Self::Csr(t) => t.csr().ncols(),
            Self::Bcsr(t) => t.ncols(),
            Self::Wcsr(t) => t.ncols(),
            Self::BlockedEll(t) => t.ncols(),
            Self::BMat(t) => t.ncols(),
            Self::TwoFour(t) => t.ncols(),
        }
    }

    /// Entries the tiles were filled from.
    #[must_use]
    pub fn nnz(&self) -> usize {
        match self {
            Self::Csr(t) => t.csr().nnz(),
            Self::Bcsr(t) => t.nnz(),
            Self::Wcsr(t) => t.nnz(),
            Self::BlockedEll(t) => t.nnz(),
            Self::BMat(t) => t.nnz(),
            Self::TwoFour(t) => t.nnz(),
        }
    }

    /// Bytes of all arrays, those of the layout included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        each!(self, t => t.bytes())
    }

    /// Windows of rows: the coarse unit of work.
    #[must_use]
    pub fn n_windows(&self) -> usize {
        self.layout().n_windows()
    }

    /// Where window `w`'s tiles begin in the sequence of all tiles; `tile_ptr(n_windows())` is
    /// their number.
    ///
    /// A tile is the fine unit of work, the finest at which a window may be split: a nonzero of
    /// CSR, a block of BCSR or Blocked-ELL (padding slots included), a padded group of `pad_cols`
    /// packed columns of WCSR, a 16×8 tile of BMat, a group of four columns of 2:4.
    ///
    /// # Panics
    /// If `w > n_windows()`.
    #[inline]
    #[must_use]
    pub fn tile_ptr(&self, w: usize) -> u64 {
        match self {
            Self::Csr(t) => t.csr().row_ptr()[w * t.layout().window_rows()],
            Self::Bcsr(t) => t.block_row_ptr()[w],
            Self::Wcsr(t) => t.window_ptr()[w] / t.pad_cols() as u64,
            Self::BlockedEll(t) => (w * t.ell_width()) as u64,
            Self::BMat(t) => t.window_ptr()[w],
            Self::TwoFour(t) => {
                (w * t.layout().window_rows() * TwoFour::<T>::groups_of(t.ncols())) as u64
            }
        }
    }

    /// Number of tiles of all windows.
    #[must_use]
    pub fn n_tiles(&self) -> u64 {
        self.tile_ptr(self.n_windows())
    }
}

/// A matrix in any of the formats and value types: what a plan holds.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is named for the value type it holds")]
pub enum AnyTiling {
    F16(Tiling<half::f16>),
    Bf16(Tiling<half::bf16>),
    F32(Tiling<f32>),
    F64(Tiling<f64>),
}

/// Evaluates an expression on the tiling inside an [`AnyTiling`], whatever its value type.
///
/// ```
/// # use girih_formats::{AnyTiling, for_any_tiling};
/// fn n_windows(any: &AnyTiling) -> usize {
///     for_any_tiling!(any, tiling => tiling.n_windows())
/// }
/// ```
#[macro_export]
macro_rules! for_any_tiling {
    ($any:expr, $tiling:ident => $body:expr) => {
        match $any {
            $crate::AnyTiling::F16($tiling) => $body,
            $crate::AnyTiling::Bf16($tiling) => $body,
            $crate::AnyTiling::F32($tiling) => $body,
            $crate::AnyTiling::F64($tiling) => $body,
        }
    };
}

impl AnyTiling {
    /// The value type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        match self {
            Self::F16(_) => DType::F16,
            Self::Bf16(_) => DType::Bf16,
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
        }
    }

    /// The format with its sizes.
    #[must_use]
    pub fn spec(&self) -> FormatSpec {
        for_any_tiling!(self, t => t.spec())
    }

    /// The format.
    #[must_use]
    pub fn kind(&self) -> FormatKind {
        self.spec().kind()
    }

    /// Which original row stands in which slot.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        for_any_tiling!(self, t => t.layout())
    }

    /// Number of rows (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.layout().nrows()
    }

    /// Number of columns (k).
    #[must_use]
    pub fn ncols(&self) -> usize {
        for_any_tiling!(self, t => t.ncols())
    }

    /// Entries the tiles were filled from.
    #[must_use]
    pub fn nnz(&self) -> usize {
        for_any_tiling!(self, t => t.nnz())
    }

    /// Bytes of all arrays, those of the layout included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        for_any_tiling!(self, t => t.bytes())
    }

    /// Windows of rows.
    #[must_use]
    pub fn n_windows(&self) -> usize {
        self.layout().n_windows()
    }

    /// Where window `w`'s tiles begin; see [`Tiling::tile_ptr`].
    ///
    /// # Panics
    /// If `w > n_windows()`.
    #[must_use]
    pub fn tile_ptr(&self, w: usize) -> u64 {
        for_any_tiling!(self, t => t.tile_ptr(w))
    }
}

impl<T: Scalar> From<Tiling<T>> for AnyTiling {
    fn from(tiling: Tiling<T>) -> Self {
        T::erase_tiling(tiling)
    }
}
