//! What a device can do at most, measured on it.

mod kernel;

use std::sync::Arc;

use girih_backend::BackendError;
use girih_backend_cuda::cudarc::driver::sys::CUevent_flags;
use girih_backend_cuda::cudarc::driver::{CudaEvent, CudaStream, LaunchConfig, PushKernelArg};
use girih_backend_cuda::low_level::{DeviceMemory, Gpu, LoadedKernel, refused_by};
use girih_backend_cuda::{CudaBackend, CudaError, NAME};
use girih_formats::DType;

use crate::CublasLt;
use crate::library::{Dense, DenseCompute, DenseProduct};
pub use kernel::kernel;
use kernel::{CHAINS, FILL, FMA_F32, FMA_F64, Params, READ, THREADS, TRIAD};

/// Times that each thing is done after once; the fastest counts.
const TRIALS: u32 = 5;

/// Bytes of each of the three arrays of the triad, at most: past any cache.
const TRIAD_BYTES: u64 = 1 << 30;

/// Rows and columns of the dense products that tensor cores are timed by.
const DENSE: u64 = 8192;

/// What a device was seen to do at most.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CudaRoofline {
    /// Bytes per second to and from memory, read twice and written once.
    pub memory: f64,
    /// Bytes per second from the second-level cache to all multiprocessors.
    pub l2: f64,
    /// f32 operations per second in fused multiply-adds.
    pub f32_flops: f64,
    /// f64 operations per second in fused multiply-adds, without tensor cores.
    pub f64_flops: f64,
    /// Operations per second of a dense product in bf16 on random values, by cuBLASLt; `None` where
    /// that was not there.
    pub bf16_tensor_flops: Option<f64>,
    /// The same in TF32.
    pub tf32_tensor_flops: Option<f64>,
}

impl CudaRoofline {
    /// Measures a device, idle but for this, in about a second; takes 3 GiB of its memory, or less
    /// where there is less. With `dense`, tensor cores are measured too.
    ///
    /// # Errors
    /// If the backend is not available, memory runs out, or the driver or the library refuses.
    pub fn measure(
        backend: &CudaBackend,
        dense: Option<&Arc<CublasLt>>,
    ) -> Result<Self, BackendError> {
        let failed = |error: Arc<CudaError>| refused_by(NAME, error, "measure the device");
        let (gpu, kernel) =
            (backend.gpu().map_err(failed)?, backend.load(&kernel()).map_err(failed)?);
        let measured = Probe::new(gpu, kernel).and_then(|probe| probe.measure(dense));
        measured.map_err(|error| failed(error.into()))
    }

    /// The most operations per second on values of a type, on whichever unit is fastest: sums in f32,
    /// or f64 for f64. For f32, tensor cores count with `tf32`.
    #[must_use]
    pub fn peak(&self, dtype: DType, tf32: bool) -> f64 {
        match dtype {
            DType::F64 | DType::C64 => self.f64_flops,
            DType::C32 => self.f32_flops,
            DType::F32 if tf32 => self.tf32_tensor_flops.unwrap_or(self.f32_flops),
            DType::F32 => self.f32_flops,
            DType::F16 | DType::Bf16 => self.bf16_tensor_flops.unwrap_or(self.f32_flops),
        }
    }
}

/// What measures.
struct Probe<'a> {
    gpu: &'a Gpu,
    kernel: Arc<LoadedKernel>,
    stream: Arc<CudaStream>,
    between: (CudaEvent, CudaEvent),
}

impl<'a> Probe<'a> {
    fn new(gpu: &'a Gpu, kernel: Arc<LoadedKernel>) -> Result<Self, CudaError> {
        let event = || {
            let event = gpu.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
            event.map_err(CudaError::driver("create an event"))
        };
        let stream = gpu.stream().clone();
        Ok(Self { gpu, kernel, stream, between: (event()?, event()?) })
    }

    fn measure(&self, dense: Option<&Arc<CublasLt>>) -> Result<CudaRoofline, CudaError> {
        let tensor = |dtype, compute| dense.map(|lt| self.dense(lt, dtype, compute)).transpose();
        Ok(CudaRoofline {
            memory: self.triad()?,
            l2: self.read()?,
            f32_flops: self.multiply_adds(FMA_F32, 1 << 16)?,
            f64_flops: self.multiply_adds(FMA_F64, 1 << 14)?,
            bf16_tensor_flops: tensor(DType::Bf16, DenseCompute::F32)?,
            tf32_tensor_flops: tensor(DType::F32, DenseCompute::Tf32)?,
        })
    }

    /// Blocks enough to fill every multiprocessor.
    fn blocks(&self) -> u32 {
        self.gpu.info().multiprocessors * 8
    }

    fn memory(&self, bytes: u64) -> Result<DeviceMemory, CudaError> {
        self.gpu.memory(bytes, "measurements")
    }

    fn triad(&self) -> Result<f64, CudaError> {
        let bytes = TRIAD_BYTES.min(self.gpu.info().memory_bytes / 16) / 4096 * 4096;
        let [a, b, c] = [self.memory(bytes)?, self.memory(bytes)?, self.memory(bytes)?];
        let (b_at, c_at) = (b.address(), c.address());
        for at in [b_at, c_at] {
            self.fill(at, bytes, 2)?;
        }
        let params =
            Params { a: a.address(), b: b_at, c: c_at, n: bytes / 16, ..Params::default() };
        Ok(3.0 * bytes as f64 / self.fastest(|| self.launch(TRIAD, &params))?)
    }

    fn read(&self) -> Result<f64, CudaError> {
        // A quarter: where the cache is in halves, either holds a copy of all.
        let bytes = 1 << (self.gpu.info().l2_bytes.max(1 << 16) / 4).ilog2();
        let (a, b) = (self.memory(16)?, self.memory(bytes)?);
        self.fill(b.address(), bytes, 2)?;
        let params =
            Params { a: a.address(), b: b.address(), n: bytes / 16, times: 4, ..Params::default() };
        let read = params.times as f64 * bytes as f64 * f64::from(self.blocks());
        Ok(read / self.fastest(|| self.launch(READ, &params))?)
    }

    fn multiply_adds(&self, entry: &str, times: u64) -> Result<f64, CudaError> {
        let a = self.memory(16)?;
        let params = Params { a: a.address(), times, seed: 1, ..Params::default() };
        let threads = u64::from(self.blocks()) * u64::from(THREADS);
        let flops = 2.0 * (threads * CHAINS * times) as f64;
        Ok(flops / self.fastest(|| self.launch(entry, &params))?)
    }

    fn dense(
        &self,
        library: &Arc<CublasLt>,
        dtype: DType,
        compute: DenseCompute,
    ) -> Result<f64, CudaError> {
        let n = DENSE;
        self.gpu.bind()?;
        let workspace = 32 << 20;
        let shape = Dense { m: n, k: n, n, dtype, compute, workspace };
        let product = DenseProduct::new(library.clone(), shape, 1)?;
        let bytes = n * n * dtype.size() as u64;
        let [a, b, c] = [self.memory(bytes)?, self.memory(bytes)?, self.memory(4 * n * n)?];
        let scratch = self.memory(workspace as u64)?;
        let pairs = u64::from(dtype != DType::F32);
        self.fill(a.address(), bytes, 2 + pairs)?;
        self.fill(b.address(), bytes, (1 << 40) + pairs)?;
        let at = [a.address(), b.address(), c.address(), scratch.address()];
        // SAFETY: the allocations are as large as the shape says, and the run is waited for before they go.
        let run = || unsafe { product.enqueue(&self.stream, 0, (1.0, 0.0), at) };
        Ok(2.0 * (n * n * n) as f64 / self.fastest(run)?)
    }

    /// Fills memory with arbitrary numbers; an odd seed makes pairs of bf16.
    fn fill(&self, address: u64, bytes: u64, seed: u64) -> Result<(), CudaError> {
        self.launch(FILL, &Params { a: address, n: bytes / 16, seed, ..Params::default() })
    }

    fn launch(&self, entry: &str, params: &Params) -> Result<(), CudaError> {
        let Some(function) = self.kernel.entry(entry) else {
            unreachable!("{entry} is in the kernel's budget")
        };
        let config = LaunchConfig {
            grid_dim: (self.blocks(), 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = self.stream.launch_builder(function);
        launch.arg(params);
        // SAFETY: every entry takes these parameters, whose addresses are of allocations of the length
        // that they say; each launch is waited for before its allocations go.
        let launched = unsafe { launch.launch(config) };
        launched.map(|_| ()).map_err(CudaError::driver("launch a kernel"))
    }

    /// Seconds of the fastest of some runs after one.
    fn fastest(&self, run: impl Fn() -> Result<(), CudaError>) -> Result<f64, CudaError> {
        let failed = || CudaError::driver("time a measurement");
        run()?;
        let mut least = f64::INFINITY;
        for _ in 0..TRIALS {
            self.between.0.record(&self.stream).map_err(failed())?;
            run()?;
            self.between.1.record(&self.stream).map_err(failed())?;
            let ms = self.between.0.elapsed_ms(&self.between.1).map_err(failed())?;
            least = least.min(f64::from(ms) / 1e3);
        }
        Ok(least.max(1e-9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_unit_is_the_peak() {
        let roofline = CudaRoofline {
            memory: 1.0,
            l2: 1.0,
            f32_flops: 60.0,
            f64_flops: 30.0,
            bf16_tensor_flops: Some(800.0),
            tf32_tensor_flops: None,
        };
        assert_eq!(roofline.peak(DType::F16, false), 800.0);
        assert_eq!(roofline.peak(DType::F32, true), 60.0);
        let roofline = CudaRoofline { tf32_tensor_flops: Some(400.0), ..roofline };
        assert_eq!(
            (roofline.peak(DType::F32, true), roofline.peak(DType::F32, false)),
            (400.0, 60.0)
        );
        assert_eq!(roofline.peak(DType::F64, true), 30.0);
    }
}
