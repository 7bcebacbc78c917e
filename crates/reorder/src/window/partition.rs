//! Which window holds which vertex.

use girih_formats::RowLayout;
use girih_parallel::prelude::*;

use super::hypergraph::{Hypergraph, TASK};
use crate::permutation::Permutation;

/// Marks a vertex that no window holds yet.
pub(super) const NO_WINDOW: u32 = u32::MAX;

/// A partition of the vertices that have nets into windows.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    /// Window of each vertex; [`NO_WINDOW`] for those without nets.
    pub(super) window: Vec<u32>,
    /// Rows in each window.
    pub(super) sizes: Vec<u32>,
}

impl Partition {
    /// The windows that end at `ends` in `order`.
    pub(super) fn contiguous(graph: &Hypergraph, order: &[u32], ends: &[u32]) -> Self {
        let mut window = vec![NO_WINDOW; graph.n_vertices()];
        let mut sizes = vec![0; ends.len()];
        let mut begin = 0;
        for (w, &end) in ends.iter().enumerate() {
            for &v in &order[begin..end as usize] {
                window[v as usize] = w as u32;
                sizes[w] += graph.rows[v as usize];
            }
            begin = end as usize;
        }
        Self { window, sizes }
    }

    /// The windows of the natural layout.
    pub(super) fn natural(layout: &RowLayout) -> Self {
        let (nrows, height) = (layout.nrows(), layout.window_rows());
        let window = (0..nrows).map(|row| (row / height) as u32).collect();
        let sizes = (0..layout.n_windows()).map(|w| (nrows - w * height).min(height) as u32);
        Self { window, sizes: sizes.collect() }
    }

    /// Full windows of vertices in the order of a permutation.
    pub(super) fn in_order(order: &Permutation, window_rows: usize) -> Self {
        let n = order.len();
        let window = order.as_slice().iter().map(|&place| (place as usize / window_rows) as u32);
        let sizes = (0..n.div_ceil(window_rows)).map(|w| (n - w * window_rows).min(window_rows));
        Self { window: window.collect(), sizes: sizes.map(|size| size as u32).collect() }
    }

    /// The windows of any layout.
    pub(super) fn of_layout(layout: &RowLayout) -> Self {
        if layout.is_natural() {
            return Self::natural(layout);
        }
        let mut found =
            Self { window: vec![NO_WINDOW; layout.nrows()], sizes: vec![0; layout.n_windows()] };
        for w in 0..layout.n_windows() {
            for row in layout.rows(w).flatten() {
                found.window[row] = w as u32;
                found.sizes[w] += 1;
            }
        }
        found
    }

    pub(super) fn n_windows(&self) -> usize {
        self.sizes.len()
    }

    /// The vertices of each window, increasing: offsets and vertices.
    pub(super) fn members(&self) -> (Vec<usize>, Vec<u32>) {
        let mut ptr = vec![0usize; self.n_windows() + 1];
        for &w in self.window.iter().filter(|&&w| w != NO_WINDOW) {
            ptr[w as usize + 1] += 1;
        }
        (0..self.n_windows()).for_each(|w| ptr[w + 1] += ptr[w]);
        let mut cursors = ptr.clone();
        let mut members = vec![0; ptr[self.n_windows()]];
        for (v, &w) in self.window.iter().enumerate().filter(|&(_, &w)| w != NO_WINDOW) {
            members[cursors[w as usize]] = v as u32;
            cursors[w as usize] += 1;
        }
        (ptr, members)
    }

    /// The distinct windows of every net's pins, increasing, net by net: offsets and windows.
    /// O(pins log), in parallel.
    pub(super) fn connectivity(&self, graph: &Hypergraph) -> (Vec<usize>, Vec<u32>) {
        let lists: Vec<(Vec<u32>, Vec<usize>)> = (0..graph.n_nets())
            .into_par_iter()
            .step_by(TASK)
            .map(|start| {
                let (mut all, mut lens) = (Vec::new(), Vec::new());
                let mut windows = Vec::new();
                for e in start..graph.n_nets().min(start + TASK) {
                    windows.clear();
                    windows.extend(graph.pins(e as u32).iter().map(|&v| self.window[v as usize]));
                    windows.sort_unstable();
                    windows.dedup();
                    lens.push(windows.len());
                    all.extend_from_slice(&windows);
                }
                (all, lens)
            })
            .collect();
        let (mut ptr, mut all) = (vec![0], Vec::new());
        for (windows, lens) in lists {
            for len in lens {
                ptr.push(ptr[ptr.len() - 1] + len);
            }
            all.extend(windows);
        }
        (ptr, all)
    }

    /// Σ over nets of columns × windows touched: packed columns without those of one entry.
    pub(super) fn packed(&self, graph: &Hypergraph) -> u64 {
        let (ptr, _) = self.connectivity(graph);
        let lambda = ptr.windows(2).map(|p| (p[1] - p[0]) as u64);
        lambda.zip(&graph.cols).map(|(windows, &cols)| windows * u64::from(cols)).sum()
    }

    /// Numbers the windows by `order`: window `order[i]` becomes window i; those not named are
    /// empty.
    pub(super) fn renumbered(&mut self, order: &[u32]) {
        let mut new = vec![NO_WINDOW; self.n_windows()];
        order.iter().enumerate().for_each(|(i, &w)| new[w as usize] = i as u32);
        for w in self.window.iter_mut().filter(|w| **w != NO_WINDOW) {
            *w = new[*w as usize];
        }
        self.sizes = order.iter().map(|&w| self.sizes[w as usize]).collect();
    }
}
