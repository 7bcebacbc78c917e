//! One type for any tiling. Here, and nowhere else, a tiling or a [`FormatSpec`] becomes the type of its
//! format.

use super::bcsr::{self, Bcsr};
use super::blocked_ell::{self, BlockedEll};
use super::bmat::{self, BMat};
use super::hybrid::{self, Hybrid};
use super::row_csr::{self, RowCsr};
use super::shared::read_back::Rows;
use super::shared::windows::check_layout;
use super::spec::{FormatKind, FormatSpec};
use super::tile_format::{Array, ArraySource, Extent, TileFormat};
use super::two_four::{self, E4m3Overflow, E4m3Scales, TwoFour};
use super::wcsr::{self, Wcsr};
use crate::buffer::Buffer;
use crate::csr::Csr;
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::stats::measure::{Measure, Sizes};

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
    Hybrid(Hybrid<T>),
}

/// Evaluates an expression on the [`TileFormat`] inside a tiling, whichever it is.
macro_rules! on_format {
    ($tiling:expr, $t:ident => $body:expr) => {
        match $tiling {
            $crate::tilings::Tiling::Csr($t) => $body,
            $crate::tilings::Tiling::Bcsr($t) => $body,
            $crate::tilings::Tiling::Wcsr($t) => $body,
            $crate::tilings::Tiling::BlockedEll($t) => $body,
            $crate::tilings::Tiling::BMat($t) => $body,
            $crate::tilings::Tiling::TwoFour($t) => $body,
            $crate::tilings::Tiling::Hybrid($t) => $body,
        }
    };
}

pub(crate) use on_format;

/// Counts what a format would hold of a pattern, without building it.
pub(crate) fn sizes(spec: FormatSpec, measure: &Measure<'_>) -> Result<Sizes, FormatError> {
    match spec {
        FormatSpec::Csr => Ok(row_csr::stats::sizes(measure)),
        FormatSpec::Bcsr { block_cols, .. } => bcsr::stats::sizes(measure, block_cols),
        FormatSpec::Wcsr { pad_cols, .. } => wcsr::stats::sizes(measure, pad_cols),
        FormatSpec::BlockedEll { .. } => blocked_ell::stats::sizes(measure),
        FormatSpec::BMat { pattern_only } => Ok(bmat::stats::sizes(measure, pattern_only)),
        FormatSpec::TwoFour => two_four::stats::sizes(measure),
        FormatSpec::TwoFourE4m3 { scales } => two_four::stats::sizes_e4m3(measure, scales),
        FormatSpec::Hybrid { pad_cols, tile_entries, .. } => {
            hybrid::stats::sizes(measure, (pad_cols, tile_entries))
        }
    }
}

impl<T: Scalar> Tiling<T> {
    /// Builds the tiling `spec` names, with rows in the order of `layout`.
    ///
    /// # Errors
    /// If the layout is of another matrix or its windows are not `spec.window_rows()` high, or the
    /// format can't hold the matrix.
    pub fn from_csr(
        csr: &Csr<T>,
        spec: FormatSpec,
        layout: RowLayout,
    ) -> Result<Self, FormatError> {
        check_layout(&layout, csr.nrows(), spec.window_rows())?;
        Ok(match spec {
            FormatSpec::Csr => Self::Csr(RowCsr::from_csr(csr, layout)?),
            FormatSpec::Bcsr { block_cols, .. } => {
                Self::Bcsr(Bcsr::from_csr(csr, layout, block_cols)?)
            }
            FormatSpec::Wcsr { pad_cols, .. } => Self::Wcsr(Wcsr::from_csr(csr, layout, pad_cols)?),
            FormatSpec::BlockedEll { .. } => Self::BlockedEll(BlockedEll::from_csr(csr, layout)?),
            FormatSpec::BMat { pattern_only } => {
                Self::BMat(BMat::from_csr(csr, layout, pattern_only)?)
            }
            FormatSpec::TwoFour => Self::TwoFour(TwoFour::from_csr(csr, layout)?),
            FormatSpec::TwoFourE4m3 { scales } => {
                let scales = E4m3Scales::of(csr, scales);
                Self::TwoFour(TwoFour::from_csr_e4m3(csr, layout, &scales, E4m3Overflow::Error)?)
            }
            FormatSpec::Hybrid { pad_cols, tile_entries, .. } => {
                Self::Hybrid(Hybrid::from_csr(csr, layout, (pad_cols, tile_entries))?)
            }
        })
    }

    /// The matrix back in CSR: exactly the stored nonzeros, rows in their original order.
    ///
    /// Explicit zeros survive in CSR and BMat, which know what is an entry, and in the windows of rows of a
    /// hybrid; in the tiles of the other formats a zero is a zero. A pattern-only BMat gives ones.
    #[must_use]
    pub fn to_csr(&self) -> Csr<T> {
        on_format!(self, t => t.to_csr())
    }

    /// Reads the arrays of a tiling from wherever they are, and validates them.
    ///
    /// # Errors
    /// If an array is not there, or if together they are no tiling of this format.
    pub fn from_arrays<S: ArraySource>(
        spec: FormatSpec,
        layout: RowLayout,
        extent: Extent,
        arrays: &S,
    ) -> Result<Self, S::Error> {
        Ok(match spec {
            FormatSpec::Csr => Self::Csr(RowCsr::from_arrays(layout, extent, arrays)?),
            FormatSpec::Bcsr { block_cols, .. } => {
                Self::Bcsr(Bcsr::from_arrays(layout, extent, block_cols, arrays)?)
            }
            FormatSpec::Wcsr { pad_cols, .. } => {
                Self::Wcsr(Wcsr::from_arrays(layout, extent, pad_cols, arrays)?)
            }
            FormatSpec::BlockedEll { .. } => {
                Self::BlockedEll(BlockedEll::from_arrays(layout, extent, arrays)?)
            }
            FormatSpec::BMat { pattern_only } => {
                Self::BMat(BMat::from_arrays(layout, extent, pattern_only, arrays)?)
            }
            FormatSpec::TwoFour => Self::TwoFour(TwoFour::from_arrays(layout, extent, arrays)?),
            FormatSpec::TwoFourE4m3 { scales } => {
                Self::TwoFour(TwoFour::from_narrow_arrays(layout, extent, scales, arrays)?)
            }
            FormatSpec::Hybrid { pad_cols, tile_entries, .. } => {
                let sizes = (pad_cols, tile_entries);
                Self::Hybrid(Hybrid::from_arrays(layout, extent, sizes, arrays)?)
            }
        })
    }

    /// The format with its sizes.
    #[must_use]
    pub fn spec(&self) -> FormatSpec {
        on_format!(self, t => t.spec())
    }

    /// The format.
    #[must_use]
    pub fn kind(&self) -> FormatKind {
        self.spec().kind()
    }

    /// Which original row stands in which slot.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        on_format!(self, t => t.layout())
    }

    /// Number of rows (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.layout().nrows()
    }

    /// Number of columns (k).
    #[must_use]
    pub fn ncols(&self) -> usize {
        on_format!(self, t => t.ncols())
    }

    /// Entries the tiles were filled from.
    #[must_use]
    pub fn nnz(&self) -> usize {
        on_format!(self, t => t.nnz())
    }

    /// Bytes of all arrays, those of the layout included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        on_format!(self, t => t.bytes())
    }

    /// The arrays of the format, in the order of plan files. Those of the layout are not among them.
    #[must_use]
    pub fn arrays(&self) -> Vec<Array<'_, T>> {
        on_format!(self, t => t.arrays())
    }

    /// The value array; `None` for a pattern-only BMat and for values in e4m3.
    #[must_use]
    pub fn values(&self) -> Option<&Buffer<T>> {
        on_format!(self, t => TileFormat::values(t))
    }

    pub(super) fn values_mut(&mut self) -> Option<&mut Buffer<T>> {
        on_format!(self, t => TileFormat::values_mut(t))
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
    /// packed columns of WCSR, a 16×8 tile of BMat, a group of four columns of 2:4. A hybrid has WCSR's in
    /// packed windows, and runs of entries in others.
    ///
    /// # Panics
    /// If `w > n_windows()`.
    #[inline]
    #[must_use]
    pub fn tile_ptr(&self, w: usize) -> u64 {
        on_format!(self, t => t.tile_ptr(w))
    }

    /// Number of tiles of all windows.
    #[must_use]
    pub fn n_tiles(&self) -> u64 {
        self.tile_ptr(self.n_windows())
    }

    /// Visits every value that is stored for the row in `slot`, with its column in the tiling, in the
    /// order of the tiles.
    ///
    /// This is what "stored" means for a product: the zeros that fill a dense tile up are visited,
    /// padding is not — neither padded columns, nor padding blocks, nor positions past the last column.
    /// An empty slot may hold zeros and is visited like any other.
    ///
    /// O(stored values of the slot).
    ///
    /// # Panics
    /// If `slot` is not below `layout().n_slots()`.
    #[inline]
    pub fn visit_stored(&self, slot: usize, visit: impl FnMut(usize, T)) {
        on_format!(self, t => t.visit_stored(slot, visit));
    }
}
