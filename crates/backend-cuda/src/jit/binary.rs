//! A kernel's machine code.

use std::path::PathBuf;

use super::cubin;
use super::resources::Resources;

/// A kernel's machine code.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The cubin, an ELF file.
    pub cubin: Vec<u8>,
    /// What the compiler and assembler printed.
    pub log: String,
    /// Where it came from.
    pub origin: Origin,
}

impl Binary {
    /// What each entry point takes of a multiprocessor: as the assembler reported it, or else, where a
    /// compiler prints no such report, as the binary itself says. That knows a thread's stack and not
    /// how much of it are spilled registers; where there is no stack there are none.
    #[must_use]
    pub fn resources(&self) -> Vec<Resources> {
        let mut all = Resources::of_log(&self.log);
        let unreported: Vec<_> = cubin::resources(&self.cubin)
            .into_iter()
            .filter(|found| !all.iter().any(|reported| reported.entry == found.entry))
            .collect();
        all.extend(unreported);
        all.sort_by(|a, b| a.entry.cmp(&b.entry));
        all
    }
}

/// Where a [`Binary`] came from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// This file of the cache.
    Cache(PathBuf),
    /// The compiler just now; kept in this file of the cache, if there is one and it can be written.
    Compiled(Option<PathBuf>),
}
