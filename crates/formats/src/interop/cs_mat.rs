//! sprs matrices, moved where the index types allow and checked where they don't.

use std::any::Any;
use std::mem;

use girih_parallel::prelude::*;
use sprs::{CsMatI, CsMatViewI, SpIndex};

use crate::csr::{Csr, check_dims};
use crate::error::FormatError;
use crate::scalar::Scalar;

/// Moves the arrays that came as vectors, if no clone of the matrix is alive; others are copied.
/// sprs then checks the structure once more, serially: O(nrows + nnz).
///
/// ```
/// use girih_formats::Csr;
/// use sprs::CsMatI;
///
/// let a = Csr::try_new(1, 2, vec![0, 1], vec![1], vec![5.0f32])?;
/// let s: CsMatI<f32, u32, u64> = a.clone().into();
/// assert_eq!(s.get(0, 1), Some(&5.0));
/// assert_eq!(Csr::try_from(s)?, a);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
impl<T: Scalar> From<Csr<T>> for CsMatI<T, u32, u64> {
    fn from(csr: Csr<T>) -> Self {
        let shape = (csr.nrows(), csr.ncols());
        let (row_ptr, col_idx, values) = csr.into_arrays();
        // Our invariants are at least sprs's: sorted, distinct, in range, offsets from 0 to nnz.
        Self::new(shape, row_ptr.into_vec(), col_idx.into_vec(), values.into_vec())
    }
}

/// Widens the indices, in parallel.
impl<T: Scalar> From<Csr<T>> for CsMatI<T, usize, usize> {
    fn from(csr: Csr<T>) -> Self {
        let shape = (csr.nrows(), csr.ncols());
        let (row_ptr, col_idx, values) = csr.into_arrays();
        let (mut offsets, mut indices) = (vec![0; row_ptr.len()], vec![0; col_idx.len()]);
        row_ptr.par_iter().map(|&p| p as usize).write_to(&mut offsets);
        col_idx.par_iter().map(|&j| j as usize).write_to(&mut indices);
        Self::new(shape, offsets, indices, values.into_vec())
    }
}

/// Takes a CSR or CSC matrix of any index types. `u32` indices and `u64` offsets of a CSR matrix
/// are moved; others are converted in parallel. A CSC matrix is transposed, in parallel.
///
/// # Errors
/// If a dimension is above [`MAX_DIM`](crate::MAX_DIM), or the structure is not what sprs promises
/// (its unchecked constructors can break that).
impl<T, I, Iptr> TryFrom<CsMatI<T, I, Iptr>> for Csr<T>
where
    T: Scalar,
    I: SpIndex + 'static,
    Iptr: SpIndex + 'static,
{
    type Error = FormatError;

    fn try_from(matrix: CsMatI<T, I, Iptr>) -> Result<Self, FormatError> {
        let (nrows, ncols) = matrix.shape();
        check_dims(nrows, ncols)?;
        let is_csc = matrix.is_csc();
        let (row_ptr, col_idx, values) = matrix.into_raw_storage();
        let row_ptr = from_zero(converted("row_ptr", row_ptr, u64::MAX, Iptr::to_u64)?);
        let col_idx = converted("col_idx", col_idx, u64::from(u32::MAX), I::to_u32)?;
        if is_csc {
            // The arrays of A in CSC are those of its transpose in CSR.
            return Ok(Self::try_new(ncols, nrows, row_ptr, col_idx, values)?.transpose());
        }
        Self::try_new(nrows, ncols, row_ptr, col_idx, values)
    }
}

impl<T: Scalar> Csr<T> {
    /// A copy with the index types that the caller names.
    ///
    /// # Errors
    /// If an index type can't hold a dimension or an offset of this matrix.
    ///
    /// ```
    /// use girih_formats::{Csr, FormatError};
    ///
    /// let a = Csr::try_new(1, 70_000, vec![0, 1], vec![69_999], vec![5.0f32])?;
    /// assert_eq!(a.to_sprs::<i32, i32>()?.get(0, 69_999), Some(&5.0));
    /// assert!(matches!(a.to_sprs::<i16, i32>(), Err(FormatError::IndexOutOfRange { .. })));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    pub fn to_sprs<I, Iptr>(&self) -> Result<CsMatI<T, I, Iptr>, FormatError>
    where
        I: SpIndex + 'static,
        Iptr: SpIndex + 'static,
    {
        // sprs wants its types to hold the dimensions, too, not only the indices in use.
        let fits = |what, dim: usize, fits: bool, limit: Option<u64>| {
            let (found, limit) = (dim as u64, limit.unwrap_or(u64::MAX));
            let place = FormatError::IndexOutOfRange { what, row: 0, position: 0, found, limit };
            if fits { Ok(()) } else { Err(place) }
        };
        let ptr_limit = Iptr::max_value().to_u64();
        fits(
            "ncols as an index",
            self.ncols(),
            I::from(self.ncols()).is_some(),
            I::max_value().to_u64(),
        )?;
        fits(
            "nrows as an offset",
            self.nrows(),
            Iptr::from(self.nrows() + 1).is_some(),
            ptr_limit,
        )?;
        fits("nnz as an offset", self.nnz(), Iptr::from(self.nnz()).is_some(), ptr_limit)?;
        let limit = ptr_limit.unwrap_or(u64::MAX);
        let row_ptr = converted("row_ptr", self.row_ptr().to_vec(), limit, |&p| Iptr::from(p))?;
        let limit = I::max_value().to_u64().unwrap_or(u64::MAX);
        let col_idx = converted("col_idx", self.col_idx().to_vec(), limit, |&j| I::from(j))?;
        Ok(CsMatI::new((self.nrows(), self.ncols()), row_ptr, col_idx, self.values().to_vec()))
    }

    /// The same arrays, borrowed as an sprs view. sprs checks the structure once more, serially:
    /// O(nrows + nnz).
    ///
    /// ```
    /// let a = girih_formats::Csr::try_new(1, 2, vec![0, 1], vec![1], vec![5.0f32])?;
    /// assert_eq!(a.as_sprs().indices().as_ptr(), a.col_idx().as_ptr());
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn as_sprs(&self) -> CsMatViewI<'_, T, u32, u64> {
        let shape = (self.nrows(), self.ncols());
        CsMatViewI::new(shape, self.row_ptr(), self.col_idx(), self.values())
    }
}

/// The vector itself if the types are the same, else every element converted.
fn converted<From, To>(
    what: &'static str,
    mut from: Vec<From>,
    limit: u64,
    convert: impl Fn(&From) -> Option<To> + Sync,
) -> Result<Vec<To>, FormatError>
where
    From: SpIndex + 'static,
    To: SpIndex + 'static,
{
    if let Some(same) = (&mut from as &mut dyn Any).downcast_mut::<Vec<To>>() {
        return Ok(mem::take(same));
    }
    let items = || from.par_iter().with_min_len(1 << 14);
    if let Some(all) = items().map(&convert).collect() {
        return Ok(all);
    }
    // The first in order, whichever thread met one first.
    let bad = |position: usize| {
        // A negative index has no u64; its bits name it well enough.
        let found = from[position].to_i64().map_or(u64::MAX, |i| i as u64);
        FormatError::IndexOutOfRange { what, row: 0, position, found, limit }
    };
    Err(bad(items().position_first(|i| convert(i).is_none()).unwrap_or(0)))
}

/// Offsets that start at 0. sprs lets those of a matrix sliced out of another start anywhere.
fn from_zero(mut ptr: Vec<u64>) -> Vec<u64> {
    if let Some(&first) = ptr.first()
        && first != 0
    {
        ptr.iter_mut().for_each(|p| *p = p.wrapping_sub(first));
    }
    ptr
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Csr<f64> {
        Csr::try_new(3, 4, vec![0, 2, 2, 3], vec![0, 3, 1], vec![1.0, 2.0, 3.0]).unwrap()
    }

    #[test]
    fn matching_types_are_moved_there_and_back() {
        let a = example();
        let address = a.col_idx().as_ptr();
        let s: CsMatI<f64, u32, u64> = a.into();
        assert_eq!(s.indices().as_ptr(), address);
        let back = Csr::try_from(s).unwrap();
        assert_eq!(back.col_idx().as_ptr(), address);
        assert_eq!(back, example());
    }

    #[test]
    fn other_index_types_and_csc_give_the_same_matrix() {
        let a = example();
        let wide: CsMatI<f64, usize, usize> = a.clone().into();
        assert_eq!(Csr::try_from(wide.to_csc()).unwrap(), a);
        assert_eq!(Csr::try_from(wide).unwrap(), a);
        assert_eq!(Csr::try_from(a.to_sprs::<i32, i64>().unwrap()).unwrap(), a);
        assert_eq!(Csr::try_from(a.to_sprs::<u32, u64>().unwrap().into_csc()).unwrap(), a);
        assert_eq!(Csr::try_from(a.as_sprs().to_owned()).unwrap(), a);
    }

    #[test]
    fn offsets_of_a_slice_are_moved_to_zero() {
        assert_eq!(from_zero(vec![5, 7, 9]), [0, 2, 4]);
        assert_eq!(from_zero(vec![]), [0u64; 0]);
    }

    #[test]
    fn a_dimension_too_large_for_u32_is_refused() {
        let s = CsMatI::<f32, usize, usize>::zero((1, crate::MAX_DIM + 1));
        assert!(matches!(Csr::try_from(s), Err(FormatError::TooLarge { what: "ncols", .. })));
    }

    #[test]
    fn an_empty_matrix_survives() {
        let a = Csr::<f32>::empty(0, 0).unwrap();
        let s: CsMatI<f32, u32, u64> = a.clone().into();
        assert_eq!(Csr::try_from(s).unwrap(), a);
    }
}
