//! Runs the PTX of Hopper kernels on the CPU, unchanged, with the card's asynchronous machinery
//! modelled: mbarriers, the tensor memory accelerator, `wgmma`. What a kernel does wrong with it —
//! a missing wait, a missing proxy fence, a race — comes back as a typed report.

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

pub use error::{ParseError, Problem};
pub use machine::{
    Arg, Buffer, DEFAULT_STEP_LIMIT, Device, Executions, Gpu, Launch, LaunchError, Launched,
    Schedule, Statistics, Timing,
};
pub use program::{Entry, Module};
