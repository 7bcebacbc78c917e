//! The grammar of one line, read with care: what is taken, and the fault and its column if not.
//!
//! This is the specification; [`parse`](super::parse) reads ordinary lines faster and hands every
//! other line here.

use num_complex::Complex;

use crate::io::error::shown;
use crate::io::{Field, TextFault};

/// The longest line there may be, in bytes.
pub(super) const MAX_LINE: usize = 1 << 20;

/// What the entries of a file look like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) nrows: u64,
    pub(super) ncols: u64,
    pub(super) field: Field,
    pub(super) is_array: bool,
}

/// An entry as it stands in a line: zero-based indices, 0 in an array file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LineEntry {
    pub(super) row: u32,
    pub(super) col: u32,
    /// The imaginary part of a real value is 0.
    pub(super) value: Complex<f64>,
}

/// A fault and the zero-based byte in the line where it stands.
pub(super) type Fault = (usize, TextFault);

/// Reads one line: an entry, or nothing if it is blank or a comment.
pub(super) fn read(line: &[u8], shape: &Shape) -> Result<Option<LineEntry>, Fault> {
    let text = line.trim_ascii_start();
    if text.is_empty() || text.starts_with(b"%") {
        return Ok(None);
    }
    let mut cursor = Cursor::new(line);
    let (mut row, mut col) = (0, 0);
    if !shape.is_array {
        row = cursor.index("the row index", shape.nrows)?;
        col = cursor.index("the column index", shape.ncols)?;
    }
    let value = match shape.field {
        Field::Pattern => {
            cursor.ignored_value();
            1.0.into()
        }
        Field::Integer => cursor.integer()?.into(),
        Field::Real => cursor.real("a value")?.into(),
        Field::Complex => {
            let re = cursor.real("a real part")?;
            Complex::new(re, cursor.real("an imaginary part")?)
        }
    };
    cursor.end()?;
    Ok(Some(LineEntry { row, col, value }))
}

/// Walks over the words of a line.
pub(super) struct Cursor<'l> {
    line: &'l [u8],
    at: usize,
}

impl<'l> Cursor<'l> {
    pub(super) fn new(line: &'l [u8]) -> Self {
        Self { line, at: 0 }
    }

    /// The next word and where it starts. At the end of the line the word is empty, and starts
    /// after the last one.
    pub(super) fn word(&mut self) -> (usize, &'l [u8]) {
        let rest = &self.line[self.at..];
        let blank = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let len = rest[blank..].iter().take_while(|b| !b.is_ascii_whitespace()).count();
        if len == 0 {
            return (self.at, b"");
        }
        let start = self.at + blank;
        self.at = start + len;
        (start, &self.line[start..self.at])
    }

    fn needed(&mut self, what: &'static str) -> Result<(usize, &'l [u8]), Fault> {
        match self.word() {
            (at, b"") => Err((at, TextFault::Missing { what })),
            found => Ok(found),
        }
    }

    /// Requires that nothing follows.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        match self.word() {
            (_, b"") => Ok(()),
            (at, word) => Err((at, TextFault::Trailing { found: shown(word) })),
        }
    }

    /// An integer from 0 on, and where it starts. What exceeds a `u64` counts as its maximum.
    pub(super) fn unsigned(&mut self, what: &'static str) -> Result<(u64, usize), Fault> {
        let (at, word) = self.needed(what)?;
        let digits = word.strip_prefix(b"+").unwrap_or(word);
        if digits.first() == Some(&b'-') && is_digits(&digits[1..]) {
            return Err((at, TextFault::Negative { what, found: shown(word) }));
        }
        if !is_digits(digits) {
            return Err((at, TextFault::NotAnInteger { what, found: shown(word) }));
        }
        let value = digits
            .iter()
            .fold(0u64, |v, d| v.saturating_mul(10).saturating_add(u64::from(d - b'0')));
        Ok((value, at))
    }

    /// A one-based index of at most `limit`, made zero-based.
    fn index(&mut self, what: &'static str, limit: u64) -> Result<u32, Fault> {
        let (value, at) = self.unsigned(what)?;
        if value == 0 {
            return Err((at, TextFault::ZeroIndex { what }));
        }
        if value > limit {
            let found = shown(&self.line[at..self.at]);
            return Err((at, TextFault::IndexTooLarge { what, found, limit }));
        }
        Ok((value - 1) as u32)
    }

    fn real(&mut self, what: &'static str) -> Result<f64, Fault> {
        let (at, word) = self.needed(what)?;
        // Fortran writes 1.5D+03.
        let e_form: Vec<u8>;
        let number = if word.iter().any(|b| matches!(b, b'd' | b'D'))
            && word.first().is_some_and(|b| !b.is_ascii_alphabetic())
        {
            e_form =
                word.iter().map(|b| if matches!(b, b'd' | b'D') { b'e' } else { *b }).collect();
            &e_form[..]
        } else {
            word
        };
        let number = match number.strip_prefix(b"+") {
            Some(rest) if !rest.starts_with(b"-") && !rest.starts_with(b"+") => rest,
            _ => number,
        };
        fast_float2::parse(number).map_err(|_| (at, TextFault::NotANumber { found: shown(word) }))
    }

    /// Passes over a number, if one is next: there are files that say pattern and hold values.
    fn ignored_value(&mut self) {
        let before = self.at;
        if self.real("a value").is_err() {
            self.at = before;
        }
    }

    fn integer(&mut self) -> Result<f64, Fault> {
        let (at, word) = self.needed("a value")?;
        let digits = word.strip_prefix(b"-").or(word.strip_prefix(b"+")).unwrap_or(word);
        if is_digits(digits) {
            // Integers beyond 2⁵³ are rounded to the nearest f64.
            self.at = at;
            return self.real("a value");
        }
        let found = shown(word);
        Err((
            at,
            match fast_float2::parse::<f64, _>(word) {
                Ok(_) => TextFault::NotAnIntegerValue { found },
                Err(_) => TextFault::NotANumber { found },
            },
        ))
    }
}

fn is_digits(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: Shape = Shape { nrows: 4, ncols: 5, field: Field::Real, is_array: false };

    fn ok(line: &str) -> Option<(u32, u32, f64)> {
        read(line.as_bytes(), &REAL).unwrap().map(|e| (e.row, e.col, e.value.re))
    }

    #[test]
    fn ordinary_and_odd_lines() {
        assert_eq!(ok("1 2 3.5"), Some((0, 1, 3.5)));
        assert_eq!(ok("  4\t5   -1e3  \r\n"), Some((3, 4, -1e3)));
        assert_eq!(ok("+1 2 +.5"), Some((0, 1, 0.5)));
        assert_eq!(ok("1 2 1.5D+02"), Some((0, 1, 150.0)));
        assert_eq!(ok("1 2 -Inf"), Some((0, 1, f64::NEG_INFINITY)));
        assert!(ok("1 2 nan").is_some_and(|e| e.2.is_nan()));
        for line in ["", "\r\n", "  \t", "% 1 2 3", "  %"] {
            assert_eq!(ok(line), None, "{line:?}");
        }
    }

    #[test]
    fn every_fault_has_its_column() {
        let row = "the row index";
        let col = "the column index";
        for (line, column, fault) in [
            ("0 2 3", 0, TextFault::ZeroIndex { what: row }),
            (" 1 0 3", 3, TextFault::ZeroIndex { what: col }),
            ("5 2 3", 0, TextFault::IndexTooLarge { what: row, found: "5".into(), limit: 4 }),
            (
                "1 99999999999999999999999 3",
                2,
                TextFault::IndexTooLarge {
                    what: col,
                    found: "99999999999999999999999".into(),
                    limit: 5,
                },
            ),
            ("-1 2 3", 0, TextFault::Negative { what: row, found: "-1".into() }),
            ("1.0 2 3", 0, TextFault::NotAnInteger { what: row, found: "1.0".into() }),
            ("1 x 3", 2, TextFault::NotAnInteger { what: col, found: "x".into() }),
            ("1", 1, TextFault::Missing { what: col }),
            ("1 2  \r", 3, TextFault::Missing { what: "a value" }),
            ("1 2 three", 4, TextFault::NotANumber { found: "three".into() }),
            ("1 2 1.5.5", 4, TextFault::NotANumber { found: "1.5.5".into() }),
            ("1 2 +-3", 4, TextFault::NotANumber { found: "+-3".into() }),
            ("1 2 d5", 4, TextFault::NotANumber { found: "d5".into() }),
            ("1 2 3 4", 6, TextFault::Trailing { found: "4".into() }),
        ] {
            assert_eq!(read(line.as_bytes(), &REAL), Err((column, fault)), "{line:?}");
        }
    }

    #[test]
    fn complex_values_have_two_parts() {
        let complex = Shape { field: Field::Complex, ..REAL };
        let value = |line: &str| read(line.as_bytes(), &complex).map(|e| e.unwrap().value);
        assert_eq!(value("1 2 3.5 -1D+1"), Ok(Complex::new(3.5, -10.0)));
        let missing = |what| TextFault::Missing { what };
        assert_eq!(value("1 2 3.5"), Err((7, missing("an imaginary part"))));
        assert_eq!(value("1 2"), Err((3, missing("a real part"))));
        assert_eq!(value("1 2 3 4 5"), Err((8, TextFault::Trailing { found: "5".into() })));
        assert_eq!(value("1 2 3 4i"), Err((6, TextFault::NotANumber { found: "4i".into() })));
    }

    #[test]
    fn integers_are_integers_and_values_of_patterns_are_ignored() {
        let integer = Shape { field: Field::Integer, ..REAL };
        let value = |line: &str| read(line.as_bytes(), &integer).map(|e| e.unwrap().value.re);
        assert_eq!(value("1 1 -7"), Ok(-7.0));
        assert_eq!(value("1 1 9007199254740993"), Ok(9_007_199_254_740_992.0));
        assert_eq!(
            value("1 1 1.5"),
            Err((4, TextFault::NotAnIntegerValue { found: "1.5".into() }))
        );
        assert_eq!(value("1 1 x"), Err((4, TextFault::NotANumber { found: "x".into() })));
        let pattern = Shape { field: Field::Pattern, ..REAL };
        let one = Ok(Some(LineEntry { row: 0, col: 0, value: 1.0.into() }));
        assert_eq!(read(b"1 1", &pattern), one);
        assert_eq!(read(b"1 1 7.5", &pattern), one);
        assert_eq!(read(b"1 1 x", &pattern), Err((4, TextFault::Trailing { found: "x".into() })));
    }
}
