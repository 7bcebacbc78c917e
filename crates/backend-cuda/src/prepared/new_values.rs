//! New values in device memory, in the place of a plan's.

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};
use girih_backend::{BackendError, DenseScalar};
use girih_formats::DType;
use ndarray::ArrayView2;

use super::enqueue::is_tracked;
use super::launched::Launched;
use super::on_device::{CudaPrepared, check_place};
use super::product::Product;
use super::refresh::Refresh;
use super::source::Source;
use super::upload::upload;
use super::value_map::value_map;
use crate::device::Gpu;
use crate::error::refused_by;
use crate::kernels::put_values::{Target, kernel};
use crate::operand::Place;
use crate::{CudaError, DeviceMatrix};

impl CudaPrepared {
    /// Enqueues new values, nnz×1 in the order of the matrix that was planned, in the place of A's, and returns. The stream
    /// waits for products that read the old ones, as cudarc tracks it, and products that are enqueued later for this.
    ///
    /// The first call finds out where values go: it packs the plan some times over, waits for the device, and takes
    /// 4 bytes of its memory for each element of A as it is held there. It should come before a stream is captured;
    /// who launches a graph orders this among products, and keeps the plan and the values alive.
    ///
    /// ```no_run
    /// # use girih_backend_cuda::{CudaBackend, CudaPrepared, DeviceMatrix, Strides};
    /// # fn train(prepared: &mut CudaPrepared, values: &cudarc::driver::CudaSlice<f32>)
    /// # -> Result<(), Box<dyn std::error::Error>> {
    /// let values = DeviceMatrix::new(values, Strides::row_major(values.len(), 1))?;
    /// prepared.refresh_device(&prepared.gpu().stream().clone(), &values)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`BackendError::Shape`] or [`BackendError::DType`] if the values do not fit, [`BackendError::NewValues`] if the plan
    /// takes none (as [`refresh`](girih_backend::PreparedSpmm::refresh) says), [`BackendError::Failed`] if they are on
    /// another device or the driver refuses. A has its old values then.
    pub fn refresh_device<T: DenseScalar>(
        &mut self,
        stream: &CudaStream,
        values: &DeviceMatrix<'_, T>,
    ) -> Result<(), BackendError> {
        self.takes_values(&values.place, T::DTYPE)?;
        let backend = self.backend;
        let failed = |error: CudaError| refused_by(backend, error, "place new values");
        self.in_context("values", values.slice.context()).map_err(failed)?;
        self.in_context("the stream", stream.context()).map_err(failed)?;
        let tracked = is_tracked(stream).map_err(failed)?;
        let _values = tracked.then(|| values.slice.device_ptr(stream));
        let Product::Launched(launched, _) = &mut self.product else {
            unreachable!("others take no new values")
        };
        // SAFETY: the shape and the context were checked (1); the guards see to 2 and 3, or who launches the graph.
        unsafe { launched.put_values(stream, &values.place, tracked) }.map_err(failed)
    }

    /// Whether the plan takes new values of this shape and type, and where they go.
    pub(super) fn takes_values(&mut self, place: &Place, found: DType) -> Result<(), BackendError> {
        let Product::Launched(launched, source) = &mut self.product else {
            let reason = "its prepared plans keep their values; prepare a plan of the new matrix";
            let (backend, reason) = (self.backend.to_owned(), reason.to_owned());
            return Err(BackendError::NewValues { backend, reason });
        };
        check_place("values", place, (source.nnz(), 1))?;
        let expected = self.shape.dtype;
        if found != expected {
            return Err(BackendError::DType { operand: "values", found, expected });
        }
        launched.learn_places(&self.gpu, source, self.backend)
    }
}

impl Launched {
    /// Finds out where values go, uploads it and loads the kernel, if that was not done.
    ///
    /// # Errors
    /// If the plan takes no new values, if there is no memory, or what the driver and the compiler say.
    pub(super) fn learn_places(
        &mut self,
        gpu: &Gpu,
        source: &Source,
        backend: &'static str,
    ) -> Result<(), BackendError> {
        if self.refresh.is_some() {
            return Ok(());
        }
        let map = value_map(source, backend)?;
        let failed = |error: CudaError| refused_by(backend, error, "place new values");
        let kernel = self.load_other(&kernel()).map_err(|error| {
            refused_by(backend, error, "load the kernel that places new values")
        })?;
        let mut transfer = gpu.transfer();
        let parts: Vec<&[u8]> =
            map.iter().map(|part| bytemuck::cast_slice(&part.entries)).collect();
        let (maps, froms) = upload(gpu, &mut transfer, &parts).map_err(failed)?;
        transfer.wait().map_err(failed)?;
        let targets = map.iter().zip(froms).map(|(part, from)| Target {
            to: self.at.parts[part.part],
            from,
            count: part.entries.len() as u64,
            size: source.dtype().size(),
            packed: part.packed,
        });
        self.refresh = Some(Refresh { kernel, maps, targets: targets.collect(), staged: None });
        Ok(())
    }

    /// Enqueues the launches that put values, one column in device memory, in the place of A's.
    ///
    /// # Safety
    /// 1. There is a value for each entry of the plan's matrix, of its type.
    /// 2. The values live until the stream has run this, and nobody writes them meanwhile.
    /// 3. Nobody reads A meanwhile but products that `tracked` has the stream wait for, if it is set.
    pub(super) unsafe fn put_values(
        &mut self,
        stream: &CudaStream,
        values: &Place,
        tracked: bool,
    ) -> Result<(), CudaError> {
        let Some(Refresh { kernel, maps, targets, .. }) = &self.refresh else {
            unreachable!("places are learned first")
        };
        let _maps = tracked.then(|| maps.device_ptr(stream));
        let _arena = tracked.then(|| self.arena.device_ptr_mut(stream));
        for target in targets {
            target.launch(values, &mut |launch| {
                // SAFETY: the caller's promise on the values and on who reads A. A and the maps are this plan's own, and
                // the targets were given their addresses and sizes; a map names no entry that there is not.
                unsafe { kernel.launch(stream, launch) }
            })?;
        }
        Ok(())
    }

    /// Copies values to the device and puts them in the place of A's; waits until they are there.
    pub(super) fn put_host_values<T: DenseScalar>(
        &mut self,
        gpu: &Gpu,
        values: &ArrayView2<'_, T>,
    ) -> Result<(), CudaError> {
        let mut transfer = gpu.transfer();
        let stream = transfer.stream().clone();
        // One row, which is contiguous if the column is.
        let sent = Place::row_major(0, (1, values.len()), size_of::<T>());
        let Some(refresh) = &mut self.refresh else { unreachable!("places are learned first") };
        let mut staged = match refresh.staged.take() {
            Some(staged) => staged,
            None => {
                let bytes = sent.row_stride * size_of::<T>() as u64;
                gpu.alloc(&stream, bytes, "new values")?
            }
        };
        let (address, guard) = staged.device_ptr_mut(&stream);
        let place = Place::row_major(address, values.dim(), size_of::<T>());
        transfer.send_matrix(&Place { address, ..sent }, &values.t())?;
        // SAFETY: the column has the shape of the plan's values, which was checked (1). Its memory is this plan's own and
        // is kept below (2). The stream waits for products (3).
        let put = unsafe { self.put_values(&stream, &place, true) };
        drop(guard);
        if let Some(refresh) = &mut self.refresh {
            refresh.staged = Some(staged);
        }
        put?;
        transfer.wait()
    }
}
