//! Which windows should meet: those that share most.

use std::cmp::Reverse;

use girih_parallel::prelude::*;

use super::hypergraph::{Hypergraph, TASK};
use super::partition::{NO_WINDOW, Partition};
use super::scratch::Pool;

/// Windows looked at per pin of the hypergraph: nets in very many windows say little about which of
/// them should meet and would make this quadratic.
const LOOKS_PER_PIN: u64 = 128;

/// Two windows, and how much they have to exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    rating: Reverse<u64>,
    pub(super) windows: [u32; 2],
}

/// The windows of each net with its pins there.
struct Counts {
    ptr: Vec<usize>,
    counts: Vec<(u32, u32)>,
}

#[derive(Default)]
struct PairingScratch {
    rating: Vec<u64>,
    found: Vec<u32>,
    /// The last window that looked at each net.
    seen: Vec<u32>,
}

impl Partition {
    /// Pairs of windows to be dealt anew, those that have most to exchange first: for each `active`
    /// window its best `partners`, and no window more than twice as often. A net counts by how few
    /// pins would have to move for one of the two windows to lose it.
    pub(super) fn pairs(
        &self,
        graph: &Hypergraph,
        members: &[Vec<u32>],
        active: &[bool],
        partners: usize,
    ) -> Vec<Pair> {
        let counts = Counts::of(self, graph);
        let n = self.n_windows();
        let pool: Pool<PairingScratch> = Pool::new();
        let new = || PairingScratch {
            rating: vec![0; n],
            found: Vec::new(),
            seen: vec![NO_WINDOW; graph.n_nets()],
        };
        let lists: Vec<Vec<Pair>> = (0..n)
            .into_par_iter()
            .with_min_len(16)
            .filter(|&a| active[a])
            .map(|a| {
                pool.with(new, |scratch| scratch.best(graph, &counts, a, &members[a], partners))
            })
            .collect();
        let mut pairs = lists.concat();
        pairs.par_sort_unstable();
        pairs.dedup();
        let mut uses = vec![0; n];
        pairs.retain(|pair| {
            let kept = pair.windows.iter().all(|&w| uses[w as usize] < 2 * partners);
            pair.windows.iter().for_each(|&w| uses[w as usize] += usize::from(kept));
            kept
        });
        pairs
    }
}

impl PairingScratch {
    /// The best pairs of window `a`.
    fn best(
        &mut self,
        graph: &Hypergraph,
        counts: &Counts,
        a: usize,
        members: &[u32],
        partners: usize,
    ) -> Vec<Pair> {
        let n = self.rating.len();
        let a = a as u32;
        for &e in members.iter().flat_map(|&v| graph.nets(v)) {
            let seen = &mut self.seen[e as usize];
            if *seen == a {
                continue;
            }
            *seen = a;
            let list = counts.of_net(e);
            let Some(&(_, own)) = list.iter().find(|&&(b, _)| b == a) else { continue };
            let cols = u64::from(graph.cols[e as usize]);
            for &(b, count) in list.iter().filter(|&&(b, _)| b != a) {
                let rating = &mut self.rating[b as usize];
                if *rating == 0 {
                    self.found.push(b);
                }
                *rating += 1 + 256 * cols / u64::from(own.min(count));
            }
        }
        // Where nets say nothing, the next windows are as good as any.
        let next = (1..n as u32).map(|step| ((u64::from(a) + u64::from(step)) % n as u64) as u32);
        for b in next.take(partners.saturating_sub(self.found.len())) {
            if self.rating[b as usize] == 0 {
                self.found.push(b);
            }
        }
        let rating = &mut self.rating;
        let mut pairs: Vec<Pair> = self
            .found
            .drain(..)
            .map(|b| Pair {
                rating: Reverse(std::mem::take(&mut rating[b as usize])),
                windows: [a.min(b), a.max(b)],
            })
            .collect();
        if pairs.len() > partners {
            pairs.select_nth_unstable(partners);
            pairs.truncate(partners);
        }
        // Windows may be renumbered before the next sweep.
        members
            .iter()
            .flat_map(|&v| graph.nets(v))
            .for_each(|&e| self.seen[e as usize] = NO_WINDOW);
        pairs
    }
}

impl Counts {
    fn of(partition: &Partition, graph: &Hypergraph) -> Self {
        type Lists = (Vec<(u32, u32)>, Vec<usize>);
        let lists: Vec<Lists> = (0..graph.n_nets())
            .into_par_iter()
            .step_by(TASK)
            .map(|start| {
                let (mut all, mut lens, mut windows) = (Vec::new(), Vec::new(), Vec::new());
                for e in start..graph.n_nets().min(start + TASK) {
                    windows.clear();
                    let pins = graph.pins(e as u32).iter();
                    windows.extend(pins.map(|&v| partition.window[v as usize]));
                    windows.sort_unstable();
                    let runs = windows.chunk_by(|a, b| a == b);
                    let before = all.len();
                    all.extend(runs.map(|run| (run[0], run.len() as u32)));
                    lens.push(all.len() - before);
                }
                (all, lens)
            })
            .collect();
        let limit = most_windows(lists.iter().flat_map(|(_, lens)| lens), graph.n_pins());
        let (mut ptr, mut counts) = (vec![0], Vec::new());
        for (list, lens) in lists {
            let mut rest = &list[..];
            for len in lens {
                let net;
                (net, rest) = rest.split_at(len);
                if (2..=limit).contains(&len) {
                    counts.extend_from_slice(net);
                }
                ptr.push(counts.len());
            }
        }
        Self { ptr, counts }
    }

    /// Empty for a net in a single window or in too many.
    fn of_net(&self, e: u32) -> &[(u32, u32)] {
        &self.counts[self.ptr[e as usize]..self.ptr[e as usize + 1]]
    }
}

/// The most windows a net may be in so that looking at all pairs of windows of all such nets stays
/// within [`LOOKS_PER_PIN`].
fn most_windows<'a>(lens: impl Iterator<Item = &'a usize>, n_pins: usize) -> usize {
    let mut lens: Vec<usize> = lens.copied().collect();
    lens.par_sort_unstable();
    let mut left = LOOKS_PER_PIN * n_pins as u64;
    let mut limit = 0;
    for len in lens {
        let looks = (len as u64).pow(2);
        if looks > left {
            return limit;
        }
        left -= looks;
        limit = len;
    }
    limit
}
