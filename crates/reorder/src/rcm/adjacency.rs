//! The undirected graph of a matrix, with neighbours in the order Cuthill–McKee visits them.

use std::ops::Range;

use girih_formats::{Buffer, CsrPattern};
use rayon::prelude::*;

use crate::ReorderError;

/// Vertices that one task handles.
const TASK_VERTICES: usize = 1 << 9;

/// An undirected graph without self-loops; neighbours by degree, then by index.
#[derive(Debug)]
pub(super) struct Adjacency {
    ptr: Vec<u64>,
    idx: Vec<u32>,
}

impl Adjacency {
    /// The graph of A + Aᵀ for a square pattern.
    pub(super) fn symmetrized(pattern: CsrPattern<'_>) -> Self {
        let transposed = Transposed::of(pattern);
        Self::build(pattern.nrows(), |v, out| {
            let (row, col) = (pattern.row(v), transposed.list(v));
            let other = |&&u: &&u32| u as usize != v;
            if row == col {
                out.extend(row.iter().filter(other));
            } else {
                merge(row, col, out);
                out.retain(|&u| u as usize != v);
            }
        })
    }

    /// The bipartite graph of rows (vertices 0..nrows) and columns (nrows..nrows + ncols): a row and
    /// a column are neighbours if they share an entry.
    pub(super) fn bipartite(pattern: CsrPattern<'_>) -> Result<Self, ReorderError> {
        let (nrows, ncols) = (pattern.nrows(), pattern.ncols());
        let found = nrows + ncols;
        if found > girih_formats::MAX_DIM {
            return Err(ReorderError::TooLarge { what: "rows and columns together", found });
        }
        let transposed = Transposed::of(pattern);
        Ok(Self::build(found, |v, out| match v.checked_sub(nrows) {
            None => out.extend(pattern.row(v).iter().map(|&j| j + nrows as u32)),
            Some(col) => out.extend(transposed.list(col)),
        }))
    }

    /// Counts, then writes, the neighbours that `list` gives for each vertex.
    fn build(n: usize, list: impl Fn(usize, &mut Vec<u32>) + Sync) -> Self {
        let degrees: Vec<u32> = (0..n)
            .into_par_iter()
            .with_min_len(TASK_VERTICES)
            .map_init(Vec::new, |out, v| {
                out.clear();
                list(v, out);
                out.len() as u32
            })
            .collect();
        let scratch = || (Vec::new(), Vec::new(), Vec::new());
        Self::write(&degrees, scratch, |(out, keys, spare), v, slots| {
            out.clear();
            list(v, out);
            let key = |&u: &u32| u64::from(degrees[u as usize]) << 32 | u64::from(u);
            keys.clear();
            keys.extend(out.iter().map(key));
            sort(keys, spare);
            slots.iter_mut().zip(keys).for_each(|(slot, key)| *slot = *key as u32);
        })
    }

    /// A graph with these degrees, whose lists are written in parallel; `scratch` is made once per
    /// task.
    fn write<S>(
        degrees: &[u32],
        scratch: impl Fn() -> S + Sync,
        fill: impl Fn(&mut S, usize, &mut [u32]) + Sync,
    ) -> Self {
        let ptr = offsets(degrees);
        let mut idx = vec![0u32; ptr[degrees.len()] as usize];
        tasks(&ptr, &mut idx).into_par_iter().for_each(|(vertices, mut part)| {
            let mut scratch = scratch();
            for v in vertices {
                let slots;
                (slots, part) = part.split_at_mut(degrees[v] as usize);
                fill(&mut scratch, v, slots);
            }
        });
        Self { ptr, idx }
    }

    pub(super) fn len(&self) -> usize {
        self.ptr.len() - 1
    }

    /// The same graph with vertex `order[v]` as vertex v, where `order` holds one component after
    /// the other and `sizes` are theirs. Neighbours keep their order and are numbered within their
    /// component, so that [`part`](Self::part) of a component is a graph of its own.
    pub(super) fn relabelled(self, order: &[u32], sizes: impl Iterator<Item = usize>) -> Self {
        let mut new = vec![0u32; order.len()];
        let mut rest = order;
        for size in sizes {
            let (component, after) = rest.split_at(size);
            component.iter().enumerate().for_each(|(v, &old)| new[old as usize] = v as u32);
            rest = after;
        }
        let old = self.part(0..self.len());
        let degrees: Vec<u32> = order.iter().map(|&v| old.neighbours(v).len() as u32).collect();
        Self::write(
            &degrees,
            || (),
            |(), v, slots| {
                let renumbered = old.neighbours(order[v]).iter().map(|&u| new[u as usize]);
                slots.iter_mut().zip(renumbered).for_each(|(slot, u)| *slot = u);
            },
        )
    }

    /// The vertices of a range and their neighbours.
    pub(super) fn part(&self, vertices: Range<usize>) -> Part<'_> {
        Part { ptr: &self.ptr[vertices.start..=vertices.end], idx: &self.idx }
    }
}

/// A part of a graph whose neighbours are numbered within the part.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    ptr: &'a [u64],
    idx: &'a [u32],
}

impl<'a> Part<'a> {
    pub(super) fn len(self) -> usize {
        self.ptr.len() - 1
    }

    /// Number of edge ends.
    pub(super) fn entries(self) -> usize {
        (self.ptr[self.len()] - self.ptr[0]) as usize
    }

    #[inline]
    pub(super) fn neighbours(self, v: u32) -> &'a [u32] {
        &self.idx[self.ptr[v as usize] as usize..self.ptr[v as usize + 1] as usize]
    }
}

/// The rows of every column, increasing.
struct Transposed {
    ptr: Buffer<u64>,
    idx: Buffer<u32>,
}

impl Transposed {
    fn of(pattern: CsrPattern<'_>) -> Self {
        let (ptr, idx) = pattern.transpose();
        Self { ptr, idx }
    }

    fn list(&self, col: usize) -> &[u32] {
        &self.idx[self.ptr[col] as usize..self.ptr[col + 1] as usize]
    }
}

/// Lists up to this length are sorted by comparisons.
const SHORT_LIST: usize = 256;

/// Bits of a degree that one pass of the radix sort looks at.
const DIGIT_BITS: u32 = 11;

/// Sorts `degree << 32 | index` keys that come in order of index, in time linear in their number.
fn sort(keys: &mut Vec<u64>, spare: &mut Vec<u64>) {
    if keys.len() <= SHORT_LIST {
        keys.sort_unstable();
        return;
    }
    let used = keys.iter().fold(0, |bits, &key| bits | key);
    let mut shift = u32::BITS;
    while used.checked_shr(shift).is_some_and(|rest| rest != 0) {
        // Stable passes over the degree's digits keep the order of indices.
        let digit = |key: u64| (key >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut next = [0usize; 1 << DIGIT_BITS];
        keys.iter().for_each(|&key| next[digit(key)] += 1);
        let mut start = 0;
        for slot in &mut next {
            start += std::mem::replace(slot, start);
        }
        spare.resize(keys.len(), 0);
        for &key in &*keys {
            let slot = &mut next[digit(key)];
            spare[*slot] = key;
            *slot += 1;
        }
        std::mem::swap(keys, spare);
        shift += DIGIT_BITS;
    }
}

/// Cuts the lists at `ptr` into tasks of neighbouring vertices, each with its part of `idx`.
fn tasks<'a>(ptr: &[u64], mut idx: &'a mut [u32]) -> Vec<(Range<usize>, &'a mut [u32])> {
    let n = ptr.len() - 1;
    let mut tasks = Vec::with_capacity(n.div_ceil(TASK_VERTICES));
    for first in (0..n).step_by(TASK_VERTICES) {
        let vertices = first..n.min(first + TASK_VERTICES);
        let (part, rest) = idx.split_at_mut((ptr[vertices.end] - ptr[first]) as usize);
        idx = rest;
        tasks.push((vertices, part));
    }
    tasks
}

/// Where lists of these lengths start, and where the last one ends.
fn offsets(lens: &[u32]) -> Vec<u64> {
    let mut ptr = Vec::with_capacity(lens.len() + 1);
    let mut end = 0;
    ptr.push(0);
    ptr.extend(lens.iter().map(|&len| {
        end += u64::from(len);
        end
    }));
    ptr
}

/// Appends the union of two increasing lists.
fn merge(mut a: &[u32], mut b: &[u32], out: &mut Vec<u32>) {
    while let (Some((&x, a_rest)), Some((&y, b_rest))) = (a.split_first(), b.split_first()) {
        out.push(x.min(y));
        if x <= y {
            a = a_rest;
        }
        if y <= x {
            b = b_rest;
        }
    }
    out.extend_from_slice(a);
    out.extend_from_slice(b);
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;

    use super::*;

    #[test]
    fn long_lists_are_sorted_like_short_ones() {
        for (len, widest) in
            [(0u64, 1), (5, 9), (300, 1), (5000, 3000), (4000, u64::from(u32::MAX))]
        {
            let mut rng = girih_formats::rng::SplitMix64::new(len, 0);
            let mut keys: Vec<u64> = (0..len).map(|i| rng.below(widest) << 32 | i).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sort(&mut keys, &mut Vec::new());
            assert_eq!(keys, expected, "{len} {widest}");
        }
    }

    #[test]
    fn neighbours_are_symmetric_without_loops_and_by_degree() {
        // 0 → 1, 0 → 2, 2 → 1, 1 → 1, 3 → 0
        let a = Csr::try_new(4, 4, vec![0, 2, 3, 4, 5], vec![1, 2, 1, 1, 0], vec![1.0f32; 5]);
        let graph = Adjacency::symmetrized(a.unwrap().pattern());
        assert_eq!(graph.part(0..graph.len()).neighbours(0), [3, 1, 2]);
        assert_eq!(graph.part(0..graph.len()).neighbours(1), [2, 0]);
        assert_eq!(graph.part(0..graph.len()).neighbours(2), [1, 0]);
        assert_eq!(graph.part(0..graph.len()).neighbours(3), [0]);
    }

    #[test]
    fn rows_and_columns_make_a_bipartite_graph() {
        let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 2], vec![1.0f32; 3]).unwrap();
        let graph = Adjacency::bipartite(a.pattern()).unwrap();
        assert_eq!(graph.len(), 5);
        assert_eq!(graph.part(0..graph.len()).neighbours(0), [2, 4]);
        assert_eq!(graph.part(0..graph.len()).neighbours(4), [1, 0]);
        assert!(graph.part(0..graph.len()).neighbours(3).is_empty());
    }
}
