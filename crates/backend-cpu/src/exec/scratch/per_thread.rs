//! Scratch that each thread keeps between products.

use girih_formats::Scalar;

use super::aligned::{from_cache_line, spare};

/// Packed rows of B, and sums.
#[derive(Debug)]
pub(crate) struct ThreadScratch<T: Scalar> {
    rows: Vec<T>,
    sums: Vec<T::Acc>,
}

impl<T: Scalar> ThreadScratch<T> {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Self { rows: Vec::new(), sums: Vec::new() }
    }

    /// `rows` elements of B and `sums` sums, each from the beginning of a cache line on.
    pub(crate) fn split(&mut self, rows: usize, sums: usize) -> (&mut [T], &mut [T::Acc]) {
        (aligned(&mut self.rows, rows), aligned(&mut self.sums, sums))
    }
}

impl<T: Scalar> Default for ThreadScratch<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// `len` elements of a vector that grows as needed.
fn aligned<T: Scalar>(all: &mut Vec<T>, len: usize) -> &mut [T] {
    if all.len() < len + spare::<T>() {
        all.resize(len + spare::<T>(), T::ZERO);
    }
    from_cache_line(all, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_begins_with_a_cache_line_and_grows() {
        let mut scratch = ThreadScratch::<f32>::new();
        for (n_rows, n_sums) in [(3, 0), (1000, 17), (5, 4000)] {
            let (rows, sums) = scratch.split(n_rows, n_sums);
            assert_eq!((rows.len(), sums.len()), (n_rows, n_sums));
            assert!(rows.as_ptr().addr() % 64 == 0 && sums.as_ptr().addr() % 64 == 0);
        }
    }
}
