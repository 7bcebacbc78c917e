//! `mma.sync` and `mma.sp.sync` with 16 rows and 8 columns, and the `f64` shapes.

use super::accumulate::{Rule, Unit};
use super::kernel::Product;
use super::sparse::{MetadataError, Selection};
use super::wgmma::{ShapeError, check_types, gather_a, gather_d, parts, scatter_d};
use super::{Accumulator, Element, Tile, fragment};
use crate::num::{Rounding, double};

const ROWS: u32 = 16;
const COLUMNS: u32 = 8;
const LANES: u32 = 32;

/// An `mma.sync` of shape `.m16n8kK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mma {
    k: u32,
    sparse: bool,
    d: Accumulator,
    a: Element,
    b: Element,
}

impl Mma {
    /// `.m16n8kK`; for a sparse A, `k` is its width before compression.
    ///
    /// # Errors
    /// If there is no such instruction.
    pub fn try_new(
        k: u32,
        sparse: bool,
        d: Accumulator,
        a: Element,
        b: Element,
    ) -> Result<Mma, ShapeError> {
        check_types(d, a, b)?;
        // A row of A is 16 or 32 bytes: two or four registers.
        let full = 32 / a.bytes() * (1 + u32::from(sparse));
        let half_exists = !sparse || a.bytes() != 1;
        if k == full || (k == full / 2 && half_exists) {
            Ok(Mma { k, sparse, d, a, b })
        } else {
            Err(ShapeError::Depth { k, needed: full })
        }
    }

    /// Elements that A stores per row.
    #[must_use]
    pub fn stored_k(self) -> u32 {
        if self.sparse { self.k / 2 } else { self.k }
    }

    /// Registers of A per lane: 2 or 4.
    #[must_use]
    pub fn a_registers(self) -> u32 {
        self.stored_k() * self.a.bytes() / 8
    }

    /// Registers of B per lane: 1, 2 or 4.
    #[must_use]
    pub fn b_registers(self) -> u32 {
        self.k * self.b.bytes() / 16
    }

    /// Registers of C and of D per lane: 4, or 2 for `.f16`.
    #[must_use]
    pub fn d_registers(self) -> u32 {
        4 / self.d.per_register()
    }

    /// Reads a sparse A's metadata; `word` gives a lane's register, `ordered` is
    /// `.sp::ordered_metadata`.
    ///
    /// # Errors
    /// If the selector or a code is not valid.
    pub fn selection(
        self,
        selector: u32,
        ordered: bool,
        word: impl Fn(u32) -> u32,
    ) -> Result<Selection, MetadataError> {
        Selection::decode(self.a, ROWS, self.k, selector, ordered, word)
    }

    /// D = A·B + C. The operands are functions of (lane, register); `write(lane, register, bits)`
    /// receives D. `selection` goes with a sparse A; `saturate` is `.satfinite`, for integers.
    ///
    /// # Panics
    /// If a sparse A comes without a selection, or a dense one with it.
    pub fn run(
        self,
        a: impl FnMut(u32, u32) -> u32,
        mut b: impl FnMut(u32, u32) -> u32,
        c: impl FnMut(u32, u32) -> u32,
        selection: Option<&Selection>,
        saturate: bool,
        write: impl FnMut(u32, u32, u32),
    ) {
        assert_eq!(self.sparse, selection.is_some(), "metadata belong to a sparse operand");
        let a = gather_a(self.a, ROWS, self.stored_k(), LANES, self.a_registers(), a);
        let mut columns = Tile::zeros(COLUMNS, self.k);
        for lane in 0..LANES {
            for at in 0..self.b_registers() {
                for (part, bits) in parts(b(lane, at), self.b.bytes()) {
                    let (column, k) = fragment::b_position(self.b.bytes(), lane, at, part);
                    columns.set(column, k, bits);
                }
            }
        }
        let mut d = gather_d(self.d, ROWS, COLUMNS, LANES, c);
        Product {
            rule: Rule::of(Unit::Warp, self.a),
            a: &a,
            b: &columns,
            types: (self.a, self.b),
            accumulator: self.d,
            selection,
            negate: false,
            saturate,
        }
        .add_to(&mut d);
        scatter_d(self.d, &d, COLUMNS, (0..LANES, LANES), write);
    }
}

/// An `mma.sync` on `.f64`: `.m8n8k4`, `.m16n8k4`, `.m16n8k8` or `.m16n8k16`. Each result is a chain
/// of fused multiply-adds over ascending k, rounded in the instruction's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Double {
    rows: u32,
    k: u32,
}

impl Double {
    /// The shape with `rows` rows, 8 columns and the given `k`; none if it does not exist.
    #[must_use]
    pub fn try_new(rows: u32, k: u32) -> Option<Double> {
        matches!((rows, k), (8, 4) | (16, 4 | 8 | 16)).then_some(Double { rows, k })
    }

    /// Registers of A per lane.
    #[must_use]
    pub fn a_registers(self) -> u32 {
        self.rows * self.k / LANES
    }

    /// Registers of B per lane.
    #[must_use]
    pub fn b_registers(self) -> u32 {
        self.k / 4
    }

    /// Registers of C and of D per lane.
    #[must_use]
    pub fn d_registers(self) -> u32 {
        self.rows / 4
    }

    /// D = A·B + C; operands and `write` as in [`Mma::run`].
    pub fn run(
        self,
        mut a: impl FnMut(u32, u32) -> u64,
        mut b: impl FnMut(u32, u32) -> u64,
        mut c: impl FnMut(u32, u32) -> u64,
        rounding: Rounding,
        mut write: impl FnMut(u32, u32, u64),
    ) {
        for lane in 0..LANES {
            for register in 0..self.d_registers() {
                let (row, column) = fragment::accumulator_position(lane, register);
                let result = (0..self.k).fold(c(lane, register), |sum, k| {
                    // Rows eight apart alternate in A's registers where there are sixteen.
                    let halves = self.rows / 8;
                    let a = a(row % 8 * 4 + k % 4, k / 4 * halves + row / 8);
                    let b = b(column * 4 + k % 4, k / 4);
                    double::fma(a, b, sum, rounding)
                });
                write(lane, register, result);
            }
        }
    }
}
