//! `wgmma.mma_async`, dense and sparse: shapes, operands, product.

use std::ops::Range;

use super::accumulate::{Rule, Unit};
use super::descriptor::{DescriptorError, SharedOperand};
use super::kernel::Product;
use super::sparse::{MetadataError, Selection};
use super::{Accumulator, Element, Tile, fragment};

/// Rows of D.
pub const ROWS: u32 = 64;

/// Threads of a warpgroup.
pub const THREADS: u32 = 128;

/// Registers of A when it is not in shared memory.
pub const A_REGISTERS: u32 = 4;

/// Why a shape or a mix of types does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// No such number of columns.
    #[error("there is no wgmma with n = {n} for these types")]
    Columns {
        /// The number.
        n: u32,
    },
    /// The types fix k.
    #[error("these types have k = {needed}, not {k}")]
    Depth {
        /// k asked for.
        k: u32,
        /// The only k there is.
        needed: u32,
    },
    /// Types that do not go together.
    #[error("no tensor-core instruction takes {a:?} and {b:?} into {d:?}")]
    Types {
        /// Of A.
        a: Element,
        /// Of B.
        b: Element,
        /// Of D.
        d: Accumulator,
    },
}

/// A `wgmma` of some shape and types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wgmma {
    n: u32,
    k: u32,
    sparse: bool,
    d: Accumulator,
    a: Element,
    b: Element,
}

/// What the immediates and qualifiers of a `wgmma` say besides its shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// `imm-scale-a` is −1.
    pub negate_a: bool,
    /// `imm-scale-b` is −1.
    pub negate_b: bool,
    /// `.satfinite`, for integers.
    pub saturate: bool,
}

impl Wgmma {
    /// `.m64nNkK` with the given types; `k` is A's width before compression.
    ///
    /// # Errors
    /// If there is no such instruction.
    pub fn try_new(
        n: u32,
        k: u32,
        sparse: bool,
        d: Accumulator,
        a: Element,
        b: Element,
    ) -> Result<Wgmma, ShapeError> {
        check_types(d, a, b)?;
        // Integers have every multiple of 16, and 8 and 24.
        let step = if d == Accumulator::S32 && n > 32 { 16 } else { 8 };
        if n == 0 || n > 256 || !n.is_multiple_of(step) {
            return Err(ShapeError::Columns { n });
        }
        let needed = 32 / a.bytes() * (1 + u32::from(sparse));
        if k != needed {
            return Err(ShapeError::Depth { k, needed });
        }
        Ok(Wgmma { n, k, sparse, d, a, b })
    }

    /// Columns of D.
    #[must_use]
    pub fn columns(self) -> u32 {
        self.n
    }

    /// Registers of D per thread.
    #[must_use]
    pub fn d_registers(self) -> u32 {
        self.n / 2 / self.d.per_register()
    }

    /// Elements that A stores per row.
    #[must_use]
    pub fn stored_k(self) -> u32 {
        if self.sparse { self.k / 2 } else { self.k }
    }

    /// A in shared memory. `transposed` is `imm-trans-a`.
    ///
    /// # Errors
    /// If the descriptor does not describe such an operand.
    pub fn a_shared(
        self,
        descriptor: u64,
        transposed: bool,
    ) -> Result<SharedOperand, DescriptorError> {
        SharedOperand::new(descriptor, self.a, ROWS, self.stored_k(), transposed)
    }

    /// B in shared memory. `transposed` is `imm-trans-b`.
    ///
    /// # Errors
    /// If the descriptor does not describe such an operand.
    pub fn b_shared(
        self,
        descriptor: u64,
        transposed: bool,
    ) -> Result<SharedOperand, DescriptorError> {
        SharedOperand::new(descriptor, self.b, self.n, self.k, transposed)
    }

    /// A from registers; `register` gives that of a thread (0–127).
    #[must_use]
    pub fn a_from_registers(self, register: impl FnMut(u32, u32) -> u32) -> Tile {
        gather_a(self.a, ROWS, self.stored_k(), THREADS, A_REGISTERS, register)
    }

    /// Reads the sparse A's metadata; `word` gives a thread's `sp-meta`.
    ///
    /// # Errors
    /// If the selector or a code is not valid.
    pub fn selection(
        self,
        selector: u32,
        word: impl Fn(u32) -> u32,
    ) -> Result<Selection, MetadataError> {
        Selection::decode(self.a, ROWS, self.k, selector, false, word)
    }

    /// D from registers: [`ROWS`] × n bits, row-major.
    #[must_use]
    pub fn gather(self, register: impl FnMut(u32, u32) -> u32) -> Vec<u32> {
        gather_d(self.d, ROWS, self.n, THREADS, register)
    }

    /// Gives every thread's registers their part of D: `write(thread, register, bits)`.
    pub fn scatter(self, d: &[u32], write: impl FnMut(u32, u32, u32)) {
        scatter_d(self.d, d, self.n, (0..THREADS, THREADS), write);
    }

    /// As [`Wgmma::scatter`], of one of the four warps: `write(lane, register, bits)`.
    pub(crate) fn scatter_to_warp(
        self,
        d: &[u32],
        warp: u32,
        mut write: impl FnMut(u32, u32, u32),
    ) {
        let threads = warp * 32..(warp + 1) * 32;
        scatter_d(self.d, d, self.n, (threads, THREADS), |thread, register, bits| {
            write(thread % 32, register, bits);
        });
    }

    /// D = A·B + D, on `d` as [`Wgmma::gather`] gives it. Without `scale_d`, D counts as zero.
    /// `selection` goes with a sparse A.
    ///
    /// # Panics
    /// If an operand's size is not that of the shape, or a sparse A comes without a selection.
    pub fn run(
        self,
        a: &Tile,
        selection: Option<&Selection>,
        b: &Tile,
        d: &mut [u32],
        scale_d: bool,
        options: Options,
    ) {
        assert_eq!(self.sparse, selection.is_some(), "metadata belong to a sparse operand");
        assert_eq!((a.rows(), a.k()), (ROWS as usize, self.stored_k() as usize), "A");
        assert_eq!((b.rows(), b.k()), (self.n as usize, self.k as usize), "B");
        if !scale_d {
            d.fill(0);
        }
        Product {
            rule: Rule::of(Unit::Warpgroup, self.a),
            a,
            b,
            types: (self.a, self.b),
            accumulator: self.d,
            selection,
            negate: options.negate_a != options.negate_b,
            saturate: options.saturate,
        }
        .add_to(d);
    }
}

pub(super) fn check_types(d: Accumulator, a: Element, b: Element) -> Result<(), ShapeError> {
    let fits = match a {
        Element::F16 => b == a && d != Accumulator::S32,
        Element::Bf16 | Element::Tf32 => b == a && d == Accumulator::F32,
        Element::E4m3 | Element::E5m2 => b.is_fp8() && d != Accumulator::S32,
        Element::S8 | Element::U8 => b.format().is_none() && d == Accumulator::S32,
    };
    if fits { Ok(()) } else { Err(ShapeError::Types { a, b, d }) }
}

pub(super) fn gather_a(
    element: Element,
    rows: u32,
    k: u32,
    threads: u32,
    registers: u32,
    mut register: impl FnMut(u32, u32) -> u32,
) -> Tile {
    let mut tile = Tile::zeros(rows, k);
    for thread in 0..threads {
        for at in 0..registers {
            let word = register(thread, at);
            for (part, bits) in parts(word, element.bytes()) {
                let (row, k) = fragment::a_position(element.bytes(), thread, at, part);
                tile.set(row, k, bits);
            }
        }
    }
    tile
}

pub(super) fn gather_d(
    accumulator: Accumulator,
    rows: u32,
    columns: u32,
    threads: u32,
    mut register: impl FnMut(u32, u32) -> u32,
) -> Vec<u32> {
    let mut d = vec![0; (rows * columns) as usize];
    let width = columns as usize;
    for thread in 0..threads {
        for pair in 0..rows * columns / threads / 2 {
            let (row, column) = fragment::accumulator_position(thread, pair * 2);
            let two = &mut d[row as usize * width + column as usize..][..2];
            if accumulator == Accumulator::F16 {
                let word = register(thread, pair);
                two.copy_from_slice(&[word & 0xffff, word >> 16]);
            } else {
                two.copy_from_slice(&[register(thread, pair * 2), register(thread, pair * 2 + 1)]);
            }
        }
    }
    d
}

pub(super) fn scatter_d(
    accumulator: Accumulator,
    d: &[u32],
    columns: u32,
    (chosen, threads): (Range<u32>, u32),
    mut write: impl FnMut(u32, u32, u32),
) {
    let width = columns as usize;
    for thread in chosen {
        for pair in 0..d.len() as u32 / threads / 2 {
            let (row, column) = fragment::accumulator_position(thread, pair * 2);
            let two = &d[row as usize * width + column as usize..][..2];
            if accumulator == Accumulator::F16 {
                write(thread, pair, two[0] | two[1] << 16);
            } else {
                write(thread, pair * 2, two[0]);
                write(thread, pair * 2 + 1, two[1]);
            }
        }
    }
}

/// The elements of a register, low bits first.
pub(super) fn parts(word: u32, bytes: u32) -> impl Iterator<Item = (u32, u32)> {
    let mask = u32::MAX >> (32 - 8 * bytes);
    (0..4 / bytes).map(move |part| (part, word >> (part * bytes * 8) & mask))
}
