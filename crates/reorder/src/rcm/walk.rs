//! Cuthill–McKee: breadth first, neighbours in the order of the graph.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::adjacency::Part;

/// What a walk found.
pub(super) struct Walk {
    /// Number of levels.
    pub(super) height: usize,
    /// Where the last level stands in the order.
    pub(super) last_level: Range<usize>,
    /// Bandwidth of what was reached, in the order of the walk.
    pub(super) bandwidth: usize,
}

/// Walks over one graph, one after another, without clearing anything in between.
pub(super) struct Walker {
    /// The last walk that reached each vertex; walks count from 1.
    reached: Vec<u32>,
    walks: u32,
    order: Vec<u32>,
}

impl Walker {
    /// For a graph of `n` vertices.
    pub(super) fn new(n: usize) -> Self {
        Self { reached: vec![0; n], walks: 0, order: Vec::with_capacity(n) }
    }

    /// The vertices in the order the last walk reached them.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Whether any walk has reached `vertex`.
    pub(super) fn has_reached(&self, vertex: u32) -> bool {
        self.reached[vertex as usize] != 0
    }

    /// Walks all that can be reached from `root`; `None` as soon as the bandwidth exceeds `limit`,
    /// which others may lower meanwhile.
    ///
    /// The bandwidth costs nothing: a vertex's first neighbour in the order is the one it was
    /// reached from, so the bandwidth is the largest distance between the two.
    pub(super) fn walk(&mut self, graph: Part<'_>, root: u32, limit: &AtomicUsize) -> Option<Walk> {
        self.walks += 1;
        let Self { reached, walks, order } = self;
        order.clear();
        order.push(root);
        reached[root as usize] = *walks;
        let (mut at, mut height, mut bandwidth, mut last_level) = (0, 0, 0, 0..0);
        while at < order.len() {
            last_level = at..order.len();
            height += 1;
            while at < last_level.end {
                let before = order.len();
                for &u in graph.neighbours(order[at]) {
                    let walk = &mut reached[u as usize];
                    if *walk != *walks {
                        *walk = *walks;
                        order.push(u);
                    }
                }
                if order.len() > before {
                    bandwidth = bandwidth.max(order.len() - 1 - at);
                    if bandwidth > limit.load(Ordering::Relaxed) {
                        return None;
                    }
                }
                at += 1;
            }
        }
        Some(Walk { height, last_level, bandwidth })
    }
}
