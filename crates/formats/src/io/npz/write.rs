//! CSR as `scipy.sparse.save_npz` writes it.

use std::io::{self, Seek, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::csr::Csr;
use crate::io::npy::{write_header, write_vector};
use crate::scalar::{DType, Scalar};

/// Writes the archive. Values are f64 or f32; narrower ones are widened to f32, which is exact:
/// scipy has no sparse matrices of them.
pub(in crate::io) fn write<T: Scalar>(csr: &Csr<T>, to: impl Write + Seek) -> io::Result<()> {
    write_members(csr, ZipWriter::new(to))
}

/// Writes the archive from front to back.
pub(in crate::io) fn write_stream<T: Scalar>(csr: &Csr<T>, to: impl Write) -> io::Result<()> {
    write_members(csr, ZipWriter::new_stream(to))
}

fn write_members<T: Scalar, W: Write + Seek>(
    csr: &Csr<T>,
    mut zip: ZipWriter<W>,
) -> io::Result<()> {
    // The fastest level: index arrays shrink well even so, and values hardly ever do.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(1))
        .large_file(true);
    let start = |zip: &mut ZipWriter<W>, name: &str| zip.start_file(name, options);
    let (nrows, ncols, nnz) = (csr.nrows(), csr.ncols(), csr.nnz());
    let small = nrows.max(ncols).max(nnz) <= i32::MAX as usize;

    start(&mut zip, "indices.npy")?;
    let cols = &csr.col_idx()[..];
    if small {
        write_vector(&mut zip, "<i4", cols, |&j| (j as i32).to_le_bytes())?;
    } else {
        write_vector(&mut zip, "<i8", cols, |&j| i64::from(j).to_le_bytes())?;
    }
    start(&mut zip, "indptr.npy")?;
    let ptr = &csr.row_ptr()[..];
    if small {
        write_vector(&mut zip, "<i4", ptr, |&p| (p as i32).to_le_bytes())?;
    } else {
        write_vector(&mut zip, "<i8", ptr, |&p| (p as i64).to_le_bytes())?;
    }
    start(&mut zip, "format.npy")?;
    write_header(&mut zip, "|S3", "()")?;
    zip.write_all(b"csr")?;
    start(&mut zip, "shape.npy")?;
    write_vector(&mut zip, "<i8", &[nrows, ncols], |&d| (d as i64).to_le_bytes())?;
    start(&mut zip, "data.npy")?;
    let values = &csr.values()[..];
    if T::DTYPE == DType::F64 {
        write_vector(&mut zip, "<f8", values, |v| v.to_f64().to_le_bytes())?;
    } else {
        write_vector(&mut zip, "<f4", values, |v| (v.to_f64() as f32).to_le_bytes())?;
    }
    zip.finish()?.flush()
}
