//! Devices: what there is, and one in use.

mod gpu;
mod kernel;
mod loaded;
mod memory;
mod retyped;
mod spec;
mod tensor_map;
mod transfer;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, result};

use crate::CudaError;
use crate::error::Arch;
use crate::library::driver;

pub use gpu::Gpu;
pub use kernel::LoadedKernel;
pub(crate) use loaded::{LoadedKernels, load_entries};
pub use memory::DeviceMemory;
pub use retyped::{Half, bits_memory, complex_memory, half_memory, parts_memory};
pub(crate) use tensor_map::Driver;
pub(crate) use transfer::Transfer;

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its index, by which it is chosen.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Its architecture: the compute capability.
    pub arch: Arch,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of its memory.
    pub memory_bytes: u64,
    /// Bytes of its second-level cache.
    pub l2_bytes: u64,
}

impl DeviceInfo {
    /// What products run on, for people.
    pub(crate) fn machine(&self) -> String {
        machine(&self.name, self.arch, self.multiprocessors)
    }
}

/// A device in words.
pub(crate) fn machine(name: &str, arch: Arch, multiprocessors: u32) -> String {
    format!("{name}, {arch}, {multiprocessors} multiprocessors")
}

/// The newest CUDA version that the driver serves, major and minor.
///
/// # Errors
/// If there is no driver.
pub fn driver_version() -> Result<(u32, u32), CudaError> {
    driver()?;
    let mut version = 0;
    // SAFETY: the driver was found and the version is written to an integer.
    let status = unsafe { cudarc::driver::sys::cuDriverGetVersion(&raw mut version) };
    status.result().map_err(CudaError::driver("tell its version"))?;
    let version = version.unsigned_abs();
    Ok((version / 1000, version % 1000 / 10))
}

/// The devices of this machine, by index.
///
/// # Errors
/// If there is no driver, or it can't be initialized.
pub fn devices() -> Result<Vec<DeviceInfo>, CudaError> {
    (0..device_count()?).map(device).collect()
}

fn device_count() -> Result<usize, CudaError> {
    driver()?;
    match CudaContext::device_count() {
        Ok(count) => Ok(usize::try_from(count).unwrap_or(0)),
        Err(error) if error.0 == cudarc::driver::sys::CUresult::CUDA_ERROR_NO_DEVICE => Ok(0),
        Err(error) => Err(CudaError::driver("count the devices")(error)),
    }
}

/// What the device of an index is.
fn device(index: usize) -> Result<DeviceInfo, CudaError> {
    let device = result::device::get(index as i32).map_err(CudaError::driver("find a device"))?;
    let attribute = |attribute| {
        // SAFETY: the device is the driver's own.
        let value = unsafe { result::device::get_attribute(device, attribute) };
        value.map(i32::unsigned_abs).map_err(CudaError::driver("describe a device"))
    };
    let arch = Arch {
        major: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        minor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    };
    // SAFETY: as above.
    let memory = unsafe { result::device::total_mem(device) };
    Ok(DeviceInfo {
        index,
        name: result::device::get_name(device).map_err(CudaError::driver("name a device"))?,
        arch,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        memory_bytes: memory.map_err(CudaError::driver("measure a device's memory"))? as u64,
        l2_bytes: u64::from(attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
    })
}
