//! Reverse Cuthill–McKee.

mod adjacency;
mod search;
mod walk;

use std::sync::atomic::AtomicUsize;

use girih_formats::CsrPattern;
use rayon::prelude::*;

use crate::{Permutation, ReorderError};
use adjacency::Adjacency;
use walk::Walker;

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
/// of those from a few more vertices of least degree in the component and in its last level, is
/// kept. Components follow one another by their smallest vertex. Deterministic on any number of
/// threads.
///
/// O(nrows + nnz) time. The graph is built in parallel, and components and further starts are
/// walked in parallel; one walk is serial. Memory: at most 16 bytes per entry, 8 per vertex for each
/// walk under way, and 40 per row.
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
    Permutation::try_from_order(&order(Adjacency::symmetrized(pattern)))
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
    let order = order(Adjacency::bipartite(pattern)?);
    let (rows, cols): (Vec<u32>, Vec<u32>) = order.into_iter().partition(|&v| v < nrows);
    let cols: Vec<u32> = cols.into_iter().map(|v| v - nrows).collect();
    Ok((Permutation::try_from_order(&rows)?, Permutation::try_from_order(&cols)?))
}

/// The vertices in reverse Cuthill–McKee order, component by component.
fn order(graph: Adjacency) -> Vec<u32> {
    let (first, components) = first_walks(&graph);
    let graph = graph.relabelled(&first, components.iter().map(|part| part.size));
    let mut order = vec![0; first.len()];
    let mut tasks = Vec::with_capacity(components.len());
    let (mut rest, mut start) = (&mut order[..], 0);
    for part in components {
        let (places, after) = rest.split_at_mut(part.size);
        tasks.push((start, part.bandwidth, places));
        (rest, start) = (after, start + part.size);
    }
    tasks.into_par_iter().for_each(|(start, bandwidth, places)| {
        let range = start..start + places.len();
        let index = &first[range.clone()];
        match search::best_walk(graph.part(range), index, bandwidth) {
            Some(walk) => places
                .iter_mut()
                .zip(walk.iter().rev())
                .for_each(|(place, &v)| *place = index[v as usize]),
            None => places.iter_mut().zip(index.iter().rev()).for_each(|(place, &v)| *place = v),
        }
    });
    order
}

/// A component, as the first walk found it.
struct FirstWalk {
    size: usize,
    bandwidth: usize,
}

/// Walks every component from its smallest vertex; gives all vertices in the order of the walks.
fn first_walks(graph: &Adjacency) -> (Vec<u32>, Vec<FirstWalk>) {
    let n = graph.len();
    let mut walker = Walker::new(n);
    let (mut order, mut components) = (Vec::with_capacity(n), Vec::new());
    let no_limit = AtomicUsize::new(usize::MAX);
    for root in 0..n as u32 {
        if walker.has_reached(root) {
            continue;
        }
        if let Some(walk) = walker.walk(graph.part(0..n), root, &no_limit) {
            components.push(FirstWalk { size: walker.order().len(), bandwidth: walk.bandwidth });
            order.extend_from_slice(walker.order());
        }
    }
    (order, components)
}
