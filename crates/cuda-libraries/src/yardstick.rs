//! cuBLASLt on the dense form of a matrix: what a sparse product is to beat.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use girih_backend::{BackendError, ProductShape, Rounding};
use girih_backend_cuda::cudarc::driver::CudaStream;
use girih_backend_cuda::cudarc::driver::sys::CUevent_flags;
use girih_backend_cuda::low_level::{
    DeviceMemory, DeviceProduct, Gpu, Operands, Place, refused_by,
};
use girih_backend_cuda::{CudaError, CudaPrepared, LibrarySearch, OperandRows};
use girih_formats::{DType, RowCsr, Scalar, Tiling, for_any_tiling};
use girih_planner::Plan;

use crate::cusparse::TENSOR_CORE_UNIT;
use crate::library::{CublasLt, Dense, DenseCompute, DenseProduct};
use crate::lock;

/// The name in messages and tables.
const NAME: &str = "cublaslt";

/// Bytes that an algorithm may have besides: what NVIDIA recommends for Hopper.
const WORKSPACE: usize = 32 << 20;

/// Algorithms that are tried.
const CANDIDATES: usize = 8;

/// Products timed of each, after one that is not.
const TRIALS: u32 = 3;

/// How the yardstick is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CublasLtOptions {
    /// Where the library is looked for.
    pub libraries: LibrarySearch,
    /// The index of the device.
    pub device: usize,
    /// Whether f32 is multiplied in TF32, on tensor cores.
    pub tf32: bool,
}

impl CublasLtOptions {
    /// With libraries from elsewhere.
    #[must_use]
    pub fn libraries(self, libraries: LibrarySearch) -> Self {
        Self { libraries, ..self }
    }

    /// On another device, by its index.
    #[must_use]
    pub fn device(self, device: usize) -> Self {
        Self { device, ..self }
    }

    /// With or without TF32 for f32.
    #[must_use]
    pub fn tf32(self, tf32: bool) -> Self {
        Self { tf32, ..self }
    }
}

/// Multiplies the dense form of a matrix with NVIDIA's cuBLASLt, to compare sparse products with.
///
/// Not a backend: it stores and multiplies every zero, so that a NaN of B reaches all rows of C, and
/// takes memory for all of m×k. Products are of exactly as many columns as the plan expects, of
/// row-major operands without gaps, by the fastest of the library's algorithms, which is found by
/// trying them.
#[derive(Clone, Debug)]
pub struct DenseYardstick(Arc<YardstickState>);

#[derive(Debug)]
struct YardstickState {
    options: CublasLtOptions,
    gpu: OnceLock<Result<Arc<Gpu>, Arc<CudaError>>>,
    library: OnceLock<Result<Arc<CublasLt>, Arc<CudaError>>>,
}

impl DenseYardstick {
    /// The yardstick on a device.
    #[must_use]
    pub fn new(options: CublasLtOptions) -> Self {
        Self(Arc::new(YardstickState { options, gpu: OnceLock::new(), library: OnceLock::new() }))
    }

    /// The library.
    ///
    /// # Errors
    /// If it is nowhere, or too old.
    pub fn library(&self) -> Result<&Arc<CublasLt>, Arc<CudaError>> {
        let load = || Ok(Arc::new(CublasLt::load(&self.0.options.libraries)?));
        self.0.library.get_or_init(|| load().map_err(Arc::new)).as_ref().map_err(Arc::clone)
    }

    /// What it runs on, for people.
    ///
    /// # Errors
    /// If there is no driver, no such device, or no library.
    pub fn describe(&self) -> Result<String, Arc<CudaError>> {
        let info = self.gpu()?.info();
        let (major, minor, patch) = self.library()?.version();
        Ok(format!("device {}: {}, cuBLASLt {major}.{minor}.{patch}", info.index, info.name))
    }

    /// How its products round: f32 may be rounded to TF32, and sums are those of tensor cores.
    #[must_use]
    pub fn rounding(&self, dtype: DType) -> Rounding {
        let exact = Rounding::exact_inputs(dtype);
        match (dtype, self.0.options.tf32) {
            (DType::F64, _) | (DType::F32, false) => exact,
            (DType::F32, true) => Rounding::tensor_cores(dtype, 0.5f64.powi(10), TENSOR_CORE_UNIT),
            _ => Rounding::tensor_cores(dtype, 0.0, TENSOR_CORE_UNIT),
        }
    }

    /// Uploads the dense form of a plan in CSR and finds the fastest algorithm: O(m·k) and some
    /// products.
    ///
    /// # Errors
    /// [`BackendError::Failed`] if the plan is in another format, if A and twice the operands do not
    /// fit the device, if the library has no algorithm or the driver refuses;
    /// [`BackendError::Unavailable`] if one of them is missing.
    pub fn prepare_device(&self, plan: &Plan) -> Result<CudaPrepared, BackendError> {
        let failed = |error: Arc<CudaError>| refused_by(NAME, error, "prepare the plan");
        let (gpu, library) = (self.gpu().map_err(failed)?, self.library().map_err(failed)?);
        let shape = ProductShape { m: plan.nrows(), k: plan.ncols(), dtype: plan.dtype() };
        if shape.dtype.is_complex() {
            let error = CudaError::Library {
                library: "cuBLASLt",
                operation: "prepare the plan",
                reason: format!("it is called for real values here, and these are {}", shape.dtype),
                unsupported: true,
            };
            return Err(failed(error.into()));
        }
        let compute = match (plan.dtype(), self.0.options.tf32) {
            (DType::F64, _) => DenseCompute::F64,
            (DType::F32, true) => DenseCompute::Tf32,
            _ => DenseCompute::F32,
        };
        let dense = Dense {
            m: shape.m as u64,
            k: shape.k as u64,
            n: plan.options().n as u64,
            dtype: shape.dtype,
            compute,
            workspace: WORKSPACE,
        };
        let prepared = for_any_tiling!(plan.tiling(), tiling => match tiling {
            Tiling::Csr(a) => Densified::new(gpu, library, a, dense),
            _ => Err(CudaError::Library {
                library: "cuBLASLt",
                operation: "prepare the plan",
                reason: format!("it densifies csr, but the plan is {}", plan.spec()),
                unsupported: true,
            }),
        });
        let product = prepared.map_err(|error| failed(error.into()))?;
        let rows = OperandRows { b: shape.k, c: shape.m };
        Ok(CudaPrepared::of_product(NAME, gpu.clone(), shape, rows, Box::new(product)))
    }

    fn gpu(&self) -> Result<&Arc<Gpu>, Arc<CudaError>> {
        let open = || Ok(Arc::new(Gpu::open(self.0.options.device)?));
        self.0.gpu.get_or_init(|| open().map_err(Arc::new)).as_ref().map_err(Arc::clone)
    }
}

/// A dense matrix and the product of it.
#[derive(Debug)]
struct Densified {
    product: Mutex<DenseProduct>,
    shape: Dense,
    /// Which of the product's algorithms.
    fastest: usize,
    a: DeviceMemory,
    workspace: Mutex<DeviceMemory>,
}

impl Densified {
    fn new<T: Scalar>(
        gpu: &Gpu,
        library: &Arc<CublasLt>,
        a: &RowCsr<T>,
        shape: Dense,
    ) -> Result<Self, CudaError> {
        let Dense { m, k, .. } = shape;
        if m == 0 || k == 0 || shape.n == 0 {
            return Err(CudaError::Library {
                library: "cuBLASLt",
                operation: "prepare the plan",
                reason: format!("{m}×{k} with {} columns has nothing to multiply", shape.n),
                unsupported: true,
            });
        }
        gpu.bind()?;
        let product = DenseProduct::new(library.clone(), shape, CANDIDATES)?;
        let bytes = m.saturating_mul(k).saturating_mul(size_of::<T>() as u64);
        let mut memory = gpu.memory(bytes, "A's elements, with all zeros,")?;
        let slots = a.layout().slot_of_rows();
        gpu.fill(&mut memory, m * k, |range, to| densify(a, slots.as_deref(), range, to))?;
        let workspace = gpu.memory(WORKSPACE as u64, "the library's buffers")?;
        let mut this = Self {
            product: Mutex::new(product),
            shape,
            fastest: 0,
            a: memory,
            workspace: Mutex::new(workspace),
        };
        this.fastest = this.try_out(gpu)?;
        Ok(this)
    }

    /// Times the algorithms on operands of zeros.
    fn try_out(&self, gpu: &Gpu) -> Result<usize, CudaError> {
        let stream = gpu.stream();
        let failed = || CudaError::driver("try out algorithms");
        let Dense { m, k, n, dtype, .. } = self.shape;
        let (size, acc) = (dtype.size() as u64, dtype.accumulator().size() as u64);
        let memory = |rows: u64, size: u64| {
            let bytes = rows.saturating_mul(n).saturating_mul(size);
            gpu.memory(bytes, "operands to try algorithms with")
        };
        let (mut b, c) = (memory(k, size)?, memory(m, acc)?);
        b.clear(stream)?;
        let place = |memory: &DeviceMemory, rows: u64| Place {
            address: memory.address(),
            rows: rows as usize,
            cols: n as usize,
            row_stride: n,
            col_stride: 1,
            spare: 0,
        };
        let operands =
            Operands { alpha: 1.0.into(), beta: 0.0.into(), b: place(&b, k), c: place(&c, m) };
        let event = || gpu.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        let (start, end) = (event().map_err(failed())?, event().map_err(failed())?);
        let mut best: Option<(f32, usize)> = None;
        let algorithms = lock(&self.product).algorithms();
        for algorithm in 0..algorithms {
            let run = |times| {
                (0..times).try_for_each(|_| {
                    // SAFETY: the operands were allocated with this shape, on this stream.
                    unsafe { self.run(stream, &operands, algorithm, false) }
                })
            };
            // One that does not run, for all the library said, is not the fastest.
            if run(1).is_err() {
                continue;
            }
            start.record(stream).map_err(failed())?;
            run(TRIALS)?;
            end.record(stream).map_err(failed())?;
            let ms = start.elapsed_ms(&end).map_err(failed())?;
            if best.is_none_or(|(least, _)| ms < least) {
                best = Some((ms, algorithm));
            }
        }
        let none = || CudaError::Library {
            library: "cuBLASLt",
            operation: "try out algorithms",
            reason: format!("none of {algorithms} ran"),
            unsupported: true,
        };
        // What was enqueued is done, so the operands may go.
        stream.synchronize().map_err(failed())?;
        best.map(|(_, algorithm)| algorithm).ok_or_else(none)
    }

    /// # Safety
    /// As for [`DeviceProduct::enqueue`].
    unsafe fn run(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        algorithm: usize,
        tracked: bool,
    ) -> Result<(), CudaError> {
        let (&Operands { b, c, .. }, (alpha, beta)) = (operands, operands.real_factors());
        for (operand, place) in [("B", b), ("C", c)] {
            let dense =
                place.col_stride == 1 && (place.row_stride == self.shape.n || place.rows == 1);
            if place.cols as u64 != self.shape.n || !dense {
                let n = self.shape.n;
                let reason =
                    format!("cuBLASLt was prepared for {n} columns, row-major without gaps");
                return Err(CudaError::Operand { operand, reason });
            }
        }
        stream.context().bind_to_thread().map_err(CudaError::driver("use a device"))?;
        let _a = tracked.then(|| self.a.read(stream));
        let mut workspace = lock(&self.workspace);
        let addresses = [self.a.address(), b.address, c.address, workspace.address()];
        let _workspace = tracked.then(|| workspace.write(stream));
        let product = lock(&self.product);
        // SAFETY: A and the workspace are as large as the shape says; the rest is the caller's promise.
        unsafe { product.enqueue(stream, algorithm, (alpha, beta), addresses) }
    }
}

impl DeviceProduct for Densified {
    fn device_bytes(&self) -> u64 {
        self.a.bytes() + WORKSPACE as u64
    }

    unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        tracked: bool,
    ) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        unsafe { self.run(stream, operands, self.fastest, tracked) }
    }
}

/// Writes a range of the elements of a row-major dense matrix.
fn densify<T: Scalar>(a: &RowCsr<T>, slots: Option<&[usize]>, range: Range<u64>, to: &mut [T]) {
    to.fill(T::ZERO);
    let cols = a.csr().ncols() as u64;
    for row in range.start / cols..range.end.div_ceil(cols) {
        let slot = slots.map_or(row as usize, |slots| slots[row as usize]);
        let (col_idx, values) = a.csr().row(slot);
        for (&col, &value) in col_idx.iter().zip(values) {
            let element = row * cols + u64::from(col);
            if range.contains(&element) {
                to[(element - range.start) as usize] = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::{Csr, PAD_ROW, RowLayout};

    use super::*;

    #[test]
    fn ranges_of_a_dense_matrix_are_its_parts() {
        let a =
            Csr::try_new(3, 4, vec![0, 2, 2, 3], vec![0, 3, 1], vec![1.0f32, 2.0, 3.0]).unwrap();
        let whole = [1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0];
        let shuffled = RowLayout::explicit(3, 1, vec![2, PAD_ROW, 0, 1]).unwrap();
        for layout in [RowLayout::natural(3, 1).unwrap(), shuffled] {
            let a = RowCsr::from_csr(&a, layout).unwrap();
            let slots = a.layout().slot_of_rows();
            for start in 0..12 {
                for end in start + 1..=12 {
                    let mut part = vec![f32::NAN; end - start];
                    let range = start as u64..end as u64;
                    densify(&a, slots.as_deref(), range, &mut part);
                    assert_eq!(part, whole[start..end]);
                }
            }
        }
    }
}
