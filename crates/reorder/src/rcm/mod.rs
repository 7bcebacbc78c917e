//! Reverse Cuthill–McKee.

pub(crate) mod components;
mod graph;
mod search;
mod symmetry;
mod walk;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use girih_formats::CsrPattern;
use girih_parallel::prelude::*;

use crate::error::ReorderError;
use crate::occupied::{Occupied, check_cols};
use crate::permutation::Permutation;
use components::ByComponent;
use graph::Graph;
use search::Component;
use symmetry::is_symmetric;
use walk::{Reached, walk};

/// The number of the walks that find the components.
const FIRST: u8 = 1;

/// Reverse Cuthill–McKee order of a matrix's rows: a small bandwidth.
///
/// **Square**: works on the pattern of A + Aᵀ; apply the result to rows and columns alike.
/// **Rectangular**: orders rows by Cuthill–McKee on the bipartite graph of rows and columns, the
/// first half of [`rcm_rows_cols`]. It is the row graph (rows are neighbours if they share a
/// column) walked without ever being formed: a dense column is expanded once, so the cost stays
/// linear in nnz where A·Aᵀ is quadratic in a column's length.
///
/// Each component is walked level by level (Cuthill & McKee 1969), the vertices that one reaches by
/// degree, then by index, and reversed (George 1971). The first walk, from its smallest vertex, finds
/// the component. From there a start is sought that is pseudo-peripheral: breadth-first searches move
/// to a vertex of least degree in the last level for as long as there are more levels (George & Liu,
/// *ACM TOMS* 5(3), 1979). Every search on that way is itself a Cuthill–McKee order whose bandwidth is
/// known when it ends, so the best of them, and of those from a few vertices of least degree in the
/// component and in its last level, is kept. The larger a component, the fewer starts: from 2M edge
/// ends on there are three walks. Components follow one another by their smallest vertex.
/// Deterministic on any number of threads.
///
/// O(nrows + nnz) time. A square matrix is ordered as it stands while another thread looks whether it
/// is symmetric; only if it is not, A + Aᵀ is built and ordered instead. Components and further starts
/// are walked in parallel, one walk is serial. Where the vertices of the first walk lie far from one
/// another in memory, the graph is copied in its order for the rest. Memory: 9 bytes per row for the
/// search and 5 for each walk under way, 4 per entry and 12 per row for that copy, 12 per entry for
/// A + Aᵀ and its making. Where most rows and columns are empty, those take 5 bytes each.
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
        return match Occupied::of(pattern)? {
            Some(occupied) => occupied.row_permutation(&bipartite(occupied.pattern())?.rows),
            None => Permutation::try_from_order(&bipartite(pattern)?.rows.order),
        };
    }
    match Occupied::of_square(pattern)? {
        Some(occupied) => occupied.row_permutation(&square(occupied.pattern())),
        None => Permutation::try_from_order(&square(pattern).order),
    }
}

/// The order of a square pattern.
fn square(pattern: CsrPattern<'_>) -> ByComponent {
    // Ordered while it is found out whether it is a graph that can be.
    let unsymmetric = AtomicBool::new(false);
    let ((), found) = girih_parallel::join(
        || unsymmetric.store(!is_symmetric(pattern), Ordering::Relaxed),
        || order(&Graph::of(pattern), &unsymmetric),
    );
    match found {
        Some(found) if !unsymmetric.into_inner() => found,
        _ => order(&Graph::symmetrized(pattern), &AtomicBool::new(false)).unwrap_or_default(),
    }
}

/// Reverse Cuthill–McKee order of rows and columns separately, on the bipartite graph of rows and
/// columns: entries gather around the diagonal from one corner to the other (Reid & Scott 2006 for
/// unsymmetric matrices). For any shape. Cost and determinism as [`rcm()`].
///
/// # Errors
/// [`ReorderError::TooLarge`] if there are more rows and columns together than 32-bit indices
/// number. [`ReorderError::TooManyColumns`] if there are far more columns than rows and entries.
///
/// ```
/// use girih_generate::banded;
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
    check_cols(pattern.nrows(), pattern.ncols(), pattern.nnz())?;
    match Occupied::of(pattern)? {
        Some(occupied) => {
            let Bipartite { rows, cols } = bipartite(occupied.pattern())?;
            let cols = Permutation::try_from_order(&cols)?;
            Ok((occupied.row_permutation(&rows)?, occupied.col_permutation(&cols)))
        }
        None => {
            let Bipartite { rows, cols } = bipartite(pattern)?;
            Ok((Permutation::try_from_order(&rows.order)?, Permutation::try_from_order(&cols)?))
        }
    }
}

/// Orders of rows and of columns on their bipartite graph.
struct Bipartite {
    rows: ByComponent,
    cols: Vec<u32>,
}

fn bipartite(pattern: CsrPattern<'_>) -> Result<Bipartite, ReorderError> {
    let nrows = pattern.nrows() as u32;
    let graph = Graph::bipartite(pattern)?;
    let ByComponent { order, mut sizes } =
        order(&graph, &AtomicBool::new(false)).unwrap_or_default();
    let mut rest = &order[..];
    for size in &mut sizes {
        let (component, after) = rest.split_at(*size);
        *size = component.iter().filter(|&&v| v < nrows).count();
        rest = after;
    }
    let (rows, cols): (Vec<u32>, Vec<u32>) = order.into_iter().partition(|&v| v < nrows);
    let cols = cols.into_iter().map(|v| v - nrows).collect();
    Ok(Bipartite { rows: ByComponent { order: rows, sizes }, cols })
}

/// The vertices in reverse Cuthill–McKee order, component by component; `None` if `cancelled`
/// meanwhile.
fn order(graph: &Graph<'_>, cancelled: &AtomicBool) -> Option<ByComponent> {
    let walks = FirstWalks::of(graph, cancelled)?;
    let sizes = walks.components.iter().map(|component| component.first.size).collect();
    if graph.entries() < SCATTERED_ENTRIES || !is_scattered(&walks.order) {
        return Some(ByComponent { order: walks.best_orders(graph), sizes });
    }
    let FirstWalks { components, order, reached } = walks;
    let near = graph.relabelled(&order);
    let places = (0..order.len() as u32).collect();
    let best = FirstWalks { components, order: places, reached }.best_orders(&near);
    let order = best.into_par_iter().map(|place| order[place as usize]).collect();
    Some(ByComponent { order, sizes })
}

/// Edge ends from which on a graph is not in cache, and the order of its vertices matters.
const SCATTERED_ENTRIES: usize = 1 << 20;

/// Whether a walk in this order goes from one end of memory to the other: whether most of its steps
/// lead to a line that is not among a few thousand met last.
fn is_scattered(order: &[u32]) -> bool {
    const LINES: usize = 1 << 12;
    let mut met = vec![u32::MAX; LINES];
    let missed = |&&vertex: &&u32| {
        let line = vertex >> 4;
        std::mem::replace(&mut met[line as usize % LINES], line) != line
    };
    order.iter().filter(missed).count() > order.len() / 2
}

/// Every component, walked from its smallest vertex.
struct FirstWalks {
    components: Vec<Component>,
    /// All vertices in the order of the walks.
    order: Vec<u32>,
    reached: Reached,
}

impl FirstWalks {
    fn of(graph: &Graph<'_>, cancelled: &AtomicBool) -> Option<Self> {
        let n = graph.len();
        let (mut components, mut order, reached) = (Vec::new(), vec![0; n + 1], Reached::new(n));
        let no_limit = AtomicUsize::new(usize::MAX);
        let mut start = 0;
        for root in 0..n as u32 {
            if reached.any(root) {
                continue;
            }
            if cancelled.load(Ordering::Relaxed) {
                return None;
            }
            let first = walk(graph, (&reached, FIRST), root, &mut order[start..], &no_limit)?;
            start += first.size;
            components.push(Component { first, number: FIRST });
        }
        order.truncate(n);
        Some(Self { components, order, reached })
    }

    /// The best order of each component that is found, reversed.
    fn best_orders(mut self, graph: &Graph<'_>) -> Vec<u32> {
        let mut parts = Vec::with_capacity(self.components.len());
        let mut rest = &mut self.order[..];
        for component in self.components {
            let (part, after) = rest.split_at_mut(component.first.size);
            parts.push((component, part));
            rest = after;
        }
        parts.into_par_iter().for_each(|(component, part)| {
            if let Some(better) = component.best_walk(graph, &self.reached, part) {
                part.copy_from_slice(&better[..part.len()]);
            }
            part.reverse();
        });
        self.order
    }
}
