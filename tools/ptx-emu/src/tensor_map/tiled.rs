//! The checks of `cuTensorMapEncodeTiled`.

use super::TensorMap;
use crate::num::{Format, Rounding};
use crate::tensor_core::Swizzle;

/// A tensor's element type (`CUtensorMapDataType`, but for the packed 4- and 6-bit types, which
/// Hopper does not have).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are CUDA's")]
pub enum DataType {
    Uint8,
    Uint16,
    Uint32,
    Int32,
    Uint64,
    Int64,
    Float16,
    Float32,
    Float64,
    Bfloat16,
    Float32Ftz,
    Tfloat32,
    Tfloat32Ftz,
}

impl DataType {
    pub(super) const ALL: [DataType; 13] = [
        DataType::Uint8,
        DataType::Uint16,
        DataType::Uint32,
        DataType::Int32,
        DataType::Uint64,
        DataType::Int64,
        DataType::Float16,
        DataType::Float32,
        DataType::Float64,
        DataType::Bfloat16,
        DataType::Float32Ftz,
        DataType::Tfloat32,
        DataType::Tfloat32Ftz,
    ];

    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            DataType::Uint8 => 1,
            DataType::Uint16 | DataType::Float16 | DataType::Bfloat16 => 2,
            DataType::Uint64 | DataType::Int64 | DataType::Float64 => 8,
            _ => 4,
        }
    }

    /// The floating-point format; none for integers.
    #[must_use]
    pub const fn format(self) -> Option<Format> {
        match self {
            DataType::Float16 => Some(Format::F16),
            DataType::Bfloat16 => Some(Format::Bf16),
            DataType::Float32 | DataType::Float32Ftz => Some(Format::F32),
            DataType::Tfloat32 | DataType::Tfloat32Ftz => Some(Format::Tf32),
            DataType::Float64 => Some(Format::F64),
            _ => None,
        }
    }

    /// What loading does to elements, given their little-endian bytes: rounding to tf32 for the types
    /// that say so, nothing for others. Trailing bytes that make no whole element stay.
    pub fn convert_loaded(self, bytes: &mut [u8]) {
        if !matches!(self, DataType::Tfloat32 | DataType::Tfloat32Ftz) {
            return;
        }
        for element in bytes.chunks_exact_mut(4) {
            let loaded = u32::from_le_bytes([element[0], element[1], element[2], element[3]]);
            let value = Format::F32.decode(u64::from(loaded));
            let rounded = Format::Tf32.encode(value, Rounding::NearestEven);
            element.copy_from_slice(&(rounded as u32 & 0xffff_e000).to_le_bytes());
        }
    }
}

/// Whether channels are interleaved in slices (`CUtensorMapInterleave`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interleave {
    /// No slices.
    #[default]
    None,
    /// Slices of 16 bytes, as in NC/8HWC8 with 2-byte channels.
    Bytes16,
    /// Slices of 32 bytes, as in NC/16HWC16.
    Bytes32,
}

impl Interleave {
    /// Bytes of a slice.
    pub(super) const fn slice(self) -> Option<u32> {
        match self {
            Interleave::None => None,
            Interleave::Bytes16 => Some(16),
            Interleave::Bytes32 => Some(32),
        }
    }
}

/// The granularity of L2 requests (`CUtensorMapL2promotion`); it has no effect here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum L2Promotion {
    /// None.
    #[default]
    None,
    /// 64 bytes.
    Bytes64,
    /// 128 bytes.
    Bytes128,
    /// 256 bytes.
    Bytes256,
}

/// What elements out of bounds are loaded as (`CUtensorMapFloatOOBfill`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Zero.
    #[default]
    Zero,
    /// A NaN; only for floating-point types.
    Nan,
}

/// The arguments of `cuTensorMapEncodeTiled`; the rank is the length of `dims`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiled<'a> {
    /// The elements' type.
    pub data_type: DataType,
    /// The tensor's first byte in global memory.
    pub address: u64,
    /// Elements along each dimension, innermost first (`globalDim`); slices along dimension 0 of an
    /// interleaved tensor.
    pub dims: &'a [u64],
    /// Bytes from one index to the next in each dimension but the innermost (`globalStrides`).
    pub strides: &'a [u64],
    /// Extent of a box along each dimension, in elements of the tensor (`boxDim`).
    pub box_dims: &'a [u32],
    /// Every how many elements a box takes one, along each dimension (`elementStrides`). The
    /// innermost is ignored unless channels are interleaved.
    pub element_strides: &'a [u32],
    /// The interleaving.
    pub interleave: Interleave,
    /// The swizzle.
    pub swizzle: Swizzle,
    /// The granularity of L2 requests.
    pub l2_promotion: L2Promotion,
    /// What fills a box out of bounds.
    pub fill: Fill,
}

impl<'a> Tiled<'a> {
    /// Element strides of one, no interleaving, no swizzle, no promotion, zeros out of bounds.
    #[must_use]
    pub fn new(
        data_type: DataType,
        address: u64,
        dims: &'a [u64],
        strides: &'a [u64],
        box_dims: &'a [u32],
    ) -> Tiled<'a> {
        Tiled {
            data_type,
            address,
            dims,
            strides,
            box_dims,
            element_strides: &[1; 5][..dims.len().min(5)],
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            l2_promotion: L2Promotion::None,
            fill: Fill::Zero,
        }
    }
}

/// Why a tensor map cannot be encoded. Dimensions count from 0, the innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TensorMapError {
    /// Too few or too many dimensions.
    #[error("a tensor map has {least} to 5 dimensions, not {rank}")]
    Rank {
        /// The number given.
        rank: usize,
        /// The least possible, three for interleaved tensors.
        least: usize,
    },
    /// An array's length does not fit the rank.
    #[error("{name} has {length} entries where the rank asks for {needed}")]
    Length {
        /// The array.
        name: &'static str,
        /// Its length.
        length: usize,
        /// What it must be.
        needed: usize,
    },
    /// The tensor begins at a bad address.
    #[error("the tensor's address {address:#x} is not a multiple of {alignment}")]
    Address {
        /// The address.
        address: u64,
        /// The alignment it needs.
        alignment: u64,
    },
    /// A dimension is empty or too long.
    #[error("dimension {dimension} has {size} elements; it must have 1 to 2^32")]
    Dimension {
        /// The dimension.
        dimension: usize,
        /// Its size.
        size: u64,
    },
    /// A stride is not a multiple of 16 (of 32 for 32-byte interleaving), or too long.
    #[error(
        "the stride of dimension {dimension}, {stride} bytes, is not a multiple of {multiple} below 2^40"
    )]
    Stride {
        /// The dimension.
        dimension: usize,
        /// Its stride.
        stride: u64,
        /// What it must be a multiple of.
        multiple: u64,
    },
    /// A box is empty or too long along a dimension.
    #[error("the box has {size} elements along dimension {dimension}; it must have 1 to 256")]
    Box {
        /// The dimension.
        dimension: usize,
        /// The box's size.
        size: u32,
    },
    /// An element stride is out of range.
    #[error("the element stride of dimension {dimension} is {stride}; it must be 1 to 8")]
    ElementStride {
        /// The dimension.
        dimension: usize,
        /// The stride.
        stride: u32,
    },
    /// A box's rows are not whole 16-byte chunks.
    #[error("the box's rows have {bytes} bytes, which is not a multiple of 16")]
    Row {
        /// Bytes of a row.
        bytes: u32,
    },
    /// A box's rows do not fit in the swizzle's.
    #[error("the box's rows have {bytes} bytes, more than the {span} that the swizzle permutes")]
    Swizzle {
        /// Bytes of a row.
        bytes: u32,
        /// Bytes of the swizzle's rows.
        span: u32,
    },
    /// 32-byte interleaving without the 32-byte swizzle.
    #[error("32-byte interleaving goes with the 32-byte swizzle only")]
    InterleavedSwizzle,
    /// A NaN fill for integers.
    #[error("elements of {data_type:?} cannot be filled with NaN")]
    Fill {
        /// The type.
        data_type: DataType,
    },
}

impl TensorMap {
    /// Encodes a tensor map for tiled mode.
    ///
    /// # Errors
    /// The first argument that breaks a rule.
    pub fn tiled(arguments: &Tiled) -> Result<TensorMap, TensorMapError> {
        let Tiled { data_type, address, dims, strides, box_dims, element_strides, .. } = *arguments;
        let interleaved = arguments.interleave != Interleave::None;
        let (rank, least) = (dims.len(), if interleaved { 3 } else { 1 });
        if rank < least || rank > 5 {
            return Err(TensorMapError::Rank { rank, least });
        }
        let lengths = [
            ("strides", strides.len(), rank - 1),
            ("box_dims", box_dims.len(), rank),
            ("element_strides", element_strides.len(), rank),
        ];
        for (name, length, needed) in lengths {
            if length != needed {
                return Err(TensorMapError::Length { name, length, needed });
            }
        }
        let multiple = if arguments.interleave == Interleave::Bytes32 { 32 } else { 16 };
        if !address.is_multiple_of(multiple) {
            return Err(TensorMapError::Address { address, alignment: multiple });
        }
        for (dimension, &size) in dims.iter().enumerate() {
            if size == 0 || size > 1 << 32 {
                return Err(TensorMapError::Dimension { dimension, size });
            }
        }
        for (dimension, &stride) in (1..).zip(strides) {
            if !stride.is_multiple_of(multiple) || stride >= 1 << 40 {
                return Err(TensorMapError::Stride { dimension, stride, multiple });
            }
        }
        for (dimension, &size) in box_dims.iter().enumerate() {
            if size == 0 || size > 256 {
                return Err(TensorMapError::Box { dimension, size });
            }
        }
        for (dimension, &stride) in element_strides.iter().enumerate() {
            if (dimension > 0 || interleaved) && (stride == 0 || stride > 8) {
                return Err(TensorMapError::ElementStride { dimension, stride });
            }
        }
        check_rows(arguments)?;
        let mut map = TensorMap {
            data_type,
            rank: rank as u8,
            address,
            dims: [1; 5],
            strides: [0; 4],
            box_dims: [1; 5],
            element_strides: [1; 5],
            interleave: arguments.interleave,
            swizzle: arguments.swizzle,
            l2_promotion: arguments.l2_promotion,
            fill: arguments.fill,
        };
        map.dims[..rank].copy_from_slice(dims);
        map.strides[..rank - 1].copy_from_slice(strides);
        map.box_dims[..rank].copy_from_slice(box_dims);
        map.element_strides[..rank].copy_from_slice(element_strides);
        if !interleaved {
            map.element_strides[0] = 1;
        }
        Ok(map)
    }
}

/// Rows, swizzle, interleaving and fill must go together.
fn check_rows(arguments: &Tiled) -> Result<(), TensorMapError> {
    let bytes = arguments.box_dims[0] * arguments.data_type.bytes();
    let span = arguments.swizzle.span();
    match arguments.interleave {
        // The documentation exempts interleaved tensors; the driver does not.
        _ if !bytes.is_multiple_of(16) => return Err(TensorMapError::Row { bytes }),
        Interleave::None if arguments.swizzle != Swizzle::None && bytes > span => {
            return Err(TensorMapError::Swizzle { bytes, span });
        }
        Interleave::Bytes32 if arguments.swizzle != Swizzle::Bytes32 => {
            return Err(TensorMapError::InterleavedSwizzle);
        }
        _ => {}
    }
    if arguments.fill == Fill::Nan && arguments.data_type.format().is_none() {
        return Err(TensorMapError::Fill { data_type: arguments.data_type });
    }
    Ok(())
}
