//! What tests find on the machine they run on, and what they say when it is not there.
//!
//! `GIRIH_PYTHON` names an interpreter, in whose environment NVIDIA's wheels may be; `GIRIH_CUDA_LIBRARIES` lists
//! folders with libraries; `GIRIH_EXPECT_GPU` makes a failure of what would be skipped.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The folders in `GIRIH_CUDA_LIBRARIES`.
#[must_use]
pub fn cuda_folders() -> Vec<PathBuf> {
    let folders = std::env::var_os("GIRIH_CUDA_LIBRARIES").unwrap_or_default();
    std::env::split_paths(&folders).filter(|folder| !folder.as_os_str().is_empty()).collect()
}

/// The `site-packages` of the Python that `GIRIH_PYTHON` names, and of the gate's.
#[must_use]
pub fn site_packages() -> Vec<PathBuf> {
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

/// Where tests keep the kernels that they compile, for each other and for their next run: in the folder that Cargo
/// builds into, beside the running program; `None` where the program lies elsewhere.
///
/// Kernels are found again by everything that decides them, so that a changed one is compiled anew.
#[must_use]
pub fn kept_kernels() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent().filter(|folder| folder.ends_with("deps"))?;
    Some(folder.parent()?.join("kernels"))
}

/// NVIDIA's disassembler, of the wheel `nvidia-cuda-nvdisasm`; `None`, with a note, where there is none.
#[must_use]
pub fn nvdisasm() -> Option<PathBuf> {
    let mut programs =
        site_packages().into_iter().map(|wheels| wheels.join("nvidia/cu13/bin/nvdisasm"));
    let found = programs.find(|program| program.is_file());
    if found.is_none() {
        note("instructions are not checked without the wheel nvidia-cuda-nvdisasm");
    }
    found
}

/// Whether something is there; notes what is missing if not.
///
/// # Panics
/// If it is not and `GIRIH_EXPECT_GPU` is set: where a device is expected, that there is none is a failure.
#[must_use]
pub fn is_available<E: Display>(found: &Result<(), E>) -> bool {
    if let Err(error) = found {
        assert!(std::env::var_os("GIRIH_EXPECT_GPU").is_none(), "{error}");
        note(error);
    }
    found.is_ok()
}

/// Notes why a test does less than it might.
#[expect(clippy::print_stderr, reason = "a test says why it is skipped")]
pub fn note(why: impl Display) {
    eprintln!("skipped: {why}");
}
