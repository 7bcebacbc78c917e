//! The undirected graph of a matrix, with neighbours in the order Cuthill–McKee visits them.

use std::mem;
use std::ops::Range;

use girih_formats::CsrPattern;
use rayon::prelude::*;

use crate::ReorderError;

/// Vertices that one task handles.
const TASK_VERTICES: usize = 1 << 9;

/// An undirected graph without self-loops; neighbours by degree, then by index.
#[derive(Debug)]
pub(crate) struct Adjacency {
    ptr: Vec<u64>,
    idx: Vec<u32>,
}

impl Adjacency {
    /// The graph of A + Aᵀ for a square pattern.
    pub(crate) fn symmetrized(pattern: CsrPattern<'_>) -> Self {
        let transposed = transpose(pattern);
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
    pub(crate) fn bipartite(pattern: CsrPattern<'_>) -> Result<Self, ReorderError> {
        let (nrows, ncols) = (pattern.nrows(), pattern.ncols());
        let found = nrows + ncols;
        if found > girih_formats::MAX_DIM {
            return Err(ReorderError::TooLarge { what: "rows and columns together", found });
        }
        let transposed = transpose(pattern);
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
        let ptr = offsets(&degrees);
        let mut idx = vec![0u32; ptr[n] as usize];
        let write = |vertices: Range<usize>, mut segment: &mut [u32]| {
            let (mut out, mut keys) = (Vec::new(), Vec::new());
            for v in vertices {
                let slots;
                (slots, segment) = segment.split_at_mut(degrees[v] as usize);
                out.clear();
                list(v, &mut out);
                keys.clear();
                keys.extend(
                    out.iter().map(|&u| u64::from(degrees[u as usize]) << 32 | u64::from(u)),
                );
                keys.sort_unstable();
                slots.iter_mut().zip(&keys).for_each(|(slot, &key)| *slot = key as u32);
            }
        };
        let tasks = split(&mut idx, n, TASK_VERTICES, |v| ptr[v] as usize);
        tasks.into_par_iter().for_each(|(vertices, segment)| write(vertices, segment));
        Self { ptr, idx }
    }

    pub(crate) fn len(&self) -> usize {
        self.ptr.len() - 1
    }

    #[inline]
    pub(crate) fn degree(&self, v: u32) -> u64 {
        self.ptr[v as usize + 1] - self.ptr[v as usize]
    }

    #[inline]
    pub(crate) fn neighbours(&self, v: u32) -> &[u32] {
        &self.idx[self.ptr[v as usize] as usize..self.ptr[v as usize + 1] as usize]
    }
}

/// The rows of every column, increasing.
struct Transposed {
    ptr: Vec<u64>,
    idx: Vec<u32>,
}

impl Transposed {
    fn list(&self, col: usize) -> &[u32] {
        &self.idx[self.ptr[col] as usize..self.ptr[col + 1] as usize]
    }
}

/// Transposes a pattern by one pass of a radix partition and one counting sort per bucket.
///
/// Chunks of rows deal their entries into buckets of neighbouring columns; then every bucket, small
/// enough for its counters to stay in a cache, sorts what the chunks dealt it, in the order of the
/// chunks. Linear, no counter is shared, and neither the number of chunks nor of threads shows in
/// the result. 8 bytes per entry are held besides the result.
fn transpose(pattern: CsrPattern<'_>) -> Transposed {
    let (nrows, ncols) = (pattern.nrows(), pattern.ncols());
    let shift = (ncols.max(1).ilog2() + 1).saturating_sub(9);
    let n_buckets = ncols.div_ceil(1 << shift);
    let chunk_rows = nrows.div_ceil(4 * rayon::current_num_threads()).max(TASK_VERTICES);
    // What a chunk deals: where each bucket ends, and the entries, bucket by bucket.
    let dealt: Vec<(Vec<usize>, Vec<u64>)> = (0..nrows.div_ceil(chunk_rows))
        .into_par_iter()
        .map(|chunk| {
            let rows = chunk * chunk_rows..nrows.min((chunk + 1) * chunk_rows);
            let all = pattern.row_ptr()[rows.start] as usize..pattern.row_ptr()[rows.end] as usize;
            let mut next = vec![0usize; n_buckets + 1];
            for &j in &pattern.col_idx()[all.clone()] {
                next[(j as usize >> shift) + 1] += 1;
            }
            for b in 0..n_buckets {
                next[b + 1] += next[b];
            }
            let mut entries = vec![0u64; all.len()];
            for i in rows {
                for &j in pattern.row(i) {
                    let slot = &mut next[j as usize >> shift];
                    entries[*slot] = u64::from(j) << 32 | i as u64;
                    *slot += 1;
                }
            }
            next.truncate(n_buckets);
            (next, entries)
        })
        .collect();
    let dealt_to = |bucket: usize| {
        dealt.iter().map(move |(ends, entries)| {
            let start = bucket.checked_sub(1).map_or(0, |before| ends[before]);
            &entries[start..ends[bucket]]
        })
    };

    let mut bucket_start = vec![0usize; n_buckets + 1];
    for b in 0..n_buckets {
        bucket_start[b + 1] = bucket_start[b] + dealt_to(b).map(<[u64]>::len).sum::<usize>();
    }
    let mut ptr = vec![0u64; ncols + 1];
    let mut idx = vec![0u32; pattern.nnz()];
    let width = 1 << shift;
    let ptr_parts = split(&mut ptr[1..], ncols, width, |col| col);
    let idx_parts = split(&mut idx, ncols, width, |col| bucket_start[col.div_ceil(width)]);
    let parts = ptr_parts.into_par_iter().zip(idx_parts).enumerate();
    parts.for_each(|(bucket, ((cols, ends), (_, idx)))| {
        let entries = || dealt_to(bucket).flatten();
        let local = |entry: u64| (entry >> 32) as usize - cols.start;
        for &entry in entries() {
            ends[local(entry)] += 1;
        }
        // Counts become starts, and a column's start has become its end once it is filled.
        let mut start = 0;
        for slot in ends.iter_mut() {
            start += mem::replace(slot, start);
        }
        for &entry in entries() {
            let slot = &mut ends[local(entry)];
            idx[*slot as usize] = entry as u32;
            *slot += 1;
        }
        ends.iter_mut().for_each(|end| *end += bucket_start[bucket] as u64);
    });
    Transposed { ptr, idx }
}

/// Cuts `data` into the parts that belong to `per_task` of `n` items each; `start(item)`, increasing,
/// is where an item's part begins.
fn split<T>(
    mut data: &mut [T],
    n: usize,
    per_task: usize,
    start: impl Fn(usize) -> usize,
) -> Vec<(Range<usize>, &mut [T])> {
    let mut tasks = Vec::with_capacity(n.div_ceil(per_task));
    for first in (0..n).step_by(per_task) {
        let items = first..n.min(first + per_task);
        let (part, rest) = data.split_at_mut(start(items.end) - start(items.start));
        data = rest;
        tasks.push((items, part));
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
    use girih_formats::generate::{dense_row, power_law_rows};

    use super::*;

    #[test]
    fn transposing_moves_every_entry_across_the_diagonal() {
        for a in [
            power_law_rows::<f32>(3000, 5000, 2, 1).unwrap(),
            dense_row(700, 100, 0, 699, 1).unwrap(),
            Csr::empty(5, 0).unwrap(),
            Csr::empty(0, 5).unwrap(),
        ] {
            let transposed = transpose(a.pattern());
            let mut expected = vec![Vec::new(); a.ncols()];
            for i in 0..a.nrows() {
                a.row(i).0.iter().for_each(|&j| expected[j as usize].push(i as u32));
            }
            for (col, rows) in expected.iter().enumerate() {
                assert_eq!(transposed.list(col), rows);
            }
        }
    }

    #[test]
    fn neighbours_are_symmetric_without_loops_and_by_degree() {
        // 0 → 1, 0 → 2, 2 → 1, 1 → 1, 3 → 0
        let a = Csr::try_new(4, 4, vec![0, 2, 3, 4, 5], vec![1, 2, 1, 1, 0], vec![1.0f32; 5]);
        let graph = Adjacency::symmetrized(a.unwrap().pattern());
        assert_eq!(graph.neighbours(0), [3, 1, 2]);
        assert_eq!(graph.neighbours(1), [2, 0]);
        assert_eq!(graph.neighbours(2), [1, 0]);
        assert_eq!(graph.neighbours(3), [0]);
    }

    #[test]
    fn rows_and_columns_make_a_bipartite_graph() {
        let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 2], vec![1.0f32; 3]).unwrap();
        let graph = Adjacency::bipartite(a.pattern()).unwrap();
        assert_eq!(graph.len(), 5);
        assert_eq!(graph.neighbours(0), [2, 4]);
        assert_eq!(graph.neighbours(4), [1, 0]);
        assert!(graph.neighbours(3).is_empty());
    }
}
