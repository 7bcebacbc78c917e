//! Joining rows of a window that share columns, so that they move together.

use girih_parallel::prelude::*;

use super::hypergraph::Hypergraph;
use super::partition::{NO_WINDOW, Partition};
use super::scratch::Pool;

const NONE: u32 = u32::MAX;

/// A fixed-point one: what a net of one column and two pins contributes.
const ONE: u64 = 1 << 14;

#[derive(Default)]
struct CoarseningScratch {
    /// For each net, where in `links` its pins in the window begin.
    first: Vec<u32>,
    /// Positions of pins in the window, and where the net's next one is.
    links: Vec<(u32, u32)>,
    rating: Vec<u64>,
    found: Vec<u32>,
}

impl Partition {
    /// Matches vertices within their windows, each with the one it shares most with of those that
    /// are left. A net counts by its columns over its pins less one (Çatalyürek & Aykanat 1999,
    /// §4.1: heavy connectivity), light partners count more. Returns the cluster of each vertex and
    /// the number of clusters. O(Σ over nets and windows of squared pins there), in parallel.
    pub(super) fn matched(&self, graph: &Hypergraph, max_rows: u32) -> (Vec<u32>, usize) {
        let (ptr, members) = self.members();
        let members = |w: usize| &members[ptr[w]..ptr[w + 1]];
        let pool: Pool<CoarseningScratch> = Pool::new();
        let new = || CoarseningScratch {
            first: vec![NONE; graph.n_nets()],
            ..CoarseningScratch::default()
        };
        let partners: Vec<Vec<u32>> = (0..self.n_windows())
            .into_par_iter()
            .with_min_len(4)
            .map(|w| pool.with(new, |scratch| scratch.partners(graph, members(w), max_rows)))
            .collect();
        let mut cluster = vec![NONE; graph.n_vertices()];
        let mut count = 0;
        for (w, partners) in partners.iter().enumerate() {
            for (i, (&v, &partner)) in members(w).iter().zip(partners).enumerate() {
                cluster[v as usize] = if (partner as usize) < i {
                    cluster[members(w)[partner as usize] as usize]
                } else {
                    count += 1;
                    count - 1
                };
            }
        }
        // Vertices without nets stay alone.
        for c in cluster.iter_mut().filter(|c| **c == NONE) {
            *c = count;
            count += 1;
        }
        (cluster, count as usize)
    }

    /// The same windows of the contracted hypergraph.
    pub(super) fn contracted(&self, cluster: &[u32], n_clusters: usize) -> Self {
        let mut window = vec![NO_WINDOW; n_clusters];
        cluster.iter().zip(&self.window).for_each(|(&c, &w)| window[c as usize] = w);
        Self { window, sizes: self.sizes.clone() }
    }

    /// Takes over the windows of the contracted hypergraph.
    pub(super) fn project(&mut self, coarse: &Self, cluster: &[u32]) {
        for (w, &c) in self.window.iter_mut().zip(cluster) {
            *w = coarse.window[c as usize];
        }
        self.sizes.clone_from(&coarse.sizes);
    }
}

impl CoarseningScratch {
    /// The partner of each member by position; its own position if it has none.
    fn partners(&mut self, graph: &Hypergraph, members: &[u32], max_rows: u32) -> Vec<u32> {
        self.links.clear();
        self.rating.resize(members.len(), 0);
        for (i, &v) in members.iter().enumerate() {
            for &e in graph.nets(v) {
                let link = self.links.len() as u32;
                self.links.push((i as u32, std::mem::replace(&mut self.first[e as usize], link)));
            }
        }
        let mut partner = vec![NONE; members.len()];
        for i in 0..members.len() {
            if partner[i] == NONE {
                let found = self.best(graph, members, i, max_rows, &partner);
                partner[i] = found;
                partner[found as usize] = i as u32;
            }
        }
        for &e in members.iter().flat_map(|&v| graph.nets(v)) {
            self.first[e as usize] = NONE;
        }
        self.rating.clear();
        partner
    }

    /// The best free partner of member `i`, or itself.
    fn best(
        &mut self,
        graph: &Hypergraph,
        members: &[u32],
        i: usize,
        max_rows: u32,
        partner: &[u32],
    ) -> u32 {
        let v = members[i];
        for &e in graph.nets(v) {
            let gain =
                1 + ONE * u64::from(graph.cols[e as usize]) / (graph.pins(e).len() as u64 - 1);
            let mut at = self.first[e as usize];
            while at != NONE {
                let (u, next) = self.links[at as usize];
                at = next;
                if u as usize == i || partner[u as usize] != NONE {
                    continue;
                }
                let rating = &mut self.rating[u as usize];
                if *rating == 0 {
                    self.found.push(u);
                }
                *rating += gain;
            }
        }
        let mut best = (0, i as u32);
        for u in self.found.drain(..) {
            let rating = std::mem::take(&mut self.rating[u as usize]);
            let rows = graph.rows[members[u as usize] as usize];
            let rating = rating / u64::from(rows);
            let better = rating > best.0 || (rating == best.0 && u < best.1);
            if better && u64::from(rows) + u64::from(graph.rows[v as usize]) <= u64::from(max_rows)
            {
                best = (rating, u);
            }
        }
        best.1
    }
}
