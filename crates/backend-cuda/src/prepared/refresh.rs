//! What puts new values into a plan's parts.

use std::sync::Arc;

use cudarc::driver::CudaSlice;

use crate::device::LoadedKernel;
use crate::kernels::put_values::Target;

/// What puts new values into a device plan's parts.
#[derive(Debug)]
pub(super) struct Refresh {
    pub(super) kernel: Arc<LoadedKernel>,
    /// Which entry each element holds, of all parts.
    pub(super) maps: CudaSlice<u8>,
    pub(super) targets: Vec<Target>,
    /// Where values from the host are copied to, since the first of them.
    pub(super) staged: Option<CudaSlice<u8>>,
}

impl Refresh {
    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        self.maps.len() as u64 + self.staged.as_ref().map_or(0, |staged| staged.len() as u64)
    }
}
