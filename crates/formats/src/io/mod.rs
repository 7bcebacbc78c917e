//! Readers and writers of matrix files.
//!
//! | format | read | written |
//! |---|---|---|
//! | Matrix Market, coordinate and array; real, complex, integer, pattern; general, symmetric, skew-symmetric, hermitian | `.mtx`, `.mtx.gz` | coordinate, real or complex, general |
//! | scipy's sparse matrices: csr, csc, coo, bsr | `.npz` | csr |
//! | Deep Learning Matrix Collection | `.smtx`, `.smtx.gz` | |
//!
//! Dense matrices are read and written as numpy's `.npy`: see [`npy`].
//!
//! [`read`] finds out by content which it is. Everything becomes [`Csr`] in the value type the
//! caller asks for, each value rounded once from the file's. A complex matrix is read as a complex
//! type, a real one as any. A broken file is an error that names
//! the place; none makes a reader panic, hang, or allocate more than its bytes justify.

mod compressed;
mod detect;
mod error;
mod matrix_market;
pub mod npy;
mod npz;
mod options;
mod save;
mod smtx;
mod source;

use detect::{Detected, detect};
use source::Opened;

pub use error::{Place, ReadError, TextFault, WriteError};
pub use options::{Field, FileKind, Info, Progress, ReadOptions, Symmetry};
pub use save::{write, write_to};
pub use source::Source;

use crate::csr::Csr;
use crate::scalar::Scalar;

/// Reads a matrix from a path or, through [`Source`], from standard input or any stream.
///
/// ```
/// use girih_formats::io::{self, ReadOptions, Source};
///
/// let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1.5\n2 1 -2\n";
/// let a = io::read::<f32>(Source::reader(text.as_bytes()), &ReadOptions::default())?;
/// assert_eq!(a.row(0), (&[0, 1][..], &[1.5, -2.0][..]));
///
/// let broken = "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.5\n";
/// let error = io::read::<f32>(Source::reader(broken.as_bytes()), &ReadOptions::default());
/// assert_eq!(
///     error.unwrap_err().to_string(),
///     "line 3, column 1: the row index is 3, but the matrix has only 2",
/// );
/// # Ok::<(), io::ReadError>(())
/// ```
///
/// # Errors
/// [`ReadError`] if the source cannot be read, is in no format known here, or breaks its format.
pub fn read<'a, T: Scalar>(
    source: impl Into<Source<'a>>,
    options: &ReadOptions,
) -> Result<Csr<T>, ReadError> {
    read_with_info(source, options).map(|(matrix, _)| matrix)
}

/// Reads a matrix as [`read`] does, and what its file declares about itself.
///
/// # Errors
/// As [`read`].
pub fn read_with_info<'a, T: Scalar>(
    source: impl Into<Source<'a>>,
    options: &ReadOptions,
) -> Result<(Csr<T>, Info), ReadError> {
    T::read_matrix(source.into(), options)
}

/// [`read_with_info`], compiled in this crate.
pub(crate) fn read_any<T: Scalar>(
    source: Source<'_>,
    options: &ReadOptions,
) -> Result<(Csr<T>, Info), ReadError> {
    let opened = Opened::open(source, options.progress.as_ref())?;
    let detected = match detect(&opened.head, &opened.extension) {
        // Too little could be read to tell; why is more to the point.
        Err(_) if opened.cut => return Err(opened.failure()),
        detected => detected?,
    };
    match detected {
        Detected::MatrixMarket => matrix_market::read(opened, options),
        Detected::Npz => npz::read(opened, options),
        Detected::Smtx => smtx::read(opened, options),
    }
}
