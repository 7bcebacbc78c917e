//! CSR as `scipy.sparse.save_npz` writes it.

use std::io::{self, Seek, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::{Csr, DType, Scalar};

/// Bytes converted at a time.
const PIECE: usize = 1 << 13;

/// Writes the archive. Values are f64 or f32; narrower ones are widened to f32, which is exact:
/// scipy has no sparse matrices of them.
pub(in crate::io) fn write<T: Scalar, W: Write + Seek>(csr: &Csr<T>, to: W) -> io::Result<()> {
    // The fastest level: index arrays shrink well even so, and values hardly ever do.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(1))
        .large_file(true);
    let mut zip = ZipWriter::new(to);
    let start = |zip: &mut ZipWriter<W>, name: &str| zip.start_file(name, options);
    let (nrows, ncols, nnz) = (csr.nrows(), csr.ncols(), csr.nnz());
    let small = nrows.max(ncols).max(nnz) <= i32::MAX as usize;

    start(&mut zip, "indices.npy")?;
    let cols = &csr.col_idx()[..];
    if small {
        array(&mut zip, "<i4", cols, |&j| (j as i32).to_le_bytes())?;
    } else {
        array(&mut zip, "<i8", cols, |&j| i64::from(j).to_le_bytes())?;
    }
    start(&mut zip, "indptr.npy")?;
    let ptr = &csr.row_ptr()[..];
    if small {
        array(&mut zip, "<i4", ptr, |&p| (p as i32).to_le_bytes())?;
    } else {
        array(&mut zip, "<i8", ptr, |&p| (p as i64).to_le_bytes())?;
    }
    start(&mut zip, "format.npy")?;
    header(&mut zip, "|S3", "()")?;
    zip.write_all(b"csr")?;
    start(&mut zip, "shape.npy")?;
    array(&mut zip, "<i8", &[nrows, ncols], |&d| (d as i64).to_le_bytes())?;
    start(&mut zip, "data.npy")?;
    let values = &csr.values()[..];
    if T::DTYPE == DType::F64 {
        array(&mut zip, "<f8", values, |v| v.to_f64().to_le_bytes())?;
    } else {
        array(&mut zip, "<f4", values, |v| (v.to_f64() as f32).to_le_bytes())?;
    }
    zip.finish()?.flush()
}

/// A one-dimensional array.
fn array<T, const N: usize>(
    to: &mut impl Write,
    descr: &str,
    elements: &[T],
    bytes: impl Fn(&T) -> [u8; N],
) -> io::Result<()> {
    header(to, descr, &format!("({},)", elements.len()))?;
    let mut buf = Vec::with_capacity(PIECE * N);
    for piece in elements.chunks(PIECE) {
        buf.clear();
        buf.extend(piece.iter().flat_map(&bytes));
        to.write_all(&buf)?;
    }
    Ok(())
}

/// The header, padded so that the elements start at a multiple of 64 bytes.
fn header(to: &mut impl Write, descr: &str, shape: &str) -> io::Result<()> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let before = 10;
    let padded = (before + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', padded - before - text.len() - 1));
    text.push('\n');
    to.write_all(b"\x93NUMPY\x01\x00")?;
    to.write_all(&(text.len() as u16).to_le_bytes())?;
    to.write_all(text.as_bytes())
}
