//! The kernels on a device, each of them once.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::{Gpu, LoadedKernel};
use crate::CudaError;
use crate::jit::Jit;
use crate::kernels::Kernel;

/// Kernels by stem and configuration.
#[derive(Debug, Default)]
pub(crate) struct LoadedKernels(Mutex<HashMap<(&'static str, String), Arc<LoadedKernel>>>);

impl LoadedKernels {
    /// A kernel, whose entry points are loaded when they are first needed.
    pub(crate) fn get(&self, kernel: &Kernel, jit: &Arc<Jit>, gpu: &Arc<Gpu>) -> Arc<LoadedKernel> {
        let mut kernels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || LoadedKernel::new(kernel.clone(), jit.clone(), gpu.clone()).into();
        kernels.entry((kernel.stem, kernel.config.clone())).or_insert_with(new).clone()
    }
}

/// Loads entry points, each given with which of the kernels it is of. Those that are to be compiled are compiled side by
/// side.
///
/// # Errors
/// Those of [`LoadedKernel::load`]: that of the first entry point that has one.
pub(crate) fn load_entries(
    kernels: &[Arc<LoadedKernel>],
    entries: &BTreeSet<(usize, String)>,
) -> Result<(), Arc<CudaError>> {
    thread::scope(|scope| {
        let load = |(kernel, entry): &(usize, String)| kernels[*kernel].load(entry).map(|_| ());
        let start = |it| (it, thread::Builder::new().spawn_scoped(scope, move || load(it)));
        let started: Vec<_> = entries.iter().skip(1).map(start).collect();
        let join = |(it, started)| match started {
            Ok(thread) => join(thread),
            // There are no more threads.
            Err(_) => load(it),
        };
        entries.first().into_iter().map(load).chain(started.into_iter().map(join)).collect()
    })
}

/// What a thread returns; its panic goes on here.
fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
