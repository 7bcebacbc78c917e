//! An immutable, shareable array: owned, or borrowed from a mapped file.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::{Mmap, MmapMut};

use crate::error::FormatError;

/// An immutable array of plain values with O(1) `clone`.
///
/// The elements live in a vector, in pages of their own or in a memory-mapped file; whoever holds a
/// `Buffer` need not know which. Cloning shares the elements, so a prepared backend can keep a plan's arrays
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
    /// Anonymous memory, which starts as zeros.
    Pages {
        pages: Arc<MmapMut>,
        offset: usize,
        bytes: usize,
    },
    Mapped {
        file: Arc<Mmap>,
        offset: usize,
        bytes: usize,
    },
}

/// Bytes from which zeros come as pages of their own: where huge pages start to pay.
const PAGES_FROM: usize = 4 << 20;

/// Bytes of a huge page, on the systems that are advised to use them.
const HUGE_PAGE: usize = 2 << 20;

impl<T: Pod> Buffer<T> {
    /// `len` zeros, to be written through [`make_mut`](Self::make_mut).
    ///
    /// Nothing is touched before it is written, so large arrays are paged in by the threads that
    /// fill them; in huge pages where the system has them, as paging in is most of the cost of
    /// writing a fresh array once.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`] if the system refuses.
    pub fn zeroed(len: usize) -> Result<Self, FormatError> {
        let bytes = len as u128 * size_of::<T>() as u128;
        let refused = || FormatError::OutOfMemory { bytes };
        if bytes < PAGES_FROM as u128 {
            let zeros = bytemuck::allocation::try_zeroed_slice_box(len);
            return zeros.map(|zeros| Vec::from(zeros).into()).map_err(|()| refused());
        }
        let bytes = usize::try_from(bytes).map_err(|_| refused())?;
        // Space to start on a huge page: addresses cost nothing.
        let reserved = bytes.checked_add(2 * HUGE_PAGE).ok_or_else(refused)?;
        let pages = MmapMut::map_anon(reserved).map_err(|_| refused())?;
        let offset = pages.as_ptr().align_offset(HUGE_PAGE);
        let offset = if offset > HUGE_PAGE { 0 } else { offset };
        // A last huge page that would be less than half used is left to small ones. Advice that is
        // refused costs speed, nothing else.
        #[cfg(target_os = "linux")]
        let _ = pages.advise_range(
            memmap2::Advice::HugePage,
            offset,
            (bytes + HUGE_PAGE / 2) / HUGE_PAGE * HUGE_PAGE,
        );
        Ok(Self { repr: Repr::Pages { pages: Arc::new(pages), offset, bytes } })
    }

    /// As [`zeroed`](Self::zeroed), for functions that return no error, whose results are no larger than what
    /// they are made from: when memory runs out, the allocator of the program decides, as for a vector.
    pub(crate) fn zeroed_or_abort(len: usize) -> Self {
        Self::zeroed(len).unwrap_or_else(|_| bytemuck::allocation::zeroed_vec(len).into())
    }

    /// Forgets all elements but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        match &mut self.repr {
            Repr::Owned(v) => Arc::make_mut(v).truncate(len),
            Repr::Pages { bytes, .. } | Repr::Mapped { bytes, .. } => {
                *bytes = (*bytes).min(len * size_of::<T>());
            }
        }
    }

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
            Repr::Pages { pages, offset, bytes } => {
                bytemuck::cast_slice(&pages[*offset..*offset + *bytes])
            }
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
            Repr::Pages { .. } | Repr::Mapped { .. } => self.as_slice().to_vec(),
        }
    }

    /// The elements, mutable: copied first if they are shared or mapped.
    pub fn make_mut(&mut self) -> &mut [T] {
        if self.get_mut().is_none() {
            self.repr = Repr::Owned(Arc::new(self.as_slice().to_vec()));
        }
        match self.get_mut() {
            Some(elements) => elements,
            None => unreachable!("a vector was just made"),
        }
    }

    /// The elements, mutable, unless they are shared or mapped.
    pub(crate) fn get_mut(&mut self) -> Option<&mut [T]> {
        match &mut self.repr {
            Repr::Owned(v) => Arc::get_mut(v).map(Vec::as_mut_slice),
            Repr::Pages { pages, offset, bytes } => {
                Some(bytemuck::cast_slice_mut(&mut Arc::get_mut(pages)?[*offset..*offset + *bytes]))
            }
            Repr::Mapped { .. } => None,
        }
    }

    /// The same bytes as elements of another type: without a copy but for a vector that is shared or whose
    /// capacity is no whole number of them.
    ///
    /// `None` if the bytes are no whole number of elements, or not aligned for them.
    ///
    /// ```
    /// use girih_formats::Buffer;
    ///
    /// let pairs = Buffer::<u32>::from(vec![1, 2, 3, 4]).cast::<[u32; 2]>().unwrap();
    /// assert_eq!(pairs[1], [3, 4]);
    /// assert!(pairs.cast::<[u32; 3]>().is_none());
    /// ```
    #[must_use]
    pub fn cast<U: Pod>(self) -> Option<Buffer<U>> {
        bytemuck::try_cast_slice::<T, U>(&self).ok()?;
        let repr = match self.repr {
            Repr::Owned(v) => {
                let cast = |v| bytemuck::allocation::try_cast_vec(v).map_err(|(_, v)| Arc::new(v));
                Repr::Owned(Arc::new(match Arc::try_unwrap(v).and_then(cast) {
                    Ok(cast) => cast,
                    Err(shared) => bytemuck::cast_slice(&shared).to_vec(),
                }))
            }
            Repr::Pages { pages, offset, bytes } => Repr::Pages { pages, offset, bytes },
            Repr::Mapped { file, offset, bytes } => Repr::Mapped { file, offset, bytes },
        };
        Some(Buffer { repr })
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
            Repr::Pages { pages, offset, bytes } => {
                Repr::Pages { pages: Arc::clone(pages), offset: *offset, bytes: *bytes }
            }
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
    fn zeros_of_any_size_are_written_shared_and_copied_alike() {
        for len in [0, 1, PAGES_FROM / 8, PAGES_FROM / 8 + 1] {
            let mut a = Buffer::<u64>::zeroed(len).unwrap();
            assert!(a.len() == len && a.iter().all(|&x| x == 0) && !a.is_mapped());
            if let Some(last) = a.make_mut().last_mut() {
                *last = 7;
            }
            let address = a.as_ptr();
            let mut b = a.clone();
            assert_eq!(b.as_ptr(), address);
            b.make_mut().fill(9);
            assert_eq!((a.as_ptr(), a.last().copied().unwrap_or(7)), (address, 7));
            assert!(b.iter().all(|&x| x == 9) && b.into_vec().len() == len);
        }
        assert_eq!(Buffer::<()>::zeroed(3).unwrap().len(), 3);
    }

    #[test]
    fn elements_of_another_type_are_the_same_bytes() {
        let address = |array: &Buffer<u32>| array.as_ptr().addr();
        for len in [0, 6, PAGES_FROM / 4 / 6 * 6 + 6] {
            let mut array = Buffer::<u32>::zeroed(len).unwrap();
            array.make_mut().iter_mut().zip(0..).for_each(|(x, i)| *x = i);
            let (before, shared) = (address(&array), array.clone());
            // Pages are shared; a shared vector is copied.
            let threes = array.cast::<[u32; 3]>().unwrap();
            assert!(threes.len() == len / 3 && threes.as_flattened() == &shared[..]);
            drop(shared);
            let back = threes.cast::<u32>().unwrap();
            assert!(back.iter().zip(0..).all(|(&x, i)| x == i) && back.len() == len);
            if len > 6 {
                assert_eq!(address(&back), before);
            }
            assert_eq!(back.cast::<[u32; 4]>().is_none(), len % 4 > 0);
        }
        assert!(Buffer::from(vec![0u8; 7]).cast::<u32>().is_none());
    }

    #[test]
    fn more_zeros_than_an_address_space_are_an_error() {
        for len in [1 << 59, usize::MAX] {
            let bytes = 8 * len as u128;
            assert_eq!(Buffer::<u64>::zeroed(len), Err(FormatError::OutOfMemory { bytes }));
        }
    }

    #[test]
    fn into_vec_of_a_sole_owner_does_not_copy() {
        let v = vec![1u32, 2, 3];
        let address = v.as_ptr();
        let same = Buffer::from(v).into_vec();
        assert_eq!(same.as_ptr(), address);
    }
}
