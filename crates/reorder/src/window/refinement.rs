//! Sweeps over pairs of windows, on every level of a hierarchy.

use girih_parallel::prelude::*;

use super::bisection::Bisection;
use super::hypergraph::Hypergraph;
use super::options::Limits;
use super::pairing::Pair;
use super::partition::Partition;
use super::progress::RefinementProgress;
use super::scratch::Pool;

/// A sweep that saves less than one packed column in this many pins is the last.
const WORTHWHILE: u64 = 1000;

/// A level with more than this share (in 1/32) of the vertices of the next finer one is not
/// refining.
const COARSER: usize = 30;

/// Levels above that of clusters of `max_rows` rows, at the most.
pub(super) fn coarser_levels(window_rows: u32, max_rows: u32) -> usize {
    let clusters = std::iter::successors(max_rows.checked_mul(2), |rows| rows.checked_mul(2));
    clusters.take_while(|&rows| rows <= window_rows / 2).count()
}

impl Partition {
    /// Refines coarse versions of the hypergraph first, in which rows of a window that share much
    /// move together, then this one. Clusters of the coarsest hold half a window.
    ///
    /// `max_rows` is the size of a cluster here: 1 for rows.
    pub(super) fn refine_levels(
        &mut self,
        graph: &Hypergraph,
        window_rows: u32,
        max_rows: u32,
        limits: &Limits,
        progress: &mut RefinementProgress<'_>,
    ) {
        let next = max_rows.saturating_mul(2);
        let coarser = progress.sweeps() + limits.sweeps * coarser_levels(window_rows, max_rows);
        if next <= window_rows / 2 {
            let (cluster, n_clusters) = self.matched(graph, next);
            if n_clusters < graph.n_vertices() / 32 * COARSER {
                let coarse = graph.contracted(&cluster, n_clusters);
                let mut partition = self.contracted(&cluster, n_clusters);
                partition.refine_levels(&coarse, window_rows, next, limits, progress);
                self.project(&partition, &cluster);
            }
        }
        progress.over(coarser - progress.sweeps());
        self.refine(graph, window_rows, limits.sweeps, limits.partners, progress);
    }

    /// Up to `sweeps` sweeps, as long as they save enough. After the first one only windows that
    /// the one before has changed choose partners.
    pub(super) fn refine(
        &mut self,
        graph: &Hypergraph,
        window_rows: u32,
        sweeps: usize,
        partners: usize,
        progress: &mut RefinementProgress<'_>,
    ) {
        let pool = Pool::new();
        let mut active = vec![true; self.n_windows()];
        for done in 0..sweeps {
            let (saved, changed) =
                self.sweep(graph, window_rows, &active, partners, &pool, progress);
            active = changed;
            if saved * WORTHWHILE <= graph.n_pins() as u64 {
                progress.over(sweeps - done);
                break;
            }
            progress.over(1);
        }
    }

    /// Deals pairs of windows anew, those that have most to exchange first. Returns the packed
    /// columns saved, and which windows changed. Pairs without a window in common are independent
    /// of one another, so they are dealt in parallel.
    fn sweep(
        &mut self,
        graph: &Hypergraph,
        window_rows: u32,
        active: &[bool],
        partners: usize,
        pool: &Pool<Bisection>,
        progress: &mut RefinementProgress<'_>,
    ) -> (u64, Vec<bool>) {
        let (ptr, list) = self.members();
        let mut members: Vec<Vec<u32>> =
            ptr.windows(2).map(|p| list[p[0]..p[1]].to_vec()).collect();
        let mut pairs = self.pairs(graph, &members, active, partners);
        let n_pairs = pairs.len();
        let mut changed = vec![false; self.n_windows()];
        let mut last_round = vec![0u32; self.n_windows()];
        let (mut saved, mut round) = (0, 0);
        while !pairs.is_empty() {
            round += 1;
            let (now, later): (Vec<Pair>, Vec<Pair>) = pairs.into_iter().partition(|pair| {
                let free = pair.windows.iter().all(|&w| last_round[w as usize] != round);
                if free {
                    pair.windows.iter().for_each(|&w| last_round[w as usize] = round);
                }
                free
            });
            pairs = later;
            let deal = |pair: &Pair| {
                let windows = pair.windows.map(|w| &members[w as usize][..]);
                let improve = |b: &mut Bisection| b.improve(graph, windows, window_rows);
                pool.with(|| Bisection::new(graph), improve)
            };
            let results: Vec<(u64, Vec<u32>)> = now.par_iter().map(deal).collect();
            for (pair, (gain, moved)) in now.iter().zip(results) {
                if !moved.is_empty() {
                    saved += gain;
                    pair.windows.iter().for_each(|&w| changed[w as usize] = true);
                    self.exchange(graph, pair.windows, &moved, &mut members);
                }
            }
            progress.within(n_pairs - pairs.len(), n_pairs);
        }
        (saved, changed)
    }

    /// Moves vertices of two windows to the other one of the two.
    fn exchange(
        &mut self,
        graph: &Hypergraph,
        windows: [u32; 2],
        moved: &[u32],
        members: &mut [Vec<u32>],
    ) {
        let [a, b] = windows;
        for &v in moved {
            let place = &mut self.window[v as usize];
            let (from, to) = if *place == a { (a, b) } else { (b, a) };
            *place = to;
            self.sizes[from as usize] -= graph.rows[v as usize];
            self.sizes[to as usize] += graph.rows[v as usize];
        }
        let mut both = std::mem::take(&mut members[a as usize]);
        both.append(&mut members[b as usize]);
        both.sort_unstable();
        for v in both {
            members[self.window[v as usize] as usize].push(v);
        }
    }
}
