//! numpy's `.npy` files: dense matrices, and the arrays that a `.npz` is made of.
//!
//! The format is that of numpy's NEP 1, versions 1.0 to 3.0. Headers are read by hand: they come
//! from files that may lie, and three keys of a Python dictionary need no expression parser. Memory
//! is taken as data arrives, so a header that promises more than the file holds costs nothing.
//!
//! Dense matrices need the feature `ndarray`; orders of rows ([`read_indices`]) do not.

mod decode;
#[cfg(feature = "ndarray")]
mod dense;
mod elements;
mod header;
mod indices;
mod write;
#[cfg(feature = "ndarray")]
mod write_dense;

use std::io;

use super::ReadError;
use crate::dtype::DType;

#[cfg(feature = "ndarray")]
pub use dense::{Dense, DenseFile, read_dense};
pub use indices::{read_indices, write_indices};
#[cfg(feature = "ndarray")]
pub use write_dense::write_dense;

pub(super) use elements::NpyArray;
pub(super) use header::Element;
pub(super) use write::{write_header, write_vector};

/// Where an array stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// In a file of its own.
    File,
    /// In an archive, by this name.
    Archive(&'static str),
}

impl Origin {
    /// The error for something wrong with the array.
    pub(super) fn error(self, fault: Fault) -> ReadError {
        match (self, fault) {
            (Self::File, Fault::Io(e)) => ReadError::Io(e),
            (Self::File, Fault::Content(reason)) => ReadError::Npy { reason },
            (Self::File, Fault::Complex(dtype)) => {
                ReadError::Complex { what: "the array".into(), dtype }
            }
            (Self::Archive(array), Fault::Io(e)) => {
                ReadError::Npz { array, reason: format!("the array cannot be read: {e}") }
            }
            (Self::Archive(array), Fault::Content(reason)) => ReadError::Npz { array, reason },
            (Self::Archive(array), Fault::Complex(dtype)) => {
                ReadError::Complex { what: format!("{array}.npy"), dtype }
            }
        }
    }
}

/// What can be wrong with an array, wherever it stands.
#[derive(Debug)]
pub(super) enum Fault {
    /// The system or the decompressor refused.
    Io(io::Error),
    /// The elements are complex numbers, and this real type was requested.
    Complex(DType),
    /// Anything else.
    Content(String),
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Content(reason)
    }
}

impl From<&str> for Fault {
    fn from(reason: &str) -> Self {
        Self::Content(reason.into())
    }
}

impl Fault {
    /// A failed read: `ended` says what it means if the array just ended.
    fn reading(e: io::Error, ended: impl FnOnce() -> String) -> Self {
        match e.kind() {
            io::ErrorKind::UnexpectedEof => Self::Content(ended()),
            _ => Self::Io(e),
        }
    }
}
