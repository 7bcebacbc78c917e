//! How the environment sets the CUDA backend up. Only the command line reads the environment.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use girih::CudaOptions;
use girih::cuda::LibrarySearch;

use crate::error::CliError;

/// The CUDA backend's options, from the environment.
///
/// # Errors
/// If `GIRIH_CUDA_DEVICE` is no index.
pub(crate) fn options() -> Result<CudaOptions, CliError> {
    let device = match set("GIRIH_CUDA_DEVICE") {
        None => 0,
        Some(value) => value.to_str().and_then(|value| value.parse().ok()).ok_or_else(|| {
            let value = value.display();
            CliError::usage(format!(
                "GIRIH_CUDA_DEVICE is {value}; it must be the index of a device"
            ))
        })?,
    };
    Ok(CudaOptions::default()
        .libraries(libraries())
        .cache(cache())
        .sources(set("GIRIH_CUDA_SOURCES").map(PathBuf::from))
        .device(device))
}

/// Where CUDA's libraries may be: in the folders that are named, in a Python environment, in toolkits.
fn libraries() -> LibrarySearch {
    let mut search = LibrarySearch::new();
    if let Some(folders) = set("GIRIH_CUDA_LIBRARIES") {
        search = env::split_paths(&folders).fold(search, LibrarySearch::folder);
    }
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(set);
    for environment in environments {
        for site_packages in site_packages(Path::new(&environment)) {
            search = search.site_packages(site_packages);
        }
    }
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(set).map(PathBuf::from);
    for home in homes.chain([PathBuf::from("/usr/local/cuda")]) {
        let lib = home.join("lib64");
        if lib.is_dir() {
            search = search.folder(lib);
        }
    }
    search
}

/// The `site-packages` of a Python environment that hold NVIDIA's wheels.
pub(crate) fn site_packages(environment: &Path) -> Vec<PathBuf> {
    let Ok(versions) = environment.join("lib").read_dir() else { return Vec::new() };
    let mut found: Vec<PathBuf> = versions
        .filter_map(|version| Some(version.ok()?.path().join("site-packages")))
        .filter(|site_packages| site_packages.join("nvidia").is_dir())
        .collect();
    found.sort();
    found
}

/// The folder for compiled kernels, as the XDG base directory specification has it.
fn cache() -> Option<PathBuf> {
    let base = set("GIRIH_CACHE").map(PathBuf::from).or_else(|| {
        let xdg = set("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let base = xdg.or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")))?;
        Some(base.join("girih"))
    })?;
    Some(base.join("kernels"))
}

/// A program on the path, or among NVIDIA's wheels of the Python environment.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(set);
    let wheels = environments.flat_map(|environment| site_packages(Path::new(&environment)));
    let wheels = wheels.map(|site_packages| site_packages.join("nvidia/cu13/bin"));
    let path = set("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = env::split_paths(&path).collect();
    let toolkit = [PathBuf::from("/usr/local/cuda/bin")];
    wheels.chain(path).chain(toolkit).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The value of a variable that is set and not empty.
fn set(name: impl AsRef<OsStr>) -> Option<std::ffi::OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
