//! Tensor maps: what `cp.async.bulk.tensor` knows of a matrix and of the boxes it is moved in.

use bytemuck::{Pod, Zeroable};

use crate::CudaError;

/// A tensor's element type. Values of f32 that are multiplied as TF32 are rounded by whoever loads or
/// uploads them, so there is no type for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    U8,
    F16,
    Bf16,
    F32,
}

/// How 16-byte chunks of a row are permuted in shared memory, by the bytes of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Swizzle {
    #[default]
    None,
    Bytes128,
}

/// A tensor in device memory and the box it is moved in: the arguments of `cuTensorMapEncodeTiled`,
/// innermost dimension first. What lies out of bounds is read as zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TensorMap {
    pub(crate) element: Element,
    /// A multiple of 16.
    pub(crate) address: u64,
    /// Dimensions, 1 to 5; what follows counts of the others is not used.
    pub(crate) rank: usize,
    /// Elements along each dimension, at least one.
    pub(crate) dims: [u64; 5],
    /// Bytes from one index to the next, of every dimension but the innermost: multiples of 16, less
    /// than 2⁴⁰.
    pub(crate) strides: [u64; 4],
    /// Elements of a box along each dimension, at most 256.
    pub(crate) box_dims: [u32; 5],
    pub(crate) swizzle: Swizzle,
}

impl TensorMap {
    /// A tensor without swizzle. `strides` has one entry less than `dims`.
    pub(crate) fn new(
        element: Element,
        address: u64,
        dims: &[u64],
        strides: &[u64],
        box_dims: &[u32],
    ) -> Self {
        Self {
            element,
            address,
            rank: dims.len(),
            dims: padded(dims, 1),
            strides: padded(strides, 0),
            box_dims: padded(box_dims, 1),
            swizzle: Swizzle::None,
        }
    }

    pub(crate) fn swizzle(self, swizzle: Swizzle) -> Self {
        Self { swizzle, ..self }
    }

    /// Whether a row-major matrix can be a tensor at all: its address and the bytes between its rows
    /// are multiples of 16, and the latter less than 2⁴⁰.
    pub(crate) fn is_possible(address: u64, stride: u64) -> bool {
        address.is_multiple_of(16) && stride.is_multiple_of(16) && stride < 1 << 40
    }
}

fn padded<T: Copy, const N: usize>(given: &[T], rest: T) -> [T; N] {
    std::array::from_fn(|i| given.get(i).copied().unwrap_or(rest))
}

/// A tensor map as kernels are passed it: 128 bytes that only the device, or the emulator, can read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct EncodedMap(pub(crate) [u64; 16]);

/// Makes tensor maps of what they say.
pub(crate) trait MapEncoder {
    /// # Errors
    /// [`CudaError::TensorMap`] if there can be no such map.
    fn encode(&self, map: &TensorMap) -> Result<EncodedMap, CudaError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_is_neutral() {
        let map = TensorMap::new(Element::Bf16, 0x1000, &[512, 1000], &[1024], &[64, 32]);
        let map = map.swizzle(Swizzle::Bytes128);
        assert_eq!((map.rank, map.dims), (2, [512, 1000, 1, 1, 1]));
        assert_eq!((map.strides, map.box_dims), ([1024, 0, 0, 0], [64, 32, 1, 1, 1]));
        assert_eq!(size_of::<EncodedMap>(), 128);
    }

    #[test]
    fn rows_off_16_bytes_make_no_tensor() {
        assert!(TensorMap::is_possible(0x1000, 48));
        assert!(!TensorMap::is_possible(0x1008, 48));
        assert!(!TensorMap::is_possible(0x1000, 40));
        assert!(!TensorMap::is_possible(0x1000, 1 << 40));
    }
}
