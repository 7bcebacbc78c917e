//! Finding shared libraries before anything calls into them.
//!
//! cudarc loads libraries at the first call and panics if one is missing. So every library is opened
//! here first, and every function that is used is looked up; only then is it called.

#[macro_use]
mod table;

pub(crate) mod attempt;
mod driver;
mod nvrtc;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use libloading::Library;

use crate::CudaError;

pub use attempt::Attempt;
pub(crate) use driver::driver;
pub use nvrtc::Nvrtc;
pub(crate) use nvrtc::{Code, Program};

/// Folders to look for libraries in, before the system's loader looks.
///
/// The driver comes with the system and is looked for by the loader alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibrarySearch {
    folders: Vec<PathBuf>,
}

impl LibrarySearch {
    /// The system's loader alone.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks in a folder too, after those named before.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folders.push(folder.into());
        self
    }

    /// Looks in the folders of a Python environment's `site-packages` that the wheels
    /// `nvidia-cuda-nvrtc`, `nvidia-cusparse` and their kin install their libraries into.
    #[must_use]
    pub fn site_packages(mut self, site_packages: impl AsRef<Path>) -> Self {
        let nvidia = site_packages.as_ref().join("nvidia");
        // From CUDA 13 on all wheels share a folder.
        for wheel in ["cu13", "cuda_nvrtc", "cusparse", "cublas"] {
            self.folders.push(nvidia.join(wheel).join("lib"));
        }
        self
    }

    /// Opens the first of `names` that is in one of the folders or known to the system's loader. `library` is
    /// what messages call it.
    ///
    /// # Errors
    /// [`CudaError::LibraryNotFound`] with every name and place, and what the loader said.
    pub fn open(&self, library: &'static str, names: &[&str]) -> Result<FoundLibrary, CudaError> {
        open(library, names, self)
    }

    /// The folders, in order.
    #[must_use]
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }
}

/// A library that was opened, and stays loaded while this lives.
#[derive(Debug)]
pub struct FoundLibrary {
    name: &'static str,
    library: Library,
    /// The folder it is in, if it was not the loader's find.
    folder: Option<PathBuf>,
    path: String,
}

impl FoundLibrary {
    /// What messages call it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where it was found: a path, or the name that the loader knew.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// One of its functions, by its C name. [`library_functions!`](crate::library_functions) looks up all of
    /// them.
    ///
    /// # Errors
    /// [`CudaError::FunctionMissing`].
    ///
    /// # Safety
    /// 1. `F` is the type of a pointer to a function.
    /// 2. Its signature and calling convention are those in the library's header.
    /// 3. It is not called once this is dropped.
    pub unsafe fn function<F: Copy>(&self, symbol: &'static str) -> Result<F, CudaError> {
        // SAFETY: 1 and 2 are what is to hold; 3 is the caller's.
        match unsafe { self.library.get::<F>(symbol.as_bytes()) } {
            Ok(found) => Ok(*found),
            Err(_) => {
                let (library, path) = (self.name, self.path.clone());
                Err(CudaError::FunctionMissing { library, path, symbol })
            }
        }
    }
}

/// Opens the first of `names` that is in one of the folders or known to the loader.
fn open(
    library: &'static str,
    names: &[impl AsRef<str>],
    search: &LibrarySearch,
) -> Result<FoundLibrary, CudaError> {
    let name = library;
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let mut tried = Vec::new();
    for folder in search.folders() {
        let present: Vec<_> = names.iter().map(|n| folder.join(n)).filter(|p| p.exists()).collect();
        if present.is_empty() {
            let reason = format!("holds no {}", names.join(", "));
            tried.push(Attempt { name: folder.display().to_string(), reason });
        }
        for path in present {
            match load(path.as_os_str()) {
                Ok(library) => {
                    let (folder, path) = (Some(folder.clone()), path.display().to_string());
                    return Ok(FoundLibrary { name, library, folder, path });
                }
                Err(reason) => {
                    tried.push(Attempt { name: path.display().to_string(), reason });
                }
            }
        }
    }
    let mut absent = Vec::new();
    for file in names {
        match load(OsStr::new(file)) {
            Ok(library) => {
                let path = file.to_owned();
                return Ok(FoundLibrary { name, library, folder: None, path });
            }
            // The loader says of an absent file what its name says already.
            Err(reason) if reason.contains("No such file") => absent.push(file),
            Err(reason) => tried.push(Attempt { name: file.to_owned(), reason }),
        }
    }
    if !absent.is_empty() {
        let reason = "not on the loader's path".to_owned();
        tried.push(Attempt { name: absent.join(", "), reason });
    }
    Err(CudaError::LibraryNotFound { library, tried })
}

fn load(name: &OsStr) -> Result<Library, String> {
    // SAFETY: NVIDIA's libraries may be loaded at any time; their constructors ask for nothing.
    unsafe { Library::new(name) }.map_err(|error| match std::error::Error::source(&error) {
        Some(said) => said.to_string(),
        None => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named_with_every_place() {
        let folder = tempfile::tempdir().unwrap();
        let search = LibrarySearch::new().folder(folder.path()).site_packages("/no/such/place");
        let names = ["libgirih-nothing.so.1".to_owned(), "libgirih-nothing.so".to_owned()];
        let error = open("nothing", &names, &search).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("nothing was not found"), "{message}");
        for place in [
            &*folder.path().display().to_string(),
            "/no/such/place/nvidia/cu13/lib",
            "/no/such/place/nvidia/cuda_nvrtc/lib",
            "libgirih-nothing.so.1, libgirih-nothing.so (not on the loader's path)",
        ] {
            assert!(message.contains(place), "{place} is not in {message}");
        }
    }

    #[test]
    fn a_file_that_is_no_library_is_refused_with_the_loaders_words() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libgirih-text.so"), "text").unwrap();
        let search = LibrarySearch::new().folder(folder.path());
        let error = open("text", &["libgirih-text.so".to_owned()], &search).unwrap_err();
        let CudaError::LibraryNotFound { tried, .. } = error else { panic!("{error}") };
        assert!(tried[0].name.ends_with("libgirih-text.so"), "{tried:?}");
        assert!(!tried[0].reason.is_empty());
    }
}
