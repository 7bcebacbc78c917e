//! Where a plan's bytes come from.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use bytemuck::{Pod, cast_slice_mut};
use girih_formats::Buffer;
use memmap2::Mmap;

use super::PlanFileError;

/// The bytes of a plan file, of known length.
pub(super) trait Source {
    /// Number of bytes.
    fn len(&self) -> u64;

    /// Fills `into` from `offset`; the range is within the length.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), PlanFileError>;

    /// `count` elements at `offset`; the range is within the length, the offset page-aligned.
    fn array<T: Pod>(&self, offset: u64, count: u64) -> Result<Buffer<T>, PlanFileError> {
        let bytes = count.saturating_mul(size_of::<T>() as u64);
        let no_memory = PlanFileError::OutOfMemory { bytes };
        let Ok(count) = usize::try_from(count) else { return Err(no_memory) };
        let Ok(mut array) = Buffer::<T>::zeroed(count) else { return Err(no_memory) };
        self.read_at(offset, cast_slice_mut(array.make_mut()))?;
        Ok(array)
    }
}

/// A file, read piece by piece.
pub(super) struct FileSource<'a> {
    pub(super) file: &'a File,
    pub(super) len: u64,
    pub(super) name: String,
}

impl Source for FileSource<'_> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), PlanFileError> {
        let mut file = self.file;
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.read_exact(into))
            .map_err(|e| PlanFileError::io("read", &self.name, e))
    }
}

/// Bytes in memory.
pub(super) struct BytesSource<'a>(pub(super) &'a [u8]);

impl Source for BytesSource<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), PlanFileError> {
        copy_from(self.0, offset, into)
    }
}

/// A mapped file: arrays are borrowed from it.
pub(super) struct MapSource(pub(super) Arc<Mmap>);

impl Source for MapSource {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), PlanFileError> {
        copy_from(&self.0, offset, into)
    }

    fn array<T: Pod>(&self, offset: u64, count: u64) -> Result<Buffer<T>, PlanFileError> {
        Ok(Buffer::from_mapped(Arc::clone(&self.0), offset as usize, count as usize)?)
    }
}

fn copy_from(bytes: &[u8], offset: u64, into: &mut [u8]) -> Result<(), PlanFileError> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    match bytes.get(start..).and_then(|rest| rest.get(..into.len())) {
        Some(range) => into.copy_from_slice(range),
        None => {
            let (declared, actual) = (offset.saturating_add(into.len() as u64), bytes.len() as u64);
            return Err(PlanFileError::Truncated { declared, actual });
        }
    }
    Ok(())
}
