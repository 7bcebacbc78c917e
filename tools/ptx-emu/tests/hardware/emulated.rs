//! Running cases in the interpreter.

use ptx_emu::tensor_core::Swizzle;
use ptx_emu::tensor_map::{Fill, Interleave, TensorMap, Tiled};
use ptx_emu::{Arg, Device, Gpu, Launch, LaunchError, Module};

use crate::case::{Case, DataType, Map};

/// What became of a kernel.
pub(crate) enum Outcome {
    Output(Vec<u8>),
    /// It was stopped for what it does.
    Fault(String),
}

/// Runs a case; an error where the case itself can't be run.
pub(crate) fn run(case: &Case) -> Result<Outcome, String> {
    let module = Module::parse(&case.ptx).map_err(|error| error.to_string())?;
    let mut gpu = Gpu::new(Device::h100());
    let inputs: Vec<_> = case.inputs.iter().map(|input| gpu.alloc_from(input.as_slice())).collect();
    let output = gpu.alloc_from(vec![0u8; case.output_len].as_slice());
    let mut args: Vec<Arg> = inputs.iter().map(|input| input.arg()).collect();
    args.push(output.arg());
    args.extend(case.scalars.iter().map(|&scalar| Arg::from(scalar)));
    for map in &case.maps {
        let address = map.input.map_or(output, |input| inputs[input]).address();
        let map = TensorMap::tiled(&tiled(map, address)).map_err(|error| error.to_string())?;
        args.push(Arg::bytes(map.to_bytes()));
    }
    let launch = Launch::grid(case.blocks, 1, 1).block(case.threads, 1, 1);
    match gpu.launch(&module, "k", &launch, &args) {
        Ok(_) => Ok(Outcome::Output(gpu.read(output))),
        Err(LaunchError::Fault(fault)) => Ok(Outcome::Fault(fault.to_string())),
        Err(error) => Err(error.to_string()),
    }
}

fn tiled(map: &Map, address: u64) -> Tiled<'_> {
    use ptx_emu::tensor_map::DataType as Type;
    let data_type = match map.data_type {
        DataType::U8 => Type::Uint8,
        DataType::U16 => Type::Uint16,
        DataType::U32 => Type::Uint32,
        DataType::F32 => Type::Float32,
        DataType::Bf16 => Type::Bfloat16,
    };
    let swizzles = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];
    let interleaves = [Interleave::None, Interleave::Bytes16, Interleave::Bytes32];
    Tiled {
        element_strides: &map.element_strides,
        swizzle: swizzles[map.swizzle as usize],
        interleave: interleaves[map.interleave as usize],
        fill: if map.nan { Fill::Nan } else { Fill::Zero },
        ..Tiled::new(data_type, address, &map.dims, &map.strides, &map.tile)
    }
}
