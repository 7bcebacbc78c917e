//! B and C on aligned memory.

use girih::formats::{Buffer, Scalar};
use ndarray::{ArrayView2, ArrayViewMut2};
use rayon::prelude::*;

use crate::dense::fill_random;
use crate::error::CliError;
use crate::units;

/// Where operands begin, in bytes: a cache line, and the widest vector. Allocators leave that to
/// chance, and a product takes up to half as long again where they miss it.
const ALIGNMENT: usize = 64;

/// A row-major dense matrix that begins on a cache line.
#[derive(Debug)]
pub(in crate::commands) struct Operand<T: Scalar> {
    values: Buffer<T>,
    /// Elements before the first.
    skip: usize,
    dim: (usize, usize),
}

impl<T: Scalar> Operand<T> {
    /// An operand of zeros.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub(in crate::commands) fn zeros(what: &str, dim: (usize, usize)) -> Result<Self, CliError> {
        let refused = || {
            let bytes = dim.0 as f64 * dim.1 as f64 * size_of::<T>() as f64;
            let size = units::bytes(bytes as u64);
            CliError::failed(format!(
                "{what} is {}×{} and needs {size}, which the system refuses; give fewer columns \
                 or a --memory-limit",
                dim.0, dim.1
            ))
        };
        let spare = ALIGNMENT / size_of::<T>();
        let len = dim.0.checked_mul(dim.1).and_then(|len| len.checked_add(spare));
        let values = Buffer::<T>::zeroed(len.ok_or_else(refused)?).map_err(|_| refused())?;
        let address = values.as_ptr().addr();
        let skip = (address.next_multiple_of(ALIGNMENT) - address) / size_of::<T>();
        Ok(Self { values, skip, dim })
    }

    /// An operand of seeded values, uniform in [-1, 1) before they are rounded.
    ///
    /// # Errors
    /// As for [`zeros`](Self::zeros).
    pub(in crate::commands) fn random(
        what: &str,
        dim: (usize, usize),
        seed: u64,
    ) -> Result<Self, CliError> {
        let mut operand = Self::zeros(what, dim)?;
        fill_random(operand.as_mut_slice(), dim.1, seed);
        Ok(operand)
    }

    /// Makes every element `value`.
    pub(in crate::commands) fn fill(&mut self, value: T) {
        self.as_mut_slice().par_chunks_mut(1 << 16).for_each(|chunk| chunk.fill(value));
    }

    fn len(&self) -> usize {
        self.dim.0 * self.dim.1
    }

    /// The elements, row by row.
    pub(in crate::commands) fn as_slice(&self) -> &[T] {
        &self.values[self.skip..self.skip + self.len()]
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        let (skip, len) = (self.skip, self.len());
        // The only owner, so nothing is copied and the address stays.
        &mut self.values.make_mut()[skip..skip + len]
    }

    pub(in crate::commands) fn view(&self) -> ArrayView2<'_, T> {
        ArrayView2::from_shape(self.dim, self.as_slice())
            .unwrap_or_else(|_| unreachable!("the slice was cut to this shape"))
    }

    pub(in crate::commands) fn view_mut(&mut self) -> ArrayViewMut2<'_, T> {
        let dim = self.dim;
        ArrayViewMut2::from_shape(dim, self.as_mut_slice())
            .unwrap_or_else(|_| unreachable!("the slice was cut to this shape"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;

    #[test]
    fn operands_begin_on_a_cache_line() {
        fn check<T: Scalar>(dim: (usize, usize)) {
            let mut b = Operand::<T>::random("B", dim, 1).unwrap();
            assert_eq!(b.view().dim(), dim);
            assert_eq!(b.view().as_ptr().addr() % ALIGNMENT, 0);
            assert_eq!(b.view_mut().as_ptr(), b.view().as_ptr());
            assert!(b.view().iter().any(|x| !x.is_zero()) || b.len() == 0);
            b.fill(T::ONE);
            assert!(b.view().iter().all(|&x| x == T::ONE));
        }
        for dim in [(0, 3), (3, 5), (1000, 7), (1 << 10, 1 << 10)] {
            check::<bf16>(dim);
            check::<f32>(dim);
            check::<f64>(dim);
        }
    }

    #[test]
    fn too_much_memory_is_an_error() {
        for dim in [(usize::MAX, 2), (1 << 31, 1 << 31)] {
            let error = Operand::<f64>::zeros("B", dim).unwrap_err().to_string();
            assert!(error.contains("fewer columns"), "{error}");
        }
    }
}
