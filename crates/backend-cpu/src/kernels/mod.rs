//! Kernel bodies, generic over the instruction set and compiled once for each.
//!
//! [`rows`] multiplies sparse rows, each entry with its own row of B: CSR as it stands, BMat, 2:4
//! and narrow values after a chunk of them is decoded on the stack. [`sorted`] multiplies rows sorted
//! by length, [`patterns`] tiles of rows that share columns, [`strip`] dense strips, where all rows of
//! a window share the rows of B they meet. [`pack`] copies a panel of B.
//!
//! # Order of additions
//! In rows, sorted or not, an element of C is summed over its row's stored values in their order; where
//! the panel is at most 64 bytes wide, in four interleaved chains, up to 128 bytes in two, so that
//! narrow products are not bound by the latency of one addition. One column of f32 or f64 has eight
//! chains, and the last three values at most are added to what the chains come to. In tiles the order is
//! that of the tile's columns, up to 64 bytes in two chains. Panels are cut at multiples of 256 bytes, or
//! say that they are a part of such a group, so which chain an entry joins depends on the plan and on n
//! alone.
//!
//! # What was tried and left out
//! Prefetching the rows of B that the next entries name into the first-level cache. On a Zen 4 it made
//! uniform matrices 1.4 and finite-element ones 1.1 times slower at n = 32, and power-law ones 1.3 times
//! faster at n = 128, where packing gains as much. (Into the second-level cache only, 32 entries ahead, it
//! made scattered rows 1.2 to 1.9 times faster there, and streams up to 1.3 times slower; on a Xeon, where
//! misses are as many as a core can wait for, neither. It would have to be for the former alone.)
//!
//! In a stencil's columns and values, with its leading row of B, it
//! made 8 columns of a B in memory 1.14 times faster and of one in the caches 1.25 times slower. Only
//! packing prefetches.
//!
//! Cutting A into blocks of columns whose part of B fits the first-level cache, for one column: what each
//! entry then spares of the second-level cache goes into adding to its element of C, 0.66 ns an entry
//! where rows take 0.59.
//!
//! The dot products of bf16 pairs that AVX-512 has, twice as fast as multiply-adds in f32 where tiles
//! are dense. They take subnormal values as zero and flush subnormal sums, which the error bound of a
//! product does not allow for, and round otherwise than the other instruction sets.

pub(crate) mod access;
mod each_row;
pub(crate) mod pack;
pub(crate) mod patterns;
pub(crate) mod rows;
pub(crate) mod sorted;
pub(crate) mod store;
pub(crate) mod strip;
mod sum;
pub(crate) mod widen;
