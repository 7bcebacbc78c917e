//! CSR as `scipy.sparse.save_npz` writes it.

use std::cell::RefCell;
use std::io::{self, Seek, SeekFrom, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::csr::Csr;
use crate::dtype::DType;
use crate::io::npy::{write_header, write_vector};
use crate::scalar::Scalar;

/// Writes the archive. Values are f64, f32, c64 or c32; narrower ones are widened to f32, which is exact:
/// scipy has no sparse matrices of them.
pub(in crate::io) fn write<T: Scalar>(csr: &Csr<T>, to: impl Write + Seek) -> io::Result<()> {
    let error = RefCell::default();
    let written = write_members(csr, ZipWriter::new(KeepsError::new(to, &error)), &error);
    error.into_inner().map_or(written, Err)
}

/// Writes the archive from front to back.
pub(in crate::io) fn write_stream<T: Scalar>(csr: &Csr<T>, to: impl Write) -> io::Result<()> {
    let error = RefCell::default();
    let written = write_members(csr, ZipWriter::new_stream(KeepsError::new(to, &error)), &error);
    error.into_inner().map_or(written, Err)
}

/// A writer that keeps its first error for whoever holds the cell, and takes what follows without writing it: an
/// archive that is dropped after an error is finished all the same, and panics if its places no longer fit.
struct KeepsError<'a, W> {
    to: W,
    /// Bytes before the next one.
    at: u64,
    error: &'a RefCell<Option<io::Error>>,
}

impl<'a, W> KeepsError<'a, W> {
    fn new(to: W, error: &'a RefCell<Option<io::Error>>) -> Self {
        Self { to, at: 0, error }
    }

    /// What `action` gives; `otherwise` at its first error, and after it.
    fn or<R>(&mut self, otherwise: R, action: impl FnOnce(&mut W) -> io::Result<R>) -> R {
        if self.error.borrow().is_some() {
            return otherwise;
        }
        match action(&mut self.to) {
            Ok(done) => done,
            Err(error) => {
                *self.error.borrow_mut() = Some(error);
                otherwise
            }
        }
    }
}

impl<W: Write> Write for KeepsError<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.or(bytes.len(), |to| to.write_all(bytes).map(|()| bytes.len()));
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.or((), Write::flush);
        Ok(())
    }
}

impl<W: Write + Seek> Seek for KeepsError<'_, W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            // An archive is written at its end.
            SeekFrom::End(by) => self.at.saturating_add_signed(by),
        };
        self.at = self.or(at, |inner| inner.seek(to));
        Ok(self.at)
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        Ok(self.at)
    }
}

fn write_members<T: Scalar, W: Write + Seek>(
    csr: &Csr<T>,
    mut zip: ZipWriter<W>,
    error: &RefCell<Option<io::Error>>,
) -> io::Result<()> {
    // The fastest level: index arrays shrink well even so, and values hardly ever do.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(1))
        .large_file(true);
    let start = |zip: &mut ZipWriter<W>, name: &str| -> io::Result<()> {
        zip.start_file(name, options)?;
        // No more than one array is written for nothing; the caller has the error.
        if error.borrow().is_some() {
            return Err(io::ErrorKind::Other.into());
        }
        Ok(())
    };
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
    let wide = |v: &T| v.to_c64();
    let narrow = |v: &T| [wide(v).re as f32, wide(v).im as f32];
    // The crate refuses targets whose bytes are not in this order.
    match T::DTYPE {
        DType::F64 => write_vector(&mut zip, "<f8", values, |v| wide(v).re.to_le_bytes()),
        DType::C64 => write_vector(&mut zip, "<c16", values, |v| {
            bytemuck::cast::<_, [u8; 16]>([wide(v).re, wide(v).im])
        }),
        DType::C32 => {
            write_vector(&mut zip, "<c8", values, |v| bytemuck::cast::<_, [u8; 8]>(narrow(v)))
        }
        DType::F16 | DType::Bf16 | DType::F32 => {
            write_vector(&mut zip, "<f4", values, |v| narrow(v)[0].to_le_bytes())
        }
    }?;
    zip.finish()?.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a number of bytes, and then no more.
    struct Full {
        left: usize,
        at: u64,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.left);
            if taken == 0 && !bytes.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.left -= taken;
            self.at += taken as u64;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Full {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            match to {
                SeekFrom::Start(at) => self.at = at,
                SeekFrom::Current(by) => self.at = self.at.saturating_add_signed(by),
                SeekFrom::End(_) => return Err(io::ErrorKind::Unsupported.into()),
            }
            Ok(self.at)
        }
    }

    #[test]
    fn a_full_disk_is_an_error_wherever_it_is_met() {
        let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0f32, 0.1, -3.0]).unwrap();
        // What is written back into headers counts too.
        let (mut all, mut streamed) = (io::Cursor::new(Vec::new()), Vec::new());
        write(&a, &mut all).unwrap();
        write_stream(&a, &mut streamed).unwrap();
        for left in 0..streamed.len() {
            let found = write_stream(&a, Full { left, at: 0 }).map_err(|e| e.kind());
            assert_eq!(found, Err(io::ErrorKind::StorageFull), "after {left} bytes of a stream");
        }
        for left in 0..all.get_ref().len() {
            let found = write(&a, Full { left, at: 0 }).map_err(|e| e.kind());
            assert_eq!(found, Err(io::ErrorKind::StorageFull), "after {left} bytes");
            let found = write(&a, io::BufWriter::new(Full { left, at: 0 })).map_err(|e| e.kind());
            assert_eq!(found, Err(io::ErrorKind::StorageFull), "after {left} bytes, buffered");
        }
    }
}
