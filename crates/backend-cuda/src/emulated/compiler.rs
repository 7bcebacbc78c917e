//! Kernels compiled to PTX and read by the emulator, once for a process.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use girih_testkit::machine;
use ptx_emu::Module;

use crate::kernels::Kernel;
use crate::{Arch, Jit, LibrarySearch};

/// The folders and wheels of this machine.
fn libraries() -> LibrarySearch {
    let search =
        machine::cuda_folders().into_iter().fold(LibrarySearch::new(), LibrarySearch::folder);
    machine::site_packages().iter().fold(search, LibrarySearch::site_packages)
}

/// A compiler, which keeps what it makes for the next run, and the kernels that were read from that.
pub(super) struct Compiler {
    jit: Jit,
    modules: Mutex<HashMap<String, Arc<OnceLock<Module>>>>,
}

impl Compiler {
    /// Of the built-in sources, or of those in a folder.
    pub(super) fn new(sources: Option<PathBuf>) -> Self {
        let jit = Jit::new(libraries(), machine::kept_kernels(), sources);
        Self { jit, modules: Mutex::default() }
    }

    /// That of the built-in sources; `None`, with a note, where there is none.
    pub(super) fn built_in() -> Option<Arc<Self>> {
        static COMPILER: OnceLock<Arc<Compiler>> = OnceLock::new();
        let compiler = COMPILER.get_or_init(|| Arc::new(Self::new(None)));
        match compiler.jit.nvrtc() {
            Ok(_) => Some(compiler.clone()),
            Err(error) => {
                machine::note(error);
                None
            }
        }
    }

    /// A kernel, read from its PTX.
    pub(super) fn module(&self, kernel: &Kernel) -> Arc<OnceLock<Module>> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let module = modules.entry(kernel.to_string()).or_default().clone();
        drop(modules);
        module.get_or_init(|| {
            let ptx = self.jit.ptx(kernel, Arch::SM_90A);
            let ptx = ptx.unwrap_or_else(|error| panic!("{error}"));
            Module::parse(&ptx).unwrap_or_else(|error| panic!("{kernel}: {error}"))
        });
        module
    }
}
