//! A pattern that cuSPARSE samples.

use std::sync::{Arc, Mutex};

use bytemuck::cast_slice;
use girih_backend_cuda::CudaError;
use girih_backend_cuda::cudarc::driver::CudaStream;
use girih_backend_cuda::low_level::{DeviceMemory, Gpu, Place, SampledOperands};
use girih_formats::{CsrPattern, DType};

use crate::library::{Cusparse, DenseMatrix, Handle, Scale, Sddmm, WritableCsr};
use crate::lock;

/// A pattern on the device, which cuSPARSE has analysed for sampled products of one value type, with X and Y
/// row-major, without gaps, and of `d` columns.
///
/// Made by [`CusparseBackend::prepare_sddmm`](crate::CusparseBackend::prepare_sddmm).
#[derive(Debug)]
pub struct CusparseSddmm {
    gpu: Arc<Gpu>,
    handle: Arc<Mutex<Handle>>,
    dtype: DType,
    /// m, k, d and nnz.
    shape: [usize; 4],
    s: Mutex<WritableCsr>,
    /// What the analysis wrote, and products may write.
    buffer: DeviceMemory,
    /// The pattern, which `s` describes.
    _arena: DeviceMemory,
}

impl CusparseSddmm {
    pub(super) fn new(
        gpu: &Arc<Gpu>,
        library: &Arc<Cusparse>,
        handle: Arc<Mutex<Handle>>,
        pattern: CsrPattern<'_>,
        dtype: DType,
        d: usize,
    ) -> Result<Self, CudaError> {
        gpu.bind()?;
        let (m, k, nnz) = (pattern.nrows(), pattern.ncols(), pattern.nnz());
        let row_ptr = pattern.row_ptr().iter().map(|&end| i32::try_from(end));
        let Ok(row_ptr) = row_ptr.collect::<Result<Vec<_>, _>>() else {
            let (operand, reason) = ("the pattern", format!("has {nnz} entries, 2³¹ or more"));
            return Err(CudaError::Operand { operand, reason });
        };
        let (arena, parts) = gpu.upload(&[cast_slice(&row_ptr), cast_slice(pattern.col_idx())])?;
        let acc = dtype.accumulator();
        // Operands are only described here: any address does.
        let shape = (m as u64, k as u64, nnz as u64);
        let s = WritableCsr::new(library.clone(), shape, [parts[0], parts[1], parts[0]], acc)?;
        let operand = |rows: usize| dense(parts[0], rows, d, dtype);
        let (alpha, beta) = (Scale::new(1.0, acc), Scale::new(0.0, acc));
        let sddmm = Sddmm { x: operand(m), y: operand(k), s: &s, alpha, beta };
        let buffer = {
            let handle = lock(&handle);
            let bytes = sddmm.buffer_size(&handle)? as u64;
            let buffer = gpu.memory(bytes, "the library's buffers")?;
            // SAFETY: the pattern and the buffer are this value's own and are waited for below.
            unsafe { sddmm.preprocess(&handle, gpu.stream(), buffer.address()) }?;
            buffer
        };
        gpu.stream().synchronize().map_err(CudaError::driver("finish its work"))?;
        let (gpu, s) = (gpu.clone(), Mutex::new(s));
        Ok(Self { gpu, handle, dtype, shape: [m, k, d, nnz], s, buffer, _arena: arena })
    }

    /// The device that it is on.
    #[must_use]
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// m, k, d and the number of entries.
    #[must_use]
    pub fn shape(&self) -> [usize; 4] {
        self.shape
    }

    /// The value type of X and Y.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Enqueues a product, and checks little: to time it. Streams are not ordered. Nothing is done if the pattern has
    /// no entries.
    ///
    /// # Errors
    /// [`CudaError::Operand`] if an operand has gaps, and what the library refuses.
    ///
    /// # Safety
    /// 1. The operands are in this device's memory, and hold what they say; the stream is of its context.
    /// 2. X is m×d, Y k×d and S nnz×1, of the value types and the d that it was prepared for.
    /// 3. They and the pattern live until the stream has run the product; nobody writes X and Y or uses S meanwhile,
    ///    nor is this pattern sampled on another stream.
    pub unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        operands: &SampledOperands,
    ) -> Result<(), CudaError> {
        if self.shape[3] == 0 {
            return Ok(());
        }
        let &SampledOperands { alpha, x, y, beta, s: to } = operands;
        for (operand, place) in [("X", &x), ("Y", &y), ("S", &to)] {
            let is_whole = place.row_stride == place.cols as u64 && place.col_stride == 1;
            if !is_whole {
                let reason = "is not row-major without gaps".to_owned();
                return Err(CudaError::Operand { operand, reason });
            }
        }
        stream.context().bind_to_thread().map_err(CudaError::driver("use a device"))?;
        let acc = self.dtype.accumulator();
        let (handle, mut s) = (lock(&self.handle), lock(&self.s));
        s.set_values(to.address)?;
        let of = |place: &Place| dense(place.address, place.rows, place.cols, self.dtype);
        let (alpha, beta) = (Scale::new(alpha, acc), Scale::new(beta, acc));
        let sddmm = Sddmm { x: of(&x), y: of(&y), s: &s, alpha, beta };
        // SAFETY: the caller's promise on the operands; the pattern and the buffer are this value's own.
        unsafe { sddmm.enqueue(&handle, stream, self.buffer.address()) }
    }
}

/// A row-major matrix without gaps.
fn dense(address: u64, rows: usize, cols: usize, dtype: DType) -> DenseMatrix {
    let (rows, cols) = (rows as u64, cols as u64);
    DenseMatrix { address, rows, cols, leading: cols, row_major: true, dtype }
}
