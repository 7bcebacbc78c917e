//! Runs the PTX of Hopper kernels on the CPU, unchanged, with the card's asynchronous machinery
//! modelled: mbarriers, the tensor memory accelerator, `wgmma`. What a kernel does wrong with it —
//! a missing wait, a missing proxy fence, a race — comes back as a typed report.

#![forbid(unsafe_code)]
#![expect(dead_code, unused_imports, reason = "parts land before what uses them")]

pub mod ast;
mod error;
mod isa;
mod machine;
mod parse;
mod program;

pub use error::{ParseError, Problem};

pub mod num;
