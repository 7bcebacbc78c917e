//! Page-locked buffers that take turns.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, PinnedHostSlice};

/// Bytes of a buffer: few enough to stay in the processor's cache until they are copied on, and enough
/// that a copy takes longer than to enqueue it.
pub(super) const BUFFER: usize = 4 << 20;
/// Buffers of one direction.
const BUFFERS: usize = 4;

/// Page-locked memory, and when the device is done with it.
pub(super) struct Staged {
    memory: PinnedHostSlice<u8>,
    pub(super) done: CudaEvent,
}

impl Staged {
    fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        // SAFETY: it is written just below. Flags of 0: cached, for it is read too.
        let mut memory = unsafe { context.alloc_pinned_with_flags(BUFFER, 0) }?;
        memory.as_mut_slice()?.fill(0);
        Ok(Self { memory, done: context.new_event(None)? })
    }

    /// The first `len` bytes, once the device is done with them.
    pub(super) fn bytes(&mut self, len: usize) -> Result<&mut [u8], DriverError> {
        self.done.synchronize()?;
        Ok(&mut self.memory.as_mut_slice()?[..len])
    }
}

/// The buffers of one direction, allocated when they are first needed.
#[derive(Default)]
pub(super) struct Ring {
    buffers: Vec<Staged>,
    /// How often a buffer was taken.
    taken: usize,
}

impl Ring {
    /// How many there are.
    pub(super) const LEN: usize = BUFFERS;

    /// The buffer whose turn it is; the device may still use it.
    pub(super) fn next(
        &mut self,
        stream: &CudaStream,
    ) -> Result<(usize, &mut Staged), DriverError> {
        let turn = self.taken % BUFFERS;
        if turn == self.buffers.len() {
            self.buffers.push(Staged::new(stream.context())?);
        }
        self.taken += 1;
        Ok((turn, &mut self.buffers[turn]))
    }

    /// The buffer whose turn comes next, if it has been used.
    pub(super) fn peek(&self) -> Option<&Staged> {
        self.buffers.get(self.taken % BUFFERS)
    }

    /// The buffer of a turn that was taken.
    pub(super) fn of(&mut self, turn: usize) -> &mut Staged {
        &mut self.buffers[turn]
    }
}
