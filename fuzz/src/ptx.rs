//! PTX text: a kernel of bytes, or instructions of bytes in a kernel that has registers and memory. What parses is
//! run by a warp for a few thousand instructions: it ends, or is reported.

use ptx_emu::{Device, Gpu, Launch, Module};

/// What stands before and after the instructions of an input.
const HEAD: &str = ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
    .shared .align 1024 .b8 tile[2048];\n.shared .align 8 .b64 bar;\n.reg .pred %p<8>;\n.reg .b16 %h<16>;\n\
    .reg .b32 %r<80>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<80>;\n.reg .f64 %fd<8>;\n\
    ld.param.u64 %rd0, [p];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, tile;\nmov.u32 %r2, bar;\n";
const TAIL: &str = "\nret;\n}\n";

/// Runs the target on an input.
pub(crate) fn run(data: &[u8]) {
    let Some((&flags, rest)) = data.split_first() else { return };
    let Ok(text) = str::from_utf8(rest) else { return };
    let text = if flags & 1 == 0 { format!("{HEAD}{text}{TAIL}") } else { text.to_owned() };
    let Ok(module) = Module::parse(&text) else { return };
    let mut gpu = Gpu::new(Device::h100());
    let buffer = gpu.alloc_from(&[1u32; 256]);
    let threads = if flags & 2 == 0 { 32 } else { 128 };
    let launch = Launch::grid(1 + u32::from(flags >> 7), 1, 1).block(threads, 1, 1);
    let launch = launch.step_limit(2000).workers(1);
    let names: Vec<&str> = module.entries().map(|entry| entry.name()).collect();
    for name in names.into_iter().take(2) {
        let _ = gpu.launch(&module, name, &launch, &[buffer.arg()]);
    }
}
