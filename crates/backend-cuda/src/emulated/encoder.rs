//! Tensor maps for the emulator.

use bytemuck::cast;
use ptx_emu::tensor_core::Swizzle as EmulatedSwizzle;
use ptx_emu::tensor_map::{self, DataType, Tiled};

use crate::CudaError;
use crate::launch::tensor_map::{Element, EncodedMap, MapEncoder, Swizzle, TensorMap};

/// Encodes tensor maps as the emulator reads them.
pub(super) struct Encoder;

impl MapEncoder for Encoder {
    fn encode(&self, map: &TensorMap) -> Result<EncodedMap, CudaError> {
        let data_type = match map.element {
            Element::U8 => DataType::Uint8,
            Element::F16 => DataType::Float16,
            Element::Bf16 => DataType::Bfloat16,
            Element::F32 => DataType::Float32,
        };
        let swizzle = match map.swizzle {
            Swizzle::None => EmulatedSwizzle::None,
            Swizzle::Bytes128 => EmulatedSwizzle::Bytes128,
        };
        let (dims, strides) = (&map.dims[..map.rank], &map.strides[..map.rank - 1]);
        let tiled = Tiled::new(data_type, map.address, dims, strides, &map.box_dims[..map.rank]);
        let encoded = tensor_map::TensorMap::tiled(&Tiled { swizzle, ..tiled });
        let encoded = encoded.map_err(|error| CudaError::TensorMap {
            map: format!("{map:?}"),
            reason: error.to_string(),
        })?;
        Ok(EncodedMap(cast(encoded.to_bytes())))
    }
}
