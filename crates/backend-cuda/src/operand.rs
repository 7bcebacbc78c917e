//! Dense operands in device memory.

use cudarc::driver::{CudaSlice, DevicePtr};
use girih_formats::Scalar;

use crate::CudaError;

/// B on a device: `rows × cols` elements of a [`CudaSlice`], with any positive strides.
///
/// Made before a stream is captured into a graph: making one may wait for the slice. Slices of f16 and bf16 are made by
/// [`half_memory`](crate::half_memory), those of complex numbers by [`complex_memory`](crate::complex_memory).
#[derive(Debug)]
pub struct DeviceMatrix<'a, T> {
    pub(crate) slice: &'a CudaSlice<T>,
    pub(crate) place: Place,
}

/// C on a device, to be written: elements may not overlap.
#[derive(Debug)]
pub struct DeviceMatrixMut<'a, T> {
    pub(crate) slice: &'a mut CudaSlice<T>,
    pub(crate) place: Place,
}

/// A matrix in device memory: an address, a shape, and strides in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Of its first element.
    pub address: u64,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Elements from one row to the next.
    pub row_stride: u64,
    /// Elements from one column to the next.
    pub col_stride: u64,
    /// Elements after the last one that can be read.
    pub spare: u64,
}

/// A matrix within a slice: where it begins, its shape and its strides, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// The first element.
    pub offset: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// From one row to the next.
    pub row_stride: usize,
    /// From one column to the next.
    pub col_stride: usize,
}

impl Strides {
    /// Rows contiguous and adjacent, from the beginning.
    #[must_use]
    pub fn row_major(rows: usize, cols: usize) -> Self {
        Self { offset: 0, rows, cols, row_stride: cols, col_stride: 1 }
    }

    /// Columns contiguous and adjacent, from the beginning.
    #[must_use]
    pub fn col_major(rows: usize, cols: usize) -> Self {
        Self { offset: 0, rows, cols, row_stride: 1, col_stride: rows }
    }

    /// The matrix in a memory of `len` elements at `address`.
    fn place(
        self,
        operand: &'static str,
        address: u64,
        len: usize,
        size: usize,
    ) -> Result<Place, CudaError> {
        let Self { offset, rows, cols, row_stride, col_stride } = self;
        let last = |n: usize, stride: usize| n.saturating_sub(1).checked_mul(stride);
        let needed = if rows == 0 || cols == 0 {
            Some(0)
        } else {
            last(rows, row_stride).and_then(|r| {
                r.checked_add(last(cols, col_stride)?)?.checked_add(offset)?.checked_add(1)
            })
        };
        let Some(spare) = needed.and_then(|needed| len.checked_sub(needed)) else {
            return Err(CudaError::Operand {
                operand,
                reason: format!("{self:?} reaches beyond the {len} elements of its slice"),
            });
        };
        Ok(Place {
            address: address + (offset.min(len) * size) as u64,
            rows,
            cols,
            row_stride: row_stride as u64,
            col_stride: col_stride as u64,
            spare: spare as u64,
        })
    }

    /// Whether no two positions are the same element.
    fn is_disjoint(&self) -> bool {
        let reach = |n: usize, stride: usize| n.saturating_sub(1).saturating_mul(stride);
        let Self { rows, cols, row_stride, col_stride, .. } = *self;
        match (rows, cols) {
            (0, _) | (_, 0) | (1, 1) => true,
            (1, _) => col_stride > 0,
            (_, 1) => row_stride > 0,
            _ => {
                (col_stride > 0 && row_stride > reach(cols, col_stride))
                    || (row_stride > 0 && col_stride > reach(rows, row_stride))
            }
        }
    }
}

impl<'a, T: Scalar> DeviceMatrix<'a, T> {
    /// The matrix with these strides in a slice.
    ///
    /// # Errors
    /// [`CudaError::Operand`] if it reaches beyond the slice.
    pub fn new(slice: &'a CudaSlice<T>, strides: Strides) -> Result<Self, CudaError> {
        Self::named("B", slice, strides)
    }

    /// The matrix with a name, for errors.
    pub(crate) fn named(
        operand: &'static str,
        slice: &'a CudaSlice<T>,
        strides: Strides,
    ) -> Result<Self, CudaError> {
        let place = strides.place(operand, address(slice), slice.len(), size_of::<T>())?;
        Ok(Self { slice, place })
    }
}

impl<'a, T: Scalar> DeviceMatrixMut<'a, T> {
    /// The matrix with these strides in a slice.
    ///
    /// # Errors
    /// [`CudaError::Operand`] if it reaches beyond the slice, or if elements overlap.
    pub fn new(slice: &'a mut CudaSlice<T>, strides: Strides) -> Result<Self, CudaError> {
        if !strides.is_disjoint() {
            let reason = format!("elements overlap: {strides:?}");
            return Err(CudaError::Operand { operand: "C", reason });
        }
        let place = strides.place("C", address(slice), slice.len(), size_of::<T>())?;
        Ok(Self { slice, place })
    }
}

impl<T> DeviceMatrixMut<'_, T> {
    /// The slice that it is in.
    #[must_use]
    pub fn slice(&self) -> &CudaSlice<T> {
        self.slice
    }
}

/// The address of a slice's first element.
fn address<T>(slice: &CudaSlice<T>) -> u64 {
    slice.device_ptr(slice.stream()).0
}

impl Place {
    /// Rows × columns of elements of `size` bytes, in rows that are contiguous and, if they are that
    /// long, begin on 16 bytes: as operands on the host are sent.
    pub(crate) fn row_major(address: u64, (rows, cols): (usize, usize), size: usize) -> Self {
        let per_vector = 16 / size;
        let stride = if cols < per_vector { cols } else { cols.next_multiple_of(per_vector) };
        let (row_stride, spare) = (stride as u64, (stride - cols) as u64);
        Self { address, rows, cols, row_stride, col_stride: 1, spare }
    }

    /// `width` columns from `first` on, of elements of `size` bytes.
    pub(crate) fn columns(&self, first: u64, width: u64, size: u64) -> Self {
        let address = self.address + first * self.col_stride * size;
        Self { address, cols: width as usize, ..*self }
    }

    /// Whether every row can be read in 16-byte vectors of `per_vector` elements, the last vector of
    /// a row perhaps reaching into what comes after it.
    pub(crate) fn reads_in_vectors(&self, per_vector: u64) -> bool {
        self.reads_by(16, per_vector)
    }

    /// The most bytes, up to 16, that all loads of rows of elements of `size` bytes may have, as for vectors; 0 where
    /// neighbouring columns lie apart.
    pub(crate) fn load_bytes(&self, size: u64) -> u64 {
        let widths = [16, 8, 4, 2].into_iter().filter(|&bytes| bytes >= size);
        widths.into_iter().find(|bytes| self.reads_by(*bytes, bytes / size)).unwrap_or(0)
    }

    /// Whether rows are contiguous and begin on vectors of `per_vector` elements, of `size` bytes each.
    pub(crate) fn writes_in_vectors(&self, per_vector: u64, size: u64) -> bool {
        self.begins_on(per_vector * size, per_vector)
    }

    /// The bytes of sums, 16 or 8, on whose elements all rows begin, and are contiguous: of `size` bytes each, for sums of
    /// `of_sum`. 0 where they do not, or where a sum has as many.
    pub(crate) fn vector_bytes(&self, size: u64, of_sum: u64) -> u64 {
        let begins_on = |bytes: u64| self.begins_on(bytes / of_sum * size, bytes / of_sum);
        let widths = [16, 8].into_iter().filter(|&bytes| bytes > of_sum);
        widths.into_iter().find(|&bytes| begins_on(bytes)).unwrap_or(0)
    }

    fn reads_by(&self, bytes: u64, per_load: u64) -> bool {
        let beyond = (self.cols as u64).next_multiple_of(per_load) - self.cols as u64;
        let in_row = self.row_stride.saturating_sub(self.cols as u64) >= beyond || self.rows <= 1;
        self.begins_on(bytes, per_load) && in_row && self.spare >= beyond
    }

    fn begins_on(&self, bytes: u64, per_load: u64) -> bool {
        let rows = self.rows <= 1 || self.row_stride.is_multiple_of(per_load);
        (self.col_stride == 1 || self.cols <= 1) && self.address.is_multiple_of(bytes) && rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(strides: Strides, len: usize) -> Result<Place, CudaError> {
        strides.place("B", 1024, len, 4)
    }

    #[test]
    fn a_matrix_beyond_its_slice_is_refused() {
        let tight = Strides { offset: 3, rows: 4, cols: 5, row_stride: 7, col_stride: 1 };
        assert_eq!(place(tight, 29).unwrap().spare, 0);
        assert_eq!(place(tight, 29).unwrap().address, 1024 + 12);
        let error = place(tight, 28).unwrap_err().to_string();
        assert!(error.starts_with("B: ") && error.contains("28 elements"), "{error}");
        assert!(place(Strides { row_stride: usize::MAX, ..tight }, 29).is_err());
        assert!(place(Strides { cols: 0, ..tight }, 0).is_ok());
    }

    #[test]
    fn vectors_need_alignment_and_room() {
        let of = |cols, row_stride, len| {
            let strides = Strides { offset: 0, rows: 4, cols, row_stride, col_stride: 1 };
            place(strides, len).unwrap().reads_in_vectors(4)
        };
        assert!(of(8, 8, 32));
        assert!(!of(9, 9, 36));
        assert!(of(6, 8, 32));
        assert!(!of(6, 8, 30), "the last row ends with the slice");
        let offset = Strides { offset: 1, ..Strides::row_major(4, 8) };
        assert!(!place(offset, 40).unwrap().reads_in_vectors(4));
        assert!(!place(Strides::col_major(4, 8), 32).unwrap().reads_in_vectors(4));
    }

    #[test]
    fn loads_are_as_wide_as_all_rows_allow() {
        let of = |cols, row_stride, size| {
            let strides = Strides { offset: 0, rows: 4, cols, row_stride, col_stride: 1 };
            let place = strides.place("B", 1024, 4 * row_stride, size).unwrap();
            (place.load_bytes(size as u64), place.vector_bytes(size as u64, size as u64))
        };
        assert_eq!([of(8, 8, 2), of(100, 100, 2), of(2, 2, 2)], [(16, 16), (8, 8), (4, 0)]);
        assert_eq!(of(99, 100, 2), (8, 8), "a load reaches into the next row's padding");
        assert_eq!([of(7, 7, 2), of(7, 7, 4), of(7, 7, 8)], [(2, 0), (4, 0), (8, 0)]);
        assert_eq!([of(6, 6, 4), of(4, 4, 8)], [(8, 8), (16, 16)]);
        assert_eq!(of(3, 3, 16), (16, 0), "an element is as wide");
        let apart = place(Strides::col_major(4, 8), 32).unwrap();
        assert_eq!((apart.load_bytes(4), apart.vector_bytes(4, 4)), (0, 0));
        let offset = place(Strides { offset: 1, ..Strides::row_major(4, 8) }, 40).unwrap();
        assert_eq!((offset.load_bytes(4), offset.vector_bytes(4, 4)), (4, 0));
        // Elements of 2 bytes that stand for sums of 4.
        let rounded = [8, 4, 6, 7].map(|cols| {
            let strides = Strides::row_major(4, cols);
            strides.place("C", 1024, 4 * cols, 2).unwrap().vector_bytes(2, 4)
        });
        assert_eq!(rounded, [16, 16, 8, 0]);
    }

    #[test]
    fn overlaps_are_found() {
        let strides = |rows, cols, row_stride, col_stride| Strides {
            offset: 0,
            rows,
            cols,
            row_stride,
            col_stride,
        };
        for (disjoint, of) in [
            (true, Strides::row_major(3, 4)),
            (true, Strides::col_major(3, 4)),
            (true, strides(1, 4, 0, 1)),
            (true, strides(4, 1, 1, 0)),
            (true, strides(1, 1, 0, 0)),
            (true, strides(0, 9, 0, 0)),
            (false, strides(2, 4, 0, 1)),
            (false, strides(2, 4, 3, 1)),
            (false, strides(2, 2, 0, 0)),
            (false, strides(1, 2, 1, 0)),
        ] {
            assert_eq!(of.is_disjoint(), disjoint, "{of:?}");
        }
    }
}
