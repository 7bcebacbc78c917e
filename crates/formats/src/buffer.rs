//! An immutable, shareable array: owned, or borrowed from a mapped file.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;

use crate::FormatError;

/// An immutable array of plain values with O(1) `clone`.
///
/// The elements live either in a vector or in a memory-mapped file; whoever holds a `Buffer` need
/// not know which. Cloning shares the elements, so a prepared backend can keep a plan's arrays
/// without copying them.
///
/// ```
/// use girih_formats::Buffer;
///
/// let a: Buffer<u32> = vec![1, 2, 3].into();
/// let b = a.clone();
/// assert_eq!(a.as_ptr(), b.as_ptr());
/// assert_eq!(&b[1..], &[2, 3]);
/// ```
pub struct Buffer<T> {
    repr: Repr<T>,
}

enum Repr<T> {
    Owned(Arc<Vec<T>>),
    Mapped { file: Arc<Mmap>, offset: usize, bytes: usize },
}

impl<T: Pod> Buffer<T> {
    /// Borrows `len` elements at `offset` bytes of a mapped file.
    ///
    /// # Errors
    /// [`FormatError::Mapping`] if the range leaves the mapping or is not aligned for `T`.
    pub fn from_mapped(file: Arc<Mmap>, offset: usize, len: usize) -> Result<Self, FormatError> {
        let refused = |reason| FormatError::Mapping { offset, len, reason };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| refused("length overflows"))?;
        let end = offset.checked_add(bytes).ok_or_else(|| refused("range overflows"))?;
        let range = file.get(offset..end).ok_or_else(|| refused("range leaves the file"))?;
        if bytes > 0 && bytemuck::try_cast_slice::<u8, T>(range).is_err() {
            return Err(refused("offset is not aligned for the element type"));
        }
        Ok(Self { repr: Repr::Mapped { file, offset, bytes } })
    }

    /// The elements.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match &self.repr {
            Repr::Owned(v) => v,
            Repr::Mapped { bytes: 0, .. } => &[],
            Repr::Mapped { file, offset, bytes } => {
                bytemuck::cast_slice(&file[*offset..*offset + *bytes])
            }
        }
    }

    /// The elements as a vector: without a copy if this is the only owner of a vector.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        match self.repr {
            Repr::Owned(v) => Arc::try_unwrap(v).unwrap_or_else(|shared| shared.to_vec()),
            Repr::Mapped { .. } => self.as_slice().to_vec(),
        }
    }

    /// The elements, mutable: copied first if they are shared or mapped.
    pub fn make_mut(&mut self) -> &mut [T] {
        if let Repr::Mapped { .. } = self.repr {
            self.repr = Repr::Owned(Arc::new(self.as_slice().to_vec()));
        }
        match &mut self.repr {
            Repr::Owned(v) => Arc::make_mut(v).as_mut_slice(),
            Repr::Mapped { .. } => unreachable!("a mapped buffer was just copied"),
        }
    }

    /// Whether the elements live in a mapped file.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        matches!(self.repr, Repr::Mapped { .. })
    }
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        let repr = match &self.repr {
            Repr::Owned(v) => Repr::Owned(Arc::clone(v)),
            Repr::Mapped { file, offset, bytes } => {
                Repr::Mapped { file: Arc::clone(file), offset: *offset, bytes: *bytes }
            }
        };
        Self { repr }
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(v: Vec<T>) -> Self {
        Self { repr: Repr::Owned(Arc::new(v)) }
    }
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Pod + PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        let all = self.as_slice();
        let mut list = f.debug_list();
        list.entries(all.iter().take(SHOWN));
        if all.len() > SHOWN {
            list.entry(&format_args!("… {} in all", all.len()));
        }
        list.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_mut_leaves_other_owners_alone() {
        let a: Buffer<u32> = vec![1, 2].into();
        let mut b = a.clone();
        b.make_mut()[0] = 9;
        assert_eq!((&a[..], &b[..]), (&[1, 2][..], &[9, 2][..]));
    }

    #[test]
    fn into_vec_of_a_sole_owner_does_not_copy() {
        let v = vec![1u32, 2, 3];
        let address = v.as_ptr();
        assert_eq!(Buffer::from(v).into_vec().as_ptr(), address);
    }
}
