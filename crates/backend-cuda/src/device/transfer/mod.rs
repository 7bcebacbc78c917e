//! Copies between host and device.
//!
//! Page-locked memory of the caller's is copied from and to as it is, where rows are contiguous. All else
//! passes through page-locked buffers that take turns: while some are on their way the next is filled, or
//! the last one emptied, by all threads of the pool. So collecting a strided operand and moving it overlap,
//! and so do both directions, for one thread sees to both: while it would wait for a buffer to be sent, it
//! empties what has come back.

mod blocks;
mod copy;
mod direct;
mod staging;

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{cast_slice, cast_slice_mut};
use cudarc::driver::{CudaEvent, CudaStream, DriverError, result};
use girih_formats::Scalar;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice};

use crate::CudaError;
use crate::operand::Place;
use blocks::{Block, blocks};
use direct::{Rows, Way};
use staging::{BUFFER, Ring};

/// Streams of its own with buffers for either direction.
pub(crate) struct Transfer {
    /// Sends, and multiplies what is sent at once.
    up: Arc<CudaStream>,
    /// Multiplies, and fetches, what is sent in panels.
    panels: Option<[Arc<CudaStream>; 2]>,
    sent: Ring,
    fetched: Ring,
}

impl fmt::Debug for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transfer").field("stream", &self.up).finish_non_exhaustive()
    }
}

fn sending() -> impl FnOnce(DriverError) -> CudaError {
    CudaError::driver("send data")
}

fn fetching() -> impl FnOnce(DriverError) -> CudaError {
    CudaError::driver("fetch data")
}

impl Transfer {
    pub(crate) fn new(stream: Arc<CudaStream>) -> Self {
        Self { up: stream, panels: None, sent: Ring::default(), fetched: Ring::default() }
    }

    /// The stream that copies are enqueued on.
    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.up
    }

    /// Sends `bytes` bytes to `address`, made by `fill` in units of `unit` bytes, ranges of which it is
    /// requested in any order, by several threads. Returns when all is enqueued, not when it is there.
    ///
    /// The caller keeps `address` valid for these bytes until the stream has been waited for.
    pub(crate) fn send(
        &mut self,
        address: u64,
        bytes: u64,
        unit: usize,
        fill: impl Fn(Range<u64>, &mut [u8]) + Sync,
    ) -> Result<(), CudaError> {
        self.up.context().bind_to_thread().map_err(sending())?;
        let units = usize::try_from(bytes / unit as u64).unwrap_or(usize::MAX);
        for block in blocks((units, 1), 1, BUFFER / unit) {
            let (_, buffer) = self.sent.next(&self.up).map_err(sending())?;
            let memory = buffer.bytes(block.len * unit).map_err(sending())?;
            copy::fill_units(block.first, unit, memory, &fill);
            let to = address + block.first * unit as u64;
            // SAFETY: the caller's promise, and the buffer is not touched before the event.
            let sent = unsafe { result::memcpy_htod_async(to, memory, self.up.cu_stream()) };
            sent.and_then(|()| buffer.done.record(&self.up)).map_err(sending())?;
        }
        Ok(())
    }

    /// Begins to move the operands of a product; C comes back to `c`.
    ///
    /// In panels the product runs on a stream of its own, and so does what comes back.
    pub(crate) fn begin<'a, T: Scalar>(
        &'a mut self,
        c: ArrayViewMut2<'a, T>,
        in_panels: bool,
    ) -> Result<Moving<'a, T>, CudaError> {
        let context = self.up.context().clone();
        context.bind_to_thread().map_err(CudaError::driver("use a device"))?;
        let streams = match (&self.panels, in_panels) {
            (_, false) => [self.up.clone(), self.up.clone()],
            (Some(streams), true) => streams.clone(),
            (None, true) => {
                let new = || context.new_stream().map_err(CudaError::driver("create a stream"));
                self.panels.insert([new()?, new()?]).clone()
            }
        };
        let [product, down] = streams;
        let (queue, under_way, is_settled) = (VecDeque::new(), VecDeque::new(), false);
        Ok(Moving { transfer: self, product, down, c, queue, under_way, is_settled })
    }

    /// Sends a matrix to the first rows of its place.
    ///
    /// The caller keeps the place valid until the stream has been waited for. The matrix may go when this
    /// returns.
    pub(crate) fn send_matrix<T: Scalar>(
        &mut self,
        place: &Place,
        from: &ArrayView2<'_, T>,
    ) -> Result<(), CudaError> {
        // Nothing comes back.
        let mut nothing = ndarray::Array2::<f32>::zeros((0, 0));
        let mut moving = self.begin(nothing.view_mut(), false)?;
        moving.send(place, from)?;
        moving.settle()
    }

    /// Copies a matrix back from the first rows of its place, and returns when it is there.
    ///
    /// The caller keeps the place valid meanwhile.
    pub(crate) fn fetch_matrix<T: Scalar>(
        &mut self,
        place: &Place,
        to: ArrayViewMut2<'_, T>,
    ) -> Result<(), CudaError> {
        let cols = 0..to.ncols();
        let mut moving = self.begin(to, false)?;
        moving.fetch(place, cols)?;
        moving.settle()
    }

    /// Waits for all that was enqueued.
    pub(crate) fn wait(&self) -> Result<(), CudaError> {
        let streams = [&self.up].into_iter().chain(self.panels.iter().flatten());
        // All of them, also after one that failed.
        let waited = streams.map(|stream| stream.synchronize()).fold(Ok(()), Result::and);
        waited.map_err(CudaError::driver("finish its work"))
    }
}

/// What is to come back next.
enum Coming {
    /// Nothing before this has happened.
    After(CudaEvent),
    /// Elements of C through a buffer: their place, their block, and the first column they are of.
    Block(Place, Block, usize),
}

/// Operands of one product on their way, both directions at once. Whatever happens, nothing is under way
/// any more when it is dropped.
pub(crate) struct Moving<'a, T: Scalar> {
    transfer: &'a mut Transfer,
    product: Arc<CudaStream>,
    down: Arc<CudaStream>,
    c: ArrayViewMut2<'a, T>,
    queue: VecDeque<Coming>,
    /// Blocks in buffers, the first to come first.
    under_way: VecDeque<(usize, Block, usize)>,
    is_settled: bool,
}

impl<T: Scalar> Drop for Moving<'_, T> {
    fn drop(&mut self) {
        if !self.is_settled {
            // What failed was said already.
            let _ = self.transfer.wait();
        }
    }
}

impl<T: Scalar> Moving<'_, T> {
    /// The stream that the product runs on.
    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.product
    }

    /// Sends a matrix to the first rows of its place, and takes meanwhile what comes back.
    pub(crate) fn send<B: Scalar>(
        &mut self,
        place: &Place,
        from: &ArrayView2<'_, B>,
    ) -> Result<(), CudaError> {
        if self.send_pinned(place, from)? {
            return Ok(());
        }
        self.send_staged(place, from.dim(), |_, block, to| copy::gather(from, block, to))
    }

    /// Sends columns of C as they are now.
    pub(crate) fn send_c(&mut self, place: &Place, cols: Range<usize>) -> Result<(), CudaError> {
        let of = Slice::from(cols);
        let part = self.c.slice_axis(Axis(1), of);
        if self.send_pinned(place, &part)? {
            return Ok(());
        }
        let dim = part.dim();
        self.send_staged(place, dim, |c, block, to: &mut [T]| {
            copy::gather(&c.slice_axis(Axis(1), of), block, to);
        })
    }

    /// Sends a matrix by one copy, if it is page-locked and its rows are contiguous.
    fn send_pinned<B: Scalar>(
        &self,
        place: &Place,
        from: &ArrayView2<'_, B>,
    ) -> Result<bool, CudaError> {
        let Some(rows) = Rows::of(from, place).filter(Rows::is_pinned) else { return Ok(false) };
        let (stream, size) = (&self.transfer.up, size_of::<B>());
        // SAFETY: whoever lends the matrix lends it until this is settled or dropped, which waits for the
        // copy; whoever made the place made it as large.
        unsafe { direct::copy(stream, Way::ToDevice, rows, place, size) }?;
        Ok(true)
    }

    fn send_staged<B: Scalar>(
        &mut self,
        place: &Place,
        dim: (usize, usize),
        fill: impl Fn(&ArrayViewMut2<'_, T>, &Block, &mut [B]),
    ) -> Result<(), CudaError> {
        let size = size_of::<B>();
        for block in blocks(dim, place.row_stride as usize, BUFFER / size) {
            // Rather than wait for a buffer, empty one.
            while self.transfer.sent.peek().is_some_and(|next| !next.done.is_complete())
                && self.take(false)?
            {}
            let Transfer { up, sent, .. } = &mut *self.transfer;
            let (_, buffer) = sent.next(up).map_err(sending())?;
            let memory = buffer.bytes(block.len * size).map_err(sending())?;
            fill(&self.c, &block, cast_slice_mut(memory));
            let to = place.address + block.first * size as u64;
            // SAFETY: whoever made the place made it as large; the buffer is not touched before the event.
            let copied = unsafe { result::memcpy_htod_async(to, memory, up.cu_stream()) };
            copied.and_then(|()| buffer.done.record(up)).map_err(sending())?;
            self.take(false)?;
        }
        Ok(())
    }

    /// Lets the product wait for all that was sent.
    pub(crate) fn sent(&self) -> Result<(), CudaError> {
        self.order(&self.transfer.up, &self.product)
    }

    fn order(&self, before: &Arc<CudaStream>, after: &Arc<CudaStream>) -> Result<(), CudaError> {
        if before.cu_stream() == after.cu_stream() {
            return Ok(());
        }
        after.join(before).map_err(CudaError::driver("order its work"))
    }

    /// Copies back the columns `cols` of C from the first rows of a place, once the product has done what it
    /// was given so far: now, or when [`settle`](Self::settle) is called.
    pub(crate) fn fetch(&mut self, place: &Place, cols: Range<usize>) -> Result<(), CudaError> {
        let part = self.c.slice_axis(Axis(1), Slice::from(cols.clone()));
        let (dim, rows) = (part.dim(), Rows::of(&part, place));
        if let Some(rows) = rows.filter(Rows::is_pinned) {
            self.order(&self.product, &self.down)?;
            // SAFETY: C is borrowed mutably until this is settled or dropped, which waits for the copy;
            // no block of these columns is under way, and the place is as large.
            return unsafe { direct::copy(&self.down, Way::ToHost, rows, place, size_of::<T>()) };
        }
        if self.product.cu_stream() != self.down.cu_stream() {
            let done = self.product.record_event(None).map_err(fetching())?;
            self.queue.push_back(Coming::After(done));
        }
        let all = blocks(dim, place.row_stride as usize, BUFFER / size_of::<T>());
        self.queue.extend(all.map(|block| Coming::Block(*place, block, cols.start)));
        self.take(false).map(|_| ())
    }

    /// Enqueues what buffers are free for, and empties the one that came first, if there is one: when it
    /// is there, or only if it is already. Says whether one was emptied.
    fn take(&mut self, waits: bool) -> Result<bool, CudaError> {
        while self.under_way.len() < Ring::LEN {
            match self.queue.pop_front() {
                None => break,
                Some(Coming::After(event)) => self.down.wait(&event).map_err(fetching())?,
                Some(Coming::Block(place, block, first_col)) => {
                    let (turn, buffer) =
                        self.transfer.fetched.next(&self.down).map_err(fetching())?;
                    let memory = buffer.bytes(block.len * size_of::<T>()).map_err(fetching())?;
                    let from = place.address + block.first * size_of::<T>() as u64;
                    // SAFETY: as in `send_staged`.
                    let fetched =
                        unsafe { result::memcpy_dtoh_async(memory, from, self.down.cu_stream()) };
                    fetched.and_then(|()| buffer.done.record(&self.down)).map_err(fetching())?;
                    self.under_way.push_back((turn, block, first_col));
                }
            }
        }
        let Some((turn, ..)) = self.under_way.front() else { return Ok(false) };
        if !waits && !self.transfer.fetched.of(*turn).done.try_is_complete().map_err(fetching())? {
            return Ok(false);
        }
        let Some((turn, block, first_col)) = self.under_way.pop_front() else { return Ok(false) };
        let memory = self.transfer.fetched.of(turn).bytes(block.len * size_of::<T>());
        let memory: &[u8] = memory.map_err(fetching())?;
        let mut c = self.c.slice_axis_mut(Axis(1), Slice::from(first_col..));
        copy::scatter(cast_slice(memory), &block, &mut c);
        Ok(true)
    }

    /// Takes all that is to come and waits for what is under way.
    pub(crate) fn settle(mut self) -> Result<(), CudaError> {
        while self.take(true)? {}
        self.transfer.wait()?;
        self.is_settled = true;
        Ok(())
    }
}
