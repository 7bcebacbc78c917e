//! Buffers that a prepared plan lends to its products.

use std::iter;

use girih_formats::{FormatError, Scalar};

use super::aligned::AlignedBuffer;
use crate::exec::lending::Lending;
use crate::exec::sync::MutexGuard;

/// Buffers of which each serves one product at a time.
#[derive(Debug)]
pub(crate) struct ScratchPool<T: Scalar>(Lending<AlignedBuffer<T>>);

/// A buffer that was lent.
pub(crate) struct LentBuffer<'a, T: Scalar>(MutexGuard<'a, AlignedBuffer<T>>);

impl<T: Scalar> LentBuffer<'_, T> {
    pub(crate) fn elements(&mut self) -> &mut [T] {
        self.0.elements()
    }
}

impl<T: Scalar> ScratchPool<T> {
    /// `count` buffers of `len` elements.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`] if the system refuses.
    pub(crate) fn new(count: usize, len: usize) -> Result<Self, FormatError> {
        let buffers: Result<Vec<_>, _> = (0..count).map(|_| AlignedBuffer::zeroed(len)).collect();
        Ok(Self(Lending::new(buffers?)))
    }

    /// One buffer that grows with the products that use it.
    pub(crate) fn growing() -> Self {
        Self::growing_from(0)
    }

    /// The same, with `len` elements to begin with, if there is memory for them.
    pub(crate) fn growing_from(len: usize) -> Self {
        let buffer = AlignedBuffer::zeroed(len).unwrap_or_else(|_| AlignedBuffer::empty());
        Self(Lending::new(iter::once(buffer)))
    }

    /// A buffer; `None` while other products use all of them.
    pub(crate) fn lend(&self) -> Option<LentBuffer<'_, T>> {
        self.0.lend().map(LentBuffer)
    }

    /// Calls `f` with `len` elements of a buffer of the pool, which grows if need be. `None` while other products use all buffers, or
    /// if the system refuses memory.
    pub(crate) fn with_lent<R>(&self, len: usize, f: impl FnOnce(&mut [T]) -> R) -> Option<R> {
        let LentBuffer(mut buffer) = self.lend()?;
        if buffer.len() < len {
            *buffer = AlignedBuffer::zeroed(len).ok()?;
        }
        Some(f(&mut buffer.elements()[..len]))
    }

    /// Calls `f` with `len` elements: of a buffer of the pool, which grows if need be, or newly allocated
    /// ones while other products use all buffers.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`] if the system refuses.
    pub(crate) fn with<R>(
        &self,
        len: usize,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R, FormatError> {
        let Some(LentBuffer(mut buffer)) = self.lend() else {
            return Ok(f(AlignedBuffer::zeroed(len)?.elements()));
        };
        if buffer.len() < len {
            *buffer = AlignedBuffer::zeroed(len)?;
        }
        Ok(f(&mut buffer.elements()[..len]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_buffer_is_kept_and_replaced_while_it_is_lent() {
        assert_eq!(ScratchPool::<f32>::growing_from(7).lend().unwrap().elements().len(), 7);
        assert!(ScratchPool::<f32>::growing_from(usize::MAX).lend().is_some());
        let pool = ScratchPool::<f32>::growing();
        let first = pool.with(10, |buffer| (buffer.len(), buffer.as_ptr().addr())).unwrap();
        let nested = pool.with(5, |buffer| {
            let inner = pool.with(7, |buffer| (buffer.len(), buffer.as_ptr().addr())).unwrap();
            (buffer.len(), buffer.as_ptr().addr(), inner)
        });
        let (len, address, inner) = nested.unwrap();
        assert_eq!((first.0, len, inner.0), (10, 5, 7));
        assert!(address == first.1 && inner.1 != address);
        assert_eq!(pool.with(11, |buffer| buffer.len()).unwrap(), 11);
        assert!(pool.with(usize::MAX, |_| ()).is_err());
        let nested = pool.with_lent(12, |buffer| (buffer.len(), pool.with_lent(1, |_| ())));
        assert_eq!(nested, Some((12, None)));
        assert!(pool.with_lent(usize::MAX, |_| ()).is_none());
    }

    #[test]
    fn as_many_buffers_are_lent_as_there_are() {
        let pool = ScratchPool::<f32>::new(2, 30).unwrap();
        let mut first = pool.lend().unwrap();
        let second = pool.lend().unwrap();
        assert_eq!(first.elements().len(), 30);
        assert!(pool.lend().is_none());
        drop(second);
        assert!(pool.lend().is_some());
    }
}
