//! Products of operands on the host.

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use cudarc::driver::{CudaSlice, DevicePtr, result};
use girih_backend::{DenseView, DenseViewMut};
use girih_formats::Scalar;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice};

use super::CudaPrepared;
use super::launch::Operands;
use crate::CudaError;
use crate::device::{Gpu, Transfer};
use crate::operand::Place;

/// Room on the device for B and C.
#[derive(Debug, Default)]
pub(super) struct HostOperands {
    b: Option<CudaSlice<u8>>,
    c: Option<CudaSlice<u8>>,
}

impl HostOperands {
    /// The product of operands that fit.
    pub(super) fn multiply(
        &mut self,
        prepared: &CudaPrepared,
        transfer: &mut Transfer,
        scales: (f64, f64),
        b: &DenseView<'_>,
        c: DenseViewMut<'_>,
    ) -> Result<(), CudaError> {
        let gpu = prepared.gpu();
        let rows = prepared.operand_rows().b;
        let b = match b {
            DenseView::F16(b) => self.b(gpu, transfer, scales, rows, b),
            DenseView::Bf16(b) => self.b(gpu, transfer, scales, rows, b),
            DenseView::F32(b) => self.b(gpu, transfer, scales, rows, b),
            DenseView::F64(b) => self.b(gpu, transfer, scales, rows, b),
        }?;
        match c {
            DenseViewMut::F32(c) => self.c(prepared, transfer, scales, &b, c),
            DenseViewMut::F64(c) => self.c(prepared, transfer, scales, &b, c),
        }
    }

    /// B on the device.
    fn b<T: Scalar>(
        &mut self,
        gpu: &Gpu,
        transfer: &mut Transfer,
        scales: (f64, f64),
        rows: usize,
        b: &ArrayView2<'_, T>,
    ) -> Result<Place, CudaError> {
        let dim = (rows, b.ncols());
        let place = reserve::<T>(gpu, transfer, &mut self.b, dim, "B's elements")?;
        // With α = 0, B is not read.
        if scales.0 != 0.0 {
            send(transfer, &place, b)?;
            clear_rows::<T>(transfer, &place, b.nrows())?;
        }
        Ok(place)
    }

    /// The product into C.
    fn c<T: Scalar>(
        &mut self,
        prepared: &CudaPrepared,
        transfer: &mut Transfer,
        (alpha, beta): (f64, f64),
        b: &Place,
        c: ArrayViewMut2<'_, T>,
    ) -> Result<(), CudaError> {
        let gpu = prepared.gpu();
        let dim = (prepared.operand_rows().c, c.ncols());
        let place = reserve::<T>(gpu, transfer, &mut self.c, dim, "C's elements")?;
        if beta != 0.0 {
            send(transfer, &place, &c.view())?;
        }
        let stream = transfer.stream().clone();
        let operands = Operands { alpha, beta, b: *b, c: place };
        // SAFETY: both places were reserved with this shape, by whom this thread has locked.
        unsafe { prepared.enqueue(&stream, &operands, true) }?;
        fetch(transfer, &place, c)
    }
}

/// Room for a matrix, its rows on 16 bytes if they are that long.
fn reserve<T: Scalar>(
    gpu: &Gpu,
    transfer: &Transfer,
    room: &mut Option<CudaSlice<u8>>,
    (rows, cols): (usize, usize),
    what: &'static str,
) -> Result<Place, CudaError> {
    let per_vector = 16 / size_of::<T>();
    let stride = if cols < per_vector { cols } else { cols.next_multiple_of(per_vector) };
    let bytes = (rows as u64).saturating_mul(stride as u64).saturating_mul(size_of::<T>() as u64);
    let found = match room.take() {
        Some(found) if found.len() as u64 >= bytes => found,
        too_small => {
            // Given back first, so that the larger may take its place.
            drop(too_small);
            gpu.alloc(transfer.stream(), bytes, what)?
        }
    };
    let room = room.insert(found);
    let address = room.device_ptr(transfer.stream()).0;
    let (row_stride, spare) = (stride as u64, 0);
    let spare = if cols == 0 { spare } else { (stride - cols) as u64 };
    Ok(Place { address, rows, cols, row_stride, col_stride: 1, spare })
}

/// Makes the rows of a place from `first` on zero.
pub(crate) fn clear_rows<T: Scalar>(
    transfer: &Transfer,
    place: &Place,
    first: usize,
) -> Result<(), CudaError> {
    let row = place.row_stride * size_of::<T>() as u64;
    let bytes = (place.rows - first) as u64 * row;
    if bytes == 0 {
        return Ok(());
    }
    let stream = transfer.stream();
    let cleared = stream.context().bind_to_thread().and_then(|()| {
        let address = place.address + first as u64 * row;
        // SAFETY: whoever made the place made room for all its rows.
        unsafe { result::memset_d8_async(address, 0, bytes as usize, stream.cu_stream()) }
    });
    cleared.map_err(CudaError::driver("fill memory"))
}

/// Sends a matrix to the first rows of its place, row after row.
pub(crate) fn send<T: Scalar>(
    transfer: &mut Transfer,
    place: &Place,
    from: &ArrayView2<'_, T>,
) -> Result<(), CudaError> {
    let (rows, cols) = from.dim();
    let stride = place.row_stride as usize;
    let bytes = (rows * stride * size_of::<T>()) as u64;
    transfer.send(place.address, bytes, size_of::<T>(), |range, to| {
        let to: &mut [T] = cast_slice_mut(to);
        for (row, cols, at) in rows_of(range, cols, stride) {
            let row = from.row(row);
            let to = &mut to[at..at + cols.len()];
            match row.as_slice() {
                Some(row) => to.copy_from_slice(&row[cols]),
                None => {
                    let row = row.slice_axis(Axis(0), Slice::from(cols));
                    to.iter_mut().zip(row).for_each(|(to, &from)| *to = from);
                }
            }
        }
    })
}

/// Fetches a matrix from the first rows of its place, row after row.
pub(crate) fn fetch<T: Scalar>(
    transfer: &mut Transfer,
    place: &Place,
    mut to: ArrayViewMut2<'_, T>,
) -> Result<(), CudaError> {
    let (rows, cols) = to.dim();
    let stride = place.row_stride as usize;
    let bytes = (rows * stride * size_of::<T>()) as u64;
    transfer.fetch(place.address, bytes, size_of::<T>(), |range, from| {
        let from: &[T] = cast_slice(from);
        for (row, cols, at) in rows_of(range, cols, stride) {
            let mut to = to.row_mut(row);
            let to = to.slice_axis_mut(Axis(0), Slice::from(cols.clone()));
            for (to, &from) in to.into_iter().zip(&from[at..at + cols.len()]) {
                *to = from;
            }
        }
    })
}

/// The rows that a range of elements reaches into: which row, which of its `cols` columns, and where in
/// the range they begin.
fn rows_of(
    range: Range<u64>,
    cols: usize,
    stride: usize,
) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
    let (start, end) = (range.start as usize, range.end as usize);
    // Without columns there are no elements, and so no rows either.
    let stride = stride.max(1);
    let rows = start / stride..end.div_ceil(stride);
    rows.filter_map(move |row| {
        let first = row * stride;
        let begin = start.max(first) - first;
        let end = end.min(first + cols).saturating_sub(first);
        (begin < end).then(|| (row, begin..end, first + begin - start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_elements_is_rows_and_parts_of_rows() {
        let rows = |range, cols, stride| rows_of(range, cols, stride).collect::<Vec<_>>();
        assert_eq!(rows(0..8, 3, 4), [(0, 0..3, 0), (1, 0..3, 4)]);
        assert_eq!(rows(2..5, 3, 4), [(0, 2..3, 0), (1, 0..1, 2)]);
        assert_eq!(rows(3..4, 3, 4), []);
        assert_eq!(rows(5..7, 4, 4), [(1, 1..3, 0)]);
        assert_eq!(rows(0..0, 0, 0), []);
    }
}
