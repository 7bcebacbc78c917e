//! Products of whole tiles under the rule of [`super::accumulate`], fast.
//!
//! The quick path sums a row of D at a time ([`super::step`]). Results of infinities or NaNs go through
//! [`accumulate::step`], one at a time.

use std::cell::RefCell;

use super::accumulate::{self, Path, Rule};
use super::sparse::Selection;
use super::step::{ABSENT, Turned, step};
use super::{Accumulator, Element, Tile};
use crate::num::Format;
use crate::vectors::Wide;

/// The most columns any instruction has.
pub(crate) const MAX_COLUMNS: usize = 256;

/// The most products of a step.
const MAX_BLOCK: usize = 32;

/// What a product needs besides its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product<'a> {
    pub(crate) rule: Rule,
    pub(crate) a: &'a Tile,
    pub(crate) b: &'a Tile,
    pub(crate) types: (Element, Element),
    pub(crate) accumulator: Accumulator,
    /// Which k each stored element of A is; in order without one.
    pub(crate) selection: Option<&'a Selection>,
    /// Whether the products change sign.
    pub(crate) negate: bool,
    /// Integers are clamped rather than wrapped.
    pub(crate) saturate: bool,
}

impl Product<'_> {
    /// Adds the product to `d`, row-major bits with `b.rows()` columns.
    pub(crate) fn add_to(self, d: &mut [u32]) {
        let (Some(a), Some(b)) = (self.types.0.format(), self.types.1.format()) else {
            return self.add_integers(d);
        };
        match self.rule.path {
            Path::Direct => self.add_floats(a, b, d),
            Path::Converted => {
                let mut sums = vec![0; d.len()];
                self.add_floats(a, b, &mut sums);
                for (d, sum) in d.iter_mut().zip(sums) {
                    *d = accumulate::add_last(self.accumulator, sum, *d);
                }
            }
        }
    }

    /// The k of the element stored at `at` in a row of A.
    fn k_of(self, row: usize, at: usize) -> usize {
        self.selection.map_or(at, |selection| usize::from(selection.row(row)[at]))
    }

    fn add_floats(self, a_format: Format, b_format: Format, d: &mut [u32]) {
        let sign = if self.negate { a_format.sign() as u32 } else { 0 };
        let steps = self.rule.path.steps(self.a.k(), self.rule.block);
        if self.rule.zeros_align {
            return self.one_by_one(sign, &steps, d, |_, _| true);
        }
        OPERANDS.with_borrow_mut(|[a, b]| {
            a.read(self.a, a_format, sign, false);
            b.read(self.b, b_format, 0, true);
            self.add_decoded(sign, &steps, (a, b), d);
        });
    }

    fn add_decoded(
        self,
        sign: u32,
        steps: &[Vec<usize>],
        (a, b): (&Decoded, &Decoded),
        d: &mut [u32],
    ) {
        let columns = self.b.rows();
        let all_finite = a.all_finite() && b.all_finite();
        let before = if all_finite { Vec::new() } else { d.to_vec() };
        match Wide::of_processor() {
            Some(wide) => wide.run(|| self.add_rows::<true>(steps, a, b, d)),
            None => self.add_rows::<false>(steps, a, b, d),
        }
        if !all_finite {
            let wrong = |row: usize, column: usize| !a.finite[row] || !b.finite[column];
            for (i, (d, before)) in d.iter_mut().zip(before).enumerate() {
                if wrong(i / columns, i % columns) {
                    *d = before;
                }
            }
            self.one_by_one(sign, steps, d, wrong);
        }
    }

    /// Adds the product of what is finite, row by row.
    #[inline(always)]
    fn add_rows<const TRUNCATES: bool>(
        self,
        steps: &[Vec<usize>],
        a: &Decoded,
        b: &Decoded,
        d: &mut [u32],
    ) {
        let (columns, stored) = (self.b.rows(), self.a.k());
        let turned = Turned { value: &b.value, exponent: &b.exponent };
        let mut terms = [(0.0, 0, 0); MAX_BLOCK];
        for (row, d) in d.chunks_exact_mut(columns).enumerate() {
            let values = &a.value[row * stored..][..stored];
            let exponents = &a.exponent[row * stored..][..stored];
            for block in steps {
                let mut count = 0;
                for &at in block {
                    let value = values[at];
                    if value != 0.0 {
                        terms[count] = (value, exponents[at], self.k_of(row, at) * columns);
                        count += 1;
                    }
                }
                step::<TRUNCATES>(self.rule, self.accumulator, &terms[..count], turned, d);
            }
        }
    }

    /// Adds products to the elements that are chosen by row and column, with operands of any kind.
    fn one_by_one(
        self,
        sign: u32,
        steps: &[Vec<usize>],
        d: &mut [u32],
        chosen: impl Fn(usize, usize) -> bool,
    ) {
        for (row, d) in d.chunks_exact_mut(self.b.rows()).enumerate() {
            let a = self.a.row(row);
            for (column, d) in d.iter_mut().enumerate().filter(|&(column, _)| chosen(row, column)) {
                let b = self.b.row(column);
                for block in steps {
                    let products = block.iter().map(|&at| (a[at] ^ sign, b[self.k_of(row, at)]));
                    *d = accumulate::step(self.rule, self.types, self.accumulator, &products, *d);
                }
            }
        }
    }

    fn add_integers(self, d: &mut [u32]) {
        let (columns, k) = (self.b.rows(), self.b.k());
        let mut b = vec![0i16; columns * k];
        for column in 0..columns {
            for (at, &bits) in self.b.row(column).iter().enumerate() {
                b[at * columns + column] = self.types.1.integer(bits);
            }
        }
        let mut sums = [0i32; MAX_COLUMNS];
        let sums = &mut sums[..columns];
        for (row, d) in d.chunks_exact_mut(columns).enumerate() {
            sums.fill(0);
            for (at, &bits) in self.a.row(row).iter().enumerate() {
                let a = self.types.0.integer(bits);
                let b = &b[self.k_of(row, at) * columns..][..columns];
                for (sum, &b) in sums.iter_mut().zip(b) {
                    *sum = sum.wrapping_add(i32::from(a) * i32::from(b));
                }
            }
            for (d, &sum) in d.iter_mut().zip(&*sums) {
                let start = *d as i32;
                let sum =
                    if self.saturate { start.saturating_add(sum) } else { start.wrapping_add(sum) };
                *d = sum as u32;
            }
        }
    }
}

/// A tile's values and exponents. What is not finite stands there as zero.
#[derive(Default)]
struct Decoded {
    value: Vec<f64>,
    exponent: Vec<i16>,
    /// Whether a row of the tile has nothing else than finite values.
    finite: Vec<bool>,
}

thread_local! {
    /// Memory for A and B, which the next product uses again.
    static OPERANDS: RefCell<[Decoded; 2]> = RefCell::default();
}

impl Decoded {
    /// Reads a tile, with signs changed by `sign`: row by row or, if `turned`, with each k's elements
    /// side by side.
    fn read(&mut self, tile: &Tile, format: Format, sign: u32, turned: bool) {
        let count = tile.rows() * tile.k();
        self.value.resize(count, 0.0);
        self.exponent.resize(count, 0);
        self.finite.clear();
        let places = |row: usize| match turned {
            true => (row, tile.rows()),
            false => (row * tile.k(), 1),
        };
        let least = format.min_exponent();
        // The same loop for each of the formats that most products are of.
        match format {
            Format::Bf16 => {
                self.fill(tile, places, least, |bits| f32::from_bits((bits ^ sign) << 16));
            }
            Format::Tf32 => {
                self.fill(tile, places, least, |bits| f32::from_bits((bits ^ sign) & 0xffff_e000));
            }
            _ => {
                self.fill(tile, places, least, |bits| format.decode(u64::from(bits ^ sign)) as f32);
            }
        }
    }

    /// `places` says of a row where its first element goes, and how far from each other they are.
    #[inline(always)]
    fn fill(
        &mut self,
        tile: &Tile,
        places: impl Fn(usize) -> (usize, usize),
        least: i32,
        decode: impl Fn(u32) -> f32,
    ) {
        for row in 0..tile.rows() {
            let (first, step) = places(row);
            let (values, exponents) = (&mut self.value[first..], &mut self.exponent[first..]);
            let to = values.iter_mut().step_by(step).zip(exponents.iter_mut().step_by(step));
            let mut all_finite = true;
            for ((value, exponent), &bits) in to.zip(tile.row(row)) {
                let decoded = decode(bits);
                let finite = decoded.is_finite();
                let there = finite && decoded != 0.0;
                all_finite &= finite;
                let field = (decoded.to_bits() >> 23 & 0xff) as i32 - 127;
                // Subnormal values keep the smallest normal exponent.
                *exponent = if there { field.max(least) as i16 } else { ABSENT };
                *value = if there { f64::from(decoded) } else { 0.0 };
            }
            self.finite.push(all_finite);
        }
    }

    fn all_finite(&self) -> bool {
        self.finite.iter().all(|&finite| finite)
    }
}
