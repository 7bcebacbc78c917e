//! Writing a matrix to a file that appears whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{WriteError, matrix_market, npz};
use crate::csr::Csr;
use crate::scalar::Scalar;

/// Writes a matrix in the format that the extension of `path` names: `.mtx`, `.mtx.gz` or `.npz`.
///
/// Matrix Market files are general, coordinate and real or complex, with the shortest decimals that read back
/// as the same values. A `.npz` is a compressed csr matrix for `scipy.sparse.load_npz`, its values
/// f64, c64 or c32 or, for the other types, f32. The same matrix gives the same bytes on any number of threads.
///
/// The file is written under a temporary name in the same directory and renamed when it is
/// complete, so that an existing file is replaced at once or not at all.
///
/// ```
/// use girih_formats::Csr;
/// use girih_formats::io::{self, ReadOptions};
///
/// let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0f32, 0.1, -3.0])?;
/// let dir = tempfile::tempdir()?;
/// for name in ["a.mtx", "a.mtx.gz", "a.npz"] {
///     let path = dir.path().join(name);
///     io::write(&path, &a)?;
///     assert_eq!(io::read::<f32>(&path, &ReadOptions::default())?, a);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the extension is another one, or the file cannot be written.
pub fn write<T: Scalar>(path: impl AsRef<Path>, csr: &Csr<T>) -> Result<(), WriteError> {
    let path = path.as_ref();
    let format = Format::of(path)?;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".girih-");
    // What an ordinary new file gets; a temporary file is its owner's alone otherwise.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(directory)?;
    let mut out = BufWriter::with_capacity(1 << 18, file);
    match format {
        Format::MatrixMarket { gzip } => matrix_market::write(csr, &mut out, gzip)?,
        Format::Npz => npz::write(csr, &mut out)?,
    }
    out.flush()?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Writes a matrix to a stream, from front to back, in the format that the extension of `name` names, as for
/// [`write()`]. Returns the number of bytes. The arrays of a `.npz` are followed by their lengths there, which
/// all readers of zip archives know.
///
/// # Errors
/// If the extension is another one, or the stream refuses.
pub fn write_to<T: Scalar>(
    to: impl Write,
    name: impl AsRef<Path>,
    csr: &Csr<T>,
) -> Result<u64, WriteError> {
    let format = Format::of(name.as_ref())?;
    let mut out = CountedWriter { to: BufWriter::with_capacity(1 << 18, to), bytes: 0 };
    match format {
        Format::MatrixMarket { gzip } => matrix_market::write(csr, &mut out, gzip)?,
        Format::Npz => npz::write_stream(csr, &mut out)?,
    }
    out.flush()?;
    Ok(out.bytes)
}

enum Format {
    MatrixMarket { gzip: bool },
    Npz,
}

impl Format {
    /// The one that the extension of a name says.
    fn of(path: &Path) -> Result<Self, WriteError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if name.ends_with(".mtx") {
            Ok(Self::MatrixMarket { gzip: false })
        } else if name.ends_with(".mtx.gz") {
            Ok(Self::MatrixMarket { gzip: true })
        } else if name.ends_with(".npz") {
            Ok(Self::Npz)
        } else {
            Err(WriteError::UnknownExtension { name: path.display().to_string() })
        }
    }
}

/// Counts what is written.
struct CountedWriter<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for CountedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ReadOptions, Source, read};
    use super::*;

    #[test]
    fn what_is_streamed_is_read_back() {
        let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0f32, 0.1, -3.0]).unwrap();
        for name in ["a.mtx", "a.mtx.gz", "a.npz"] {
            let mut bytes = Vec::new();
            assert_eq!(write_to(&mut bytes, name, &a).unwrap(), bytes.len() as u64);
            let again = read::<f32>(Source::reader(&bytes[..]), &ReadOptions::default()).unwrap();
            assert_eq!(again, a, "{name}");
        }
        assert!(write_to(Vec::new(), "a.txt", &a).is_err());
    }
}
