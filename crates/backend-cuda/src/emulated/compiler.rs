//! Kernels compiled to PTX and read by the emulator, once for a process.

use std::collections::HashMap;
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
    /// Whether entry points are compiled one by one, when they are launched.
    one_by_one: bool,
    modules: Mutex<HashMap<String, Arc<OnceLock<Module>>>>,
}

impl Compiler {
    /// That of the built-in sources; `None`, with a note, where there is none. Most entry points of a kernel are
    /// launched by some test, and `tests/compile.rs` wants its machine code: it is compiled whole.
    pub(super) fn built_in() -> Option<Arc<Self>> {
        static COMPILER: OnceLock<Arc<Compiler>> = OnceLock::new();
        let compiler = COMPILER.get_or_init(|| {
            let jit = Jit::new(libraries(), machine::kept_kernels(), None).keeping_ptx();
            Arc::new(Self { jit, one_by_one: false, modules: Mutex::default() })
        });
        match compiler.jit.nvrtc() {
            Ok(_) => Some(compiler.clone()),
            Err(error) => {
                machine::note(error);
                None
            }
        }
    }

    /// That of sources of which one is another text, for a product or two.
    pub(super) fn replacing(path: &str, text: String) -> Self {
        let jit = Jit::new(libraries(), machine::kept_kernels(), None).replacing(path, text);
        Self { jit, one_by_one: true, modules: Mutex::default() }
    }

    /// What has an entry point of a kernel, read from its PTX.
    pub(super) fn module(&self, kernel: &Kernel, entry: &str) -> Arc<OnceLock<Module>> {
        let name = match self.one_by_one {
            true => format!("{kernel} {entry}"),
            false => kernel.to_string(),
        };
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let module = modules.entry(name).or_default().clone();
        drop(modules);
        module.get_or_init(|| {
            let ptx = match self.one_by_one {
                true => self.jit.ptx_of_entry(kernel, entry, Arch::SM_90A),
                false => self.jit.ptx(kernel, Arch::SM_90A),
            };
            let ptx = ptx.unwrap_or_else(|error| panic!("{error}"));
            Module::parse(&ptx).unwrap_or_else(|error| panic!("{kernel}: {error}"))
        });
        module
    }
}
