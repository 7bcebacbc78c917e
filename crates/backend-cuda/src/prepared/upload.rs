//! From arrays here to one allocation on a device.

use cudarc::driver::{CudaSlice, DevicePtrMut};

use super::launch::{ALIGN, Bytes};
use crate::CudaError;
use crate::device::{Gpu, Transfer};

/// Bytes that the parts take, each at a multiple of [`ALIGN`].
pub(crate) fn arena_bytes(parts: &[Box<dyn Bytes>]) -> u64 {
    parts.iter().map(|part| padded(&**part)).sum()
}

fn padded(part: &dyn Bytes) -> u64 {
    (part.bytes().len() as u64).next_multiple_of(ALIGN)
}

/// Allocates memory for all parts and enqueues their copies; gives the address of each.
pub(crate) fn upload(
    gpu: &Gpu,
    transfer: &mut Transfer,
    parts: &[Box<dyn Bytes>],
) -> Result<(CudaSlice<u8>, Vec<u64>), CudaError> {
    let bytes = arena_bytes(parts);
    let stream = transfer.stream().clone();
    let mut arena = gpu.alloc(&stream, bytes, "the tiles")?;
    let (mut next, guard) = arena.device_ptr_mut(&stream);
    let mut addresses = Vec::with_capacity(parts.len());
    for part in parts {
        let bytes = part.bytes();
        transfer.send(next, bytes.len() as u64, 1, |range, to| {
            to.copy_from_slice(&bytes[range.start as usize..range.end as usize]);
        })?;
        addresses.push(next);
        next += padded(&**part);
    }
    drop(guard);
    Ok((arena, addresses))
}
