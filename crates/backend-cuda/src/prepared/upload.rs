//! From arrays here to one allocation on a device.

use cudarc::driver::{CudaSlice, DevicePtrMut};

use crate::CudaError;
use crate::device::{Gpu, Transfer};
use crate::launch::ALIGN;

/// Bytes that parts of these lengths take, each at a multiple of [`ALIGN`].
pub(crate) fn arena_bytes(lengths: impl Iterator<Item = usize>) -> u64 {
    lengths.map(padded).sum()
}

fn padded(len: usize) -> u64 {
    (len as u64).next_multiple_of(ALIGN)
}

/// Allocates memory for all parts and enqueues their copies; gives the address of each.
pub(crate) fn upload(
    gpu: &Gpu,
    transfer: &mut Transfer,
    parts: &[&[u8]],
) -> Result<(CudaSlice<u8>, Vec<u64>), CudaError> {
    let bytes = arena_bytes(parts.iter().map(|part| part.len()));
    let stream = transfer.stream().clone();
    let mut arena = gpu.alloc(&stream, bytes, "the tiles")?;
    let (mut next, guard) = arena.device_ptr_mut(&stream);
    let mut addresses = Vec::with_capacity(parts.len());
    for part in parts {
        transfer.send(next, part.len() as u64, 1, |range, to| {
            to.copy_from_slice(&part[range.start as usize..range.end as usize]);
        })?;
        addresses.push(next);
        next += padded(part.len());
    }
    drop(guard);
    Ok((arena, addresses))
}
