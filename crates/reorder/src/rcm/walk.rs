//! Cuthill–McKee: breadth first, the vertices that one reaches by degree.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use super::graph::Graph;

/// What a walk found.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    /// Number of levels.
    pub(super) height: usize,
    /// Where the last level stands in the order.
    pub(super) last_level: Range<usize>,
    /// Bandwidth of what was reached, in the order of the walk.
    pub(super) bandwidth: usize,
    /// Vertices reached.
    pub(super) size: usize,
    /// Edge ends at them.
    pub(super) entries: usize,
}

/// The last walk that reached each vertex, as a number from 1. Walks of different components may
/// share it, at the same time.
pub(super) struct Reached(Vec<AtomicU8>);

impl Reached {
    /// Nothing reached, of `n` vertices.
    pub(super) fn new(n: usize) -> Self {
        Self((0..n).map(|_| AtomicU8::new(0)).collect())
    }

    /// Whether any walk has reached `vertex`.
    pub(super) fn any(&self, vertex: u32) -> bool {
        self.0[vertex as usize].load(Ordering::Relaxed) != 0
    }

    /// Marks a vertex; whether this walk had not reached it.
    #[inline(always)]
    fn mark(&self, vertex: u32, walk: u8) -> bool {
        let last = &self.0[vertex as usize];
        let is_new = last.load(Ordering::Relaxed) != walk;
        last.store(walk, Ordering::Relaxed);
        is_new
    }
}

/// Walks all that can be reached from `root`, into the beginning of `order`, which has a place more
/// than there are vertices to reach; `None` if it has not, or as soon as the bandwidth exceeds
/// `limit`, which others may lower meanwhile. `walk` is a number that no walk had in `reached`.
///
/// The bandwidth costs nothing: a vertex's first neighbour in the order is the one it was reached
/// from, so the bandwidth is the largest distance between the two.
pub(super) fn walk(
    graph: &Graph<'_>,
    (reached, walk): (&Reached, u8),
    root: u32,
    order: &mut [u32],
    limit: &AtomicUsize,
) -> Option<Walk> {
    reached.mark(root, walk);
    order[0] = root;
    let (mut at, mut len) = (0, 1);
    let (mut height, mut bandwidth, mut entries, mut last_level) = (0, 0, 0, 0..0);
    let (mut twins, mut keys) = (Twins::new(), Vec::new());
    while at < len {
        last_level = at..len;
        height += 1;
        while at < last_level.end {
            let first = len;
            // Beyond `len` stand vertices too, if none that are reached.
            graph.ask_ahead(order, at);
            let neighbours = graph.neighbours(order[at]);
            entries += neighbours.len();
            if !twins.met(graph, order[at], neighbours) {
                for &u in neighbours {
                    // Written in any case, and kept if new: most are not, in no order that a branch
                    // could be predicted by.
                    *order.get_mut(len)? = u;
                    len += usize::from(reached.mark(u, walk));
                }
            }
            if len > first {
                sort(graph, &mut order[first..len], &mut keys);
                if len - 1 - at > bandwidth {
                    bandwidth = len - 1 - at;
                    if bandwidth > limit.load(Ordering::Relaxed) {
                        return None;
                    }
                }
            }
            at += 1;
        }
    }
    Some(Walk { height, last_level, bandwidth, size: len, entries })
}

/// Remembers vertices by their neighbours. Unknowns at one node of a mesh have the same ones: after
/// the first of them there is nothing left to reach.
struct Twins {
    /// The last vertex whose neighbours fell in each slot.
    last: [u32; 1 << Self::BITS],
}

impl Twins {
    const BITS: u32 = 10;
    /// Fewer neighbours are gone through as fast.
    const LEAST: usize = 12;

    fn new() -> Self {
        Self { last: [u32::MAX; 1 << Self::BITS] }
    }

    /// Whether a vertex with the same neighbours is remembered; remembers this one if not.
    #[inline(always)]
    fn met(&mut self, graph: &Graph<'_>, vertex: u32, neighbours: &[u32]) -> bool {
        let len = neighbours.len();
        if len < Self::LEAST {
            return false;
        }
        let ends = u64::from(neighbours[0]) << 32 | u64::from(neighbours[len - 1]);
        let mixed =
            (ends ^ u64::from(neighbours[len / 2]) << 16).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let last = &mut self.last[(mixed >> (u64::BITS - Self::BITS)) as usize];
        let twin = *last;
        *last = vertex;
        twin != u32::MAX && graph.neighbours(twin) == neighbours
    }
}

/// Runs up to this length are sorted by insertion.
const SHORT_RUN: usize = 16;

/// Bits of a degree that one pass of the radix sort looks at.
const DIGIT_BITS: u32 = 11;

/// Runs up to this length are sorted by comparisons.
const MEDIUM_RUN: usize = 256;

/// Sorts vertices by degree and keeps the order of equals, in time linear in their number.
fn sort(graph: &Graph<'_>, run: &mut [u32], keys: &mut Vec<(u64, u32)>) {
    if run.len() <= SHORT_RUN {
        for at in 1..run.len() {
            let vertex = run[at];
            let degree = graph.degree(vertex);
            let mut place = at;
            while place > 0 && graph.degree(run[place - 1]) > degree {
                run[place] = run[place - 1];
                place -= 1;
            }
            run[place] = vertex;
        }
        return;
    }
    keys.clear();
    keys.extend(run.iter().map(|&v| (graph.degree(v), v)));
    if run.len() <= MEDIUM_RUN {
        keys.sort_by_key(|key| key.0);
    } else {
        radix_sort(keys);
    }
    run.iter_mut().zip(keys).for_each(|(place, key)| *place = key.1);
}

/// Sorts by the first of each pair; stable passes over its digits.
fn radix_sort(keys: &mut Vec<(u64, u32)>) {
    let used = keys.iter().fold(0, |bits, key| bits | key.0);
    let mut other = vec![(0, 0); keys.len()];
    let mut shift = 0;
    while used.checked_shr(shift).is_some_and(|rest| rest != 0) {
        let digit = |key: u64| (key >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut next = [0usize; 1 << DIGIT_BITS];
        keys.iter().for_each(|key| next[digit(key.0)] += 1);
        let mut start = 0;
        for slot in &mut next {
            start += std::mem::replace(slot, start);
        }
        for &key in &*keys {
            let slot = &mut next[digit(key.0)];
            other[*slot] = key;
            *slot += 1;
        }
        std::mem::swap(keys, &mut other);
        shift += DIGIT_BITS;
    }
}

#[cfg(test)]
mod tests {
    use crate::rng::SplitMix64;

    use super::*;

    #[test]
    fn long_runs_are_sorted_like_short_ones() {
        for (len, widest) in
            [(0u64, 1), (5, 9), (300, 1), (5000, 3000), (4000, u64::from(u32::MAX))]
        {
            let mut rng = SplitMix64::new(len, 0);
            let mut keys: Vec<(u64, u32)> =
                (0..len).map(|i| (rng.below(widest), i as u32)).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            radix_sort(&mut keys);
            assert_eq!(keys, expected, "{len} {widest}");
        }
    }
}
