//! Sources made of sources.

use std::ops::Range;

use crate::source::{Exact, Source, is_its_base};

/// Items with their positions. See [`Par::enumerate`](crate::Par::enumerate).
#[derive(Clone, Debug)]
pub struct Enumerate<S> {
    pub(crate) source: S,
    pub(crate) first: usize,
}

impl<S: Exact> Source for Enumerate<S> {
    type Item = (usize, S::Item);
    type Seq = std::iter::Zip<Range<usize>, S::Seq>;
    type Base = S::Base;
    type Applied = (usize, S::Applied);

    #[inline]
    fn len(&self) -> usize {
        self.source.len()
    }
    #[inline]
    fn split_at(self, at: usize) -> (Self, Self) {
        let (a, b) = self.source.split_at(at);
        (Self { source: a, first: self.first }, Self { source: b, first: self.first + at })
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        (self.first..self.first + self.source.len()).zip(self.source.into_seq())
    }
    #[inline]
    fn open(self) -> (S::Base, Self::Applied) {
        let (base, applied) = self.source.open();
        (base, (self.first, applied))
    }
    #[inline]
    fn close(base: S::Base, start: usize, (first, applied): &Self::Applied) -> Self {
        Self { source: S::close(base, start, applied), first: first + start }
    }
}
impl<S: Exact> Exact for Enumerate<S> {}

/// Pairs of items, whose positions are known. See [`Par::zip`](crate::Par::zip).
#[derive(Clone, Debug)]
pub struct Zip<A, B>(pub(crate) A, pub(crate) B);

impl<A: Source, B: Source> Source for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type Seq = std::iter::Zip<A::Seq, B::Seq>;
    type Base = Zip<A::Base, B::Base>;
    type Applied = (A::Applied, B::Applied);

    #[inline]
    fn len(&self) -> usize {
        self.0.len().min(self.1.len())
    }
    #[inline]
    fn split_at(self, at: usize) -> (Self, Self) {
        let (a, rest_a) = self.0.split_at(at);
        let (b, rest_b) = self.1.split_at(at);
        (Self(a, b), Self(rest_a, rest_b))
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        self.0.into_seq().zip(self.1.into_seq())
    }
    #[inline]
    fn open(self) -> (Self::Base, Self::Applied) {
        let ((a, applied_a), (b, applied_b)) = (self.0.open(), self.1.open());
        (Zip(a, b), (applied_a, applied_b))
    }
    #[inline]
    fn close(Zip(a, b): Self::Base, start: usize, (applied_a, applied_b): &Self::Applied) -> Self {
        Self(A::close(a, start, applied_a), B::close(b, start, applied_b))
    }
}
impl<A: Exact, B: Exact> Exact for Zip<A, B> {}

/// What a function makes of items. See [`Par::map`](crate::Par::map).
#[derive(Clone, Debug)]
pub struct Map<S, F> {
    pub(crate) source: S,
    pub(crate) f: F,
}

impl<S: Source, R, F: Fn(S::Item) -> R + Clone + Send + Sync> Source for Map<S, F> {
    type Item = R;
    type Seq = std::iter::Map<S::Seq, F>;
    type Base = S::Base;
    type Applied = (S::Applied, F);

    #[inline]
    fn len(&self) -> usize {
        self.source.len()
    }
    #[inline]
    fn split_at(self, at: usize) -> (Self, Self) {
        let (a, b) = self.source.split_at(at);
        (Self { source: a, f: self.f.clone() }, Self { source: b, f: self.f })
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        self.source.into_seq().map(self.f)
    }
    #[inline]
    fn open(self) -> (S::Base, Self::Applied) {
        let (base, applied) = self.source.open();
        (base, (applied, self.f))
    }
    #[inline]
    fn close(base: S::Base, start: usize, (applied, f): &Self::Applied) -> Self {
        Self { source: S::close(base, start, applied), f: f.clone() }
    }
}
impl<S: Exact, R, F: Fn(S::Item) -> R + Clone + Send + Sync> Exact for Map<S, F> {}

/// Items that a function accepts. See [`Par::filter`](crate::Par::filter).
#[derive(Clone, Debug)]
pub struct Filter<S, F> {
    pub(crate) source: S,
    pub(crate) f: F,
}

impl<S: Source, F: Fn(&S::Item) -> bool + Clone + Send + Sync> Source for Filter<S, F> {
    type Item = S::Item;
    type Seq = std::iter::Filter<S::Seq, F>;
    type Base = S::Base;
    type Applied = (S::Applied, F);

    #[inline]
    fn len(&self) -> usize {
        self.source.len()
    }
    #[inline]
    fn split_at(self, at: usize) -> (Self, Self) {
        let (a, b) = self.source.split_at(at);
        (Self { source: a, f: self.f.clone() }, Self { source: b, f: self.f })
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        self.source.into_seq().filter(self.f)
    }
    #[inline]
    fn open(self) -> (S::Base, Self::Applied) {
        let (base, applied) = self.source.open();
        (base, (applied, self.f))
    }
    #[inline]
    fn close(base: S::Base, start: usize, (applied, f): &Self::Applied) -> Self {
        Self { source: S::close(base, start, applied), f: f.clone() }
    }
}

/// What a function makes of some items. See [`Par::filter_map`](crate::Par::filter_map).
#[derive(Clone, Debug)]
pub struct FilterMap<S, F> {
    pub(crate) source: S,
    pub(crate) f: F,
}

impl<S: Source, R, F: Fn(S::Item) -> Option<R> + Clone + Send + Sync> Source for FilterMap<S, F> {
    type Item = R;
    type Seq = std::iter::FilterMap<S::Seq, F>;
    type Base = S::Base;
    type Applied = (S::Applied, F);

    #[inline]
    fn len(&self) -> usize {
        self.source.len()
    }
    #[inline]
    fn split_at(self, at: usize) -> (Self, Self) {
        let (a, b) = self.source.split_at(at);
        (Self { source: a, f: self.f.clone() }, Self { source: b, f: self.f })
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        self.source.into_seq().filter_map(self.f)
    }
    #[inline]
    fn open(self) -> (S::Base, Self::Applied) {
        let (base, applied) = self.source.open();
        (base, (applied, self.f))
    }
    #[inline]
    fn close(base: S::Base, start: usize, (applied, f): &Self::Applied) -> Self {
        Self { source: S::close(base, start, applied), f: f.clone() }
    }
}

/// The first item and every `step`-th after it. See [`Par::step_by`](crate::Par::step_by).
#[derive(Clone, Debug)]
pub struct StepBy<S> {
    pub(crate) source: S,
    pub(crate) step: usize,
}

impl<S: Exact> Source for StepBy<S> {
    type Item = S::Item;
    type Seq = std::iter::StepBy<S::Seq>;
    is_its_base!();

    #[inline]
    fn len(&self) -> usize {
        self.source.len().div_ceil(self.step)
    }
    #[inline]
    fn split_at(self, at: usize) -> (Self, Self) {
        let at = (at * self.step).min(self.source.len());
        let (a, b) = self.source.split_at(at);
        (Self { source: a, step: self.step }, Self { source: b, step: self.step })
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        self.source.into_seq().step_by(self.step)
    }
}
impl<S: Exact> Exact for StepBy<S> {}

/// What a function makes of items with a piece's own scratch. See [`Par::map_init`](crate::Par::map_init).
#[derive(Clone, Debug)]
pub struct MapInit<S, I, F> {
    pub(crate) source: S,
    pub(crate) init: I,
    pub(crate) f: F,
}

/// The items of a piece of [`MapInit`].
#[derive(Debug)]
pub struct MapInitSeq<S, X, F> {
    seq: S,
    scratch: X,
    f: F,
}

impl<S: Iterator, X, R, F: Fn(&mut X, S::Item) -> R> Iterator for MapInitSeq<S, X, F> {
    type Item = R;

    #[inline]
    fn next(&mut self) -> Option<R> {
        self.seq.next().map(|item| (self.f)(&mut self.scratch, item))
    }
    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.seq.size_hint()
    }
}

impl<S, X, R, I, F> Source for MapInit<S, I, F>
where
    S: Source,
    I: Fn() -> X + Clone + Send + Sync,
    F: Fn(&mut X, S::Item) -> R + Clone + Send + Sync,
{
    type Item = R;
    type Seq = MapInitSeq<S::Seq, X, F>;
    type Base = S::Base;
    type Applied = (S::Applied, I, F);

    #[inline]
    fn len(&self) -> usize {
        self.source.len()
    }
    #[inline]
    fn split_at(self, at: usize) -> (Self, Self) {
        let (a, b) = self.source.split_at(at);
        let (init, f) = (self.init.clone(), self.f.clone());
        (Self { source: a, init, f }, Self { source: b, init: self.init, f: self.f })
    }
    #[inline]
    fn into_seq(self) -> Self::Seq {
        MapInitSeq { seq: self.source.into_seq(), scratch: (self.init)(), f: self.f }
    }
    #[inline]
    fn open(self) -> (S::Base, Self::Applied) {
        let (base, applied) = self.source.open();
        (base, (applied, self.init, self.f))
    }
    #[inline]
    fn close(base: S::Base, start: usize, (applied, init, f): &Self::Applied) -> Self {
        Self { source: S::close(base, start, applied), init: init.clone(), f: f.clone() }
    }
}
