//! Small kernels by instruction family, against results worked out by hand.

mod asynchronous;
mod atomic;
mod barrier;
mod machine;
mod memory;
mod warp;

use ptx_emu::{Arg, Device, Gpu, Launch, LaunchError, Launched, Module};

/// A kernel `k` with one parameter, the address of its output in `%out`, and registers to work with.
pub(crate) fn kernel(variables: &str, body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90a\n.address_size 64\n
        .visible .entry k(.param .u64 output)\n{{
        .reg .pred %p<8>;\n.reg .b8 %c<4>;\n.reg .b16 %h<8>;\n.reg .b32 %r<32>;\n.reg .f32 %f<8>;
        .reg .b64 %rd<16>;\n.reg .b64 %out;\n{variables}
        ld.param.u64 %out, [output];\n{body}\nret;\n}}\n"
    )
}

/// Runs such a kernel; the words of its output.
pub(crate) fn try_run(
    variables: &str,
    body: &str,
    launch: &Launch,
    words: usize,
) -> Result<(Vec<u32>, Launched), LaunchError> {
    let source = kernel(variables, body);
    let module = Module::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let mut gpu = Gpu::new(Device::h100());
    let output = gpu.alloc_from(&vec![0u32; words]);
    let args: [Arg; 1] = [output.arg()];
    let launched = gpu.launch(&module, "k", launch, &args)?;
    Ok((gpu.read(output), launched))
}

/// Runs such a kernel with one thread.
pub(crate) fn run(variables: &str, body: &str, words: usize) -> Vec<u32> {
    match try_run(variables, body, &Launch::grid(1, 1, 1).block(1, 1, 1), words) {
        Ok((words, _)) => words,
        Err(error) => panic!("{error}\n{}", kernel(variables, body)),
    }
}
