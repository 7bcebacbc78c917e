//! Running cases in the interpreter.

use ptx_emu::{Arg, Device, Gpu, Launch, Module};

use crate::case::Case;

/// The output of a case.
pub(crate) fn run(case: &Case) -> Result<Vec<u8>, String> {
    let module = Module::parse(&case.ptx).map_err(|error| error.to_string())?;
    let mut gpu = Gpu::new(Device::h100());
    let mut args: Vec<Arg> =
        case.inputs.iter().map(|input| gpu.alloc_from(input.as_slice()).arg()).collect();
    let output = gpu.alloc_from(vec![0u8; case.output_len].as_slice());
    args.push(output.arg());
    args.extend(case.scalars.iter().map(|&scalar| Arg::from(scalar)));
    let launch = Launch::grid(case.blocks, 1, 1).block(case.threads, 1, 1);
    gpu.launch(&module, "k", &launch, &args).map_err(|error| error.to_string())?;
    Ok(gpu.read(output))
}
