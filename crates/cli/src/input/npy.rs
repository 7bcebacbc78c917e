//! Dense matrices in numpy's `.npy` files, with errors that name the file.

use std::path::{Path, PathBuf};

use girih::formats::Scalar;
use girih::formats::io::npy::{Dense, DenseFile};

use crate::error::CliError;

/// A file whose header has been read.
#[derive(Debug)]
pub(crate) struct NpyFile {
    path: PathBuf,
    file: DenseFile<'static>,
}

impl NpyFile {
    /// Opens a two-dimensional f32 or f64 array, C or Fortran order.
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        let file = DenseFile::open(path).map_err(|e| CliError::input_from(path, e))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// The path it was opened by.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Rows and columns.
    pub(crate) fn shape(&self) -> (usize, usize) {
        self.file.shape()
    }

    /// Reads the data into `T`, rounding to nearest.
    pub(crate) fn read<T: Scalar>(self) -> Result<Dense<T>, CliError> {
        self.file.read().map_err(|e| CliError::input_from(&self.path, e))
    }
}
