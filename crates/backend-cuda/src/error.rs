//! What can go wrong between a plan and a GPU.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use cudarc::driver::DriverError;
use girih_backend::BackendError;
use thiserror::Error;

use crate::NAME;
use crate::library::attempt::Attempt;

/// A failure of the CUDA backend.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CudaError {
    /// A library is nowhere that was looked at.
    #[error("{library} was not found; looked for {}", tried.iter().map(Attempt::to_string).collect::<Vec<_>>().join("; "))]
    LibraryNotFound {
        /// What the library is.
        library: &'static str,
        /// Every name and place, and what the loader said.
        tried: Vec<Attempt>,
    },
    /// A library lacks a function: it is older than what is needed, or something else.
    #[error("{library} at {path} has no function {symbol}; a newer one is needed")]
    FunctionMissing {
        /// What the library is.
        library: &'static str,
        /// Where it was found.
        path: String,
        /// The function it lacks.
        symbol: &'static str,
    },
    /// NVRTC refused something other than the program.
    #[error("NVRTC failed to {operation}: {reason}")]
    Nvrtc {
        /// What it was about to do.
        operation: &'static str,
        /// What it said.
        reason: String,
    },
    /// A kernel does not compile.
    #[error("{kernel} does not compile for {arch} with {options:?}:\n{log}")]
    Compile {
        /// The kernel and its configuration.
        kernel: String,
        /// The architecture compiled for.
        arch: Arch,
        /// The compiler's options.
        options: Vec<String>,
        /// What the compiler printed.
        log: String,
    },
    /// A kernel is made of instructions that the architecture does not have.
    #[error("{kernel} needs {needs}, but this is {arch}")]
    Arch {
        /// The kernel and its configuration.
        kernel: String,
        /// The architecture it is for.
        needs: Arch,
        /// The requested architecture.
        arch: Arch,
    },
    /// A kernel's source can't be read from the folder that replaces the built-in sources.
    #[error("cannot read the kernel source {}", path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The cache of compiled kernels can't be written.
    #[error("cannot write the kernel cache {}", path.display())]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The driver refused.
    #[error("the CUDA driver failed to {operation}: {}", explain(error))]
    Driver {
        /// What it was about to do.
        operation: &'static str,
        /// What it said.
        error: DriverError,
    },
    /// The driver knows no such device.
    #[error("there is no CUDA device {index}: {}", match count {
        0 => "the driver sees none".to_owned(),
        1 => "the driver sees one, device 0".to_owned(),
        count => format!("the driver sees {count}, 0 to {}", count - 1),
    })]
    NoDevice {
        /// The requested index.
        index: usize,
        /// Devices there are.
        count: usize,
    },
    /// Something does not fit in the device's memory.
    #[error("{what} need {needed} bytes of device memory, but only {free} of {total} are free")]
    Memory {
        /// What was to be stored.
        what: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
        /// Bytes of the device.
        total: u64,
    },
    /// The driver can't describe a matrix to the copy unit.
    #[error("cannot make a tensor map of {map}: {reason}")]
    TensorMap {
        /// What was to be described.
        map: String,
        /// What the driver said.
        reason: String,
    },
    /// A library refused.
    #[error("{library} failed to {operation}: {reason}")]
    Library {
        /// The library.
        library: &'static str,
        /// What it was about to do.
        operation: &'static str,
        /// What it said.
        reason: String,
        /// Whether it said that it does not do such things, rather than that something went wrong.
        unsupported: bool,
    },
    /// The failure of something that several need, such as the compiler.
    #[error(transparent)]
    Shared(#[from] Arc<Self>),
    /// An operand does not fit its memory, or is on another device.
    #[error("{operand}: {reason}")]
    Operand {
        /// `B`, `C` or `bias`; of a sampled product `X`, `Y`, `S` or the pattern.
        operand: &'static str,
        /// What is wrong.
        reason: String,
    },
}

impl CudaError {
    /// The error of a driver's call, for `map_err`. `operation` is a verb and its object, as in "failed to
    /// OPERATION".
    pub fn driver(operation: &'static str) -> impl FnOnce(DriverError) -> Self {
        move |error| Self::Driver { operation, error }
    }
}

/// The error of all backends for what failed in this one.
pub(crate) fn refused(error: impl Into<Arc<CudaError>>, operation: &str) -> BackendError {
    refused_by(NAME, error, operation)
}

/// The error of all backends for what failed in one on a CUDA device: [`BackendError::Unavailable`] if a library
/// or the device is missing, else [`BackendError::Failed`] with the [`CudaError`] as its source.
pub fn refused_by(
    backend: &str,
    error: impl Into<Arc<CudaError>>,
    operation: &str,
) -> BackendError {
    let (backend, mut error) = (backend.to_owned(), error.into());
    if let CudaError::Shared(shared) = &*error {
        error = shared.clone();
    }
    match &*error {
        CudaError::LibraryNotFound { .. }
        | CudaError::FunctionMissing { .. }
        | CudaError::NoDevice { .. } => {
            BackendError::Unavailable { backend, reason: error.to_string() }
        }
        _ => BackendError::Failed {
            backend,
            operation: operation.to_owned(),
            source: Box::new(error),
        },
    }
}

/// The driver's name for an error and its sentence about it.
pub(crate) fn explain(error: &DriverError) -> String {
    let text = |found: Result<&std::ffi::CStr, DriverError>| {
        found.map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned())
    };
    format!("{} ({})", text(error.error_name()), text(error.error_string()))
}

/// A GPU architecture, as compilers name it: `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// Major compute capability.
    pub major: u32,
    /// Minor compute capability.
    pub minor: u32,
}

impl Arch {
    /// Hopper, with the instructions that no later architecture keeps (wgmma, setmaxnreg).
    pub const SM_90A: Self = Self { major: 9, minor: 0 };
}

impl FromStr for Arch {
    type Err = String;

    /// Reads `sm_90a` or `sm_90`, which are the same here.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not an architecture; write for example sm_90a or sm_80");
        let digits = text.strip_prefix("sm_").ok_or_else(wrong)?.trim_end_matches('a');
        let number: u32 = digits.parse().map_err(|_| wrong())?;
        if !(10..1000).contains(&number) || digits.starts_with('+') {
            return Err(wrong());
        }
        Ok(Self { major: number / 10, minor: number % 10 })
    }
}

/// Architectures from 9.0 on have features that are theirs alone; a cubin runs on the device it is
/// compiled for only, so they are always on.
impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = if self.major >= 9 { "a" } else { "" };
        f.pad(&format!("sm_{}{}{own}", self.major, self.minor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_have_the_names_that_compilers_know() {
        for (name, arch) in [("sm_90a", Arch::SM_90A), ("sm_80", Arch { major: 8, minor: 0 })] {
            assert_eq!(name.parse(), Ok(arch));
            assert_eq!(arch.to_string(), name);
        }
        assert_eq!("sm_90".parse(), Ok(Arch::SM_90A));
        assert_eq!("sm_120a".parse(), Ok(Arch { major: 12, minor: 0 }));
        for wrong in ["", "sm_", "sm_9", "90a", "sm_90b", "sm_+90", "sm_9999"] {
            assert!(wrong.parse::<Arch>().is_err(), "{wrong}");
        }
    }
}
