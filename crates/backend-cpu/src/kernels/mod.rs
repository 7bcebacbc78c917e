//! Kernel bodies, generic over the instruction set and compiled once for each.
//!
//! Two suffice for all formats. [`rows`] multiplies sparse rows, each entry with its own row of B:
//! CSR directly, BMat, 2:4 and narrow values after a chunk of them is decoded on the stack.
//! [`strip`] multiplies dense strips, where all rows of a window share the rows of B they meet.
//!
//! # Order of additions
//! An element of C is summed over its row's stored values in their order; where the panel is at
//! most 64 bytes wide, in four interleaved chains, up to 128 bytes in two, so that narrow products
//! are not bound by the latency of one addition. Panels are cut at multiples of 256 bytes, so which
//! chain an entry joins depends on the plan and on n alone.

pub(crate) mod access;
pub(crate) mod pack;
pub(crate) mod patterns;
pub(crate) mod rows;
pub(crate) mod sorted;
pub(crate) mod store;
pub(crate) mod strip;
