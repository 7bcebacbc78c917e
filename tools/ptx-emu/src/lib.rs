//! Runs the PTX of Hopper kernels on the CPU, unchanged, with the card's asynchronous machinery
//! modelled: mbarriers, the tensor memory accelerator, `wgmma`. What a kernel does wrong with it —
//! a missing wait, a missing proxy fence, a race — comes back as a typed report.
//!
//! # Example
//!
//! Compilers write the PTX: `nvcc -ptx`, or NVRTC. A kernel that reverses the elements of its CTA in
//! shared memory is read, run, and its result read back:
//!
//! ```
//! use ptx_emu::{Device, Gpu, Launch, LaunchError, Module, report::Problem};
//!
//! let ptx = "
//! .version 8.0
//! .target sm_90a
//! .address_size 64
//! .visible .entry reverse(.param .u64 values)
//! {
//!     .shared .align 4 .b8 tile[512];
//!     .reg .b32 %r<9>;
//!     .reg .b64 %rd<4>;
//!     ld.param.u64 %rd0, [values];
//!     mov.u32 %r0, %tid.x;
//!     mul.wide.u32 %rd1, %r0, 4;
//!     add.s64 %rd2, %rd0, %rd1;
//!     ld.global.u32 %r1, [%rd2];
//!     mov.u32 %r2, tile;
//!     shl.b32 %r3, %r0, 2;
//!     add.s32 %r4, %r2, %r3;
//!     st.shared.u32 [%r4], %r1;
//!     bar.sync 0;
//!     sub.s32 %r5, 508, %r3;
//!     add.s32 %r6, %r2, %r5;
//!     ld.shared.u32 %r7, [%r6];
//!     st.global.u32 [%rd2], %r7;
//!     ret;
//! }";
//! let module = Module::parse(ptx)?;
//! let mut gpu = Gpu::new(Device::h100());
//! let values = gpu.alloc_from(&(0..128).collect::<Vec<u32>>());
//! let launch = Launch::grid(1, 1, 1).block(128, 1, 1);
//! gpu.launch(&module, "reverse", &launch, &[values.arg()])?;
//! assert_eq!(gpu.read(values), (0..128).rev().collect::<Vec<u32>>());
//!
//! // Without the barrier, a warp reads what another has not written, or has: a race either way.
//! let faulty = Module::parse(&ptx.replace("bar.sync 0;", ""))?;
//! let Err(LaunchError::Fault(fault)) = gpu.launch(&faulty, "reverse", &launch, &[values.arg()])
//! else {
//!     panic!("it was not found")
//! };
//! assert!(matches!(fault.first.problem, Problem::Race { .. } | Problem::Poison { .. }));
//! assert!(fault.first.to_string().contains("ld.shared.u32 %r7, [%r6];"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Launch`] says when asynchronous operations complete ([`Timing`]) and in which order warps
//! execute ([`Schedule`]): a kernel that is right gives the same result under all of them.
//! [`tensor_map`] encodes the maps that `cp.async.bulk.tensor` takes, to be passed by
//! [`Arg::bytes`]. What is modelled, and what is not, is in the crate's README.

#![forbid(unsafe_code)]

pub mod ast;
pub mod asynch;
mod error;
mod isa;
mod machine;
mod memory;
pub mod num;
mod parse;
mod program;
pub mod report;
pub mod tensor_core;
pub mod tensor_map;
mod vectors;

pub use error::{ParseError, Problem};
pub use machine::{
    Arg, Buffer, DEFAULT_STEP_LIMIT, Device, Executions, Gpu, Launch, LaunchError, Launched,
    Schedule, Statistics, Timing,
};
pub use program::{Entry, Module};
