//! Tensor maps as arguments.

use ptx_emu::Arg;
use ptx_emu::tensor_core::Swizzle;
use ptx_emu::tensor_map::{DataType, TensorMap, Tiled};

/// Encodes a map that a kernel's own host code would encode.
///
/// # Panics
/// The arguments are not such as `cuTensorMapEncodeTiled` takes.
pub(crate) fn tiled(
    (data_type, swizzle): (DataType, Swizzle),
    address: u64,
    dims: &[u64],
    strides: &[u64],
    box_dims: &[u32],
) -> TensorMap {
    let arguments = Tiled { swizzle, ..Tiled::new(data_type, address, dims, strides, box_dims) };
    TensorMap::tiled(&arguments).expect("a map that the driver takes")
}

/// A map as a `__grid_constant__` parameter.
pub(crate) fn parameter(map: &TensorMap) -> Arg {
    Arg::bytes(map.to_bytes())
}
