//! A plan on a device.

pub(crate) mod host;
mod work;

use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::cast_slice;
use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, PreparedSpmm, ProductShape,
};
use girih_formats::{DType, RowCsr, Scalar};
use girih_planner::Task;

use crate::device::{Functions, Gpu};
use crate::error::refused;
use crate::kernels::csr_spmm::{
    COMBINE, ELEMENT_THREADS, Item, Layout, Params, SCALE, SplitRow, THREADS, element_grid,
};
use crate::operand::Place;
use crate::{CudaError, DeviceMatrix, DeviceMatrixMut};
use host::HostOperands;
use work::Work;

/// Room for the sums of split rows that needs no justification by the size of the matrix.
const FREE_ROOM: u64 = 64 << 20;
/// Columns that there is room for are a multiple of this: a tile of any value type.
const PANEL_UNIT: u64 = 512;
/// Parts of an allocation begin at multiples of this.
const ALIGN: u64 = 256;

/// A plan on a device: A uploaded, the kernels loaded, room allocated.
///
/// [`execute_device`](Self::execute_device) enqueues a product of device operands and returns. Through
/// [`PreparedSpmm`] operands on the host are multiplied too: they are copied there and back.
#[derive(Debug)]
pub struct CudaPrepared {
    gpu: Arc<Gpu>,
    functions: Arc<Functions>,
    shape: ProductShape,
    entries: u64,
    n_items: u64,
    n_pieces: u64,
    n_splits: u64,
    /// All of A.
    arena: CudaSlice<u8>,
    at: Addresses,
    sums: Option<Mutex<Sums>>,
    host: Mutex<HostOperands>,
}

/// Where the parts of A are.
#[derive(Clone, Copy, Debug, Default)]
struct Addresses {
    items: u64,
    splits: u64,
    col_idx: u64,
    values: u64,
}

/// Room for the sums of split rows.
#[derive(Debug)]
struct Sums {
    room: CudaSlice<u8>,
    address: u64,
    /// Columns that there is room for at a time.
    panel: u64,
}

/// α and β.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scales {
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
}

impl CudaPrepared {
    /// Uploads A and makes room; `n` columns are expected.
    pub(crate) fn new<T: Scalar>(
        gpu: Arc<Gpu>,
        functions: Arc<Functions>,
        a: &RowCsr<T>,
        tasks: &[Task],
        n: usize,
    ) -> Result<Self, CudaError> {
        let csr = a.csr();
        let work = Work::new(csr.row_ptr(), a.layout(), tasks);
        let parts: [&[u8]; 4] = [
            cast_slice::<Item, u8>(&work.items),
            cast_slice::<SplitRow, u8>(&work.splits),
            cast_slice::<u32, u8>(csr.col_idx()),
            cast_slice::<T, u8>(csr.values()),
        ];
        let mut transfer = gpu.transfer();
        let stream = transfer.stream().clone();
        let bytes = parts.iter().map(|part| (part.len() as u64).next_multiple_of(ALIGN)).sum();
        let mut arena = gpu.alloc(&stream, bytes, "the tiles")?;
        let (base, guard) = arena.device_ptr_mut(&stream);
        let mut next = base;
        let mut starts = [0; 4];
        for (part, start) in parts.into_iter().zip(&mut starts) {
            *start = next;
            next += (part.len() as u64).next_multiple_of(ALIGN);
            transfer.send(*start, part.len() as u64, 1, |range, to| {
                to.copy_from_slice(&part[range.start as usize..range.end as usize]);
            })?;
        }
        drop(guard);
        let [items, splits, col_idx, values] = starts;
        let sums = Sums::new::<T>(&gpu, &stream, work.n_pieces, n as u64, bytes)?;
        transfer.wait()?;
        drop(transfer);
        Ok(Self {
            shape: ProductShape { m: a.layout().nrows(), k: csr.ncols(), dtype: T::DTYPE },
            entries: csr.nnz() as u64,
            n_items: work.items.len() as u64,
            n_pieces: work.n_pieces,
            n_splits: work.splits.len() as u64,
            arena,
            at: Addresses { items, splits, col_idx, values },
            sums: sums.map(Mutex::new),
            host: Mutex::new(HostOperands::default()),
            gpu,
            functions,
        })
    }

    /// Number of rows of A and C (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.shape.m
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Whether B has this shape and value type.
    pub(crate) fn check_b(
        &self,
        (found_rows, cols): (usize, usize),
        found: DType,
    ) -> Result<(), BackendError> {
        let ProductShape { k: rows, dtype: expected, .. } = self.shape;
        if found_rows != rows {
            let (operand, found_cols) = ("B", cols);
            return Err(BackendError::Shape { operand, found_rows, found_cols, rows, cols });
        }
        if found != expected {
            return Err(BackendError::DType { operand: "B", found, expected });
        }
        Ok(())
    }

    /// Bytes of device memory that the plan takes: A, and room for the sums of split rows. Operands on
    /// the host take more while they are there.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        let sums = self.sums.as_ref().map_or(0, |sums| {
            sums.lock().unwrap_or_else(PoisonError::into_inner).room.len() as u64
        });
        self.arena.len() as u64 + sums
    }

    /// Enqueues `C = α·A·B + β·C` on a stream of the device and returns: nothing is allocated, compiled
    /// or waited for.
    ///
    /// The stream waits for what other streams have enqueued on the operands, as cudarc tracks it, and
    /// they for this. While the stream is captured into a graph nothing is tracked: whoever launches
    /// the graph keeps the plan and both operands alive and orders it among other uses of them, also
    /// among other products of the same plan if that splits rows.
    ///
    /// β = 0 does not read C. The bits of C do not depend on strides or alignment; rows of 16-byte
    /// vectors on 16-byte boundaries are fastest.
    ///
    /// # Errors
    /// [`BackendError::Shape`] or [`BackendError::DType`] if an operand does not fit,
    /// [`BackendError::Failed`] if it is on another device or the driver refuses.
    pub fn execute_device<T: DenseScalar>(
        &self,
        stream: &CudaStream,
        alpha: f64,
        b: &DeviceMatrix<'_, T>,
        beta: f64,
        c: &mut DeviceMatrixMut<'_, T::Acc>,
    ) -> Result<(), BackendError> {
        self.check(&b.place, T::DTYPE, &c.place)?;
        let failed = |error: CudaError| refused(error, "multiply");
        for (operand, context) in
            [("B", b.slice.context()), ("C", c.slice.context()), ("the stream", stream.context())]
        {
            if **context != *self.gpu.context {
                let reason = format!("is not in the context of device {}", self.gpu.info.index);
                return Err(failed(CudaError::Operand { operand, reason }));
            }
        }
        let scales = Scales { alpha, beta };
        let status = stream.capture_status().map_err(CudaError::driver("ask for a capture"));
        let idle = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        if status.map_err(failed)? != idle {
            // SAFETY: the operands are as large as was checked; who launches the graph sees to the rest.
            return unsafe { self.enqueue(stream, scales, &b.place, &c.place, false) }
                .map_err(failed);
        }
        let (_, _b) = b.slice.device_ptr(stream);
        let (_, _c) = c.slice.device_ptr_mut(stream);
        // SAFETY: the operands are as large as was checked, and what is tracked outlives the product.
        unsafe { self.enqueue(stream, scales, &b.place, &c.place, true) }.map_err(failed)
    }

    /// The checks of [`ProductShape`], on places.
    fn check(&self, b: &Place, dtype: DType, c: &Place) -> Result<(), BackendError> {
        self.check_b((b.rows, b.cols), dtype)?;
        let (rows, cols, found_rows, found_cols) = (self.shape.m, b.cols, c.rows, c.cols);
        if (found_rows, found_cols) != (rows, cols) {
            return Err(BackendError::Shape { operand: "C", found_rows, found_cols, rows, cols });
        }
        // C is of the accumulation type by its Rust type.
        Ok(())
    }

    /// Enqueues a product of operands that fit.
    ///
    /// # Safety
    /// Both places are in this device's memory, hold what they say, and live until the stream has run
    /// the product; nobody writes B or uses C meanwhile. Untracked, nobody uses this plan's sums either.
    pub(crate) unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        Scales { alpha, beta }: Scales,
        b: &Place,
        c: &Place,
        tracked: bool,
    ) -> Result<(), CudaError> {
        let (m, n) = (self.shape.m as u64, b.cols as u64);
        if m == 0 || n == 0 {
            return Ok(());
        }
        let acc = self.shape.dtype.accumulator().size() as u64;
        let size = self.shape.dtype.size() as u64;
        let mut params = Params {
            items: self.at.items,
            splits: self.at.splits,
            col_idx: self.at.col_idx,
            values: self.at.values,
            n_items: self.n_items,
            n_pieces: self.n_pieces,
            n_splits: self.n_splits,
            m,
            b_row_stride: b.row_stride,
            b_col_stride: b.col_stride,
            c_row_stride: c.row_stride,
            c_col_stride: c.col_stride,
            alpha,
            beta,
            c_in_vectors: u32::from(c.writes_in_vectors(16 / acc)),
            ..Params::default()
        };
        // α is zero as the kernels see it: in the accumulation type.
        let no_product = if acc == 4 { alpha as f32 == 0.0 } else { alpha == 0.0 };
        if no_product {
            (params.c, params.n) = (c.address, n);
            let grid = (element_grid(m.saturating_mul(n)), 1);
            // SAFETY: the caller's promise on C, which alone is used.
            return unsafe { self.functions.launch(stream, SCALE, grid, ELEMENT_THREADS, &params) };
        }
        // What is read of A lives as long as the guard's event says.
        let _arena = tracked.then(|| self.arena.device_ptr(stream));
        let mut sums = self.sums.as_ref().map(|s| s.lock().unwrap_or_else(PoisonError::into_inner));
        let panel = sums.as_ref().map_or(n, |sums| sums.panel);
        let mut _room = None;
        if let Some(sums) = &mut sums {
            (params.partials, params.partial_stride) = (sums.address, sums.panel);
            if tracked {
                _room = Some(sums.room.device_ptr_mut(stream));
            }
        }
        let layout = Layout::new(self.shape.dtype, n, self.entries, self.n_items);
        let entry = layout.entry(b.reads_in_vectors(16 / size));
        params.team = layout.team;
        let mut first = 0;
        while first < n {
            let width = panel.min(n - first);
            params.n = width;
            params.b = b.address + first * b.col_stride * size;
            params.c = c.address + first * c.col_stride * acc;
            let Some(grid) = layout.grid(self.n_items, width) else {
                unreachable!("rows are numbered in 32 bits, and a block takes four items at least")
            };
            // SAFETY: the caller's promise on B and C; A and the sums are this plan's own and sized
            // for its items and pieces.
            unsafe {
                self.functions.launch(stream, &entry, grid, THREADS, &params)?;
                if self.n_splits > 0 {
                    let grid = (element_grid(self.n_splits.saturating_mul(width)), 1);
                    self.functions.launch(stream, COMBINE, grid, ELEMENT_THREADS, &params)?;
                }
            }
            first += width;
        }
        Ok(())
    }
}

impl Sums {
    /// Room for the sums of `pieces` pieces, `n` columns wide if that is not too much; `None` if there
    /// are no pieces.
    fn new<T: Scalar>(
        gpu: &Gpu,
        stream: &Arc<CudaStream>,
        pieces: u64,
        n: u64,
        a_bytes: u64,
    ) -> Result<Option<Self>, CudaError> {
        if pieces == 0 {
            return Ok(None);
        }
        let per_column = pieces * size_of::<T::Acc>() as u64;
        let most = FREE_ROOM.max(a_bytes) / per_column / PANEL_UNIT * PANEL_UNIT;
        let panel = n.next_multiple_of(PANEL_UNIT).min(most).max(PANEL_UNIT);
        let mut room = gpu.alloc(stream, panel * per_column, "the sums of split rows")?;
        let (address, guard) = room.device_ptr_mut(stream);
        drop(guard);
        Ok(Some(Self { room, address, panel }))
    }
}

impl PreparedSpmm for CudaPrepared {
    /// Copies B (and C, unless β is zero) to the device, multiplies, and copies C back. The room on the
    /// device for both is kept and grows with the widest product; one thread at a time is served.
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let n = self.shape.check_operands(&b, &c)?;
        if self.shape.m == 0 || n == 0 {
            return Ok(());
        }
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        let mut transfer = self.gpu.transfer();
        let scales = Scales { alpha, beta };
        host.multiply(self, &mut transfer, scales, &b, c)
            .map_err(|error| refused(error, "multiply"))
    }
}
