//! CSR whose rows stand in the order of a layout.

pub(crate) mod convert;
mod format;
pub(crate) mod stats;

use crate::csr::{Csr, check_len};
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::tile_format::TileFormat;

/// CSR in the row order of a [`RowLayout`]: row `s` of the inner matrix is the original row in slot
/// `s`, and an empty slot is an empty row.
///
/// With the natural layout and one row per window this is the plain matrix, shared.
#[derive(Clone, Debug, PartialEq)]
pub struct RowCsr<T: Scalar> {
    layout: RowLayout,
    csr: Csr<T>,
}

impl<T: Scalar> RowCsr<T> {
    /// Joins a layout with the matrix whose rows already stand in its slots.
    ///
    /// # Errors
    /// If the matrix does not have one row per slot, or a row in an empty slot has entries.
    pub fn try_new(layout: RowLayout, csr: Csr<T>) -> Result<Self, FormatError> {
        check_len("slot rows", csr.nrows(), layout.n_slots())?;
        for slot in 0..if layout.is_natural() { 0 } else { csr.nrows() } {
            if layout.row(slot).is_none() && !csr.row_range(slot).is_empty() {
                return Err(FormatError::Inconsistent {
                    what: "slot rows",
                    position: slot,
                    reason: "an empty slot has entries",
                });
            }
        }
        Ok(Self { layout, csr })
    }

    /// Takes ownership of arrays that are valid by construction.
    pub(crate) fn from_parts(layout: RowLayout, csr: Csr<T>) -> Self {
        debug_assert_eq!(csr.nrows(), layout.n_slots());
        Self { layout, csr }
    }

    /// Which original row stands in which row of [`csr`](Self::csr).
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// The matrix, one row per slot.
    #[must_use]
    pub fn csr(&self) -> &Csr<T> {
        &self.csr
    }

    /// Bytes of all arrays, those of the layout included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        TileFormat::bytes(self)
    }

    pub(crate) fn csr_mut(&mut self) -> &mut Csr<T> {
        &mut self.csr
    }
}
