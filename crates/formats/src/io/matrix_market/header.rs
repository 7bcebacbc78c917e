//! The banner, the comments and the line with the sizes.

use std::io::{self, BufRead};

use super::line::{Cursor, MAX_LINE};
use crate::MAX_DIM;
use crate::io::detect::starts_with_ignore_case;
use crate::io::error::shown;
use crate::io::{Field, ReadError, Symmetry, TextFault};

/// What stands before the entries.
#[derive(Clone, Debug)]
pub(super) struct Header {
    /// Whether every element of a dense matrix is listed, column by column.
    pub(super) is_array: bool,
    pub(super) field: Field,
    pub(super) symmetry: Symmetry,
    pub(super) nrows: usize,
    pub(super) ncols: usize,
    /// Lines with entries that should follow.
    pub(super) entries: u128,
    /// Lines up to and with the one that gives the sizes.
    pub(super) lines: u64,
    /// Column of the number of entries on that line.
    pub(super) entries_column: u64,
    /// Bytes before the first entry.
    pub(super) bytes: u64,
}

impl Header {
    pub(super) fn read(text: &mut dyn BufRead) -> Result<Self, ReadError> {
        let mut lines = Lines { text, line: Vec::new(), number: 0, bytes: 0 };
        let (is_array, field, symmetry) = loop {
            if !lines.next()? {
                return Err(ReadError::Empty);
            }
            let line = lines.line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&lines.line);
            if !line.trim_ascii().is_empty() {
                break banner(line).map_err(|(c, fault)| lines.error(c, fault))?;
            }
        };
        loop {
            if !lines.next()? {
                return Err(ReadError::text(lines.number + 1, 1, TextFault::NoSize));
            }
            let line = lines.line.trim_ascii();
            if !line.is_empty() && !line.starts_with(b"%") {
                break;
            }
        }
        let mut cursor = Cursor::new(&lines.line);
        let mut number = |what| cursor.unsigned(what).map_err(|(c, fault)| lines.error(c, fault));
        let (nrows, row_column) = number("the number of rows")?;
        let (ncols, col_column) = number("the number of columns")?;
        let claimed = if is_array { None } else { Some(number("the number of entries")?) };
        cursor.end().map_err(|(c, fault)| lines.error(c, fault))?;
        for (what, found, column) in [("nrows", nrows, row_column), ("ncols", ncols, col_column)] {
            if found > MAX_DIM as u64 {
                return Err(lines.error(column, TextFault::TooLarge { what, found }));
            }
        }
        if symmetry != Symmetry::General && nrows != ncols {
            return Err(lines.error(row_column, TextFault::NotSquare { symmetry, nrows, ncols }));
        }
        let (m, n) = (u128::from(nrows), u128::from(ncols));
        let (entries, entries_column) = match claimed {
            Some((nnz, column)) => (nnz.into(), column),
            None => match symmetry {
                Symmetry::General => (m * n, row_column),
                Symmetry::Symmetric | Symmetry::Hermitian => (n * (n + 1) / 2, row_column),
                Symmetry::SkewSymmetric => (n * n.saturating_sub(1) / 2, row_column),
            },
        };
        Ok(Self {
            is_array,
            field,
            symmetry,
            nrows: nrows as usize,
            ncols: ncols as usize,
            entries,
            lines: lines.number,
            entries_column: entries_column as u64 + 1,
            bytes: lines.bytes,
        })
    }

    /// Bytes of the shortest line that can hold an entry.
    pub(super) fn min_line(&self) -> u64 {
        match (self.is_array, self.field) {
            (true, Field::Complex) => 4,
            (true, _) => 2,
            (false, Field::Pattern) => 4,
            (false, Field::Complex) => 8,
            (false, _) => 6,
        }
    }
}

/// Lines read one at a time, with what was read so far counted.
struct Lines<'t> {
    text: &'t mut dyn BufRead,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
}

impl Lines<'_> {
    /// Reads the next line; `false` at the end of the text.
    fn next(&mut self) -> Result<bool, ReadError> {
        self.line.clear();
        let mut limited = io::Read::take(&mut *self.text, MAX_LINE as u64 + 1);
        let n = limited
            .read_until(b'\n', &mut self.line)
            .map_err(|e| ReadError::broken(e, self.number + 1, self.line.len() as u64 + 1))?;
        if n == 0 {
            return Ok(false);
        }
        self.number += 1;
        self.bytes += n as u64;
        if n > MAX_LINE {
            return Err(self.error(MAX_LINE, TextFault::LineTooLong { limit: MAX_LINE }));
        }
        Ok(true)
    }

    fn error(&self, column: usize, fault: TextFault) -> ReadError {
        ReadError::text(self.number, column as u64 + 1, fault)
    }
}

/// The banner's words: whether it is an array, its field and symmetry.
fn banner(line: &[u8]) -> Result<(bool, Field, Symmetry), (usize, TextFault)> {
    const BANNER: &[u8] = b"%%MatrixMarket";
    let mut cursor = Cursor::new(line);
    let (column, first) = cursor.word();
    if !starts_with_ignore_case(first, BANNER) || first.len() != BANNER.len() {
        return Err((column, TextFault::Banner { found: shown(line.trim_ascii()) }));
    }
    let mut keyword = |what, expected: &'static str| {
        let (column, word) = cursor.word();
        let found = String::from_utf8_lossy(word).to_ascii_lowercase();
        let at = expected.split(", ").position(|e| found == *e);
        at.ok_or_else(|| (column, TextFault::Keyword { what, found: shown(word), expected }))
            .map(|at| (column, at))
    };
    keyword("object", "matrix")?;
    let (_, format) = keyword("format", "coordinate, array")?;
    let (column, field) = keyword("field", "real, double, integer, pattern, complex")?;
    let (sym_column, symmetry) =
        keyword("symmetry", "general, symmetric, skew-symmetric, hermitian")?;
    cursor.end()?;
    let is_array = format == 1;
    let field = [Field::Real, Field::Real, Field::Integer, Field::Pattern, Field::Complex][field];
    let symmetry =
        [Symmetry::General, Symmetry::Symmetric, Symmetry::SkewSymmetric, Symmetry::Hermitian]
            [symmetry];
    if field == Field::Pattern && is_array {
        return Err((column, TextFault::PatternWithValues { what: "dense" }));
    }
    if field == Field::Pattern && symmetry == Symmetry::SkewSymmetric {
        return Err((sym_column, TextFault::PatternWithValues { what: "skew-symmetric" }));
    }
    if field != Field::Complex && symmetry == Symmetry::Hermitian {
        return Err((sym_column, TextFault::HermitianReals { field }));
    }
    Ok((is_array, field, symmetry))
}
