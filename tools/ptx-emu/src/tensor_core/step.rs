//! One step of the rule of [`super::accumulate`] for a row of D, several columns at a time.
//!
//! All is done on `f64` lanes: products of two multiplicands are exact there, scaling them by a power of
//! two is too, and so are sums of what was cut to integers of 27 bits.

use super::Accumulator;
use super::accumulate::{self, Rule};
use crate::num::Format;

/// Columns that are summed together, a divisor of every shape's.
pub(super) const WIDTH: usize = 8;

/// Exponent of a zero: far below all others, and twice it is still an `i16`.
pub(super) const ABSENT: i16 = -10_000;

/// What an accumulator of zero aligns to.
const LOWEST: i16 = -126;

/// Adding this to a number of magnitude below 2^51, and taking it away, gives the nearest integer.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// Just less than a half: a number of 24 bits, nearer to zero by this, rounds to what cutting it
/// gives.
const NEARLY_HALF: f64 = 0.5 - 1.0 / 67_108_864.0;

/// A value of A, which is not zero, its exponent, and where the elements of B are that it is
/// multiplied by.
pub(super) type Term = (f64, i16, usize);

/// Values of B with their exponents, each k's side by side.
#[derive(Clone, Copy)]
pub(super) struct Turned<'a> {
    pub(super) value: &'a [f64],
    pub(super) exponent: &'a [i16],
}

/// The step for a row. Where `TRUNCATES`, cutting to an integer is an instruction.
#[inline(always)]
pub(super) fn step<const TRUNCATES: bool>(
    rule: Rule,
    accumulator: Accumulator,
    terms: &[Term],
    b: Turned<'_>,
    d: &mut [u32],
) {
    if terms.is_empty() {
        if accumulator == Accumulator::F16 || rule.cuts_accumulators() {
            return d.iter_mut().for_each(|d| *d = alone(rule, accumulator, *d));
        }
        // All bits are kept, but for the sign of a zero and what a NaN has.
        return d.iter_mut().for_each(|d| {
            let is_nan = *d & 0x7fff_ffff > 0x7f80_0000;
            *d = if is_nan { Format::F32.nan() as u32 } else { *d };
            *d = if *d == 0x8000_0000 { 0 } else { *d };
        });
    }
    for (at, d) in d.as_chunks_mut().0.iter_mut().enumerate() {
        columns::<TRUNCATES>(rule, accumulator, terms, b, at * WIDTH, d);
    }
}

#[inline(always)]
fn columns<const TRUNCATES: bool>(
    rule: Rule,
    accumulator: Accumulator,
    terms: &[Term],
    b: Turned<'_>,
    from: usize,
    d: &mut [u32; WIDTH],
) {
    let (mut start, mut largest) = ([0.0; WIDTH], [0; WIDTH]);
    match accumulator {
        Accumulator::F16 => {
            for ((start, largest), &d) in start.iter_mut().zip(&mut largest).zip(&*d) {
                *start = Format::F16.decode(u64::from(d));
                let exponent = (d >> 10 & 0x1f).max(1) as i16 - 15;
                *largest = if *start == 0.0 { LOWEST } else { exponent };
            }
        }
        _ => {
            for ((start, largest), &d) in start.iter_mut().zip(&mut largest).zip(&*d) {
                *start = f64::from(f32::from_bits(d));
                *largest = (d >> 23 & 0xff).max(1) as i16 - 127;
            }
        }
    }
    for &(_, exponent, at) in terms {
        let others: &[i16] = &b.exponent[at + from..][..WIDTH];
        for (largest, &other) in largest.iter_mut().zip(others) {
            *largest = (*largest).max(exponent.wrapping_add(other));
        }
    }
    let fraction = rule.fraction_bits as i32;
    let (mut scale, mut sum) = ([0.0; WIDTH], [0.0; WIDTH]);
    for (i, scale) in scale.iter_mut().enumerate() {
        *scale = accumulate::power(fraction - i32::from(largest[i]));
        sum[i] = cut::<TRUNCATES>(start[i] * *scale);
    }
    for &(value, _, at) in terms {
        let others: &[f64] = &b.value[at + from..][..WIDTH];
        for ((sum, &other), &scale) in sum.iter_mut().zip(others).zip(&scale) {
            *sum += cut::<TRUNCATES>(value * other * scale);
        }
    }
    let (before, mut ordinary) = (*d, accumulator != Accumulator::F16);
    if ordinary {
        let dropped = 52 - rule.result_bits;
        let normal = accumulate::power(-126)..accumulate::power(128);
        for (i, d) in d.iter_mut().enumerate() {
            let value = sum[i] * accumulate::power(i32::from(largest[i]) - fraction);
            ordinary &= normal.contains(&value.abs()) | (value == 0.0);
            let cut = f64::from_bits(value.to_bits() >> dropped << dropped);
            // A zero has no sign.
            *d = (cut as f32 + 0.0).to_bits();
        }
    }
    if !ordinary {
        for (i, d) in d.iter_mut().enumerate() {
            *d = if start[i].is_finite() {
                accumulate::finish(rule, accumulator, sum[i], i32::from(largest[i]))
            } else {
                alone(rule, accumulator, before[i])
            };
        }
    }
}

/// The number cut to an integer, toward zero.
#[inline(always)]
fn cut<const TRUNCATES: bool>(value: f64) -> f64 {
    if TRUNCATES { value.trunc() } else { (value - NEARLY_HALF.copysign(value) + MAGIC) - MAGIC }
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
