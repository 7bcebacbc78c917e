//! Writing a matrix to a file that appears whole or not at all.

use std::io::{BufWriter, Write};
use std::path::Path;

use super::{WriteError, matrix_market, npz};
use crate::csr::Csr;
use crate::scalar::Scalar;

/// Writes a matrix in the format that the extension of `path` names: `.mtx`, `.mtx.gz` or `.npz`.
///
/// Matrix Market files are general, coordinate and real, with the shortest decimals that read back
/// as the same values. A `.npz` is a compressed csr matrix for `scipy.sparse.load_npz`, its values
/// f64 or, for the other types, f32. The same matrix gives the same bytes on any number of threads.
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
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let format = if name.ends_with(".mtx") {
        Format::MatrixMarket { gzip: false }
    } else if name.ends_with(".mtx.gz") {
        Format::MatrixMarket { gzip: true }
    } else if name.ends_with(".npz") {
        Format::Npz
    } else {
        return Err(WriteError::UnknownExtension { name: path.display().to_string() });
    };
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
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

enum Format {
    MatrixMarket { gzip: bool },
    Npz,
}
