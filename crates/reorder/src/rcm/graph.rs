//! Undirected graphs: where they come from.

use std::borrow::Cow;
use std::ops::Range;

use girih_formats::{Buffer, CsrPattern};
use girih_parallel::prelude::*;
use prefetch_index::prefetch_index;

use crate::error::ReorderError;

/// Vertices that one task handles.
const TASK_VERTICES: usize = 1 << 9;

/// Neighbours in a cache line, and the lines of a list that are prefetched: the processor sees
/// longer ones coming by itself.
const LINE: usize = 16;
const LINES: usize = 8;

/// How many steps ahead lists are prefetched where it is known which ones are needed.
const AHEAD: usize = 12;

/// An undirected graph. A vertex may be its own neighbour. Neighbours are in the order of the matrix,
/// whatever their numbers.
#[derive(Debug)]
pub(super) struct Graph<'a> {
    ptr: Cow<'a, [u64]>,
    idx: Cow<'a, [u32]>,
}

impl<'a> Graph<'a> {
    /// The graph that a symmetric pattern is. Of another pattern it is a directed one, which can be
    /// walked too.
    pub(super) fn of(pattern: CsrPattern<'a>) -> Self {
        Self { ptr: Cow::Borrowed(pattern.row_ptr()), idx: Cow::Borrowed(pattern.col_idx()) }
    }

    /// The graph of A + Aᵀ for a square pattern.
    pub(super) fn symmetrized(pattern: CsrPattern<'_>) -> Self {
        let transposed = Transposed::of(pattern);
        Self::build(pattern.nrows(), |v, out| merge(pattern.row(v), transposed.list(v), out))
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
        let mut ptr = vec![0u64; n + 1];
        ptr[1..].par_iter_mut().with_min_len(TASK_VERTICES).enumerate().for_each_init(
            Vec::new,
            |out, (v, end)| {
                out.clear();
                list(v, out);
                *end = out.len() as u64;
            },
        );
        let mut end = 0;
        for place in &mut ptr {
            end += *place;
            *place = end;
        }
        let mut idx = vec![0u32; end as usize];
        tasks(&ptr, &mut idx).into_par_iter().for_each_init(Vec::new, |out, (vertices, places)| {
            out.clear();
            vertices.for_each(|v| list(v, out));
            places.copy_from_slice(out);
        });
        Self { ptr: ptr.into(), idx: idx.into() }
    }

    /// The same graph with vertex `order[v]` as vertex v.
    pub(super) fn relabelled(&self, order: &[u32]) -> Graph<'static> {
        let mut new = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(v, &old)| new[old as usize] = v as u32);
        let mut end = 0;
        let mut ptr = Vec::with_capacity(order.len() + 1);
        ptr.push(0);
        ptr.extend(order.iter().map(|&v| {
            end += self.degree(v);
            end
        }));
        let mut idx = vec![0u32; end as usize];
        tasks(&ptr, &mut idx).into_par_iter().for_each(|(vertices, mut places)| {
            for at in vertices {
                self.ask_ahead(order, at);
                let old = self.neighbours(order[at]);
                let (list, rest) = places.split_at_mut(old.len());
                list.iter_mut().zip(old).for_each(|(place, &u)| *place = new[u as usize]);
                places = rest;
            }
        });
        Graph { ptr: ptr.into(), idx: idx.into() }
    }

    pub(super) fn len(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Number of edge ends.
    pub(super) fn entries(&self) -> usize {
        self.idx.len()
    }

    #[inline]
    pub(super) fn neighbours(&self, v: u32) -> &[u32] {
        &self.idx[self.ptr[v as usize] as usize..self.ptr[v as usize + 1] as usize]
    }

    /// Asks the caches for what is needed soon of the vertices that are gone through from `at` on:
    /// walks lead from one end of memory to the other, and wait for little else.
    #[inline(always)]
    pub(super) fn ask_ahead(&self, order: &[u32], at: usize) {
        if let Some(&later) = order.get(at + 2 * AHEAD) {
            prefetch_index(&self.ptr[..], later as usize);
            let soon = order[at + AHEAD] as usize;
            let (mut place, end) = (self.ptr[soon] as usize, self.ptr[soon + 1] as usize);
            let far = end.min(place + LINES * LINE);
            while place < far {
                prefetch_index(&self.idx[..], place);
                place += LINE;
            }
            // Lists begin anywhere in a line.
            prefetch_index(&self.idx[..], end.wrapping_sub(1));
        }
    }

    #[inline]
    pub(super) fn degree(&self, v: u32) -> u64 {
        self.ptr[v as usize + 1] - self.ptr[v as usize]
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

/// Appends the union of two increasing lists.
fn merge(mut a: &[u32], mut b: &[u32], out: &mut Vec<u32>) {
    if a == b {
        out.extend_from_slice(a);
        return;
    }
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
    fn neighbours_are_of_either_direction() {
        // 0 → 1, 0 → 2, 2 → 1, 1 → 1, 3 → 0
        let a = Csr::try_new(4, 4, vec![0, 2, 3, 4, 5], vec![1, 2, 1, 1, 0], vec![1.0f32; 5]);
        let graph = Graph::symmetrized(a.unwrap().pattern());
        let lists = [&[1, 2, 3][..], &[0, 1, 2], &[0, 1], &[0]];
        for (v, list) in lists.into_iter().enumerate() {
            assert_eq!(graph.neighbours(v as u32), list);
        }
    }

    #[test]
    fn rows_and_columns_make_a_bipartite_graph() {
        let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 2], vec![1.0f32; 3]).unwrap();
        let graph = Graph::bipartite(a.pattern()).unwrap();
        assert_eq!(graph.len(), 5);
        assert_eq!(graph.neighbours(0), [2, 4]);
        assert_eq!(graph.neighbours(4), [0, 1]);
        assert!(graph.neighbours(3).is_empty());
    }
}
