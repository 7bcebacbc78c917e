//! Memory that begins with a cache line: a load that crosses two cache lines is slow.

use girih_formats::{Buffer, FormatError, Scalar};

/// Bytes of a cache line.
const CACHE_LINE: usize = 64;

/// Elements from the beginning of a cache line on.
#[derive(Debug)]
pub(super) struct AlignedBuffer<T: Scalar> {
    all: Buffer<T>,
    len: usize,
}

impl<T: Scalar> AlignedBuffer<T> {
    /// No elements.
    pub(super) fn empty() -> Self {
        Self { all: Vec::new().into(), len: 0 }
    }

    /// `len` zeros. Pages that are not written to take no memory.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`] if the system refuses.
    pub(super) fn zeroed(len: usize) -> Result<Self, FormatError> {
        Ok(Self { all: Buffer::zeroed(len.saturating_add(spare::<T>()))?, len })
    }

    /// The number of elements.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The elements.
    pub(super) fn elements(&mut self) -> &mut [T] {
        from_cache_line(self.all.make_mut(), self.len)
    }
}

/// Elements that an array needs beyond its length, so that a part of it begins with a cache line.
pub(super) const fn spare<T>() -> usize {
    CACHE_LINE / size_of::<T>()
}

/// The first `len` elements that begin with a cache line. The array needs [`spare`] elements more than `len`.
pub(super) fn from_cache_line<T>(all: &mut [T], len: usize) -> &mut [T] {
    let first = all.as_ptr().align_offset(CACHE_LINE).min(all.len() - len);
    &mut all[first..first + len]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_any_size_begin_with_a_cache_line() {
        for len in [0, 1, 16, 1000, 12_345, 2 << 20] {
            let mut buffer = AlignedBuffer::<f64>::zeroed(len).unwrap();
            assert_eq!((buffer.len(), buffer.elements().len()), (len, len));
            assert!(len == 0 || buffer.elements().as_ptr().addr().is_multiple_of(CACHE_LINE));
        }
        assert!(AlignedBuffer::<f32>::empty().elements().is_empty());
        assert!(AlignedBuffer::<f32>::zeroed(usize::MAX).is_err());
    }

    #[test]
    fn elements_before_the_first_cache_line_are_left_out() {
        let mut all = vec![0.0f32; 100 + spare::<f32>()];
        for start in 0..spare::<f32>() {
            let aligned = from_cache_line(&mut all[start..], 100 - start);
            assert_eq!(aligned.len(), 100 - start);
            assert!(aligned.as_ptr().addr().is_multiple_of(CACHE_LINE));
        }
    }
}
