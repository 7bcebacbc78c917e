//! `.smtx`, the format of the Deep Learning Matrix Collection: three lines of integers.
//!
//! `nrows, ncols, nnz`, the row offsets, the column indices; comments start with `%`. There are no
//! values: every entry is 1. Lines are as long as the matrix is large, so this is read number by
//! number.

use std::io::{self, Read};

use super::compressed::{from_rows, with_sums};
use super::error::shown;
use super::source::{Bytes, Opened};
use super::{Field, FileKind, Info, Place, ReadError, ReadOptions, Symmetry, TextFault};
use crate::MAX_DIM;
use crate::csr::Csr;
use crate::narrowing::Narrowing;
use crate::scalar::Scalar;

/// Bytes read at a time.
const PIECE: usize = 1 << 16;
/// Numbers of more digits are not read further.
const LONGEST: usize = 40;

/// Reads a `.smtx` file.
pub(super) fn read<T: Scalar>(
    opened: Opened<'_>,
    options: &ReadOptions,
) -> Result<(Csr<T>, Info), ReadError> {
    let gzip = opened.gzip;
    let (matrix, stored_entries) = match opened.bytes {
        Bytes::File(file) => read_text(file.reader(), Some(file.len()), options)?,
        Bytes::Stream(stream) => read_text(stream, None, options)?,
    };
    let (kind, field, symmetry) = (FileKind::Smtx, Field::Pattern, Symmetry::General);
    // Ones are ones in every type.
    let ones = Narrowing { nonzeros: stored_entries, ..Narrowing::default() };
    let (matrix, narrowing) = with_sums(matrix, ones);
    Ok((matrix, Info { kind, field, symmetry, stored_entries, dtype: None, gzip, narrowing }))
}

fn read_text<T: Scalar>(
    reader: impl Read,
    len: Option<u64>,
    options: &ReadOptions,
) -> Result<((Csr<T>, u64), u64), ReadError> {
    let mut numbers = Numbers::new(reader);
    let mut dimension = |what| match numbers.next(what)? {
        (found, place) if found > MAX_DIM as u64 => {
            Err(ReadError::Text { place, fault: TextFault::TooLarge { what, found } })
        }
        (found, _) => Ok(found as usize),
    };
    let (nrows, ncols) = (dimension("nrows")?, dimension("ncols")?);
    let (nnz, nnz_place) = numbers.next("nnz")?;
    // Every number takes a digit and what separates it from the next.
    if let Some(bytes) = len
        && nnz > bytes / 2 + 1
    {
        let fault = TextFault::ClaimTooLarge { claimed: nnz.into(), bytes, most: bytes / 2 + 1 };
        return Err(ReadError::Text { place: nnz_place, fault });
    }
    let mut row_ptr = Vec::new();
    let mut before = 0;
    for row in 0..=nrows {
        let (found, place) = numbers.next("a row offset")?;
        let reason = match row {
            0 if found != 0 => Some("is the first and should be 0"),
            _ if found < before => Some("is below the one before it"),
            _ if found > nnz => Some("is above nnz"),
            _ if row == nrows && found != nnz => Some("is the last and should be nnz"),
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(ReadError::Text { place, fault: TextFault::Offsets { found, reason } });
        }
        row_ptr.push(found);
        before = found;
    }
    let mut col_idx = Vec::new();
    for found_so_far in 0..nnz {
        let (found, place) = match numbers.next("a column index") {
            Err(ReadError::Text { place, fault: TextFault::Missing { .. } }) => {
                let fault = TextFault::TooFewEntries { found: found_so_far, expected: nnz.into() };
                return Err(ReadError::Text { place, fault });
            }
            other => other?,
        };
        if found >= ncols as u64 {
            let (what, limit) = ("the column index, counted from 0,", ncols as u64);
            let fault = TextFault::IndexTooLarge { what, found: found.to_string(), limit };
            return Err(ReadError::Text { place, fault });
        }
        col_idx.push(found as u32);
    }
    match numbers.next("nothing") {
        Err(ReadError::Text { fault: TextFault::Missing { .. }, .. }) => {}
        Ok((_, place)) => {
            let fault = TextFault::TooManyEntries { expected: nnz };
            return Err(ReadError::Text { place, fault });
        }
        Err(other) => return Err(other),
    }
    let values = vec![T::ONE; col_idx.len()];
    Ok((from_rows(nrows, ncols, row_ptr, col_idx, values, options)?, nnz))
}

/// The numbers of a text, one by one, with their places.
struct Numbers<R> {
    reader: R,
    buf: Vec<u8>,
    at: usize,
    len: usize,
    place: Place,
}

impl<R: Read> Numbers<R> {
    fn new(reader: R) -> Self {
        let place = Place { line: 1, column: 1 };
        Self { reader, buf: vec![0; PIECE], at: 0, len: 0, place }
    }

    /// The next byte, which stays the next.
    #[inline(always)]
    fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        if self.at < self.len {
            return Ok(Some(self.buf[self.at]));
        }
        self.refill()
    }

    #[cold]
    fn refill(&mut self) -> Result<Option<u8>, ReadError> {
        self.at = 0;
        loop {
            match self.reader.read(&mut self.buf) {
                Ok(n) => {
                    self.len = n;
                    return Ok((n > 0).then(|| self.buf[0]));
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.len = 0;
                    return Err(ReadError::broken(e, self.place.line, self.place.column));
                }
            }
        }
    }

    /// Passes over the byte that was peeked at.
    #[inline(always)]
    fn skip(&mut self) {
        if self.buf[self.at] == b'\n' {
            self.place = Place { line: self.place.line + 1, column: 1 };
        } else {
            self.place.column += 1;
        }
        self.at += 1;
    }

    /// The next number and where it starts.
    fn next(&mut self, what: &'static str) -> Result<(u64, Place), ReadError> {
        while let Some(b) = self.peek()? {
            match b {
                b'%' => {
                    while self.peek()?.is_some_and(|b| b != b'\n') {
                        self.skip();
                    }
                }
                b',' => self.skip(),
                b if b.is_ascii_whitespace() => self.skip(),
                _ => break,
            }
        }
        let place = self.place;
        let mut value = 0u64;
        let mut digits = 0;
        while let Some(b @ b'0'..=b'9') = self.peek()? {
            value = value.saturating_mul(10).saturating_add(u64::from(b - b'0'));
            digits += 1;
            self.skip();
        }
        match self.peek()? {
            None if digits == 0 => {
                Err(ReadError::Text { place, fault: TextFault::Missing { what } })
            }
            Some(b) if digits == 0 || !(b == b',' || b.is_ascii_whitespace()) => {
                Err(ReadError::Text { place, fault: self.odd_word(what, value, digits)? })
            }
            _ => Ok((value, place)),
        }
    }

    /// What is wrong with a word that starts with `digits` digits of `value` and is no number.
    fn odd_word(
        &mut self,
        what: &'static str,
        value: u64,
        digits: usize,
    ) -> Result<TextFault, ReadError> {
        let mut word = if digits > 0 { value.to_string().into_bytes() } else { Vec::new() };
        while let Some(b) = self.peek()? {
            if b.is_ascii_whitespace() || b == b',' || word.len() > LONGEST {
                break;
            }
            word.push(b);
            self.skip();
        }
        let found = shown(&word);
        let negative = word
            .strip_prefix(b"-")
            .is_some_and(|d| !d.is_empty() && d.iter().all(u8::is_ascii_digit));
        Ok(if negative {
            TextFault::Negative { what, found }
        } else {
            TextFault::NotAnInteger { what, found }
        })
    }
}
