#![allow(dead_code, reason = "not every test needs all of it")]
//! Where the tests find libraries and a device, and what they say when there is none.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use girih_backend::SpmmBackend;
use girih_backend_cuda::{CudaBackend, CudaOptions, LibrarySearch};

/// The folders in `GIRIH_CUDA_LIBRARIES`, and the wheels of the environment that the gate makes.
pub(crate) fn libraries() -> LibrarySearch {
    let mut search = LibrarySearch::new();
    if let Some(folders) = std::env::var_os("GIRIH_CUDA_LIBRARIES") {
        search = std::env::split_paths(&folders).fold(search, LibrarySearch::folder);
    }
    site_packages().iter().fold(search, LibrarySearch::site_packages)
}

/// The `site-packages` of the Python that `GIRIH_PYTHON` names, and of the gate's.
pub(crate) fn site_packages() -> Vec<PathBuf> {
    let gate = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/ci-venv");
    let python = std::env::var_os("GIRIH_PYTHON").map(PathBuf::from);
    let python = python.and_then(|python| Some(python.parent()?.parent()?.to_owned()));
    let mut found = Vec::new();
    for environment in python.into_iter().chain([gate]) {
        let Ok(versions) = environment.join("lib").read_dir() else { continue };
        found.extend(
            versions.filter_map(|version| Some(version.ok()?.path().join("site-packages"))),
        );
    }
    found
}

/// The backend on device 0; `None`, with a note, where there is none.
pub(crate) fn backend() -> Option<CudaBackend> {
    let options = CudaOptions::default().libraries(libraries());
    let backend = CudaBackend::new(options);
    is_available(&backend.capabilities().map(|_| ())).then_some(backend)
}

#[expect(clippy::print_stderr, reason = "a test says why it is skipped")]
/// Whether something is there; notes what is missing if not.
pub(crate) fn is_available<E: Display>(found: &Result<(), E>) -> bool {
    if let Err(error) = found {
        // Where a device is expected, that there is none is a failure.
        assert!(std::env::var_os("GIRIH_EXPECT_GPU").is_none(), "{error}");
        eprintln!("skipped: {error}");
    }
    found.is_ok()
}
