//! The entries of one block of text.

use num_complex::Complex;

use super::line::{self, Fault, LineEntry, Shape};
use super::number;
use crate::io::Field;
use crate::narrowing::{Kind, Limits, Narrowing};
use crate::scalar::Scalar;

/// One entry of a coordinate file; in an array file, `col` is the element's number in its block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<T> {
    pub(super) row: u32,
    pub(super) col: u32,
    pub(super) value: T,
}

impl<T> Entry<T> {
    /// The place in row-major order; with its halves swapped, in column-major order.
    #[inline(always)]
    pub(super) fn key(&self) -> u64 {
        u64::from(self.row) << 32 | u64::from(self.col)
    }
}

/// What was found in a block.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Lines, up to the faulty one if there is one.
    pub(super) lines: u64,
    /// Entries in the text, dropped zeros included.
    pub(super) stored: u64,
    /// Whether the entries strictly increase in row-major order.
    pub(super) by_row: bool,
    /// Whether the entries strictly increase in column-major order.
    pub(super) by_col: bool,
    /// The first fault; nothing after it was read.
    pub(super) fault: Option<Fault>,
    /// What became of the values of a coordinate file, mirrored ones included.
    pub(super) narrowing: Narrowing,
    /// The elements of an array file that did not become normal numbers, by their number in the block:
    /// which of them are mirrored depends on where the block begins.
    pub(super) odd: Vec<(u32, Kind)>,
}

/// What is done with entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    /// Zeros are no entries.
    pub(super) drop_zeros: bool,
    /// Entries off the diagonal stand for two.
    pub(super) mirrored: bool,
}

/// Zero bytes that must follow a text, so that it can be read a word at a time.
pub(super) const PADDING: usize = 32;

/// Parses the whole lines in `text[..end]` into `out`.
///
/// Lines are read some at a time, by functions that know the kind of a file and not the type of values.
pub(super) fn parse<T: Scalar>(
    text: &[u8],
    end: usize,
    shape: &Shape,
    How { drop_zeros, mirrored }: How,
    out: &mut Vec<Entry<T>>,
) -> Parsed {
    let limits = const { Limits::of(T::DTYPE) };
    let read = match (shape.is_array, shape.field) {
        (true, _) => EntryLines::read::<ARRAY>,
        (false, Field::Pattern) => EntryLines::read::<PATTERN>,
        (false, Field::Integer) => EntryLines::read::<INTEGER>,
        (false, Field::Real) => EntryLines::read::<REAL>,
        (false, Field::Complex) => EntryLines::read::<COMPLEX>,
    };
    let is_array = shape.is_array;
    let mut parsed = Parsed { by_row: true, by_col: true, ..Parsed::default() };
    let mut lines = EntryLines { text, end, shape, at: 0, read: 0, fault: None };
    let mut some = [LineEntry::default(); AT_ONCE];
    let mut last_key = None;
    while lines.at < end && lines.fault.is_none() {
        let len = read(&mut lines, &mut some);
        for &entry in &some[..len] {
            let value = T::from_c64(entry.value);
            let kind = match T::DTYPE.is_complex() {
                true => limits.kind_of(entry.value),
                false => limits.kind(entry.value.re),
            };
            if !is_array {
                let times = 1 + u64::from(mirrored && entry.row != entry.col);
                parsed.narrowing.count(kind, times);
            } else if !matches!(kind, Kind::Zero | Kind::Normal) {
                parsed.odd.push((parsed.stored as u32, kind));
            }
            let col = if is_array { parsed.stored as u32 } else { entry.col };
            parsed.stored += 1;
            if drop_zeros && value.is_zero() {
                continue;
            }
            let entry = Entry { row: entry.row, col, value };
            let key = entry.key();
            if let Some(last) = last_key {
                parsed.by_row &= last < key;
                parsed.by_col &= u64::rotate_left(last, 32) < key.rotate_left(32);
            }
            last_key = Some(key);
            out.push(entry);
        }
    }
    (parsed.lines, parsed.fault) = (lines.read, lines.fault);
    parsed
}

const PATTERN: u8 = 0;
const INTEGER: u8 = 1;
const REAL: u8 = 2;
const ARRAY: u8 = 3;
const COMPLEX: u8 = 4;

/// Entries that are read before their values are rounded.
const AT_ONCE: usize = 64;

/// The lines of a text.
struct EntryLines<'a> {
    text: &'a [u8],
    end: usize,
    shape: &'a Shape,
    /// Where the next line begins.
    at: usize,
    /// Lines so far.
    read: u64,
    /// Why nothing more is read.
    fault: Option<Fault>,
}

impl EntryLines<'_> {
    /// Reads entries from here on, and says how many. `to` is filled, but at the end or at a fault.
    fn read<const KIND: u8>(&mut self, to: &mut [LineEntry; AT_ONCE]) -> usize {
        let Self { text, end, shape, .. } = *self;
        let (mut p, mut len, mut lines) = (self.at, 0, 0);
        while p < end && len < to.len() {
            lines += 1;
            if let Some((entry, next)) = ordinary_line::<KIND>(text, p, shape) {
                p = next;
                to[len] = entry;
                len += 1;
                continue;
            }
            let length = text[p..end].iter().position(|&b| b == b'\n').unwrap_or(end - p);
            match line::read(&text[p..p + length], shape) {
                Ok(entry) => {
                    p += length + 1;
                    let Some(entry) = entry else { continue };
                    to[len] = entry;
                    len += 1;
                }
                Err(fault) => {
                    self.fault = Some(fault);
                    break;
                }
            }
        }
        self.at = p;
        self.read += lines;
        len
    }
}

/// Reads a line as programs write it, and finds the next; `None` for any other line.
#[inline(always)]
fn ordinary_line<const KIND: u8>(
    text: &[u8],
    p: usize,
    shape: &Shape,
) -> Option<(LineEntry, usize)> {
    let mut p = skip_blanks(text, p);
    let (mut row, mut col) = (1, 1);
    if KIND != ARRAY {
        (row, p) = number::index(text, p)?;
        p = blanks(text, p)?;
        (col, p) = number::index(text, p)?;
        if row.wrapping_sub(1) >= shape.nrows || col.wrapping_sub(1) >= shape.ncols {
            return None;
        }
    }
    let (mut value, mut im) = (1.0, 0.0);
    if KIND != PATTERN {
        if KIND != ARRAY {
            p = blanks(text, p)?;
        }
        (value, p) = match KIND {
            INTEGER => number::integer(text, p)?,
            ARRAY if shape.field == Field::Integer => number::integer(text, p)?,
            _ => number::decimal(text, p)?,
        };
        if KIND == COMPLEX || KIND == ARRAY && shape.field == Field::Complex {
            p = blanks(text, p)?;
            (im, p) = number::decimal(text, p)?;
        }
    }
    if text.get(p) != Some(&b'\n') {
        p = skip_blanks(text, p);
        p += usize::from(text.get(p) == Some(&b'\r'));
        if text.get(p) != Some(&b'\n') {
            return None;
        }
    }
    let (row, col) = ((row - 1) as u32, (col - 1) as u32);
    Some((LineEntry { row, col, value: Complex::new(value, im) }, p + 1))
}

/// Skips at least one blank.
#[inline(always)]
fn blanks(text: &[u8], p: usize) -> Option<usize> {
    matches!(text.get(p), Some(b' ' | b'\t')).then(|| skip_blanks(text, p + 1))
}

#[inline(always)]
fn skip_blanks(text: &[u8], mut p: usize) -> usize {
    while matches!(text.get(p), Some(b' ' | b'\t')) {
        p += 1;
    }
    p
}

/// The line and column of the `n`-th entry of a text, both from 0.
pub(super) fn find_entry(text: &[u8], n: u64, shape: &Shape) -> (u64, u64) {
    let mut seen = 0;
    for (number, line) in (0..).zip(text.split(|&b| b == b'\n')) {
        if matches!(line::read(line, shape), Ok(Some(_))) {
            if seen == n {
                return (number, (line.len() - line.trim_ascii_start().len()) as u64);
            }
            seen += 1;
        }
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SHAPE: Shape =
        Shape { nrows: 120, ncols: 9_999_999, field: Field::Real, is_array: false };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        /// The fast reader may decline a line, but never reads one otherwise than the grammar says.
        #[test]
        fn the_fast_reader_agrees_with_the_grammar(line in "[ \t]{0,2}[0-9+-]{1,9}[ \t]{1,3}[0-9.]{1,9}[ \t]{0,2}[+-]?[0-9]{0,12}\\.?[0-9]{0,21}(e[+-]?[0-9]{0,3})?([ \t]-?[0-9]{1,9}\\.?[0-9]{0,9})?[ \t\r]{0,2}") {
            let mut text = line.clone().into_bytes();
            text.push(b'\n');
            let end = text.len();
            text.extend([0; PADDING]);
            for field in [Field::Real, Field::Integer, Field::Pattern, Field::Complex] {
                let shape = Shape { field, ..SHAPE };
                let fast = match field {
                    Field::Real => ordinary_line::<REAL>(&text, 0, &shape),
                    Field::Integer => ordinary_line::<INTEGER>(&text, 0, &shape),
                    Field::Pattern => ordinary_line::<PATTERN>(&text, 0, &shape),
                    Field::Complex => ordinary_line::<COMPLEX>(&text, 0, &shape),
                };
                if let Some((entry, next)) = fast {
                    prop_assert_eq!(next, end);
                    prop_assert_eq!(line::read(line.as_bytes(), &shape), Ok(Some(entry)));
                }
            }
        }
    }
}
