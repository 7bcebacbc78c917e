//! CSR into every tiling and back, in parallel and deterministic.
//!
//! Each tiling is built in two steps. The index — which columns, blocks or tiles there are —
//! depends on the pattern only; then every value is written to its place. Both run over runs of
//! whole windows, each owned by one thread, so the result does not depend on how many there are.
//!
//! ```
//! use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
//!
//! let a = Csr::try_new(3, 4, vec![0, 2, 2, 3], vec![0, 3, 1], vec![1.0f32, 2.0, 3.0])?;
//! let spec = FormatSpec::Bcsr { block_rows: 2, block_cols: 2 };
//! let layout = RowLayout::natural(a.nrows(), spec.window_rows())?;
//! let tiling = Tiling::from_csr(&a, spec, layout)?;
//! assert_eq!(tiling.n_tiles(), 3);
//! assert_eq!(tiling.to_csr(), a);
//! # Ok::<(), girih_formats::FormatError>(())
//! ```

pub use crate::tilings::slot_map::SlotMap;

use crate::tilings::shared::windows::check_layout;
use crate::{
    BMat, Bcsr, BlockedEll, Csr, FormatError, FormatSpec, RowCsr, RowLayout, Scalar, Tiling,
    TwoFour, Wcsr,
};

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
        })
    }

    /// The matrix back in CSR: exactly the stored nonzeros, rows in their original order.
    ///
    /// Explicit zeros survive in CSR and BMat, which know what is an entry; in the tiles of the
    /// other formats a zero is a zero. A pattern-only BMat gives ones.
    #[must_use]
    pub fn to_csr(&self) -> Csr<T> {
        match self {
            Self::Csr(t) => t.to_csr(),
            Self::Bcsr(t) => t.to_csr(),
            Self::Wcsr(t) => t.to_csr(),
            Self::BlockedEll(t) => t.to_csr(),
            Self::BMat(t) => t.to_csr(),
            Self::TwoFour(t) => t.to_csr(),
        }
    }
}
