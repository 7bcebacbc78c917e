//! A parallel loop: what it goes over, and what it does.

use std::iter::Sum;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::adaptors::{Enumerate, Filter, FilterMap, Map, MapInit, StepBy, Zip};
use crate::convert::IntoParallel;
use crate::drive::{results, run};
use crate::source::{Exact, Source};

/// A parallel loop over the items of a source.
///
/// Functions that it is given are cloned for each piece: closures that borrow are copied.
#[derive(Clone, Debug)]
#[must_use = "a loop runs once a method says what to do with items"]
pub struct Par<S> {
    source: S,
    min_len: usize,
    max_len: usize,
}

impl<S: Source> Par<S> {
    /// A loop whose pieces have any length.
    pub(crate) fn new(source: S) -> Self {
        Self { source, min_len: 1, max_len: usize::MAX }
    }

    /// Lets pieces have at least `min_len` items, if there are as many.
    pub fn with_min_len(self, min_len: usize) -> Self {
        Self { min_len: self.min_len.max(min_len), ..self }
    }

    /// Lets pieces have at most `max_len` items, unless there is one thread.
    pub fn with_max_len(self, max_len: usize) -> Self {
        Self { max_len: self.max_len.min(max_len), ..self }
    }

    fn over<R>(self, make: impl FnOnce(S) -> R) -> Par<R> {
        Par { source: make(self.source), min_len: self.min_len, max_len: self.max_len }
    }

    fn limits(&self) -> (usize, usize) {
        (self.min_len, self.max_len)
    }

    /// Items with their positions.
    pub fn enumerate(self) -> Par<Enumerate<S>>
    where
        S: Exact,
    {
        self.over(|source| Enumerate { source, first: 0 })
    }

    /// Pairs with the items of another loop; as many as the shorter one has.
    pub fn zip<I: IntoParallel<Source: Exact>>(self, other: I) -> Par<Zip<S, I::Source>>
    where
        S: Exact,
    {
        let other = other.into_par_iter();
        let (min_len, max_len) = (self.min_len.max(other.min_len), self.max_len.min(other.max_len));
        // Both are cut to the shorter one's length, so that positions mean the same in both.
        let len = self.source.len().min(other.source.len());
        let (a, b) = (self.source.split_at(len).0, other.source.split_at(len).0);
        Par { source: Zip(a, b), min_len, max_len }
    }

    /// What `f` makes of items.
    pub fn map<R, F: Fn(S::Item) -> R + Clone + Send + Sync>(self, f: F) -> Par<Map<S, F>> {
        self.over(|source| Map { source, f })
    }

    /// What `f` makes of items with scratch that `init` makes for each piece.
    pub fn map_init<X, R, I, F>(self, init: I, f: F) -> Par<MapInit<S, I, F>>
    where
        I: Fn() -> X + Clone + Send + Sync,
        F: Fn(&mut X, S::Item) -> R + Clone + Send + Sync,
    {
        self.over(|source| MapInit { source, init, f })
    }

    /// The items that `f` accepts.
    pub fn filter<F: Fn(&S::Item) -> bool + Clone + Send + Sync>(self, f: F) -> Par<Filter<S, F>> {
        self.over(|source| Filter { source, f })
    }

    /// What `f` makes of items, where it makes something.
    pub fn filter_map<R, F>(self, f: F) -> Par<FilterMap<S, F>>
    where
        F: Fn(S::Item) -> Option<R> + Clone + Send + Sync,
    {
        self.over(|source| FilterMap { source, f })
    }

    /// The first item and every `step`-th after it.
    ///
    /// # Panics
    /// If `step` is zero.
    pub fn step_by(self, step: usize) -> Par<StepBy<S>>
    where
        S: Exact,
    {
        assert!(step > 0, "steps go forward");
        self.over(|source| StepBy { source, step })
    }

    /// Calls `f` with each item.
    pub fn for_each(self, f: impl Fn(S::Item) + Sync) {
        let limits = self.limits();
        run(self.source, limits, |_, piece| {
            for item in piece.into_seq() {
                f(item);
            }
        });
    }

    /// Calls `f` with each item and scratch that `init` makes for each piece.
    pub fn for_each_init<X>(self, init: impl Fn() -> X + Sync, f: impl Fn(&mut X, S::Item) + Sync) {
        let limits = self.limits();
        run(self.source, limits, |_, piece| {
            let mut scratch = init();
            piece.into_seq().for_each(|item| f(&mut scratch, item));
        });
    }

    /// Calls `f` with each item, and stops at an error: the first one in order of those that were met.
    ///
    /// # Errors
    /// That error.
    pub fn try_for_each<E: Send>(
        self,
        f: impl Fn(S::Item) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let (limits, failed) = (self.limits(), AtomicBool::new(false));
        let found = results(self.source, limits, |_, piece| {
            for item in piece.into_seq() {
                if failed.load(Ordering::Relaxed) {
                    break;
                }
                f(item).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            }
            Ok(())
        });
        found.into_iter().collect()
    }

    /// The items in order, in a vector, or the first error or `None` among them.
    #[must_use]
    pub fn collect<C: Collect<S::Item>>(self) -> C {
        let limits = self.limits();
        C::join(results(self.source, limits, |_, piece| C::piece(piece.into_seq())))
    }

    /// Writes the items to `to`, in order.
    ///
    /// # Panics
    /// If `to` has another length.
    pub fn write_to(self, to: &mut [S::Item])
    where
        S: Exact<Item: Send>,
    {
        assert_eq!(self.source.len(), to.len());
        let limits = self.limits();
        run(Zip(to, self.source), limits, |_, piece| {
            piece.into_seq().for_each(|(to, item)| *to = item);
        });
    }

    /// The sum of all items. Sums of pieces are added in order; how many there are depends on the threads.
    #[must_use]
    pub fn sum<R: Sum<S::Item> + Sum<R> + Send>(self) -> R {
        let limits = self.limits();
        let found = results(self.source, limits, |_, piece| piece.into_seq().sum::<R>());
        found.into_iter().sum()
    }

    /// The number of items.
    #[must_use]
    pub fn count(self) -> usize {
        let limits = self.limits();
        results(self.source, limits, |_, piece| piece.into_seq().count()).into_iter().sum()
    }

    /// All items joined by `join`, pieces in order, each from `identity` on. `join` must be
    /// associative, or the result depends on the number of threads.
    #[must_use]
    pub fn reduce(
        self,
        identity: impl Fn() -> S::Item + Sync,
        join: impl Fn(S::Item, S::Item) -> S::Item + Sync,
    ) -> S::Item
    where
        S::Item: Send,
    {
        let limits = self.limits();
        let found =
            results(self.source, limits, |_, piece| piece.into_seq().fold(identity(), &join));
        found.into_iter().reduce(&join).unwrap_or_else(identity)
    }

    /// The first item in order of those with the least key.
    #[must_use]
    pub fn min_by_key<K: Ord>(self, key: impl Fn(&S::Item) -> K + Sync) -> Option<S::Item>
    where
        S::Item: Send,
    {
        let limits = self.limits();
        let found = results(self.source, limits, |_, piece| piece.into_seq().min_by_key(&key));
        found.into_iter().flatten().min_by_key(&key)
    }

    /// Whether `f` holds for all items.
    #[must_use]
    pub fn all(self, f: impl Fn(S::Item) -> bool + Sync) -> bool {
        !self.any(|item| !f(item))
    }

    /// Whether `f` holds for an item.
    #[must_use]
    pub fn any(self, f: impl Fn(S::Item) -> bool + Sync) -> bool {
        let (limits, found) = (self.limits(), AtomicBool::new(false));
        run(self.source, limits, |_, piece| {
            if !found.load(Ordering::Relaxed) && piece.into_seq().any(&f) {
                found.store(true, Ordering::Relaxed);
            }
        });
        found.into_inner()
    }

    /// The position of the first item for which `f` holds.
    #[must_use]
    pub fn position_first(self, f: impl Fn(S::Item) -> bool + Sync) -> Option<usize>
    where
        S: Exact,
    {
        self.enumerate().find_map_first(|(i, item)| f(item).then_some(i))
    }

    /// What `f` makes of the first item of which it makes something.
    #[must_use]
    pub fn find_map_first<R: Send>(self, f: impl Fn(S::Item) -> Option<R> + Sync) -> Option<R> {
        // No piece behind one where something was found has to be looked at.
        let (limits, first) = (self.limits(), AtomicUsize::new(usize::MAX));
        let found = results(self.source, limits, |start, piece| {
            if start > first.load(Ordering::Relaxed) {
                return None;
            }
            piece.into_seq().find_map(&f).inspect(|_| {
                first.fetch_min(start, Ordering::Relaxed);
            })
        });
        found.into_iter().flatten().next()
    }
}

/// What the items of a loop can be collected to.
pub trait Collect<T>: Sized {
    /// The items of a piece.
    type Piece: Send;

    /// Collects the items of a piece.
    fn piece(items: impl Iterator<Item = T>) -> Self::Piece;

    /// Joins pieces in order.
    fn join(pieces: Vec<Self::Piece>) -> Self;
}

impl<T: Send> Collect<T> for Vec<T> {
    type Piece = Self;

    fn piece(items: impl Iterator<Item = T>) -> Self {
        items.collect()
    }

    fn join(mut pieces: Vec<Self>) -> Self {
        if pieces.len() == 1 {
            return pieces.swap_remove(0);
        }
        let mut all = Self::with_capacity(pieces.iter().map(Self::len).sum());
        pieces.into_iter().for_each(|mut piece| all.append(&mut piece));
        all
    }
}

impl<T: Send> Collect<Option<T>> for Option<Vec<T>> {
    type Piece = Self;

    fn piece(items: impl Iterator<Item = Option<T>>) -> Self {
        items.collect()
    }

    fn join(pieces: Vec<Self>) -> Self {
        Some(Vec::join(pieces.into_iter().collect::<Option<_>>()?))
    }
}

impl<T: Send, E: Send> Collect<Result<T, E>> for Result<Vec<T>, E> {
    type Piece = Self;

    fn piece(items: impl Iterator<Item = Result<T, E>>) -> Self {
        items.collect()
    }

    fn join(pieces: Vec<Self>) -> Self {
        Ok(Vec::join(pieces.into_iter().collect::<Result<_, _>>()?))
    }
}
