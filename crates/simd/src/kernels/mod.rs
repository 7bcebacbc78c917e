//! Microkernels, generic over the instruction set and compiled once for each.
//!
//! # Where kernels stand
//! ```text
//! girih-backend-cpu   statistics, decisions, layouts, execution
//!    ▼
//! kernels      one block of work, B and C as addresses with strides ([`operands`](crate::operands))
//!    ▼
//! isa          vectors: loads, stores, multiply-adds
//! ```
//! Kernels decide nothing. What they read, prefetch and store was decided before, and is in their
//! arguments.
//!
//! # The kernels
//! | kernel | multiplies |
//! |---|---|
//! | [`rows`] | sparse rows as stored, each entry with its own row of B: CSR, and decoded BMat and 2:4 |
//! | [`sorted`] | sparse rows sorted by length; slices of rows whose columns are those of the row before plus one |
//! | [`patterns`] | tiles of four sparse rows, columns grouped by the rows that hold them |
//! | [`strip`] | dense strips: rows that all use the same rows of B |
//! | [`sampled`] | rows of X with the rows of Y that entries name: sampled products |
//! | [`aggregate`] | sparse rows as stored, for the greatest product or the mean |
//!
//! What they are made of:
//!
//! | part | does |
//! |---|---|
//! | [`each_row`] | chooses for the first two kernels how many vectors are summed at once |
//! | [`panel`] | multiplies one row by that many vectors |
//! | [`pattern_columns`] | multiplies tiles by some vectors |
//! | [`edges`] | knows which vectors are partial, and whether they begin with cache lines |
//! | [`sum`], [`whole`] | add up a row's entries; the latter for long rows and a distant B |
//! | [`store`] | writes sums to C, and adds up the parts of split windows |
//! | [`finish`], [`elements`] | do so after a bias, an [`activation`] or [rounding](rounded): by vectors, or element by element |
//! | [`finish_rows`] | does so with rows of sums from scratch |
//! | [`finish_narrow`] | the same for rows of a few columns, several at a time |
//! | [`pack`], [`gather`] | copy a panel of B, or the rows of B that a window uses |
//! | [`widen`] | widens values to the type of sums |
//! | [`prefetch`] | prefetches |
//! | [`probe`] | measures what the machine can reach |
//!
//! # Order of additions
//! The order depends on the plan and on n alone, so the bits of C depend on nothing else.
//!
//! - **Rows**, sorted or not: an element of C is summed over its row's entries as stored. A panel of up to 64
//!   bytes has four interleaved chains, a panel of up to 128 bytes two: one chain would wait for the latency
//!   of each addition. Wider panels have one chain.
//! - **One column** of f32 or f64, or widened to f32, has eight chains. The last three entries at most are
//!   added to the sum of the chains.
//! - **Tiles**: the order of the tile's columns; up to 128 bytes in two chains. Slabs are added to C one
//!   after the other.
//! - **Strips**: the order of columns, in one chain.
//! - **Means**: the row's entries as stored, in one chain.
//!
//! Panels are cut at multiples of 256 bytes, or say that they are part of such a group
//! ([`is_part_of_group`](crate::operands::Input::is_part_of_group)). Slabs are cut at columns that matrix and
//! n fix.

mod activation;
pub(crate) mod aggregate;
pub(crate) mod complex;
mod each_row;
mod edges;
mod elements;
mod finish;
mod finish_narrow;
mod finish_rows;
pub(crate) mod gather;
pub(crate) mod pack;
mod panel;
mod pattern_columns;
pub(crate) mod patterns;
pub(crate) mod prefetch;
pub(crate) mod probe;
mod rounded;
pub(crate) mod rows;
pub(crate) mod runs;
pub(crate) mod sampled;
pub(crate) mod sorted;
mod sorted_column;
pub(crate) mod store;
pub(crate) mod strip;
mod sum;
mod whole;
pub(crate) mod widen;

pub(crate) use activation::Activate;
