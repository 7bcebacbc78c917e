//! Products of whole tiles under the rule of [`super::accumulate`], fast.
//!
//! The quick path works on `f64` lanes: products of two multiplicands are exact there, scaling them
//! by a power of two is too, and adding and subtracting two constants cuts to an integer. It sums a
//! row of D at a time. Results of infinities or NaNs go through [`accumulate::step`], one at a time.

use super::accumulate::{self, Path, Rule};
use super::sparse::Selection;
use super::{Accumulator, Element, Tile};
use crate::num::Format;

/// The most columns any instruction has.
pub(crate) const MAX_COLUMNS: usize = 256;

/// Exponent of a zero: far below all others, and twice it is still an `i16`.
const ABSENT: i16 = -10_000;

/// Adding this to a number of magnitude below 2^51 leaves its nearest integer in the low bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// Just less than a half: a number of 24 bits, nearer to zero by this, rounds to what cutting it
/// gives.
const NEARLY_HALF: f64 = 0.5 - 1.0 / 67_108_864.0;

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
        let a = Decoded::new(self.a, a_format, sign);
        let b = Decoded::turned(self.b, b_format);
        let (columns, stored) = (self.b.rows(), self.a.k());
        let all_finite = a.all_finite() && b.all_finite();
        let before = if all_finite { Vec::new() } else { d.to_vec() };
        let mut scratch = Scratch::default();
        let mut terms = Vec::with_capacity(self.rule.block as usize);
        for (row, d) in d.chunks_exact_mut(columns).enumerate() {
            for block in &steps {
                terms.clear();
                terms.extend(
                    block
                        .iter()
                        .copied()
                        .filter(|&at| a.value[row * stored + at] != 0.0)
                        .map(|at| (row * stored + at, self.k_of(row, at)))
                        .map(|(at, k)| (a.value[at], a.exponent[at], k * columns)),
                );
                scratch.step(self.rule, self.accumulator, &terms, &b, d);
            }
        }
        if !all_finite {
            let wrong = |row: usize, column: usize| !a.finite[row] || !b.finite[column];
            for (i, (d, before)) in d.iter_mut().zip(before).enumerate() {
                if wrong(i / columns, i % columns) {
                    *d = before;
                }
            }
            self.one_by_one(sign, &steps, d, wrong);
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
struct Decoded {
    value: Vec<f64>,
    exponent: Vec<i16>,
    /// Whether a row of the tile has nothing else than finite values.
    finite: Vec<bool>,
}

impl Decoded {
    fn zeros(tile: &Tile) -> Decoded {
        let count = tile.rows() * tile.k();
        Decoded {
            value: vec![0.0; count],
            exponent: vec![ABSENT; count],
            finite: vec![true; tile.rows()],
        }
    }

    /// Row by row, with signs changed by `sign`.
    fn new(tile: &Tile, format: Format, sign: u32) -> Decoded {
        let mut decoded = Self::zeros(tile);
        for row in 0..tile.rows() {
            for (at, &bits) in (row * tile.k()..).zip(tile.row(row)) {
                decoded.set(row, at, format, bits ^ sign);
            }
        }
        decoded
    }

    /// With each k's elements side by side.
    fn turned(tile: &Tile, format: Format) -> Decoded {
        let mut decoded = Self::zeros(tile);
        for row in 0..tile.rows() {
            for (k, &bits) in tile.row(row).iter().enumerate() {
                decoded.set(row, k * tile.rows() + row, format, bits);
            }
        }
        decoded
    }

    fn all_finite(&self) -> bool {
        self.finite.iter().all(|&finite| finite)
    }

    #[inline]
    fn set(&mut self, row: usize, at: usize, format: Format, bits: u32) {
        let value = format.decode(u64::from(bits));
        if value != 0.0 {
            let field = (value.to_bits() >> 52 & 0x7ff) as i32;
            if field == 0x7ff {
                self.finite[row] = false;
                return;
            }
            self.value[at] = value;
            // Subnormal values keep the smallest normal exponent.
            self.exponent[at] = (field - 1023).max(format.min_exponent()) as i16;
        }
    }
}

/// One row's intermediates.
struct Scratch {
    start: [f64; MAX_COLUMNS],
    products: [i16; MAX_COLUMNS],
    largest: [i16; MAX_COLUMNS],
    scale: [f64; MAX_COLUMNS],
    sum: [i64; MAX_COLUMNS],
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch {
            start: [0.0; MAX_COLUMNS],
            products: [0; MAX_COLUMNS],
            largest: [0; MAX_COLUMNS],
            scale: [0.0; MAX_COLUMNS],
            sum: [0; MAX_COLUMNS],
        }
    }
}

impl Scratch {
    /// One step of the rule for a row: `terms` are values of A with exponent and place in `b`,
    /// which is turned.
    fn step(
        &mut self,
        rule: Rule,
        accumulator: Accumulator,
        terms: &[(f64, i16, usize)],
        b: &Decoded,
        d: &mut [u32],
    ) {
        let columns = d.len();
        let start = &mut self.start[..columns];
        let products = &mut self.products[..columns];
        let largest = &mut self.largest[..columns];
        let scale = &mut self.scale[..columns];
        let sum = &mut self.sum[..columns];
        products.fill(2 * ABSENT);
        for &(_, exponent, at) in terms {
            for (largest, &other) in products.iter_mut().zip(&b.exponent[at..][..columns]) {
                *largest = (*largest).max(exponent.wrapping_add(other));
            }
        }
        match accumulator {
            Accumulator::F16 => {
                for ((start, largest), &d) in start.iter_mut().zip(&mut *largest).zip(&*d) {
                    *start = Format::F16.decode(u64::from(d));
                    let exponent = (d >> 10 & 0x1f).max(1) as i16 - 15;
                    *largest = if *start == 0.0 { LOWEST } else { exponent };
                }
            }
            _ => {
                for ((start, largest), &d) in start.iter_mut().zip(&mut *largest).zip(&*d) {
                    *start = f64::from(f32::from_bits(d));
                    *largest = (d >> 23 & 0xff).max(1) as i16 - 127;
                }
            }
        }
        let fraction = rule.fraction_bits as i32;
        for (largest, &products) in largest.iter_mut().zip(&*products) {
            *largest = (*largest).max(products);
        }
        for (scale, &largest) in scale.iter_mut().zip(&*largest) {
            *scale = accumulate::power(fraction - i32::from(largest));
        }
        for ((sum, &start), &scale) in sum.iter_mut().zip(&*start).zip(&*scale) {
            *sum = cut(start * scale);
        }
        for &(value, _, at) in terms {
            let b = &b.value[at..][..columns];
            for ((sum, &b), &scale) in sum.iter_mut().zip(b).zip(&*scale) {
                *sum = sum.wrapping_add(cut(value * b * scale));
            }
        }
        let bias = (MAGIC.to_bits() as i64).wrapping_mul(terms.len() as i64 + 1);
        for (at, d) in d.iter_mut().enumerate() {
            *d = if products[at] <= ABSENT || !start[at].is_finite() {
                alone(rule, accumulator, *d)
            } else {
                let sum = sum[at].wrapping_sub(bias);
                accumulate::finish(rule, accumulator, sum, i32::from(largest[at]))
            };
        }
    }
}

/// What an accumulator of zero aligns to.
const LOWEST: i16 = -126;

/// The bits of [`MAGIC`] plus the number cut to an integer.
fn cut(value: f64) -> i64 {
    (value - NEARLY_HALF.copysign(value) + MAGIC).to_bits() as i64
}

/// The rule with nothing but the accumulator.
fn alone(rule: Rule, accumulator: Accumulator, d: u32) -> u32 {
    let format = accumulate::accumulator_format(accumulator);
    if format.decode(u64::from(d)).is_finite() {
        accumulate::alone(rule, accumulator, d)
    } else if format.is_nan(u64::from(d)) {
        format.nan() as u32
    } else {
        d
    }
}
