//! What becomes a parallel loop.

use std::ops::Range;

use crate::par::Par;
use crate::source::Source;

/// What parallel loops go over.
pub trait IntoParallel {
    /// Its items, to be cut.
    type Source: Source;

    /// The loop.
    fn into_par_iter(self) -> Par<Self::Source>;
}

impl<S: Source> IntoParallel for Par<S> {
    type Source = S;

    fn into_par_iter(self) -> Self {
        self
    }
}

macro_rules! itself {
    ($([$($generic:tt)*] $t:ty),*) => {$(
        impl<$($generic)*> IntoParallel for $t {
            type Source = Self;

            fn into_par_iter(self) -> Par<Self> {
                Par::new(self)
            }
        }
    )*};
}
itself!([] Range<u32>, [] Range<u64>, [] Range<usize>, [T: Send] Vec<T>, ['a, T: Sync] &'a [T],
    ['a, T: Send] &'a mut [T]);

impl<'a, T: Sync> IntoParallel for &'a Vec<T> {
    type Source = &'a [T];

    fn into_par_iter(self) -> Par<&'a [T]> {
        Par::new(self.as_slice())
    }
}

impl<'a, T: Send> IntoParallel for &'a mut Vec<T> {
    type Source = &'a mut [T];

    fn into_par_iter(self) -> Par<&'a mut [T]> {
        Par::new(self.as_mut_slice())
    }
}

impl<T: Send, const N: usize> IntoParallel for [T; N] {
    type Source = Vec<T>;

    fn into_par_iter(self) -> Par<Vec<T>> {
        Par::new(Vec::from(self))
    }
}
