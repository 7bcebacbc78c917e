//! 2:4 structured sparsity.

pub(crate) mod convert;
mod format;
mod metadata;
mod narrow;
mod scales;
pub(crate) mod stats;

use girih_parallel::prelude::*;

use crate::buffer::Buffer;
use crate::csr::{check_dims, check_len, first_error};
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::scalar::Scalar;
use crate::tilings::spec;
use crate::tilings::tile_format::TileFormat;

pub use narrow::E4m3Values;
pub use scales::{E4m3Narrowing, E4m3Overflow, E4m3Scales};

/// 2:4 structured sparsity: of every four consecutive columns a row stores two.
///
/// `values` is row-major, one row per slot, two values per group of four columns: `m × k/2` with k
/// rounded up to a multiple of 4. `metadata` holds each group's two 2-bit column positions as a
/// nibble — the first in the low bits, strictly below the second — four groups to a `u16`, rows
/// padded to whole words with the nibble `0b0100` (positions 0 and 1).
///
/// A group with fewer than two entries fills up with zeros at the lowest free positions, so single
/// entries at any position survive. A position may lie beyond `ncols` in the last group; its value
/// is zero and no kernel reads B for it. Zeros in a stored slot count as stored, as in
/// [`Bcsr`](crate::Bcsr).
///
/// Values may be stored in [e4m3](Self::from_csr_e4m3), a byte each, with a scale for all or for each row. There are
/// then no `values`, and T is the type of B.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoFour<T: Scalar> {
    layout: RowLayout,
    ncols: usize,
    nnz: usize,
    /// Empty if they are in e4m3.
    values: Buffer<T>,
    narrow: Option<E4m3Values>,
    metadata: Buffer<u16>,
}

impl<T: Scalar> TwoFour<T> {
    /// The nibble of a group whose stored positions are 0 and 1: also that of an empty group.
    pub const EMPTY_GROUP: u16 = 0b0100;

    /// Groups of four columns in a row.
    #[must_use]
    pub const fn groups_of(ncols: usize) -> usize {
        ncols.div_ceil(4)
    }

    /// Metadata words of a row.
    #[must_use]
    pub const fn words_of(ncols: usize) -> usize {
        Self::groups_of(ncols).div_ceil(4)
    }

    /// Takes ownership of 2:4 arrays and validates them: O(slots · k).
    ///
    /// # Errors
    /// If an array has the wrong length, a group's positions are not strictly increasing, or a
    /// position beyond `ncols` has a value.
    pub fn try_new(
        layout: RowLayout,
        ncols: usize,
        nnz: usize,
        values: impl Into<Buffer<T>>,
        metadata: impl Into<Buffer<u16>>,
    ) -> Result<Self, FormatError> {
        let (values, metadata) = (values.into(), metadata.into());
        let groups = Self::groups_of(ncols);
        let elements = spec::checked_elements(&[layout.n_slots(), groups, 2])?;
        check_len("values", values.len(), elements)?;
        Self { layout, ncols, nnz, values, narrow: None, metadata }.validated(elements)
    }

    /// Itself, if all but the number of its values, `elements`, is right too.
    fn validated(self, elements: usize) -> Result<Self, FormatError> {
        check_dims(self.layout.nrows(), self.ncols)?;
        let (n_slots, words) = (self.layout.n_slots(), Self::words_of(self.ncols));
        check_len("metadata", self.metadata.len(), spec::checked_elements(&[n_slots, words])?)?;
        spec::check_nnz(self.nnz, elements)?;
        if self.ncols > 0 {
            first_error((0..n_slots).into_par_iter(), |slot| self.check_row(slot))?;
        }
        Ok(self)
    }

    fn check_row(&self, slot: usize) -> Result<(), FormatError> {
        let words = Self::words_of(self.ncols);
        let inconsistent = |group: usize, reason| FormatError::Inconsistent {
            what: "metadata",
            position: slot * words + group / 4,
            reason,
        };
        for group in 0..words * 4 {
            let [first, second] = self.positions(slot, group);
            if first >= second {
                return Err(inconsistent(group, "a group's positions are not increasing"));
            }
        }
        let last = Self::groups_of(self.ncols) - 1;
        for (i, position) in self.positions(slot, last).into_iter().enumerate() {
            let at = slot * self.row_stride() + 2 * last + i;
            let is_zero = match &self.narrow {
                Some(narrow) => narrow.codes()[at].to_bits() & 0x7f == 0,
                None => self.values[at].is_zero(),
            };
            if 4 * last + position >= self.ncols && !is_zero {
                return Err(inconsistent(last, "a position beyond the last column has a value"));
            }
        }
        Ok(())
    }

    /// The two stored positions (0–3) of a group.
    #[inline]
    #[must_use]
    pub fn positions(&self, slot: usize, group: usize) -> [usize; 2] {
        let word = self.metadata[slot * Self::words_of(self.ncols) + group / 4];
        let nibble = (word >> (4 * (group % 4))) as usize;
        [nibble & 3, nibble >> 2 & 3]
    }

    /// Takes ownership of arrays that are valid by construction.
    pub(crate) fn from_parts(
        layout: RowLayout,
        ncols: usize,
        nnz: usize,
        values: Buffer<T>,
        metadata: Buffer<u16>,
    ) -> Self {
        Self { layout, ncols, nnz, values, narrow: None, metadata }
    }

    /// Which original row stands in which slot.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// Number of rows (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.layout.nrows()
    }

    /// Number of columns (k).
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// Entries the groups were filled from.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Values stored per row: two per group.
    #[must_use]
    pub fn row_stride(&self) -> usize {
        2 * Self::groups_of(self.ncols)
    }

    /// The values, row-major, [`row_stride`](Self::row_stride) per slot. None if they are in
    /// [e4m3](Self::e4m3).
    #[must_use]
    pub fn values(&self) -> &Buffer<T> {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> &mut Buffer<T> {
        &mut self.values
    }

    /// The positions, four groups to a word.
    #[must_use]
    pub fn metadata(&self) -> &Buffer<u16> {
        &self.metadata
    }

    /// Bytes of all arrays, those of the layout included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        TileFormat::bytes(self)
    }

    /// The share of stored values that are entries. 1 for a matrix without columns or rows.
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        spec::fill_ratio(self.nnz, self.layout.n_slots() * self.row_stride())
    }
}
