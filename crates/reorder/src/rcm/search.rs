//! Where to start: George and Liu's peripheral vertex, and the best of a few more.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::adjacency::Part;
use super::walk::Walker;

/// Rounds of the search for a peripheral vertex. Two or three suffice in practice; the bound keeps
/// the cost linear.
const MAX_ROUNDS: usize = 8;

/// Vertices of least degree that are tried as starts, of the component and of its last level.
const STARTS: usize = 5;

/// Edge ends from which on further starts are tried in parallel.
const PARALLEL_ENTRIES: usize = 1 << 14;

/// The best Cuthill–McKee order of a connected graph that is found, or `None` if none is better than
/// `bandwidth`. Vertex v is `index[v]` in the whole graph, which breaks ties.
pub(super) fn best_walk(graph: Part<'_>, index: &[u32], bandwidth: usize) -> Option<Vec<u32>> {
    // A path, or less: no order is better.
    if bandwidth <= 1 {
        return None;
    }
    let mut walker = Walker::new(graph.len());
    let mut best = Best { bandwidth, order: None };
    let starts = least_degrees(graph, index, 0..graph.len() as u32);
    let (mut root, mut height, mut ends) = (*starts.first()?, 0, Vec::new());
    for _ in 0..MAX_ROUNDS {
        let walk = walker.walk(graph, root, &AtomicUsize::new(usize::MAX))?;
        best.offer(walk.bandwidth, walker.order());
        if walk.height <= height {
            break;
        }
        height = walk.height;
        ends = least_degrees(graph, index, walker.order()[walk.last_level].iter().copied());
        root = *ends.first()?;
    }

    let more: Vec<u32> = starts[1..].iter().chain(&ends[1..]).copied().collect();
    let least = AtomicUsize::new(best.bandwidth - 1);
    // Of walks with the same bandwidth the first wins, however they are scheduled: a walk is given
    // up only for a smaller bandwidth.
    let attempt = |walker: &mut Walker, rank: usize| {
        let walk = walker.walk(graph, more[rank], &least)?;
        least.fetch_min(walk.bandwidth, Ordering::Relaxed);
        Some((walk.bandwidth, rank, walker.order().to_vec()))
    };
    let better =
        |a: &(usize, usize, Vec<u32>), b: &(usize, usize, Vec<u32>)| (a.0, a.1).cmp(&(b.0, b.1));
    let found = if graph.entries() < PARALLEL_ENTRIES {
        (0..more.len()).filter_map(|rank| attempt(&mut walker, rank)).min_by(better)
    } else {
        (0..more.len())
            .into_par_iter()
            .map_init(|| Walker::new(graph.len()), attempt)
            .flatten_iter()
            .min_by(better)
    };
    found.map(|(_, _, order)| order).or(best.order)
}

/// The best order so far.
struct Best {
    bandwidth: usize,
    order: Option<Vec<u32>>,
}

impl Best {
    fn offer(&mut self, bandwidth: usize, order: &[u32]) {
        if bandwidth < self.bandwidth {
            self.bandwidth = bandwidth;
            let kept = self.order.get_or_insert_default();
            kept.clear();
            kept.extend_from_slice(order);
        }
    }
}

/// The first few of the vertices by degree, then by index.
fn least_degrees(graph: Part<'_>, index: &[u32], vertices: impl Iterator<Item = u32>) -> Vec<u32> {
    let key = |&v: &u32| (graph.neighbours(v).len(), index[v as usize]);
    let mut vertices: Vec<u32> = vertices.collect();
    if STARTS < vertices.len() {
        vertices.select_nth_unstable_by_key(STARTS, key);
        vertices.truncate(STARTS);
    }
    vertices.sort_unstable_by_key(key);
    vertices
}
