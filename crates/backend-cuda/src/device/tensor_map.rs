//! Tensor maps, encoded by the driver.

use std::ffi::c_void;

use cudarc::driver::sys::{
    CUtensorMap, CUtensorMapDataType as DataType, CUtensorMapFloatOOBfill as Fill,
    CUtensorMapInterleave as Interleave, CUtensorMapL2promotion as L2Promotion,
    CUtensorMapSwizzle as Mode, cuTensorMapEncodeTiled,
};

use crate::CudaError;
use crate::error::explain;
use crate::launch::tensor_map::{Element, EncodedMap, MapEncoder, Swizzle, TensorMap};

/// The driver, which must have been [found](crate::library::driver).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driver;

impl MapEncoder for Driver {
    fn encode(&self, map: &TensorMap) -> Result<EncodedMap, CudaError> {
        let element = match map.element {
            Element::U8 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
            Element::F16 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            Element::Bf16 => DataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            Element::F32 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        };
        let swizzle = match map.swizzle {
            Swizzle::None => Mode::CU_TENSOR_MAP_SWIZZLE_NONE,
            Swizzle::Bytes128 => Mode::CU_TENSOR_MAP_SWIZZLE_128B,
        };
        let mut encoded = CUtensorMap { opaque: [0; 16] };
        // SAFETY: all arrays are at least as long as the rank, which the driver checks to be 1 to 5;
        // the address is noted, not followed.
        let status = unsafe {
            cuTensorMapEncodeTiled(
                &raw mut encoded,
                element,
                map.rank as u32,
                map.address as *mut c_void,
                map.dims.as_ptr(),
                map.strides.as_ptr(),
                map.box_dims.as_ptr(),
                [1; 5].as_ptr(),
                Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle,
                L2Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
                Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        match status.result() {
            Ok(()) => Ok(EncodedMap(encoded.opaque)),
            Err(error) => {
                Err(CudaError::TensorMap { map: format!("{map:?}"), reason: explain(&error) })
            }
        }
    }
}
