//! Where a tiling keeps the values of a CSR matrix, found out from the tiling alone.

use girih_parallel::for_each_chunk;
use girih_parallel::prelude::*;

use super::slot_map::{Index, SlotMap};
use super::tiling::Tiling;
use crate::buffer::Buffer;
use crate::csr::check_len;
use crate::error::FormatError;
use crate::scalar::Scalar;
use crate::tilings::RowCsr;
use crate::tilings::shared::windows::{row_chunks, split_at_ends};

/// The most bytes that one task copies.
const TASK_BYTES: usize = 1 << 17;

/// Where a tiling keeps each value of the CSR matrix that it was built from: made by
/// [`Tiling::value_places`] or from a [`SlotMap`], used by [`Tiling::put_values`].
#[derive(Clone, Debug)]
pub struct ValuePlaces {
    kind: PlacesKind,
}

#[derive(Clone, Debug)]
enum PlacesKind {
    /// In the order of the matrix: CSR with its rows in their own order.
    InOrder,
    /// CSR with its rows in another order: where the row of each slot begins in the matrix.
    Rows { starts: Buffer<u64>, index: Index },
    /// Anything else.
    Slots(SlotMap),
}

impl From<SlotMap> for ValuePlaces {
    fn from(map: SlotMap) -> Self {
        Self { kind: PlacesKind::Slots(map) }
    }
}

impl<T: Scalar> Tiling<T> {
    /// Where this tiling keeps each value of the matrix it was built from, without that matrix.
    ///
    /// CSR with its rows in their own order needs nothing: O(1). With rows in another order it needs an offset
    /// for each, and other formats a [`SlotMap`], for which the matrix is read back once: O(elements stored),
    /// in parallel.
    ///
    /// ```
    /// use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
    ///
    /// let a = Csr::from_triplets(3, 2, [(0, 0, 1.0f32), (1, 1, 2.0), (2, 0, 3.0)])?;
    /// let spec = FormatSpec::Wcsr { window_rows: 2, pad_cols: 4 };
    /// let layout = RowLayout::natural(3, 2)?;
    /// let mut tiling = Tiling::from_csr(&a, spec, layout.clone())?;
    /// let places = tiling.value_places()?;
    /// tiling.put_values(&places, &[4.0, 5.0, 6.0])?;
    /// let renewed = a.with_values(vec![4.0, 5.0, 6.0])?;
    /// assert_eq!(tiling, Tiling::from_csr(&renewed, spec, layout)?);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormatError::NoValues`] for a pattern-only BMat. [`FormatError::LostZeros`] if the matrix has
    /// explicit zeros and the format can't tell them from zeros that fill its tiles up: a slot map made with the
    /// matrix then says where they are.
    pub fn value_places(&self) -> Result<ValuePlaces, FormatError> {
        T::value_places(self)
    }

    /// [`value_places`](Self::value_places), [compiled once](crate::compiled).
    pub(crate) fn places_of_values(&self) -> Result<ValuePlaces, FormatError> {
        let kind = match self {
            Self::Csr(rows) => match starts(rows) {
                None => PlacesKind::InOrder,
                Some(starts) => PlacesKind::Rows { starts, index: Index::of(self) },
            },
            _ if self.values().is_none() => return Err(FormatError::NoValues),
            _ => {
                let matrix = self.to_csr();
                let (found, expected) = (matrix.nnz(), self.nnz());
                if found != expected {
                    return Err(FormatError::LostZeros { found, expected });
                }
                PlacesKind::Slots(self.slot_map(matrix.pattern())?)
            }
        };
        Ok(ValuePlaces { kind })
    }

    /// Replaces the values, given in the order of the CSR matrix that the tiling was built from: one
    /// parallel pass, O(nnz). The value array is copied first if it is shared with another tiling or
    /// mapped from a file; besides that, CSR with its rows in their own order allocates nothing on rayon's
    /// threads.
    ///
    /// # Errors
    /// [`FormatError::Length`] if there are not as many values as entries, and
    /// [`FormatError::OtherTiling`] if `places` are of another tiling; the tiling is then as it was.
    pub fn put_values(&mut self, places: &ValuePlaces, values: &[T]) -> Result<(), FormatError> {
        T::put_values(self, places, values)
    }

    /// [`put_values`](Self::put_values), [compiled once](crate::compiled).
    pub(crate) fn write_values(
        &mut self,
        places: &ValuePlaces,
        values: &[T],
    ) -> Result<(), FormatError> {
        check_len("values", values.len(), self.nnz())?;
        match &places.kind {
            PlacesKind::Slots(map) => self.refresh_values(map, values),
            PlacesKind::InOrder => match self {
                Self::Csr(rows) if starts_in_order(rows) => {
                    let to = bytemuck::cast_slice_mut(rows.csr_mut().values_mut());
                    copy(to, bytemuck::cast_slice(values));
                    Ok(())
                }
                _ => Err(FormatError::OtherTiling),
            },
            PlacesKind::Rows { starts, index } => {
                if !index.same(&Index::of(self)) {
                    return Err(FormatError::OtherTiling);
                }
                let Self::Csr(rows) = self else { return Err(FormatError::OtherTiling) };
                copy_rows(rows, starts, values);
                Ok(())
            }
        }
    }
}

/// Copies bytes, in parallel and without allocating.
fn copy(to: &mut [u8], from: &[u8]) {
    for_each_chunk(to, TASK_BYTES, &|i, to| {
        to.copy_from_slice(&from[i * TASK_BYTES..][..to.len()]);
    });
}

/// Whether a matrix's values stand in the order of its rows.
fn starts_in_order<T: Scalar>(rows: &RowCsr<T>) -> bool {
    rows.layout().is_natural()
}

/// Where the row of each slot begins in the matrix; `None` if slots and rows are in one order. An empty slot
/// has any offset.
fn starts<T: Scalar>(rows: &RowCsr<T>) -> Option<Buffer<u64>> {
    if starts_in_order(rows) {
        return None;
    }
    let (layout, csr) = (rows.layout(), rows.csr());
    // The length of each row, then the offset of each row.
    let mut offsets = vec![0u64; layout.nrows()];
    for slot in 0..layout.n_slots() {
        if let Some(row) = layout.row(slot) {
            offsets[row] = csr.row_range(slot).len() as u64;
        }
    }
    let mut next = 0;
    for offset in &mut offsets {
        next += std::mem::replace(offset, next);
    }
    let of_slot = |slot| layout.row(slot).map_or(0, |row| offsets[row]);
    Some((0..layout.n_slots()).map(of_slot).collect::<Vec<u64>>().into())
}

/// Copies the values of each slot's row from where it begins.
fn copy_rows<T: Scalar>(rows: &mut RowCsr<T>, starts: &[u64], from: &[T]) {
    let row_ptr = rows.csr().row_ptr().clone();
    let chunks = row_chunks(&row_ptr);
    let ends = chunks.iter().map(|slots| row_ptr[slots.end] as usize);
    let pieces = split_at_ends(rows.csr_mut().values_mut(), ends);
    chunks.into_par_iter().with_max_len(1).zip(pieces).for_each(|(slots, mut piece)| {
        for slot in slots {
            let len = (row_ptr[slot + 1] - row_ptr[slot]) as usize;
            let to;
            (to, piece) = piece.split_at_mut(len);
            if len > 0 {
                to.copy_from_slice(&from[starts[slot] as usize..][..len]);
            }
        }
    });
}
