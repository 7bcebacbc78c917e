//! A kernel: its source in one configuration, and what it promises.

use std::fmt;

use crate::CudaError;
use crate::error::Arch;

/// A kernel's source in one configuration: what becomes one [`Binary`](crate::Binary).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name. Of this crate's kernels also that of the folder and the source in it: `src/kernels/STEM/STEM.cu`.
    pub stem: &'static str,
    /// The configuration.
    pub config: String,
    /// The built-in source.
    pub source: &'static str,
    /// Macros that configure the source.
    pub defines: Vec<(&'static str, String)>,
    /// The only architecture it runs on, if it uses instructions that others lack.
    pub only: Option<Arch>,
    /// What it promises.
    pub budget: Budget,
}

/// What a kernel may take, and what it must be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The most registers of a thread.
    pub registers: u32,
    /// The most bytes of shared memory of a block, known when compiled.
    pub shared: u32,
    /// The most bytes of shared memory that a launch adds.
    pub dynamic_shared: u32,
    /// The entry points there must be.
    pub entries: &'static [&'static str],
    /// Instructions that must be in the machine code, by the beginnings of their names.
    pub instructions: &'static [&'static str],
}

impl Kernel {
    /// Whether the kernel can be compiled for an architecture.
    #[must_use]
    pub fn is_for(&self, arch: Arch) -> bool {
        self.only.is_none_or(|only| only == arch)
    }

    /// Refuses an architecture that the kernel [is not for](Self::is_for).
    pub(crate) fn check_arch(&self, arch: Arch) -> Result<(), CudaError> {
        match self.only {
            Some(needs) if needs != arch => {
                Err(CudaError::Arch { kernel: self.to_string(), needs, arch })
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.stem, self.config)
    }
}
