//! Helpers shared by the cross-crate tests.

use std::path::PathBuf;

/// The folder of real matrices, if `GIRIH_MATRICES` names one.
#[must_use]
pub fn matrices() -> Option<PathBuf> {
    std::env::var_os("GIRIH_MATRICES").map(PathBuf::from).filter(|folder| folder.is_dir())
}
