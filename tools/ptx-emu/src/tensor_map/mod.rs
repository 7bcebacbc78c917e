//! Tensor maps: what the host encodes for the tensor memory accelerator, and which bytes a box of
//! one moves.
//!
//! [`TensorMap::tiled`] takes the arguments of `cuTensorMapEncodeTiled` and checks them as its
//! documentation lists them. The 128 bytes it makes are this crate's own encoding, not NVIDIA's,
//! which is not public; they carry a mark and a checksum, so that other bytes are recognized.
//!
//! [`TensorMap::runs`] lists a box's bytes by the rules of the PTX ISA, sections "Tiled Mode",
//! "Swizzling Modes" and "Out of Boundary Access". Where those are silent, as an H200 was seen to do:
//!
//! - The swizzle acts on the bits of the absolute shared address, and a box's rows begin where the
//!   swizzle's rows do: those that are shorter leave the bytes after them alone. The transaction
//!   count is of the bytes moved.
//! - A box must begin at a 16-byte chunk of a row.
//! - Loading as [`DataType::Tfloat32`] rounds to nearest even; loading as an `Ftz` type flushes
//!   nothing. Stores move bits unchanged.
//! - The NaN that fills what lies out of bounds is `0x7ff7`, repeated over wider elements.
//! - In interleaved tensors the slice of channels is the element: dimension 0 counts slices of 16 or
//!   32 bytes that lie side by side, in the tensor and in boxes.
//!
//! Not modelled: im2col modes; there is no way to encode such a map here.

mod boxes;
mod encode;
#[cfg(test)]
mod tests;
mod tiled;

pub use boxes::{BoxError, Run};
pub use encode::NotATensorMap;
pub use tiled::{DataType, Fill, Interleave, L2Promotion, TensorMapError, Tiled};

use crate::tensor_core::Swizzle;

/// A tensor's place and shape in global memory, and the boxes it is moved in.
///
/// ```
/// use ptx_emu::tensor_core::Swizzle;
/// use ptx_emu::tensor_map::{DataType, TensorMap, Tiled};
///
/// // 1000 rows of 512 bf16 values, moved 64 rows by 64 columns at a time.
/// let map = TensorMap::tiled(&Tiled {
///     swizzle: Swizzle::Bytes128,
///     ..Tiled::new(DataType::Bfloat16, 0x1000, &[512, 1000], &[1024], &[64, 64])
/// })?;
/// assert_eq!(map.box_bytes(), 8192);
/// # Ok::<(), ptx_emu::tensor_map::TensorMapError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorMap {
    data_type: DataType,
    rank: u8,
    address: u64,
    dims: [u64; 5],
    strides: [u64; 4],
    box_dims: [u32; 5],
    element_strides: [u32; 5],
    interleave: Interleave,
    swizzle: Swizzle,
    l2_promotion: L2Promotion,
    fill: Fill,
}

impl TensorMap {
    /// Number of dimensions, 1 to 5.
    #[must_use]
    pub fn rank(&self) -> usize {
        usize::from(self.rank)
    }

    /// The elements' type.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// The tensor's first byte in global memory.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How chunks are permuted in shared memory.
    #[must_use]
    pub fn swizzle(&self) -> Swizzle {
        self.swizzle
    }
}
