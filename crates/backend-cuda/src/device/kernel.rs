//! A kernel on a device, each of its entry points from when it is first needed.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::sys::{
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue,
    CUlaunchAttributeValue_union__bindgen_ty_1 as Extent, CUlaunchConfig, cuLaunchKernelEx,
};
use cudarc::driver::{CudaFunction, CudaStream};

use super::{Gpu, driver_version};
use crate::CudaError;
use crate::jit::{Binary, Jit, Origin};
use crate::kernels::Kernel;
use crate::launch::Launch;

/// An entry point, once it is on the device.
#[derive(Default)]
struct Entry {
    function: OnceLock<CudaFunction>,
    /// Held by who loads it.
    loading: Mutex<()>,
}

/// A kernel on a device: its entry points.
///
/// A kernel of products has dozens of them, of which a product launches one or two: so each is compiled and loaded
/// when it is first needed. Where the cache has the whole kernel, all are loaded from there.
pub struct LoadedKernel {
    kernel: Kernel,
    jit: Arc<Jit>,
    gpu: Arc<Gpu>,
    entries: HashMap<&'static str, Entry>,
    /// Whether launches may begin before the one before has ended: from Hopper on, if they can be captured.
    overlaps: bool,
}

impl fmt::Debug for LoadedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loaded = self.entries.iter().filter(|(_, entry)| entry.function.get().is_some());
        f.debug_set().entries(loaded.map(|(name, _)| name)).finish()
    }
}

impl LoadedKernel {
    /// A kernel of which nothing is loaded.
    pub(super) fn new(kernel: Kernel, jit: Arc<Jit>, gpu: Arc<Gpu>) -> Self {
        let entries = kernel.budget.entries.iter().map(|&name| (name, Entry::default())).collect();
        // Older drivers capture no such launch into a graph.
        let captures = || driver_version().is_ok_and(|version| version >= (12, 3));
        let overlaps = gpu.info.arch.major >= 9 && captures();
        Self { kernel, jit, gpu, entries, overlaps }
    }

    /// An entry point, to be launched by [`CudaStream::launch_builder`]; `None` if the kernel's
    /// [`Budget`](crate::kernels::Budget) does not list it. [`CudaBackend::load`](crate::CudaBackend::load) has loaded all
    /// that it lists.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&CudaFunction> {
        self.entries.get(name)?.function.get()
    }

    /// Loads all entry points: from the cache, or compiled now.
    ///
    /// # Errors
    /// If the kernel is not in the cache and there is no compiler or it does not compile, or if the driver refuses.
    pub(crate) fn load_all(&self) -> Result<(), Arc<CudaError>> {
        if self.entries.values().all(|entry| entry.function.get().is_some()) {
            return Ok(());
        }
        let arch = self.gpu.info.arch;
        let binary = self.jit.binary(&self.kernel, arch)?;
        self.load_from(&binary, self.kernel.budget.entries, || {
            self.jit.compile(&self.kernel, arch, false)
        })
    }

    /// An entry point: loaded before, or from the cache, or compiled now. Whoever needs the same one waits for it, and
    /// nobody else.
    ///
    /// # Errors
    /// As for [`load_all`](Self::load_all).
    pub(crate) fn load(&self, name: &str) -> Result<&CudaFunction, Arc<CudaError>> {
        let Some((&name, entry)) = self.entries.get_key_value(name) else {
            unreachable!("{name} is no entry point of {}", self.kernel)
        };
        if entry.function.get().is_none() {
            let _loading = entry.loading.lock().unwrap_or_else(PoisonError::into_inner);
            if entry.function.get().is_none() {
                self.load_one(name)?;
            }
        }
        match entry.function.get() {
            Some(function) => Ok(function),
            None => unreachable!("{name} was loaded"),
        }
    }

    /// Loads an entry point, with all others if the cache has them.
    fn load_one(&self, name: &'static str) -> Result<(), Arc<CudaError>> {
        let (kernel, arch) = (&self.kernel, self.gpu.info.arch);
        if let Some(whole) = self.jit.cached(kernel, arch)? {
            return self.load_from(&whole, kernel.budget.entries, || {
                self.jit.compile(kernel, arch, false)
            });
        }
        let one = self.jit.binary_of_entry(kernel, name, arch)?;
        self.load_from(&one, &[name], || self.jit.compile_entry(kernel, name, arch))
    }

    /// Loads entry points from a binary, or from one that is compiled again if the driver refuses what the cache had.
    fn load_from(
        &self,
        binary: &Binary,
        names: &[&'static str],
        again: impl FnOnce() -> Result<Binary, Arc<CudaError>>,
    ) -> Result<(), Arc<CudaError>> {
        let load = |binary: &_| self.gpu.load(binary, names, self.kernel.budget.dynamic_shared);
        let functions = match load(binary) {
            // What the cache holds is not what this driver takes: the compiler may do better.
            Err(error) if matches!(binary.origin, Origin::Cache(_)) => match again() {
                Ok(compiled) => load(&compiled)?,
                Err(_) => return Err(error.into()),
            },
            functions => functions?,
        };
        for (name, function) in names.iter().zip(functions) {
            // Another thread's is as good.
            let _ = self.entries[name].function.set(function);
        }
        Ok(())
    }

    /// Enqueues a launch.
    ///
    /// # Safety
    /// 1. The entry point takes such parameters.
    /// 2. Every address in them is of memory as large as the kernel reads or writes. It lives until the stream has run
    ///    the kernel, and nobody writes or reads it meanwhile.
    pub(crate) unsafe fn launch(
        &self,
        stream: &CudaStream,
        launch: &Launch<'_>,
    ) -> Result<(), CudaError> {
        let function = self.load(launch.entry)?;
        let [x, y, z] = launch.grid;
        let of = |id, value| CUlaunchAttribute { id, pad: [0; 4], value };
        let cluster = of(
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            CUlaunchAttributeValue { clusterDim: Extent { x: launch.cluster, y: 1, z: 1 } },
        );
        let overlap = of(
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        );
        // A cluster of one is what there is without, also where there are no clusters.
        let (mut attributes, count) = match (launch.cluster > 1, launch.overlaps && self.overlaps) {
            (true, overlaps) => ([cluster, overlap], 1 + u32::from(overlaps)),
            (false, overlaps) => ([overlap, cluster], u32::from(overlaps)),
        };
        let config = CUlaunchConfig {
            gridDimX: x,
            gridDimY: y,
            gridDimZ: z,
            blockDimX: launch.block,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: launch.dynamic_shared,
            hStream: stream.cu_stream(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: count,
        };
        let launched = stream.context().bind_to_thread().and_then(|()| {
            let mut params = [launch.params.as_ptr().cast_mut().cast::<c_void>()];
            // SAFETY: the call copies the configuration, its attributes and the parameters. These are what the entry
            // point takes by point 1, and what they point to lives by point 2.
            let status = unsafe {
                cuLaunchKernelEx(
                    &raw const config,
                    function.cu_function(),
                    params.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            };
            status.result()
        });
        launched.map_err(CudaError::driver("launch a kernel"))
    }
}
