//! Copies between host and device, through pinned memory.
//!
//! Two buffers take turns: while one is on its way the other is filled or emptied, so that gathering
//! a strided operand and sending it overlap.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaStream, PinnedHostSlice, result};

use crate::CudaError;

/// Bytes of a buffer.
const BUFFER: usize = 8 << 20;

/// A stream of its own with two pinned buffers.
pub(crate) struct Transfer {
    stream: Arc<CudaStream>,
    buffers: Option<[Buffer; 2]>,
}

/// Pinned memory, and when the device is done with it.
struct Buffer {
    memory: PinnedHostSlice<u8>,
    done: CudaEvent,
}

impl fmt::Debug for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transfer").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Transfer {
    pub(crate) fn new(stream: Arc<CudaStream>) -> Self {
        Self { stream, buffers: None }
    }

    /// The stream that copies are enqueued on.
    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Sends `bytes` bytes to `address`, made by `fill` in units of `unit` bytes, ranges of which it
    /// is asked for in order. Returns when all is enqueued, not when it is there.
    ///
    /// The caller keeps `address` valid for so many bytes until the stream has been waited for.
    pub(crate) fn send(
        &mut self,
        address: u64,
        bytes: u64,
        unit: usize,
        mut fill: impl FnMut(Range<u64>, &mut [u8]),
    ) -> Result<(), CudaError> {
        let failed = || CudaError::driver("send data");
        self.stream.context().bind_to_thread().map_err(failed())?;
        let stream = self.stream.clone();
        for (turn, range) in chunks(bytes, unit).enumerate() {
            let buffer = &mut self.buffers()?[turn % 2];
            buffer.done.synchronize().map_err(failed())?;
            let memory = buffer.memory.as_mut_slice().map_err(failed())?;
            let memory = &mut memory[..(range.end - range.start) as usize];
            fill(range.start / unit as u64..range.end / unit as u64, memory);
            // SAFETY: the caller's promise, and the buffer is not touched before the event.
            let sent = unsafe {
                result::memcpy_htod_async(address + range.start, memory, stream.cu_stream())
            };
            sent.map_err(failed())?;
            buffer.done.record(&stream).map_err(failed())?;
        }
        Ok(())
    }

    /// Fetches `bytes` bytes from `address`; `take` gets them in ranges of units of `unit` bytes, in
    /// order. Returns when it has got all.
    ///
    /// The caller keeps `address` valid for so many bytes meanwhile.
    pub(crate) fn fetch(
        &mut self,
        address: u64,
        bytes: u64,
        unit: usize,
        mut take: impl FnMut(Range<u64>, &[u8]),
    ) -> Result<(), CudaError> {
        let failed = || CudaError::driver("fetch data");
        self.stream.context().bind_to_thread().map_err(failed())?;
        let stream = self.stream.clone();
        let mut under_way: Option<(usize, Range<u64>)> = None;
        let ranges = chunks(bytes, unit).map(Some).chain([None]);
        for (turn, range) in ranges.enumerate() {
            if let Some(range) = &range {
                let buffer = &mut self.buffers()?[turn % 2];
                // The buffer may still be on its way to the device, from an earlier call.
                buffer.done.synchronize().map_err(failed())?;
                let memory = buffer.memory.as_mut_slice().map_err(failed())?;
                let memory = &mut memory[..(range.end - range.start) as usize];
                // SAFETY: as in `send`.
                let fetched = unsafe {
                    result::memcpy_dtoh_async(memory, address + range.start, stream.cu_stream())
                };
                fetched.map_err(failed())?;
                buffer.done.record(&stream).map_err(failed())?;
            }
            if let Some((turn, range)) = under_way.take() {
                let buffer = &mut self.buffers()?[turn % 2];
                buffer.done.synchronize().map_err(failed())?;
                let memory = buffer.memory.as_slice().map_err(failed())?;
                let units = range.start / unit as u64..range.end / unit as u64;
                take(units, &memory[..(range.end - range.start) as usize]);
            }
            under_way = range.map(|range| (turn, range));
        }
        Ok(())
    }

    /// Waits for all that was enqueued.
    pub(crate) fn wait(&self) -> Result<(), CudaError> {
        self.stream.synchronize().map_err(CudaError::driver("finish its work"))
    }

    fn buffers(&mut self) -> Result<&mut [Buffer; 2], CudaError> {
        if self.buffers.is_none() {
            let context = self.stream.context();
            let buffer = || {
                // SAFETY: it is written before it is read. Flags of 0: cached, for it is read too.
                let memory = unsafe { context.alloc_pinned_with_flags(BUFFER, 0) }?;
                Ok(Buffer { memory, done: context.new_event(None)? })
            };
            let pair = buffer().and_then(|first| Ok([first, buffer()?]));
            self.buffers = Some(pair.map_err(CudaError::driver("allocate pinned memory"))?);
        }
        match &mut self.buffers {
            Some(buffers) => Ok(buffers),
            None => unreachable!("they were just allocated"),
        }
    }
}

/// Ranges of bytes that fill a buffer each, whole units.
fn chunks(bytes: u64, unit: usize) -> impl Iterator<Item = Range<u64>> {
    let step = (BUFFER / unit * unit) as u64;
    (0..bytes.div_ceil(step)).map(move |i| i * step..bytes.min((i + 1) * step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_all_bytes_in_whole_units() {
        assert_eq!(chunks(0, 4).count(), 0);
        for (bytes, unit) in [(8, 8), (3 * BUFFER as u64 + 16, 16), (24 * 1_000_003, 24)] {
            let mut end = 0;
            for range in chunks(bytes, unit) {
                assert_eq!(range.start, end);
                assert!(range.end > range.start && range.end - range.start <= BUFFER as u64);
                assert_eq!((range.end % unit as u64, range.start % unit as u64), (0, 0));
                end = range.end;
            }
            assert_eq!(end, bytes);
        }
    }
}
