//! What can be cut into pieces.

use std::ops::Range;

/// Items that can be cut in two, and then visited in order.
pub trait Source: Sized + Send {
    /// An item.
    type Item;
    /// The items of a piece, in order.
    type Seq: Iterator<Item = Self::Item>;
    /// What is cut: the source without the functions that are applied to its items. It is the same for many loops.
    type Base: Source;
    /// What is applied to the items of the base.
    type Applied: Sync;

    /// The number of items; an upper bound if items are filtered.
    fn len(&self) -> usize;

    /// Whether there are no items.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `at` items, and the rest. `at` is at most the number of items.
    fn split_at(self, at: usize) -> (Self, Self);

    /// The items, one after the other.
    fn into_seq(self) -> Self::Seq;

    /// What is cut, and what is applied to its items.
    fn open(self) -> (Self::Base, Self::Applied);

    /// A piece of the source, of that piece of what is cut which begins with item `start`.
    fn close(base: Self::Base, start: usize, applied: &Self::Applied) -> Self;
}

/// The methods of a source that is cut as it is.
macro_rules! is_its_base {
    () => {
        type Base = Self;
        type Applied = ();

        #[inline]
        fn open(self) -> (Self, ()) {
            (self, ())
        }
        #[inline]
        fn close(base: Self, _: usize, (): &()) -> Self {
            base
        }
    };
}
pub(crate) use is_its_base;

/// A source whose [`len`](Source::len) is the number of its items, so that items have positions.
pub trait Exact: Source {}

macro_rules! range {
    ($($t:ty)*) => {$(
        impl Source for Range<$t> {
            type Item = $t;
            type Seq = Self;
            is_its_base!();

            #[inline]
            fn len(&self) -> usize {
                self.end.saturating_sub(self.start) as usize
            }
            #[inline]
            fn split_at(self, at: usize) -> (Self, Self) {
                let middle = self.start + at as $t;
                (self.start..middle, middle..self.end)
            }
            #[inline]
            fn into_seq(self) -> Self {
                self
            }
        }
        impl Exact for Range<$t> {}
    )*};
}
range!(u32 u64 usize);

impl<'a, T: Sync> Source for &'a [T] {
    type Item = &'a T;
    type Seq = std::slice::Iter<'a, T>;
    is_its_base!();

    #[inline]
    fn len(&self) -> usize {
        <[T]>::len(self)
    }
    #[inline]
    fn split_at(self, at: usize) -> (Self, Self) {
        <[T]>::split_at(self, at)
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        self.iter()
    }
}
impl<T: Sync> Exact for &[T] {}

impl<'a, T: Send> Source for &'a mut [T] {
    type Item = &'a mut T;
    type Seq = std::slice::IterMut<'a, T>;
    is_its_base!();

    #[inline]
    fn len(&self) -> usize {
        <[T]>::len(self)
    }
    #[inline]
    fn split_at(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        self.iter_mut()
    }
}
impl<T: Send> Exact for &mut [T] {}

/// Pieces are cut from the end, so each item is moved once.
impl<T: Send> Source for Vec<T> {
    type Item = T;
    type Seq = std::vec::IntoIter<T>;
    is_its_base!();

    #[inline]
    fn len(&self) -> usize {
        <[T]>::len(self)
    }
    fn split_at(mut self, at: usize) -> (Self, Self) {
        let rest = self.split_off(at);
        (self, rest)
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        self.into_iter()
    }
}
impl<T: Send> Exact for Vec<T> {}
