//! CSR as a Matrix Market file: general, coordinate, real or complex.

use std::io::{self, Write};
use std::ops::Range;

use flate2::Compression;
use flate2::write::GzEncoder;
use girih_parallel::prelude::*;

use crate::csr::Csr;
use crate::dtype::DType;
use crate::io::Field;
use crate::scalar::Scalar;

/// Entries formatted by one task; fixed, so that gzipped output does not depend on the threads.
const PIECE: usize = 1 << 17;

/// Writes the text, gzipped if `gzip`. Pieces are formatted, and compressed, in parallel; each
/// piece of a gzipped text is a gzip member of its own, which readers join.
///
/// Values are the shortest decimals that read back as the same values.
pub(in crate::io) fn write<T: Scalar>(
    csr: &Csr<T>,
    to: &mut impl Write,
    gzip: bool,
) -> io::Result<()> {
    let (nrows, ncols, nnz) = (csr.nrows(), csr.ncols(), csr.nnz());
    let field = if T::DTYPE.is_complex() { Field::Complex } else { Field::Real };
    let head = format!("%%MatrixMarket matrix coordinate {field} general\n{nrows} {ncols} {nnz}\n");
    to.write_all(&finished(head.into_bytes(), gzip)?)?;
    let pieces: Vec<Range<usize>> =
        (0..nnz).step_by(PIECE).map(|start| start..nnz.min(start + PIECE)).collect();
    for round in pieces.chunks(2 * girih_parallel::current_num_threads()) {
        let texts: Vec<io::Result<Vec<u8>>> = round
            .par_iter()
            .with_max_len(1)
            .map(|piece| finished(format_entries(csr, piece.clone()), gzip))
            .collect();
        for text in texts {
            to.write_all(&text?)?;
        }
    }
    to.flush()
}

fn finished(text: Vec<u8>, gzip: bool) -> io::Result<Vec<u8>> {
    if !gzip {
        return Ok(text);
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 2), Compression::default());
    encoder.write_all(&text)?;
    encoder.finish()
}

/// The lines of the entries in a range.
fn format_entries<T: Scalar>(csr: &Csr<T>, range: Range<usize>) -> Vec<u8> {
    let mut text = Vec::with_capacity(range.len() * 32);
    let (mut index, mut number) = (itoa::Buffer::new(), zmij::Buffer::new());
    let row_ptr = &csr.row_ptr()[..];
    let mut row = row_ptr.partition_point(|&p| p <= range.start as u64) - 1;
    let entries = csr.col_idx()[range.clone()].iter().zip(&csr.values()[range.clone()]);
    for (at, (&col, &value)) in (range.start as u64..).zip(entries) {
        while row_ptr[row + 1] <= at {
            row += 1;
        }
        text.extend_from_slice(index.format(row + 1).as_bytes());
        text.push(b' ');
        text.extend_from_slice(index.format(u64::from(col) + 1).as_bytes());
        text.push(b' ');
        let value = value.to_c64();
        text.extend_from_slice(decimal::<T>(value.re, &mut number).as_bytes());
        if T::DTYPE.is_complex() {
            text.push(b' ');
            text.extend_from_slice(decimal::<T>(value.im, &mut number).as_bytes());
        }
        text.push(b'\n');
    }
    text
}

/// The shortest decimal that is read back as `x`, which is a part of a value.
fn decimal<T: Scalar>(x: f64, buffer: &mut zmij::Buffer) -> &str {
    if x.is_nan() {
        return "nan";
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" };
    }
    // The narrower types are read back from an f32's digits just as well.
    let text = if T::DTYPE.part() == DType::F64 {
        buffer.format_finite(x)
    } else {
        buffer.format_finite(x as f32)
    };
    text.strip_suffix(".0").unwrap_or(text)
}
