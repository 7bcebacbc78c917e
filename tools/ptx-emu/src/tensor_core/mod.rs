//! Tensor cores: what `wgmma`, `mma.sync`, `ldmatrix` and `stmatrix` do, apart from when.
//!
//! Nothing here knows of warps or memories. The instructions' families read registers and shared
//! memory, ask here where each element lies and what the product is, and write the answer back.
//!
//! | module | what | PTX ISA section |
//! |---|---|---|
//! | [`fragment`] | which lane holds which element | "Register Fragments", "Matrix Fragments for mma" |
//! | [`descriptor`] | shared-memory descriptors and the layouts they name | "Matrix Descriptor Format", "Canonical Layouts" |
//! | [`sparse`] | metadata of 2:4 and 1:2 sparse operands | "Sparse matrix storage" |
//! | [`accumulate`] | the rule by which products are summed | unspecified there; chosen here |
//! | [`wgmma`], [`mma`] | the instructions | "wgmma.mma_async", "mma", "mma.sp" |
//! | [`matrix`] | `ldmatrix` and `stmatrix` | the same |

pub mod accumulate;
pub mod descriptor;
mod element;
pub mod fragment;
mod kernel;
pub mod matrix;
pub mod mma;
pub mod sparse;
mod step;
mod swizzle;
#[cfg(test)]
mod tests;
mod tile;
pub mod wgmma;

pub use element::{Accumulator, Element};
pub use swizzle::Swizzle;
pub use tile::Tile;
