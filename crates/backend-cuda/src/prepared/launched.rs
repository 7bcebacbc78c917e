//! Products by this crate's own kernels: a device plan on a device, and the launches it is for.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use girih_backend::Lowering;

use super::device_product::DeviceProduct;
use super::lowering::Outline;
use super::refresh::Refresh;
use super::total::{Later, Total};
use super::upload::upload;
use crate::device::{Driver, Gpu, LoadedKernel};
use crate::epilogue::PlacedEpilogue;
use crate::kernels::Kernel;
use crate::launch::{DevicePlan, LaunchSequence, Operands, PlacedParts};
use crate::{CudaBackend, CudaError};

/// Kernels for products with an epilogue, for aggregations, and for a C of 16 bits.
#[derive(Debug)]
struct LoadedLater {
    backend: CudaBackend,
    /// Those of plain products.
    kernels: Vec<Kernel>,
    /// By what [`Later`] says.
    loaded: [OnceLock<Vec<Arc<LoadedKernel>>>; Later::COUNT],
}

/// A device plan on a device.
#[derive(Debug)]
pub(crate) struct Launched {
    gpu: Arc<Gpu>,
    /// Of the device plan's kernels, in its order.
    kernels: Vec<Arc<LoadedKernel>>,
    later: LoadedLater,
    /// All of A.
    pub(super) arena: CudaSlice<u8>,
    /// What products write and read again, if anything.
    workspace: Option<Mutex<CudaSlice<u8>>>,
    pub(super) at: PlacedParts,
    /// What puts new values there, since the first of them.
    pub(super) refresh: Option<Refresh>,
    outline: Outline,
    sequence: Box<dyn LaunchSequence>,
}

impl Launched {
    /// Uploads the device plan and allocates its workspace.
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        backend: CudaBackend,
        kernels: Vec<Arc<LoadedKernel>>,
        device_plan: DevicePlan,
    ) -> Result<Self, CudaError> {
        let mut transfer = gpu.transfer();
        let stream = transfer.stream().clone();
        let parts: Vec<_> = device_plan.parts.iter().map(|part| part.bytes()).collect();
        let (arena, parts) = upload(gpu, &mut transfer, &parts)?;
        let (mut workspace, mut workspace_at) = (None, 0);
        if device_plan.workspace > 0 {
            let mut slice = gpu.alloc(&stream, device_plan.workspace, "partial results")?;
            workspace_at = slice.device_ptr_mut(&stream).0;
            workspace = Some(Mutex::new(slice));
        }
        let at = device_plan.placed(parts, workspace_at, &Driver)?;
        transfer.wait()?;
        let outline = device_plan.outline();
        let DevicePlan { sequence, kernels: plain, .. } = device_plan;
        let later = LoadedLater { backend, kernels: plain, loaded: Default::default() };
        let refresh = None;
        let gpu = gpu.clone();
        Ok(Self { gpu, kernels, later, arena, workspace, at, refresh, outline, sequence })
    }

    /// The kernels that compute a total. What is not loaded of them is when it is launched.
    fn kernels(&self, total: &Total) -> &[Arc<LoadedKernel>] {
        let Some(later) = total.later() else { return &self.kernels };
        let LoadedLater { backend, kernels, loaded } = &self.later;
        let kernel = |plain| backend.kernel(&self.gpu, &later.kernel(plain));
        loaded[later as usize].get_or_init(|| kernels.iter().map(kernel).collect())
    }

    fn lock_workspace(&self) -> Option<MutexGuard<'_, CudaSlice<u8>>> {
        Some(self.workspace.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds what products of the lowering's n do.
    pub(super) fn describe(&self, lowering: Lowering) -> Lowering {
        self.outline.describe(&*self.sequence, lowering)
    }

    /// Loads a kernel that is not the plan's.
    pub(super) fn load_other(&self, kernel: &Kernel) -> Result<Arc<LoadedKernel>, Arc<CudaError>> {
        self.later.backend.load(kernel)
    }
}

impl DeviceProduct for Launched {
    fn device_bytes(&self) -> u64 {
        self.arena.len() as u64
            + self.lock_workspace().map_or(0, |workspace| workspace.len() as u64)
            + self.refresh.as_ref().map_or(0, Refresh::bytes)
    }

    unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        tracked: bool,
    ) -> Result<(), CudaError> {
        let plain = Total::Sum(PlacedEpilogue::default());
        // SAFETY: the caller's promise, point by point; 5: there is no epilogue.
        unsafe { self.enqueue_with(stream, operands, &plain, tracked) }
    }
}

impl Launched {
    /// [`enqueue`](DeviceProduct::enqueue), of a total that the plan takes.
    ///
    /// # Safety
    /// That of [`enqueue`](DeviceProduct::enqueue), and:
    /// 5. A bias is in this device's memory and has a value for each row or column of C. It lives until the
    ///    stream has run the product, and nobody writes it meanwhile.
    pub(super) unsafe fn enqueue_with(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        total: &Total,
        tracked: bool,
    ) -> Result<(), CudaError> {
        let kernels = self.kernels(total);
        // What is read of A, and what is written to the workspace, live as long as the guards' events say.
        let _arena = tracked.then(|| self.arena.device_ptr(stream));
        let mut workspace =
            self.sequence.uses_workspace(operands).then(|| self.lock_workspace()).flatten();
        let _workspace = workspace
            .as_mut()
            .filter(|_| tracked)
            .map(|workspace| workspace.device_ptr_mut(stream));
        total.launches(&*self.sequence, &self.at.addresses(), operands, &Driver, &mut |launch| {
            // SAFETY: the caller's promise on B, C and the bias; A and the workspace are this plan's own, and what
            // makes the launches was given their addresses and sizes.
            unsafe { kernels[launch.kernel].launch(stream, launch) }
        })
    }
}
