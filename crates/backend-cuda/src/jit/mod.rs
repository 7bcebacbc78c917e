//! Kernels compiled at run time, once for a machine.
//!
//! A [`Binary`] is looked for in the cache under a key of everything that decides it: the kernel and
//! its configuration, the architecture, the options, the source and the headers, and the compiler's
//! version. Where there is no compiler, whatever version a cache that was [built ahead of
//! time](Jit::compile) holds will do.

mod binary;
mod cache;
mod cubin;
mod resources;
mod sources;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::CudaError;
use crate::error::Arch;
use crate::kernels::Kernel;
use crate::library::{Code, LibrarySearch, Nvrtc, Program};

pub use binary::{Binary, Origin};
use cache::{Cache, Key};
pub use resources::Resources;
use sources::{Sources, Texts};

/// What is passed to the compiler for every kernel.
const OPTIONS: [&str; 2] = ["--std=c++17", "--ptxas-options=-v"];

/// The compiler with its cache.
#[derive(Debug)]
pub struct Jit {
    search: LibrarySearch,
    cache: Option<Cache>,
    sources: Sources,
    keeps_ptx: bool,
    nvrtc: OnceLock<Result<Nvrtc, Arc<CudaError>>>,
}

impl Jit {
    /// A compiler that is looked for when it is first needed.
    ///
    /// `cache` is a folder that is created when first written to; `sources` replaces the built-in
    /// sources by those of a folder laid out like this crate's `src/kernels`.
    #[must_use]
    pub fn new(search: LibrarySearch, cache: Option<PathBuf>, sources: Option<PathBuf>) -> Self {
        Self {
            search,
            cache: cache.map(Cache::new),
            sources: Sources::new(sources),
            keeps_ptx: false,
            nvrtc: OnceLock::new(),
        }
    }

    /// The compiler, keeping the PTX of every kernel beside its machine code, whichever of them is requested: one
    /// run of NVRTC makes both. Without a cache it is as it was.
    #[must_use]
    pub fn keeping_ptx(self) -> Self {
        Self { keeps_ptx: true, ..self }
    }

    /// The compiler, with a text in the place of a source or header, by its path in the folder `src/kernels`.
    #[cfg(test)]
    pub(crate) fn replacing(mut self, path: &str, text: String) -> Self {
        self.sources.replace(path, text);
        self
    }

    /// The compiler.
    ///
    /// # Errors
    /// If it can't be loaded; the same every time.
    pub fn nvrtc(&self) -> Result<&Nvrtc, Arc<CudaError>> {
        let loaded = self.nvrtc.get_or_init(|| Nvrtc::load(&self.search).map_err(Arc::new));
        loaded.as_ref().map_err(Arc::clone)
    }

    /// The folder of the cache.
    #[must_use]
    pub fn cache(&self) -> Option<&std::path::Path> {
        self.cache.as_ref().map(Cache::folder)
    }

    /// A kernel's machine code, from the cache or else from the compiler.
    ///
    /// # Errors
    /// If it is not in the cache and there is no compiler, or it does not compile. A cache that can't
    /// be written is no failure: [`Origin`] tells.
    pub fn binary(&self, kernel: &Kernel, arch: Arch) -> Result<Binary, Arc<CudaError>> {
        match self.cached(kernel, arch)? {
            Some(binary) => Ok(binary),
            None => self.make(kernel, arch, &options(kernel, arch), false, &[]),
        }
    }

    /// A kernel's machine code, if the cache has it.
    ///
    /// # Errors
    /// If the source can't be read.
    pub fn cached(&self, kernel: &Kernel, arch: Arch) -> Result<Option<Binary>, Arc<CudaError>> {
        self.kept(kernel, arch, &options(kernel, arch))
    }

    /// The machine code of one entry point of a kernel, from the cache or else from the compiler, which takes a fraction
    /// of the time that it takes for all of them. Its source has the entry by the macro `ENTRY_POINT` of the header
    /// `shared/entry.cuh`.
    ///
    /// # Errors
    /// As for [`binary`](Self::binary).
    pub fn binary_of_entry(
        &self,
        kernel: &Kernel,
        entry: &str,
        arch: Arch,
    ) -> Result<Binary, Arc<CudaError>> {
        match self.kept(kernel, arch, &options_of_entry(options(kernel, arch), entry))? {
            Some(binary) => Ok(binary),
            None => self.compile_entry(kernel, entry, arch),
        }
    }

    /// The machine code of each entry point of a kernel that the cache has [alone](Self::binary_of_entry).
    ///
    /// # Errors
    /// If the source can't be read.
    pub fn cached_entries(
        &self,
        kernel: &Kernel,
        arch: Arch,
    ) -> Result<Vec<Binary>, Arc<CudaError>> {
        let kept = |entry: &&str| {
            self.kept(kernel, arch, &options_of_entry(options(kernel, arch), entry)).transpose()
        };
        kernel.budget.entries.iter().filter_map(kept).collect()
    }

    /// Compiles one entry point of a kernel, whether or not the cache has it, and puts it there.
    ///
    /// # Errors
    /// If there is no compiler or it does not compile.
    pub(crate) fn compile_entry(
        &self,
        kernel: &Kernel,
        entry: &str,
        arch: Arch,
    ) -> Result<Binary, Arc<CudaError>> {
        let options = options_of_entry(options(kernel, arch), entry);
        self.make(kernel, arch, &options, false, &[])
    }

    /// Machine code that was compiled with these options, if the cache has it.
    fn kept(
        &self,
        kernel: &Kernel,
        arch: Arch,
        options: &[String],
    ) -> Result<Option<Binary>, Arc<CudaError>> {
        kernel.check_arch(arch)?;
        let Some(cache) = &self.cache else { return Ok(None) };
        let texts = self.sources.texts(kernel)?;
        let version = self.nvrtc().ok().map(Nvrtc::version);
        Ok(cache.load(&Key::of(kernel, arch, options, &texts), version))
    }

    /// Compiles a kernel, whether or not the cache has it, and puts it there.
    ///
    /// Unlike [`binary`](Self::binary) it passes over the cache that NVRTC keeps by itself from 12.9 on: what
    /// comes out of that has no log, and so does not say what was spilled.
    ///
    /// # Errors
    /// If there is no compiler or it does not compile; with `must_keep` also if the cache can't be
    /// written.
    pub fn compile(
        &self,
        kernel: &Kernel,
        arch: Arch,
        must_keep: bool,
    ) -> Result<Binary, Arc<CudaError>> {
        let caches = self.nvrtc()?.version() >= (12, 9);
        let more: &[_] = if caches { &["--no-cache"] } else { &[] };
        self.make(kernel, arch, &options(kernel, arch), must_keep, more)
    }

    /// Compiles a kernel with options that decide what comes out, and more that do not.
    fn make(
        &self,
        kernel: &Kernel,
        arch: Arch,
        options: &[String],
        must_keep: bool,
        more: &[&str],
    ) -> Result<Binary, Arc<CudaError>> {
        kernel.check_arch(arch)?;
        let texts = self.sources.texts(kernel)?;
        let (code, log) = self.run(kernel, arch, options, more, &texts)?;
        let mut binary = Binary { cubin: code.cubin, log, origin: Origin::Compiled(None) };
        let version = self.nvrtc()?.version();
        if let Some(cache) = &self.cache {
            let key = Key::of(kernel, arch, options, &texts);
            match cache.store(&key, version, &binary) {
                Ok(path) => binary.origin = Origin::Compiled(Some(path)),
                Err(error) if must_keep => return Err(error.into()),
                Err(_) => {}
            }
            if self.keeps_ptx {
                let key = Key::of(kernel, arch, &virtual_options(options), &texts);
                // What can't be kept is compiled again.
                drop(cache.store_ptx(&key, version, &code.ptx));
            }
        }
        Ok(binary)
    }

    /// A kernel's PTX, the very text that is assembled: for the virtual architecture of `arch`. It comes from the
    /// cache or else from the compiler, whose version must be known either way.
    ///
    /// # Errors
    /// As for [`compile`](Self::compile).
    pub fn ptx(&self, kernel: &Kernel, arch: Arch) -> Result<String, Arc<CudaError>> {
        let options = virtual_options(&options(kernel, arch));
        let keeps = self.keeps_ptx && self.cache.is_some();
        if keeps && self.kept_ptx(kernel, arch, &options)?.is_none() {
            self.compile(kernel, arch, false)?;
        }
        self.virtual_code(kernel, arch, &options)
    }

    /// The PTX of one entry point of a kernel, compiled without the others: see [`binary_of_entry`](Self::binary_of_entry).
    ///
    /// # Errors
    /// As for [`compile`](Self::compile).
    pub fn ptx_of_entry(
        &self,
        kernel: &Kernel,
        entry: &str,
        arch: Arch,
    ) -> Result<String, Arc<CudaError>> {
        let options = options_of_entry(virtual_options(&options(kernel, arch)), entry);
        self.virtual_code(kernel, arch, &options)
    }

    /// PTX, with options for a virtual architecture.
    fn virtual_code(
        &self,
        kernel: &Kernel,
        arch: Arch,
        options: &[String],
    ) -> Result<String, Arc<CudaError>> {
        if let Some(kept) = self.kept_ptx(kernel, arch, options)? {
            return Ok(kept);
        }
        let texts = self.sources.texts(kernel)?;
        let (code, _) = self.run(kernel, arch, options, &[], &texts)?;
        if let Some(cache) = &self.cache {
            let key = Key::of(kernel, arch, options, &texts);
            // What can't be kept is compiled again.
            drop(cache.store_ptx(&key, self.nvrtc()?.version(), &code.ptx));
        }
        Ok(code.ptx)
    }

    /// The PTX that the cache has.
    fn kept_ptx(
        &self,
        kernel: &Kernel,
        arch: Arch,
        options: &[String],
    ) -> Result<Option<String>, Arc<CudaError>> {
        kernel.check_arch(arch)?;
        let version = self.nvrtc()?.version();
        let Some(cache) = &self.cache else { return Ok(None) };
        let texts = self.sources.texts(kernel)?;
        Ok(cache.load_ptx(&Key::of(kernel, arch, options, &texts), version))
    }

    /// Runs NVRTC: the code, and what it printed.
    fn run(
        &self,
        kernel: &Kernel,
        arch: Arch,
        options: &[String],
        more: &[&str],
        texts: &Texts,
    ) -> Result<(Code, String), Arc<CudaError>> {
        let name = format!("{}.cu", kernel.stem);
        let more = more.iter().map(|&more| more.to_owned());
        let passed: Vec<_> = options.iter().cloned().chain(more).collect();
        let (source, headers) = (&texts.source, &texts.headers);
        let program = Program { name: &name, source, headers, options: &passed };
        let compiled = self.nvrtc()?.compile(&program)?;
        let (kernel, options, log) = (kernel.to_string(), options.to_vec(), compiled.log);
        match compiled.code {
            Some(code) => Ok((code, log)),
            None => Err(CudaError::Compile { kernel, arch, options, log }.into()),
        }
    }
}

/// The options of a kernel: the architecture first, then its configuration.
fn options(kernel: &Kernel, arch: Arch) -> Vec<String> {
    let mut options = vec![format!("--gpu-architecture={arch}")];
    options.extend(OPTIONS.map(str::to_owned));
    options.extend(
        kernel.defines.iter().map(|(name, value)| format!("--define-macro={name}={value}")),
    );
    options
}

/// The options of PTX in the place of machine code.
fn virtual_options(options: &[String]) -> Vec<String> {
    let mut options = options.to_vec();
    options[0] = options[0].replace("sm_", "compute_");
    options.retain(|option| !option.starts_with("--ptxas"));
    options
}

/// The options of a kernel of which one entry point is compiled.
fn options_of_entry(mut options: Vec<String>, entry: &str) -> Vec<String> {
    options.push("--define-macro=ONLY".to_owned());
    options.push(format!("--define-macro=ONLY_{entry}=, extern \"C\""));
    options
}
