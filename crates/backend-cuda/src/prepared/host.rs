//! Products of operands on the host.

use std::ops::Range;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, result};
use girih_backend::{Bias, DenseView, DenseViewMut, Epilogue};
use girih_formats::{Complex, Scalar};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice};

use super::CudaPrepared;
use super::total::{Requested, Total};
use crate::CudaError;
use crate::device::{Gpu, Transfer};
use crate::epilogue::{PlacedEpilogue, is_per_row};
use crate::launch::{ALIGN, Operands};
use crate::operand::Place;

/// Memory on the device for B, C and a bias.
#[derive(Debug, Default)]
pub(super) struct HostOperands {
    b: Option<CudaSlice<u8>>,
    c: Option<CudaSlice<u8>>,
    bias: Option<CudaSlice<u8>>,
}

/// α and β.
type Scales = (Complex<f64>, Complex<f64>);

impl HostOperands {
    /// The product or aggregation of operands that fit.
    pub(super) fn multiply(
        &mut self,
        prepared: &CudaPrepared,
        transfer: &mut Transfer,
        scales: Scales,
        b: &DenseView<'_>,
        c: DenseViewMut<'_>,
        requested: Requested<'_, '_>,
    ) -> Result<(), CudaError> {
        match b {
            DenseView::F16(b) => self.with_b(prepared, transfer, scales, b, c, requested),
            DenseView::Bf16(b) => self.with_b(prepared, transfer, scales, b, c, requested),
            DenseView::F32(b) => self.with_b(prepared, transfer, scales, b, c, requested),
            DenseView::F64(b) => self.with_b(prepared, transfer, scales, b, c, requested),
            DenseView::C32(b) => self.with_b(prepared, transfer, scales, b, c, requested),
            DenseView::C64(b) => self.with_b(prepared, transfer, scales, b, c, requested),
        }
    }

    fn with_b<T: Scalar>(
        &mut self,
        prepared: &CudaPrepared,
        transfer: &mut Transfer,
        scales: Scales,
        b: &ArrayView2<'_, T>,
        c: DenseViewMut<'_>,
        requested: Requested<'_, '_>,
    ) -> Result<(), CudaError> {
        match c {
            DenseViewMut::F16(c) => self.with_b_and_c(prepared, transfer, scales, b, c, requested),
            DenseViewMut::Bf16(c) => self.with_b_and_c(prepared, transfer, scales, b, c, requested),
            DenseViewMut::F32(c) => self.with_b_and_c(prepared, transfer, scales, b, c, requested),
            DenseViewMut::F64(c) => self.with_b_and_c(prepared, transfer, scales, b, c, requested),
            DenseViewMut::C32(c) => self.with_b_and_c(prepared, transfer, scales, b, c, requested),
            DenseViewMut::C64(c) => self.with_b_and_c(prepared, transfer, scales, b, c, requested),
        }
    }

    /// The product, panel by panel: while one is multiplied, the next is sent and the last one fetched.
    fn with_b_and_c<T: Scalar, C: Scalar>(
        &mut self,
        prepared: &CudaPrepared,
        transfer: &mut Transfer,
        (alpha, beta): Scales,
        b: &ArrayView2<'_, T>,
        c: ArrayViewMut2<'_, C>,
        requested: Requested<'_, '_>,
    ) -> Result<(), CudaError> {
        let (gpu, rows) = (prepared.gpu(), prepared.operand_rows());
        let panels = prepared.panels(b.ncols());
        let b_places = reserve::<T>(gpu, transfer, &mut self.b, rows.b, &panels, "B's elements")?;
        let c_places = reserve::<C>(gpu, transfer, &mut self.c, rows.c, &panels, "C's elements")?;
        let total = match requested {
            Requested::Sum(epilogue) => {
                let placed = self.send_bias::<T::Acc>(gpu, transfer, epilogue)?;
                Total::Sum(placed.rounded_to(C::DTYPE))
            }
            Requested::Aggregation(aggregation) => Total::Aggregation(aggregation),
        };
        let mut moving = transfer.begin(c, panels.len() > 1)?;
        for ((panel, b_place), c_place) in panels.into_iter().zip(b_places).zip(c_places) {
            // With α = 0, B is not read.
            if !alpha.is_zero() {
                moving.send(&b_place, &b.slice_axis(Axis(1), Slice::from(panel.clone())))?;
            }
            if !beta.is_zero() {
                moving.send_c(&c_place, panel.clone())?;
            }
            moving.sent()?;
            let stream = moving.stream().clone();
            if !alpha.is_zero() {
                clear_rows::<T>(&stream, &b_place, b.nrows())?;
            }
            let operands = Operands { alpha, beta, b: b_place, c: c_place };
            let total = total.columns(panel.start as u64, size_of::<T::Acc>() as u64);
            // SAFETY: both places, and the bias's, were reserved with this shape, by whom this thread has locked.
            unsafe { prepared.enqueue_with(&stream, &operands, &total, true) }?;
            moving.fetch(&c_place, panel)?;
        }
        moving.settle()
    }

    /// Sends the bias of a product whose sums are of type `A`.
    fn send_bias<A: Scalar>(
        &mut self,
        gpu: &Gpu,
        transfer: &mut Transfer,
        epilogue: &Epilogue<'_>,
    ) -> Result<PlacedEpilogue, CudaError> {
        let Some(Bias::PerRow(values) | Bias::PerColumn(values)) = &epilogue.bias else {
            return Ok(PlacedEpilogue::new(None, epilogue.activation));
        };
        let (len, what) = (values.dim().0, "the bias");
        let one = std::slice::from_ref(&(0..1));
        let places = reserve::<A>(gpu, transfer, &mut self.bias, len, one, what)?;
        match values {
            DenseView::F16(v) => transfer.send_matrix(&places[0], v)?,
            DenseView::Bf16(v) => transfer.send_matrix(&places[0], v)?,
            DenseView::F32(v) => transfer.send_matrix(&places[0], v)?,
            DenseView::F64(v) => transfer.send_matrix(&places[0], v)?,
            DenseView::C32(_) | DenseView::C64(_) => {
                unreachable!("products of complex values have no epilogue, and it was checked")
            }
        }
        Ok(PlacedEpilogue::new(Some((&places[0], is_per_row(epilogue))), epilogue.activation))
    }
}

/// Memory for a matrix in panels, each row-major, its rows on 16 bytes if they are that long.
pub(super) fn reserve<T: Scalar>(
    gpu: &Gpu,
    transfer: &Transfer,
    kept: &mut Option<CudaSlice<u8>>,
    rows: usize,
    panels: &[Range<usize>],
    what: &'static str,
) -> Result<Vec<Place>, CudaError> {
    let mut bytes = 0u64;
    let mut places: Vec<Place> = Vec::with_capacity(panels.len());
    for panel in panels {
        let place = Place::row_major(bytes, (rows, panel.len()), size_of::<T>());
        let taken = (rows as u64).saturating_mul(place.row_stride);
        bytes = bytes.saturating_add(taken.saturating_mul(size_of::<T>() as u64));
        bytes = bytes.checked_next_multiple_of(ALIGN).unwrap_or(u64::MAX);
        places.push(place);
    }
    let found = match kept.take() {
        Some(found) if found.len() as u64 >= bytes => found,
        too_small => {
            // Given back first, so that the larger may take its place.
            drop(too_small);
            let found = gpu.alloc(transfer.stream(), bytes, what)?;
            // Other streams use it too.
            transfer.wait()?;
            found
        }
    };
    let kept = kept.insert(found);
    let address = kept.device_ptr(transfer.stream()).0;
    places.iter_mut().for_each(|place| place.address += address);
    Ok(places)
}

/// Makes the rows of a place from `first` on zero.
fn clear_rows<T: Scalar>(
    stream: &CudaStream,
    place: &Place,
    first: usize,
) -> Result<(), CudaError> {
    let row = place.row_stride * size_of::<T>() as u64;
    let bytes = (place.rows - first) as u64 * row;
    if bytes == 0 {
        return Ok(());
    }
    let cleared = stream.context().bind_to_thread().and_then(|()| {
        let address = place.address + first as u64 * row;
        // SAFETY: whoever made the place allocated all its rows.
        unsafe { result::memset_d8_async(address, 0, bytes as usize, stream.cu_stream()) }
    });
    cleared.map_err(CudaError::driver("fill memory"))
}
