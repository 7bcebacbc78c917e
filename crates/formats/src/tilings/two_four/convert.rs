//! CSR ↔ 2:4.

use girih_parallel::prelude::*;

use crate::buffer::Buffer;
use crate::csr::{Csr, first_error};
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::pattern::CsrPattern;
use crate::scalar::Scalar;
use crate::tilings::TwoFour;
use crate::tilings::shared::fill::{Locate, Sink, fill};
use crate::tilings::shared::read_back::{self, Rows};
use crate::tilings::shared::windows::{check_layout, zeroed};

/// The places of a 2:4 matrix's entries.
pub(crate) struct Pairs<'a> {
    pub(crate) layout: &'a RowLayout,
    pub(crate) ncols: usize,
    pub(crate) metadata: &'a [u16],
}

impl<'a> Pairs<'a> {
    pub(crate) fn of<T: Scalar>(t: &'a TwoFour<T>) -> Self {
        Self { layout: t.layout(), ncols: t.ncols(), metadata: t.metadata() }
    }

    /// The metadata words of row `r` of window `w`.
    fn row_metadata(&self, w: usize, r: usize) -> &[u16] {
        let words = TwoFour::<f32>::words_of(self.ncols);
        &self.metadata[(w * self.layout.window_rows() + r) * words..][..words]
    }
}

impl Locate for Pairs<'_> {
    type Scratch = ();

    fn scratch(&self) {}

    fn layout(&self) -> &RowLayout {
        self.layout
    }

    fn strip_ptr(&self, w: usize) -> usize {
        w * self.layout.window_rows() * 2 * TwoFour::<f32>::groups_of(self.ncols)
    }

    fn load(&self, (): &mut (), _: usize) {}

    fn holds(&self, (): &(), w: usize, r: usize, cols: &[u32]) -> bool {
        let metadata = self.row_metadata(w, r);
        cols.iter().all(|&col| {
            let nibble = metadata[col as usize / 16] >> (4 * (col as usize / 4 % 4));
            let position = (col % 4) as u16;
            nibble & 3 == position || nibble >> 2 & 3 == position
        })
    }

    #[inline(always)]
    fn locate<S: Sink>(&self, (): &(), w: usize, r: usize, cols: &[u32], sink: &mut S) {
        let metadata = self.row_metadata(w, r);
        let row_len = 2 * TwoFour::<f32>::groups_of(self.ncols);
        let row_start = self.strip_ptr(w) + r * row_len;
        for (i, &col) in cols.iter().enumerate() {
            let group = col as usize / 4;
            let first = metadata[group / 4] >> (4 * (group % 4)) & 3;
            let second = usize::from(u32::from(first) != col % 4);
            sink.put(i, row_start + 2 * group + second);
        }
    }
}

/// Checks that no group of four columns holds more than two entries; explicit zeros are entries.
///
/// # Errors
/// [`FormatError::NotTwoFour`] with the first group that does, in the order of rows and columns.
pub(crate) fn check_two_four(pattern: CsrPattern<'_>) -> Result<(), FormatError> {
    let rows = (0..pattern.nrows()).into_par_iter().with_min_len(64);
    first_error(rows, |row| {
        let cols = pattern.row(row);
        let Some(i) = cols.windows(3).position(|c| c[0] / 4 == c[2] / 4) else {
            return Ok(());
        };
        let group = cols[i] / 4;
        let found = cols[i..].iter().take_while(|&&col| col / 4 == group).count();
        Err(FormatError::NotTwoFour { row, col: group as usize * 4, found })
    })
}

impl<T: Scalar> TwoFour<T> {
    /// Builds the 2:4 form of a matrix that has at most two entries in every group of four columns.
    ///
    /// Explicit zeros count as entries, so that every entry has a slot whatever its value;
    /// [`Csr::prune_zeros`] drops them, [`Csr::prune_two_four`] makes any matrix fit. O(slots · k)
    /// as the format itself, in parallel over rows, the same bytes on any number of threads;
    /// allocates the result only.
    ///
    /// # Errors
    /// [`FormatError::NotTwoFour`] with the first group that holds three or four entries, in the
    /// original order of rows; or if the layout is of another matrix, or memory is short.
    pub fn from_csr(csr: &Csr<T>, layout: RowLayout) -> Result<Self, FormatError> {
        T::two_four_from_csr(csr, layout)
    }

    /// [`from_csr`](Self::from_csr), [compiled once](crate::compiled).
    pub(crate) fn tiled(csr: &Csr<T>, layout: RowLayout) -> Result<Self, FormatError> {
        check_layout(&layout, csr.nrows(), layout.window_rows())?;
        check_two_four(csr.pattern())?;
        let (nnz, ncols) = (csr.nnz(), csr.ncols());
        let metadata = metadata(csr.pattern(), &layout)?;
        let mut values = zeroed(&[layout.n_slots(), Self::groups_of(ncols), 2])?;
        fill(&Pairs { layout: &layout, ncols, metadata: &metadata }, csr, values.make_mut());
        Ok(Self::from_parts(layout, ncols, nnz, values, metadata))
    }

    /// The stored nonzeros as CSR, rows in their original order. A zero in a slot, explicit in the
    /// source or filled in, is not an entry.
    #[must_use]
    pub fn to_csr(&self) -> Csr<T> {
        T::two_four_to_csr(self)
    }

    /// [`to_csr`](Self::to_csr), [compiled once](crate::compiled).
    pub(crate) fn untiled(&self) -> Csr<T> {
        read_back::to_csr(self)
    }
}

fn metadata(pattern: CsrPattern<'_>, layout: &RowLayout) -> Result<Buffer<u16>, FormatError> {
    let words = TwoFour::<f32>::words_of(pattern.ncols());
    let mut metadata = zeroed(&[layout.n_slots(), words])?;
    if words > 0 {
        let rows = metadata.make_mut().par_chunks_exact_mut(words).with_min_len(8).enumerate();
        rows.for_each(|(slot, row_metadata)| {
            row_metadata.fill(TwoFour::<f32>::EMPTY_GROUP * 0x1111);
            let cols = layout.row(slot).map_or(&[][..], |row| pattern.row(row));
            let mut i = 0;
            while let Some(&col) = cols.get(i) {
                let group = col as usize / 4;
                let partner = cols.get(i + 1).filter(|&&next| next / 4 == col / 4);
                let nibble = nibble(col % 4, partner.map(|&next| next % 4));
                let shift = 4 * (group % 4);
                let word = &mut row_metadata[group / 4];
                *word = *word & !(0xf << shift) | nibble << shift;
                i += 1 + usize::from(partner.is_some());
            }
        });
    }
    Ok(metadata)
}

/// The nibble of a group with one or two entries. A single one is joined by a zero at the lowest
/// free position.
fn nibble(position: u32, partner: Option<u32>) -> u16 {
    let (first, second) = match partner {
        Some(partner) => (position, partner),
        None if position == 0 => (0, 1),
        None => (0, position),
    };
    (first | second << 2) as u16
}

impl<T: Scalar> Rows<T> for TwoFour<T> {
    fn layout(&self) -> &RowLayout {
        self.layout()
    }

    fn ncols(&self) -> usize {
        self.ncols()
    }

    #[inline(always)]
    fn for_each(&self, slot: usize, mut entry: impl FnMut(u32, T)) {
        for group in 0..Self::groups_of(self.ncols()) {
            let pair = self.pair(slot, group);
            if pair[0].is_zero() && pair[1].is_zero() {
                continue;
            }
            for (value, position) in pair.into_iter().zip(self.positions(slot, group)) {
                let col = 4 * group + position;
                // A slot map from a file may have put a value past the last column.
                if !value.is_zero() && col < self.ncols() {
                    entry(col as u32, value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nibble_of_a_single_entry_keeps_its_position() {
        assert_eq!([0, 1, 2, 3].map(|p| nibble(p, None)), [0b0100, 0b0100, 0b1000, 0b1100]);
        assert_eq!(nibble(1, Some(3)), 0b1101);
    }

    #[test]
    fn the_first_offending_group_is_named() {
        let csr = |row_ptr, col_idx: Vec<u32>| {
            let values = vec![1.0f32; col_idx.len()];
            Csr::try_new(2, 9, row_ptr, col_idx, values).unwrap()
        };
        let layout = RowLayout::explicit(2, 1, vec![1, 0]).unwrap();
        let bad = csr(vec![0, 5, 8], vec![1, 4, 5, 6, 7, 0, 1, 2]);
        assert_eq!(
            TwoFour::from_csr(&bad, layout.clone()),
            Err(FormatError::NotTwoFour { row: 0, col: 4, found: 4 })
        );
        let good = csr(vec![0, 4, 5], vec![1, 3, 4, 8, 2]);
        let tiled = TwoFour::from_csr(&good, layout).unwrap();
        assert_eq!(tiled.positions(1, 0), [1, 3]);
        assert_eq!(tiled.positions(0, 0), [0, 2]);
        assert_eq!(tiled.to_csr(), good);
    }
}
