//! Kernel bodies, generic over the instruction set and compiled once for each.
//!
//! [`rows`] multiplies sparse rows, each entry with its own row of B: CSR as it stands, BMat, 2:4
//! and narrow values after a chunk of them is decoded on the stack. [`sorted`] multiplies rows sorted
//! by length, [`patterns`] tiles of rows that share columns, [`strip`] dense strips, where all rows of
//! a window share the rows of B they meet. [`pack`] copies a panel of B,
//! [`gather`] the rows of B that a window meets.
//!
//! # Order of additions
//! In rows, sorted or not, an element of C is summed over its row's stored values in their order; where
//! the panel is at most 64 bytes wide, in four interleaved chains, up to 128 bytes in two, so that
//! narrow products are not bound by the latency of one addition. One column of f32 or f64 has eight
//! chains, and the last three values at most are added to what the chains come to. In tiles the order is
//! that of the tile's columns, up to 128 bytes in two chains; slab by slab, C takes the sums of each. Panels
//! are cut at multiples of 256 bytes, or say that they are a part of such a group, and slabs at columns that
//! matrix and n fix, so which chain an entry joins depends on the plan and on n alone.
//!
//! # Asking ahead
//! Where rows of B come from beyond a core's own caches and no stream foretells them, or B is far larger
//! than those caches, [`sorted`] asks for those that entries 32 or 128 further name, in slices for those
//! of 64 rows further, [`patterns`] for those of columns 128 further, and for the second-level cache only
//! ([`ahead`]). The first-level cache waits for few lines at once, and what is asked into it ahead takes
//! the place of what is needed: on a Zen 4 that gains nothing or loses. Asking for the second level makes
//! uniform matrices 1.5 to 1.7 times faster there at n = 16 and 32, graphs of power laws 1.1 to 1.6 times
//! at n = 32 and 64, a stencil in memory 1.5 times at n = 32. Rows as narrow as 128 and 256 bytes gain
//! more 128 entries ahead (web links 1.35 times where 32 ahead gain 1.2), wider ones 32 ahead. Where rows
//! are foretold or near, what is asked in vain costs up to a quarter. On a Xeon (Emerald Rapids) it gains
//! nothing and costs up to a fifth, so only AMD's processors are asked.
//!
//! Entries of A are asked for where B is large: its rows lie anywhere, and between them a Zen 4 does not see
//! that columns and values follow one another. Finite elements and graphs of power laws gain 1.2 to 1.5
//! times at n = 8 and 128, 64×64 blocks up to 2 at n = 128, the more the less of A is still in the
//! last-level cache. Where all of it is and B is small, it costs up to a fifth; on a Xeon up to a seventh. Up to
//! 4 MiB of A (an eighth of that cache) it is not asked for unless B is beyond: on a Zen 5 that gains pruned weights
//! up to 1.07 times at n = 64 to 512.
//! Where A itself is beyond that cache they are asked for whatever B is: weights of 20 to 50 MB gain 1.1 to
//! 1.4 times at n = 4 to 32, and those whose columns leap at n = 1 and 2 too (1.1 to 1.5), where others would
//! lose a tenth.
//!
//! A [`strip`] of blocks reads each some rows at a time and leaps to the next, which is no stream: the values
//! of blocks 128 columns further are asked for, from 4 MiB of them on (an eighth of the last-level cache): with
//! n up to 32 64×64 blocks of 27 MB gain 1.5 to 1.8 times, 16×16 2.1 to 4.7, 8×8 1.2 to 2.4. Smaller ones
//! would lose a twentieth.
//!
//! # Storing
//! Where β is zero C is not read, by a way of storing of its own ([`Store`](crate::operands::Store)). A condition
//! around the load alone became a load from every row and a choice between two sums: on a Zen 4 at n = 8, 30
//! real matrices gain 1.04 times in geomean without it and up to 1.19, most where C has left the caches. Panels
//! of one line, its half or its quarter, or of two, with no gap between rows of B or of C, have these distances
//! as constants: 1.04 times more there, up to 1.18.
//!
//! # Storing past the caches
//! A row of C that has left a core's own caches is read from beyond only to be overwritten, and single
//! rows wait for that: with its lines written past the caches, C of 2 to 8 MiB, n = 16 to 64, is up to 2
//! times as fast on a Zen 4 and up to 1.9 on a Xeon. If it had stayed in the last-level cache from the
//! product before, the Xeon gains up to 1.3 times or loses up to a seventh; tiles, which store many lines
//! at a time, lose up to a quarter below 4 MiB. A group's last line must be stored like its others: one
//! past the caches and its neighbour into them took 1.2 to 1.4 times as long as all into them.
//!
//! # Whole rows
//! Lines of a row of B are read eight at a time, with their sums in registers, by all entries before the next
//! eight. Where rows are of 2 KiB and more and B is beyond the last-level cache, rows of A of 64 entries and
//! more take whole rows of B instead ([`whole`]): on a Zen 4 at n = 512 a dense row and column gain 1.2 times,
//! graphs of power laws 1.05 to 1.3, least 0.9. At n = 256, and of a B in the cache, nothing.
//!
//! # What was tried and left out
//! Asking ahead in a stencil's columns and values, with its leading row of B: 8 columns of a B in memory
//! became 1.14 times faster and of one in the caches 1.25 times slower.
//!
//! Sums of 256 narrow rows brought together in the first-level cache, to be stored as whole lines: 0.4 to 1.0
//! times. Asking for the row of C that goes with the 16th to 32nd row further, at n = 8: 1.2 times where C and
//! A are beyond the last-level cache, 0.8 to 0.97 elsewhere.
//!
//! Cutting A into blocks of columns whose part of B fits the first-level cache, for one column: what each
//! entry then spares of the second-level cache goes into adding to its element of C, 0.66 ns an entry
//! where rows take 0.59.
//!
//! Gathering the rows of B that neighbouring tiles of [`patterns`] meet, as dense strips of many rows do:
//! on a Zen 3 finite elements whose B is in memory gained up to 1.17 times, matrices whose B is in the
//! last-level cache lost up to a third. Gathering for strips with four lines at once (AVX-512): a Xeon lost
//! up to a third.
//!
//! Two patterns without a common row by turns, for twice as many chains: pruned weights at n = 64 to 512 came to
//! 0.95 to 1.05 times on a Zen 5, whose rows of B come from the second-level cache. Slabs of columns at n = 16 and
//! 32: 0.4 to 1.2 times, as every slab guesses wrong where each pattern ends.
//!
//! With AVX2, where four lines of patterns are four passes: all four by one tile before the next, or asking
//! in the first for the lines of the others, gained finite elements up to 1.2 times and lost elsewhere up
//! to a quarter. Asking for the lines of both halves of wide rows in the first lost a seventh.
//!
//! The dot products of bf16 pairs that AVX-512 has, twice as fast as multiply-adds in f32 where tiles
//! are dense. They take subnormal values as zero and flush subnormal sums, which the error bound of a
//! product does not allow for, and round otherwise than the other instruction sets.

pub(crate) mod ahead;
mod each_row;
pub(crate) mod gather;
pub(crate) mod pack;
mod panel;
pub(crate) mod patterns;
pub(crate) mod rows;
pub(crate) mod runs;
pub(crate) mod sorted;
pub(crate) mod store;
pub(crate) mod strip;
mod sum;
mod whole;
pub(crate) mod widen;
