//! Sparse formats for SpMM and everything that turns one into another.
//!
//! A matrix enters as a [`Csr`] — from triplets ([`Coo`]), a file ([`io`]) or another crate's type
//! ([`interop`]) — and is laid out in one of the five tilings of [`tilings`] or a hybrid of two. Every tiling can say
//! what it would cost before it is built ([`stats`]), is built in parallel with the same bytes on
//! any number of threads ([`convert`]), and gives back exactly the stored nonzeros.
//!
//! | type | unit of work | indices into B | from |
//! |---|---|---|---|
//! | [`Csr`] | one nonzero | per nonzero | classic |
//! | [`Bcsr`] | `block_rows × block_cols` dense block | per block, direct | AsyncSparse §II-C |
//! | [`Wcsr`] | packed column of a row window | per packed column, gathered | AsyncSparse §II-C |
//! | [`BlockedEll`] | square dense block, uniform row width | per block, direct | cuSPARSE |
//! | [`BMat`] | 16×8 bitmask tile with its values | per tile column, gathered | Voltrix §3.1.1 |
//! | [`TwoFour`] | 2 of every 4 columns of a row | direct | 2:4 sparse tensor cores |
//! | [`Hybrid`] | packed column of a dense window, else a nonzero | gathered | RSH-SpMM |
//!
//! [`Csr`] also has what graph and solver code does before products: sums, scaling by rows and columns,
//! diagonals, iterators, and [normalizations](normalize).
//!
//! Values are of a type that is a [`Scalar`]: the [`Real`] ones f16, bf16, f32 and f64, and the complex ones c32
//! (`Complex<f32>`, 8 bytes, NumPy's complex64) and c64 (`Complex<f64>`, 16 bytes, complex128).
//!
//! Types are validated once, in their `try_new`; after that every function and kernel trusts them.
//!
//! # Features
//! All are on by default; without them this crate depends on none of the three.
//! - `ndarray`: [`Csr`] from and to dense arrays; dense matrices in numpy's `.npy` files.
//! - `petgraph`: [`Csr`] from and to graphs.
//! - `sprs`: [`Csr`] from and to matrices of sprs.

#![forbid(unsafe_code)]

#[cfg(any(not(target_pointer_width = "64"), target_endian = "big"))]
compile_error!("girih needs a little-endian target of 64 bits");

mod buffer;
mod compiled;
pub mod convert;
mod csr;
mod dtype;
mod error;
pub mod interop;
pub mod io;
mod layout;
mod narrowing;
pub mod normalize;
mod pattern;
mod scalar;
pub mod stats;
pub mod tilings;

pub use buffer::Buffer;
pub use csr::{AnyCsr, Coo, Csr, Duplicates, Triplets};
pub use dtype::DType;
pub use error::FormatError;
pub use float8::F8E4M3 as E4m3;
pub use half::{bf16, f16};
pub use layout::{PAD_ROW, RowLayout};
pub use narrowing::Narrowing;
pub use num_complex::Complex;
pub use pattern::CsrPattern;
pub use scalar::{Accumulator, ComplexScalar, Real, RealAccumulator, RealNumber, Scalar};
pub use tilings::{
    AnyTiling, BMat, Bcsr, BlockedEll, E4m3Narrowing, E4m3Overflow, E4m3Scales, E4m3Values,
    FormatKind, FormatSpec, Hybrid, RowCsr, ScalesPer, Tiling, TwoFour, Wcsr,
};

/// Marks a padded column slot. No kernel reads a row of B for it, so `0 · NaN` cannot leak.
pub const PAD_COL: u32 = u32::MAX;

/// The largest number of rows or columns a matrix may have. Indices are `u32` and the largest
/// `u32` marks padding.
pub const MAX_DIM: usize = u32::MAX as usize;
