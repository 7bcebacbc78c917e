//! Room for copies of a B that kernels can't read where it is.

use std::sync::{Mutex, TryLockError};

use girih_formats::{FormatError, Scalar};

use crate::exec::scratch::aligned::Aligned;

/// Room for some columns of B, kept from one product to the next.
#[derive(Debug)]
pub(crate) struct Copies<T: Scalar>(Mutex<Aligned<T>>);

impl<T: Scalar> Copies<T> {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Aligned::none()))
    }

    /// Calls `f` with room for `len` elements: what is kept; or new room where another product has it,
    /// which may be further up on this very thread's stack.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`] if the system refuses.
    pub(crate) fn with<R>(
        &self,
        len: usize,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R, FormatError> {
        let mut kept = match self.0.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(f(Aligned::zeroed(len)?.elements())),
        };
        if kept.len() < len {
            *kept = Aligned::zeroed(len)?;
        }
        Ok(f(&mut kept.elements()[..len]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_kept_and_found_taken() {
        let copies = Copies::<f32>::new();
        let first = copies.with(10, |room| (room.len(), room.as_ptr().addr())).unwrap();
        let nested = copies.with(5, |room| {
            let inner = copies.with(7, |room| (room.len(), room.as_ptr().addr())).unwrap();
            (room.len(), room.as_ptr().addr(), inner)
        });
        let (len, address, inner) = nested.unwrap();
        assert_eq!((first.0, len, inner.0), (10, 5, 7));
        assert!(address == first.1 && inner.1 != address);
        assert_eq!(copies.with(11, |room| room.len()).unwrap(), 11);
        assert!(copies.with(usize::MAX, |_| ()).is_err());
    }
}
