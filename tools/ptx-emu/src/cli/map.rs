//! Tensor maps as they are written on a command line.

use std::str::FromStr;

use ptx_emu::Arg;
use ptx_emu::tensor_core::Swizzle;
use ptx_emu::tensor_map::{DataType, TensorMap, Tiled};

use super::argument::{ArgumentError, wrong};

/// A tensor map over a named buffer: `c:bf16:dims=64,128:box=64,64:strides=128:swizzle=128`.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    pub(crate) buffer: String,
    text: String,
    data_type: DataType,
    dims: Vec<u64>,
    strides: Vec<u64>,
    box_dims: Vec<u32>,
    swizzle: Swizzle,
}

const DATA_TYPES: [(&str, DataType); 13] = [
    ("u8", DataType::Uint8),
    ("u16", DataType::Uint16),
    ("u32", DataType::Uint32),
    ("i32", DataType::Int32),
    ("u64", DataType::Uint64),
    ("i64", DataType::Int64),
    ("f16", DataType::Float16),
    ("f32", DataType::Float32),
    ("f64", DataType::Float64),
    ("bf16", DataType::Bfloat16),
    ("f32ftz", DataType::Float32Ftz),
    ("tf32", DataType::Tfloat32),
    ("tf32ftz", DataType::Tfloat32Ftz),
];

impl FromStr for Map {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let mut parts = text.split(':');
        let buffer = parts.next().unwrap_or_default().to_owned();
        let ty = parts.next().unwrap_or_default();
        let Some(&(_, data_type)) = DATA_TYPES.iter().find(|(name, _)| *name == ty) else {
            return wrong(text, "is written BUFFER:TYPE:dims=…:box=…");
        };
        let mut map = Self {
            buffer,
            text: text.to_owned(),
            data_type,
            dims: Vec::new(),
            strides: Vec::new(),
            box_dims: Vec::new(),
            swizzle: Swizzle::None,
        };
        for part in parts {
            let listed = match part.split_once('=') {
                Some(("dims", list)) => numbers(list).map(|list| map.dims = list),
                Some(("strides", list)) => numbers(list).map(|list| map.strides = list),
                Some(("box", list)) => numbers(list).map(|list| map.box_dims = list),
                Some(("swizzle", bytes)) => match bytes {
                    "0" => Some(Swizzle::None),
                    "32" => Some(Swizzle::Bytes32),
                    "64" => Some(Swizzle::Bytes64),
                    "128" => Some(Swizzle::Bytes128),
                    _ => None,
                }
                .map(|swizzle| map.swizzle = swizzle),
                _ => None,
            };
            if listed.is_none() {
                return wrong(text, format!("{part} is none of dims=, strides=, box=, swizzle="));
            }
        }
        if map.strides.is_empty() {
            // Without gaps.
            let mut stride = data_type_bytes(data_type);
            for extent in map.dims.iter().take(map.dims.len().saturating_sub(1)) {
                stride = stride.saturating_mul(*extent);
                map.strides.push(stride);
            }
        }
        Ok(map)
    }
}

impl Map {
    /// The map over memory at an address.
    pub(crate) fn encode(&self, address: u64) -> Result<Arg, ArgumentError> {
        let Self { data_type, dims, strides, box_dims, .. } = self;
        let tiled = Tiled::new(*data_type, address, dims, strides, box_dims);
        let tiled = Tiled { swizzle: self.swizzle, ..tiled };
        match TensorMap::tiled(&tiled) {
            Ok(map) => Ok(Arg::bytes(map.to_bytes())),
            Err(error) => wrong(&self.text, error.to_string()),
        }
    }
}

fn data_type_bytes(data_type: DataType) -> u64 {
    match data_type {
        DataType::Uint8 => 1,
        DataType::Uint16 | DataType::Float16 | DataType::Bfloat16 => 2,
        DataType::Uint64 | DataType::Int64 | DataType::Float64 => 8,
        _ => 4,
    }
}

fn numbers<T: FromStr>(list: &str) -> Option<Vec<T>> {
    list.split(',').map(|number| number.parse().ok()).collect()
}
