//! Where to start: George and Liu's peripheral vertex, and the best of a few more.

use std::sync::atomic::{AtomicUsize, Ordering};

use girih_parallel::prelude::*;

use super::graph::Graph;
use super::walk::{Reached, Walk, walk};

/// Rounds of the search for a peripheral vertex. Two or three suffice in practice; the bound keeps
/// the cost linear.
const MAX_ROUNDS: usize = 8;

/// Vertices of least degree that are tried as starts, of the component and of its last level.
const MAX_STARTS: usize = 5;

/// Edge ends that walks from further starts may meet, but for one round and one start: on a large
/// graph one more start seldom finds what the first did not, and costs as much as all before it.
const FURTHER_ENTRIES: usize = 1 << 21;

/// Edge ends from which on starts are tried in parallel.
const PARALLEL_ENTRIES: usize = 1 << 14;

/// A component, as the first walk found it.
pub(super) struct Component {
    pub(super) first: Walk,
    /// The number of the first walk.
    pub(super) number: u8,
}

/// An order and how good it is; the rank decides between equals.
type Found = (usize, usize, Vec<u32>);

impl Component {
    /// The best Cuthill–McKee order that is found, or `None` if none is better than the first walk's,
    /// which is `order`.
    pub(super) fn best_walk(
        &self,
        graph: &Graph<'_>,
        reached: &Reached,
        order: &[u32],
    ) -> Option<Vec<u32>> {
        let Walk { bandwidth, entries, size, .. } = self.first;
        // A path, or less: no order is better.
        if bandwidth <= 1 {
            return None;
        }
        let share = FURTHER_ENTRIES / entries;
        let starts = least_degrees(graph, order, share.clamp(1, MAX_STARTS));
        let search = Search { graph, size, limit: AtomicUsize::new(bandwidth - 1) };
        // Of the large components there are few, and an array for each thread at work is little.
        let parallel = entries >= PARALLEL_ENTRIES && size * 8 >= graph.len();
        let mut number = self.number;
        let rounds = |number: &mut u8| {
            search.peripheral(reached, number, &self.first, order, share.clamp(1, MAX_ROUNDS))
        };
        let more = |number: &mut u8, roots: &[u32], rank: usize| {
            if parallel {
                search.in_parallel(roots, rank)
            } else {
                search.in_turn(reached, number, roots, rank)
            }
        };
        let ((best, ends), other) = if parallel {
            girih_parallel::join(|| rounds(&mut number), || search.in_parallel(&starts, MAX_ROUNDS))
        } else {
            let best = rounds(&mut number);
            (best, more(&mut number, &starts, MAX_ROUNDS))
        };
        let ends = &ends[1..];
        let last = more(&mut number, &ends[..ends.len().min(share)], MAX_ROUNDS + MAX_STARTS);
        [best, other, last].into_iter().flatten().min_by_key(rank).map(|(_, _, order)| order)
    }
}

fn rank(found: &Found) -> (usize, usize) {
    (found.0, found.1)
}

/// Walks over one component.
struct Search<'a> {
    graph: &'a Graph<'a>,
    /// Of the component.
    size: usize,
    /// Orders of a larger bandwidth are of no use. Of orders with the same bandwidth the first
    /// wins, however walks are scheduled: a walk is given up only for a smaller bandwidth.
    limit: AtomicUsize,
}

impl Search<'_> {
    /// George and Liu's search, which begins where the first walk ends; the best order on its way, and
    /// the vertices of least degree in the last level of its last walk.
    fn peripheral(
        &self,
        reached: &Reached,
        number: &mut u8,
        first: &Walk,
        order: &[u32],
        rounds: usize,
    ) -> (Option<Found>, Vec<u32>) {
        let mut height = first.height;
        let mut ends = least_degrees(self.graph, &order[first.last_level.clone()], MAX_STARTS);
        let mut best: Option<Found> = None;
        let no_limit = AtomicUsize::new(usize::MAX);
        for round in 0..rounds {
            let mut order = vec![0; self.size + 1];
            *number += 1;
            let at = (reached, *number);
            let Some(found) = walk(self.graph, at, ends[0], &mut order, &no_limit) else { break };
            let is_last = found.height <= height || round + 1 == rounds;
            if !is_last {
                height = found.height;
                ends = least_degrees(self.graph, &order[found.last_level], MAX_STARTS);
            }
            if found.bandwidth <= self.limit.fetch_min(found.bandwidth, Ordering::Relaxed) {
                best = best.into_iter().chain([(found.bandwidth, round, order)]).min_by_key(rank);
            }
            if is_last {
                break;
            }
        }
        (best, ends)
    }

    fn in_turn(
        &self,
        reached: &Reached,
        number: &mut u8,
        roots: &[u32],
        first_rank: usize,
    ) -> Option<Found> {
        let attempts = roots.iter().enumerate().filter_map(|(at, &root)| {
            *number += 1;
            self.attempt((reached, *number), root, first_rank + at)
        });
        attempts.min_by_key(rank)
    }

    fn in_parallel(&self, roots: &[u32], first_rank: usize) -> Option<Found> {
        let attempts = roots.par_iter().enumerate().filter_map(|(at, &root)| {
            self.attempt((&Reached::new(self.graph.len()), 1), root, first_rank + at)
        });
        attempts.min_by_key(rank)
    }

    fn attempt(&self, reached: (&Reached, u8), root: u32, rank: usize) -> Option<Found> {
        let mut order = vec![0; self.size + 1];
        let walk = walk(self.graph, reached, root, &mut order, &self.limit)?;
        self.limit.fetch_min(walk.bandwidth, Ordering::Relaxed);
        Some((walk.bandwidth, rank, order))
    }
}

/// The first `count` of the vertices by degree, then by index.
fn least_degrees(graph: &Graph<'_>, vertices: &[u32], count: usize) -> Vec<u32> {
    let mut least: Vec<(u64, u32)> = Vec::with_capacity(count + 1);
    for &vertex in vertices {
        let key = (graph.degree(vertex), vertex);
        if least.len() < count || least.last().is_some_and(|last| key < *last) {
            least.insert(least.partition_point(|other| *other < key), key);
            least.truncate(count);
        }
    }
    least.into_iter().map(|(_, vertex)| vertex).collect()
}
