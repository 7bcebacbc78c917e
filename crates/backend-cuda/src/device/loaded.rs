//! The kernels on a device: each is compiled and loaded once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::{Gpu, LoadedKernel};
use crate::CudaError;
use crate::jit::{Jit, Origin};
use crate::kernels::Kernel;

/// A kernel, once it is on the device.
type Slot = Arc<Mutex<Option<Arc<LoadedKernel>>>>;

/// Kernels by stem and configuration.
#[derive(Debug, Default)]
pub(crate) struct LoadedKernels(Mutex<HashMap<(&'static str, String), Slot>>);

impl LoadedKernels {
    /// A kernel: loaded before, or from the cache, or compiled now. Whoever needs the same one waits for it, and nobody
    /// else.
    ///
    /// # Errors
    /// If the kernel is not in the cache and there is no compiler or it does not compile, or if the driver refuses.
    pub(crate) fn load(
        &self,
        kernel: &Kernel,
        jit: &Jit,
        gpu: &Gpu,
    ) -> Result<Arc<LoadedKernel>, Arc<CudaError>> {
        let slot = self.slot(kernel);
        let mut loaded = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = &*loaded {
            return Ok(kernel.clone());
        }
        let mut binary = jit.binary(kernel, gpu.info.arch)?;
        let kernel = match gpu.load(&binary, &kernel.budget) {
            // What the cache holds is not what this driver takes: the compiler may do better.
            Err(error) if matches!(binary.origin, Origin::Cache(_)) => {
                match jit.compile(kernel, gpu.info.arch, false) {
                    Ok(compiled) => binary = compiled,
                    Err(_) => return Err(error.into()),
                }
                gpu.load(&binary, &kernel.budget)?
            }
            kernel => kernel?,
        };
        let kernel = Arc::new(kernel);
        *loaded = Some(kernel.clone());
        Ok(kernel)
    }

    /// Kernels, in their order. Those that are to be compiled are compiled side by side.
    ///
    /// # Errors
    /// Those of [`load`](Self::load): the first kernel's that has one.
    pub(crate) fn load_all(
        &self,
        kernels: &[Kernel],
        jit: &Jit,
        gpu: &Gpu,
    ) -> Result<Vec<Arc<LoadedKernel>>, Arc<CudaError>> {
        let [others @ .., last] = kernels else { return Ok(Vec::new()) };
        thread::scope(|scope| {
            let load = |kernel| move || self.load(kernel, jit, gpu);
            let start = |kernel| thread::Builder::new().spawn_scoped(scope, load(kernel));
            let started: Vec<_> = others.iter().map(start).collect();
            let last = load(last)();
            let join = |(kernel, started)| match started {
                Ok(thread) => join(thread),
                // There are no more threads.
                Err(_) => load(kernel)(),
            };
            others.iter().zip(started).map(join).chain([last]).collect()
        })
    }

    fn slot(&self, kernel: &Kernel) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry((kernel.stem, kernel.config.clone())).or_default().clone()
    }
}

/// What a thread returns; its panic goes on here.
fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
