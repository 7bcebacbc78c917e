//! An order of the rows from a hierarchy of clusters, whatever the order of the input.

use girih_parallel::prelude::*;

use super::hypergraph::{Hypergraph, TASK};
use super::scratch::Pool;

/// Nets with more pins than this say little about which two of them are alike, and looking at all
/// pairs of them would be quadratic.
const MAX_PINS: usize = 40;

/// Rounds of proposals on one level.
const ROUNDS: usize = 2;

/// A fixed-point one: what a net of one column and two pins contributes.
const ONE: u64 = 1 << 20;

const NONE: u32 = u32::MAX;

/// The leaves of a tree of clusters, from left to right: the most alike pairs are joined first,
/// then pairs of pairs, as in the coarsening of hypergraph partitioners (Karypis et al., *IEEE
/// TVLSI* 7(1), 1999, §III-A), but down to the last cluster that has a partner. O(pins) a level,
/// with a constant of at most [`MAX_PINS`]; levels shrink by a twentieth at least.
pub(super) fn cluster_order(graph: &Hypergraph) -> Vec<u32> {
    let mut levels: Vec<Vec<u32>> = Vec::new();
    let mut coarse: Option<Hypergraph> = None;
    let mut n = graph.n_vertices();
    loop {
        let current = coarse.as_ref().unwrap_or(graph);
        let (cluster, n_clusters) = matched(current);
        let connected = (0..n as u32).filter(|&v| !current.nets(v).is_empty()).count();
        if (n - n_clusters) * 20 < connected.max(1) {
            break;
        }
        coarse = Some(current.contracted(&cluster, n_clusters));
        levels.push(cluster);
        n = n_clusters;
    }
    let roots = (0..n as u32).collect();
    levels.iter().rev().fold(roots, |order: Vec<u32>, cluster| {
        let mut members = vec![[NONE; 2]; order.len()];
        for (v, &c) in cluster.iter().enumerate() {
            let [first, second] = &mut members[c as usize];
            *(if *first == NONE { first } else { second }) = v as u32;
        }
        let leaves = order.iter().flat_map(|&c| members[c as usize]);
        leaves.filter(|&v| v != NONE).collect()
    })
}

/// Matches vertices: each proposes to the one it shares most with, and the strongest proposals
/// between free ones are taken. Returns the cluster of each vertex and the number of clusters.
fn matched(graph: &Hypergraph) -> (Vec<u32>, usize) {
    let n = graph.n_vertices();
    let pool: Pool<(Vec<u64>, Vec<u32>)> = Pool::new();
    let mut partner = vec![NONE; n];
    for _ in 0..ROUNDS {
        let mut proposals: Vec<(u64, u64, u32, u32)> = (0..n as u32)
            .into_par_iter()
            .with_min_len(TASK)
            .filter(|&v| partner[v as usize] == NONE)
            .filter_map(|v| {
                let new = || (vec![0; n], Vec::new());
                pool.with(new, |(rating, found)| propose(graph, v, &partner, rating, found))
            })
            .collect();
        proposals.par_sort_unstable_by(|a, b| b.cmp(a));
        for (_, _, v, u) in proposals {
            if partner[v as usize] == NONE && partner[u as usize] == NONE {
                partner[v as usize] = u;
                partner[u as usize] = v;
            }
        }
    }
    let mut cluster = vec![NONE; n];
    let mut count = 0;
    for v in 0..n {
        if cluster[v] == NONE {
            cluster[v] = count;
            if let Some(other) = cluster.get_mut(partner[v] as usize) {
                *other = count;
            }
            count += 1;
        }
    }
    (cluster, count as usize)
}

/// Rating, tie-break, `v` and the free vertex that shares most with it for its weight, if there is
/// one.
fn propose(
    graph: &Hypergraph,
    v: u32,
    partner: &[u32],
    rating: &mut [u64],
    found: &mut Vec<u32>,
) -> Option<(u64, u64, u32, u32)> {
    for &e in graph.nets(v) {
        let pins = graph.pins(e);
        if pins.len() > MAX_PINS {
            continue;
        }
        let gain = 1 + ONE * u64::from(graph.cols[e as usize]) / (pins.len() as u64 - 1);
        for &u in pins.iter().filter(|&&u| u != v && partner[u as usize] == NONE) {
            if rating[u as usize] == 0 {
                found.push(u);
            }
            rating[u as usize] += gain;
        }
    }
    let best = found.drain(..).map(|u| {
        let weight = u64::from(graph.rows[u as usize]) * u64::from(graph.rows[v as usize]);
        (std::mem::take(&mut rating[u as usize]) / weight, tie(u.min(v), u.max(v)), v, u)
    });
    best.max()
}

/// Breaks ties between pairs without favour for an end of the matrix.
fn tie(u: u32, v: u32) -> u64 {
    let pair = u64::from(u) << 32 | u64::from(v);
    (pair ^ pair >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(27)
}
