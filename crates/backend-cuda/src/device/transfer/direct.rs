//! Copies straight between the caller's memory and the device, where that is page-locked.

use std::ffi::c_void;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::{
    CUDA_MEMCPY2D, CUmemorytype, CUpointer_attribute as Attribute, CUresult, cuMemcpy2DAsync_v2,
    cuPointerGetAttribute,
};
use girih_formats::Scalar;
use ndarray::ArrayView2;

use crate::CudaError;
use crate::operand::Place;

/// Bytes of a row from which on the copy engine moves rows that lie apart about as fast as adjacent ones.
const LONG_ROW: usize = 256;
/// Bytes between rows that the driver takes at most.
const MAX_PITCH: usize = i32::MAX as usize;

/// A matrix of rows in the caller's memory, as a copy engine sees it: addresses and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) address: usize,
    rows: usize,
    /// Bytes of a row.
    width: usize,
    /// Bytes from one row to the next.
    pitch: usize,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ToDevice,
    ToHost,
}

impl Rows {
    /// The rows of a matrix, if each is contiguous, they come one after the other and one copy moves them
    /// fast: adjacent both here and there, or long.
    pub(super) fn of<T: Scalar>(matrix: &ArrayView2<'_, T>, place: &Place) -> Option<Self> {
        let (rows, cols) = matrix.dim();
        let stride = usize::try_from(matrix.strides()[0]).ok();
        let stride = if rows <= 1 { Some(cols) } else { stride.filter(|&stride| stride >= cols) }?;
        let contiguous = cols <= 1 || matrix.strides()[1] == 1;
        let (width, pitch) = (cols * size_of::<T>(), stride.checked_mul(size_of::<T>())?);
        let adjacent = rows <= 1 || (stride == cols && place.row_stride == cols as u64);
        let there = place.row_stride.checked_mul(size_of::<T>() as u64)?;
        let apart = width >= LONG_ROW && pitch <= MAX_PITCH && there <= MAX_PITCH as u64;
        let address = matrix.as_ptr() as usize;
        let moves_fast = rows > 0 && cols > 0 && contiguous && (adjacent || apart);
        moves_fast.then_some(Self { address, rows, width, pitch })
    }

    fn is_adjacent(&self) -> bool {
        self.rows <= 1 || self.pitch == self.width
    }

    /// Bytes from the first to behind the last.
    fn bytes(&self) -> usize {
        (self.rows - 1) * self.pitch + self.width
    }

    /// Whether all of it is in one page-locked allocation.
    pub(super) fn is_pinned(&self) -> bool {
        let last = self.address + self.bytes() - 1;
        match (allocation(self.address), allocation(last)) {
            (Some(first), Some(last)) => first == last,
            _ => false,
        }
    }
}

/// What tells the page-locked allocation that an address is in from others: where it begins, or else its
/// number, which not every driver gives to memory of the host.
fn allocation(address: usize) -> Option<(bool, u64)> {
    let (mut kind, mut begin, mut number) = (0u32, 0u64, 0u64);
    // SAFETY: the driver is there, for there is a stream; it looks the address up without following it,
    // and writes as much as these attributes are documented to be.
    unsafe {
        let ask = |to: *mut c_void, attribute| {
            cuPointerGetAttribute(to, attribute, address as u64) == CUresult::CUDA_SUCCESS
        };
        let is_known = ask((&raw mut kind).cast(), Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
        let is_host = is_known && kind == CUmemorytype::CU_MEMORYTYPE_HOST as u32;
        if !is_host {
            return None;
        }
        if ask((&raw mut begin).cast(), Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) {
            return Some((true, begin));
        }
        let numbered = ask((&raw mut number).cast(), Attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID);
        numbered.then_some((false, number))
    }
}

/// Enqueues one copy of all rows between the caller's memory and a place of elements of `size` bytes.
///
/// # Safety
/// The rows are the caller's to read, or to write if they come from the device, and stay so until the
/// stream has been waited for; nobody else uses them or the place meanwhile. The place has as many rows, at
/// least as long.
pub(super) unsafe fn copy(
    stream: &CudaStream,
    way: Way,
    here: Rows,
    place: &Place,
    size: usize,
) -> Result<(), CudaError> {
    stream.context().bind_to_thread().map_err(CudaError::driver("use a device"))?;
    let there = place.row_stride as usize * size;
    // Adjacent rows are one.
    let adjacent = here.is_adjacent() && (here.rows <= 1 || there == here.width);
    let (width, height) = match adjacent {
        true => (here.bytes(), 1),
        false => (here.width, here.rows),
    };
    let (here_pitch, there_pitch) = if adjacent { (width, width) } else { (here.pitch, there) };
    let (host, device) = (CUmemorytype::CU_MEMORYTYPE_HOST, CUmemorytype::CU_MEMORYTYPE_DEVICE);
    let (from, to) = match way {
        Way::ToDevice => ((host, here_pitch), (device, there_pitch)),
        Way::ToHost => ((device, there_pitch), (host, here_pitch)),
    };
    let copied = match adjacent {
        // SAFETY: the caller's promise.
        true => unsafe { copy_bytes(stream, way, here.address, place.address, width) },
        false => {
            let copy = CUDA_MEMCPY2D {
                srcXInBytes: 0,
                srcY: 0,
                srcMemoryType: from.0,
                srcHost: here.address as *const c_void,
                srcDevice: place.address,
                srcArray: std::ptr::null_mut(),
                srcPitch: from.1,
                dstXInBytes: 0,
                dstY: 0,
                dstMemoryType: to.0,
                dstHost: here.address as *mut c_void,
                dstDevice: place.address,
                dstArray: std::ptr::null_mut(),
                dstPitch: to.1,
                WidthInBytes: width,
                Height: height,
            };
            // SAFETY: the caller's promise; the description is copied by the call.
            unsafe { cuMemcpy2DAsync_v2(&raw const copy, stream.cu_stream()).result() }
        }
    };
    copied.map_err(CudaError::driver(match way {
        Way::ToDevice => "send data",
        Way::ToHost => "fetch data",
    }))
}

/// # Safety
/// As for [`copy`], of this number of bytes.
unsafe fn copy_bytes(
    stream: &CudaStream,
    way: Way,
    here: usize,
    there: u64,
    bytes: usize,
) -> Result<(), cudarc::driver::DriverError> {
    use cudarc::driver::sys::{cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2};
    let stream = stream.cu_stream();
    // SAFETY: the caller's promise.
    let status = unsafe {
        match way {
            Way::ToDevice => cuMemcpyHtoDAsync_v2(there, here as *const c_void, bytes, stream),
            Way::ToHost => cuMemcpyDtoHAsync_v2(here as *mut c_void, there, bytes, stream),
        }
    };
    status.result()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ShapeBuilder, s};

    use super::*;

    #[test]
    fn rows_that_one_copy_moves_fast_are_told_from_others() {
        let of = |matrix: &ArrayView2<'_, f32>| {
            let place = Place::row_major(0, matrix.dim(), 4);
            Rows::of(matrix, &place).map(|rows| (rows.width, rows.pitch, rows.is_adjacent()))
        };
        let a = Array2::<f32>::zeros((50, 128));
        assert_eq!(of(&a.view()), Some((512, 512, true)));
        assert_eq!(of(&a.slice(s![.., 64..])), Some((256, 512, false)));
        assert_eq!(of(&a.slice(s![.., 65..])), None, "short rows that lie apart");
        assert_eq!(of(&a.slice(s![.., ..;2])), None);
        assert_eq!(of(&a.slice(s![..;-1, ..])), None, "rows in reverse");
        assert_eq!(of(&a.t()), None);
        assert_eq!(of(&a.slice(s![3..4, ..])), Some((512, 512, true)));
        assert_eq!(of(&a.slice(s![..0, ..])), None);
        // On the device these rows begin on 16 bytes.
        assert_eq!(of(&Array2::<f32>::zeros((50, 5)).view()), None);
        assert_eq!(of(&Array2::<f32>::zeros((50, 1)).view()), Some((4, 4, true)));
        assert_eq!(of(&Array2::<f32>::zeros((50, 1).f()).view()), Some((4, 4, true)));
        let zero = ndarray::arr0(0.0f32);
        assert_eq!(of(&zero.broadcast((9, 128)).unwrap()), None, "one element everywhere");
    }
}
