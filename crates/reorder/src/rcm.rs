//! Reverse Cuthill–McKee.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use girih_formats::CsrPattern;
use rayon::prelude::*;

use crate::adjacency::Adjacency;
use crate::{Permutation, ReorderError};

/// Rounds of the search for a peripheral vertex. Two or three suffice in practice; the bound keeps
/// the cost linear.
const MAX_ROUNDS: usize = 8;

/// Vertices of least degree that are tried as starts, of the component and of its last level.
const STARTS: usize = 5;

/// Reverse Cuthill–McKee order of a matrix's rows: a small bandwidth.
///
/// **Square**: works on the pattern of A + Aᵀ; apply the result to rows and columns alike.
/// **Rectangular**: orders rows by Cuthill–McKee on the bipartite graph of rows and columns, the
/// first half of [`rcm_rows_cols`]. It is the row graph (rows are neighbours if they share a
/// column) walked without ever being formed: a dense column is expanded once, so the cost stays
/// linear in nnz where A·Aᵀ is quadratic in a column's length.
///
/// Each component is walked level by level (Cuthill & McKee 1969), the neighbours of a vertex by
/// degree, then by index, and reversed (George 1971). The start is pseudo-peripheral: from a vertex
/// of least degree, breadth-first searches move to a vertex of least degree in the last level for
/// as long as there are more levels (George & Liu, *ACM TOMS* 5(3), 1979). Every search on that way
/// is itself a Cuthill–McKee order whose bandwidth is known when it ends, so the best of them, and
/// of those from a few more vertices of the last level, is kept. Components follow one another by
/// their smallest vertex. Deterministic on any number of threads.
///
/// O(nrows + nnz · log(longest row)) time: the graph is built in parallel, components are walked
/// in parallel, one component serially. Memory: 16 bytes per entry while the graph is built.
///
/// An order that is already good can become worse; [`metrics::effect`](crate::metrics::effect)
/// tells.
///
/// # Errors
/// [`ReorderError::TooLarge`] if the matrix is rectangular and has more rows and columns together
/// than 32-bit indices number.
///
/// ```
/// use girih_formats::Csr;
/// use girih_reorder::{metrics, rcm};
///
/// // A path 0 – 3 – 1 – 2.
/// let a = Csr::try_new(4, 4, vec![0, 1, 3, 4, 6], vec![3, 2, 3, 1, 0, 1], vec![1.0f32; 6])?;
/// let order = rcm(a.pattern())?;
/// assert_eq!(metrics::permuted(a.pattern(), &order, &order)?.bandwidth, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rcm(pattern: CsrPattern<'_>) -> Result<Permutation, ReorderError> {
    if pattern.nrows() != pattern.ncols() {
        return Ok(rcm_rows_cols(pattern)?.0);
    }
    Permutation::try_from_order(&order(&Adjacency::symmetrized(pattern)))
}

/// Reverse Cuthill–McKee order of rows and columns separately, on the bipartite graph of rows and
/// columns: entries gather around the diagonal from one corner to the other (Reid & Scott 2006 for
/// unsymmetric matrices). For any shape. Cost and determinism as [`rcm()`].
///
/// # Errors
/// [`ReorderError::TooLarge`] if there are more rows and columns together than 32-bit indices
/// number.
///
/// ```
/// use girih_formats::generate::banded;
/// use girih_reorder::{metrics, rcm_rows_cols, simple};
///
/// let band = banded::<f32>(300, 200, 2, 1, 1)?;
/// let a = simple::random(300, 1)?.apply_rows(&band)?;
/// let (rows, cols) = rcm_rows_cols(a.pattern())?;
/// let effect = metrics::effect(a.pattern(), &rows, &cols)?;
/// assert!(effect.before.bandwidth > 200);
/// assert!(effect.after.bandwidth < 110);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rcm_rows_cols(pattern: CsrPattern<'_>) -> Result<(Permutation, Permutation), ReorderError> {
    let nrows = pattern.nrows() as u32;
    let order = order(&Adjacency::bipartite(pattern)?);
    let (rows, cols): (Vec<u32>, Vec<u32>) = order.into_iter().partition(|&v| v < nrows);
    let cols: Vec<u32> = cols.into_iter().map(|v| v - nrows).collect();
    Ok((Permutation::try_from_order(&rows)?, Permutation::try_from_order(&cols)?))
}

/// The vertices in reverse Cuthill–McKee order, component by component.
fn order(graph: &Adjacency) -> Vec<u32> {
    // Which search reached a vertex last. Tasks walk different components, so no two of them touch
    // the same element, and relaxed loads and stores are all that is needed.
    let marks: Vec<AtomicU32> = (0..graph.len()).map(|_| AtomicU32::new(0)).collect();
    let (mut order, components) = components(graph, &marks);
    let mut parts = Vec::with_capacity(components.len());
    let mut rest = &mut order[..];
    for (size, bandwidth) in components {
        let (part, after) = rest.split_at_mut(size);
        parts.push((part, bandwidth));
        rest = after;
    }
    parts.into_par_iter().for_each(|(part, bandwidth)| {
        // One or two vertices can be ordered in one way only, up to symmetry.
        if part.len() > 2 {
            let (marks, searches, trial) = (&marks, FIRST_SEARCH, part.to_vec());
            Component { graph, marks, searches, best: part, bandwidth, trial }.improve();
        }
        part.reverse();
    });
    order
}

/// The mark of the search that finds the components.
const FIRST_SEARCH: u32 = 1;

/// Walks every component from its smallest vertex; gives all vertices in the order of the walk, and
/// the size and the bandwidth of each component.
fn components(graph: &Adjacency, marks: &[AtomicU32]) -> (Vec<u32>, Vec<(usize, usize)>) {
    let mut order = vec![0; graph.len()];
    let (mut found, mut start) = (Vec::new(), 0);
    for root in 0..graph.len() {
        if marks[root].load(Ordering::Relaxed) != 0 {
            continue;
        }
        let part = &mut order[start..];
        if let Some(walk) = walk(graph, marks, FIRST_SEARCH, root as u32, part, usize::MAX) {
            found.push((walk.size, walk.bandwidth));
            start += walk.size;
        }
    }
    (order, found)
}

/// What a breadth-first search found.
struct Walk {
    /// Vertices reached.
    size: usize,
    /// Levels.
    height: usize,
    /// Where the last level stands in the order.
    last_level: Range<usize>,
    /// Bandwidth of the component in the order of the walk.
    bandwidth: usize,
}

/// Cuthill–McKee from `root`: writes vertices to `order` as they are reached and marks them.
///
/// The bandwidth costs nothing: a vertex's first neighbour in the order is the one it was reached
/// from, so the bandwidth is the largest distance between the two. `None` if it reaches `limit`.
fn walk(
    graph: &Adjacency,
    marks: &[AtomicU32],
    search: u32,
    root: u32,
    order: &mut [u32],
    limit: usize,
) -> Option<Walk> {
    marks[root as usize].store(search, Ordering::Relaxed);
    order[0] = root;
    let (mut size, mut at, mut height, mut bandwidth) = (1, 0, 0, 0);
    let mut last_level = 0..0;
    while at < size {
        last_level = at..size;
        height += 1;
        while at < last_level.end {
            let before = size;
            for &u in graph.neighbours(order[at]) {
                let mark = &marks[u as usize];
                if mark.load(Ordering::Relaxed) != search {
                    mark.store(search, Ordering::Relaxed);
                    order[size] = u;
                    size += 1;
                }
            }
            if size > before {
                bandwidth = bandwidth.max(size - 1 - at);
                if bandwidth >= limit {
                    return None;
                }
            }
            at += 1;
        }
    }
    Some(Walk { size, height, last_level, bandwidth })
}

/// One component, while starts are tried.
struct Component<'a> {
    graph: &'a Adjacency,
    marks: &'a [AtomicU32],
    /// Searches made; each marks with its own number.
    searches: u32,
    /// The best order so far, and its bandwidth.
    best: &'a mut [u32],
    bandwidth: usize,
    /// The order of the last search.
    trial: Vec<u32>,
}

impl Component<'_> {
    /// Replaces the order by the best that is found.
    fn improve(&mut self) {
        let mut starts = self.least_degrees(0..self.best.len()).into_iter();
        let Some(mut root) = starts.next() else { return };
        let mut height = 0;
        let mut ends = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let Some(found) = self.search(root, usize::MAX) else { return };
            if found.height <= height {
                break;
            }
            height = found.height;
            ends = self.least_degrees(found.last_level);
            root = ends[0];
        }
        for root in starts.chain(ends.into_iter().skip(1)) {
            self.search(root, self.bandwidth);
        }
    }

    /// Walks from `root` and keeps the order if it is the best; gives up at bandwidth `limit`.
    fn search(&mut self, root: u32, limit: usize) -> Option<Walk> {
        self.searches += 1;
        let found = walk(self.graph, self.marks, self.searches, root, &mut self.trial, limit)?;
        if found.bandwidth < self.bandwidth {
            self.bandwidth = found.bandwidth;
            self.best.copy_from_slice(&self.trial);
        }
        Some(found)
    }

    /// The first few of the vertices at these places of the last search, by degree, then by index.
    fn least_degrees(&self, places: Range<usize>) -> Vec<u32> {
        let key = |&v: &u32| (self.graph.degree(v), v);
        let mut vertices = self.trial[places].to_vec();
        if STARTS < vertices.len() {
            vertices.select_nth_unstable_by_key(STARTS, key);
            vertices.truncate(STARTS);
        }
        vertices.sort_unstable_by_key(key);
        vertices
    }
}
