//! Room that begins with a cache line: a load that meets two lines takes twice as long.

use girih_formats::{Buffer, FormatError, Scalar};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Room for some elements, from the beginning of a cache line on.
#[derive(Debug)]
pub(crate) struct Aligned<T: Scalar> {
    all: Buffer<T>,
    len: usize,
}

impl<T: Scalar> Aligned<T> {
    /// Room for no elements.
    pub(crate) fn none() -> Self {
        Self { all: Vec::new().into(), len: 0 }
    }

    /// Room for so many elements, zeros. Pages that are not written to take no memory.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`] if the system refuses.
    pub(crate) fn zeroed(len: usize) -> Result<Self, FormatError> {
        Ok(Self { all: Buffer::zeroed(len.saturating_add(spare::<T>()))?, len })
    }

    /// Elements that there is room for.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The elements.
    pub(crate) fn elements(&mut self) -> &mut [T] {
        from_line(self.all.make_mut(), self.len)
    }
}

/// Elements that room has to have to spare for any of it to begin with a line.
pub(crate) const fn spare<T>() -> usize {
    LINE / size_of::<T>()
}

/// The first `len` elements that begin with a line, of so many and those [to spare](spare).
pub(crate) fn from_line<T>(all: &mut [T], len: usize) -> &mut [T] {
    let first = all.as_ptr().align_offset(LINE).min(all.len() - len);
    &mut all[first..first + len]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_begins_with_a_line_whatever_its_size() {
        for len in [0, 1, 16, 1000, 12_345, 2 << 20] {
            let mut room = Aligned::<f64>::zeroed(len).unwrap();
            assert_eq!((room.len(), room.elements().len()), (len, len));
            assert!(len == 0 || room.elements().as_ptr().addr().is_multiple_of(LINE));
        }
        assert!(Aligned::<f32>::none().elements().is_empty());
        assert!(Aligned::<f32>::zeroed(usize::MAX).is_err());
    }

    #[test]
    fn elements_before_the_first_line_are_left_out() {
        let mut all = vec![0.0f32; 100 + spare::<f32>()];
        for start in 0..spare::<f32>() {
            let room = from_line(&mut all[start..], 100 - start);
            assert_eq!(room.len(), 100 - start);
            assert!(room.as_ptr().addr().is_multiple_of(LINE));
        }
    }
}
