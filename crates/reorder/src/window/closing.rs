//! Where to close windows, given the order of the rows.

use super::hypergraph::Hypergraph;

/// Cuts an order into windows of at most `window_rows` rows with the least packed columns that any
/// cut of this order has; of equally good cuts, one whose last windows are longest. Returns where
/// each window ends in `order`, and the packed columns.
///
/// The dynamic programme of Ahrens & Boman (*On Optimal Partitioning For Sparse Matrices In Variable
/// Block Row Format*, arXiv 2005.12414, §5) over the last window's first row. The packed columns of all
/// windows that end with a row follow from those that end before it: a column adds one to exactly
/// the windows that begin after the row it stood in last. O(pins + vertices · `window_rows`) time,
/// 8 bytes per vertex twice and 4 per net.
pub(super) fn close(graph: &Hypergraph, order: &[u32], window_rows: usize) -> (Vec<u32>, u64) {
    let n = order.len();
    // cost[i]: least packed columns of order[..at] if its last window begins at i.
    let mut cost = vec![0u64; n];
    let mut begin = vec![0u32; n];
    let mut weight = vec![0u64; n + 1];
    for (at, &v) in order.iter().enumerate() {
        weight[at + 1] = weight[at] + u64::from(graph.rows[v as usize]);
    }
    // One past the last place of every net; 0 if it was in none.
    let mut last = vec![0u32; graph.n_nets()];
    let mut steps: Vec<u64> = Vec::new();
    let (mut best, mut low) = (0, 0);
    for (at, &v) in order.iter().enumerate() {
        cost[at] = best;
        while weight[at + 1] - weight[low] > window_rows as u64 && low < at {
            low += 1;
        }
        steps.clear();
        steps.resize(at + 1 - low, 0);
        for &e in graph.nets(v) {
            let place = &mut last[e as usize];
            steps[(*place as usize).saturating_sub(low)] += u64::from(graph.cols[e as usize]);
            *place = at as u32 + 1;
        }
        let (mut more, mut first) = (0, low);
        best = u64::MAX;
        for (i, (cost, step)) in cost[low..=at].iter_mut().zip(&steps).enumerate() {
            more += step;
            *cost += more;
            if *cost < best {
                (best, first) = (*cost, low + i);
            }
        }
        begin[at] = first as u32;
    }
    let mut ends = Vec::new();
    let mut end = n;
    while end > 0 {
        ends.push(end as u32);
        end = begin[end - 1] as usize;
    }
    ends.reverse();
    (ends, best)
}

#[cfg(test)]
mod tests {
    use girih_formats::generate::uniform;

    use super::*;

    /// Packed columns of `order` cut at `ends`, nets counted by hand.
    fn packed(graph: &Hypergraph, order: &[u32], ends: &[u32]) -> u64 {
        let mut begin = 0;
        let window = |end: &u32| {
            let rows = &order[begin..*end as usize];
            begin = *end as usize;
            let mut nets: Vec<u32> = rows.iter().flat_map(|&v| graph.nets(v)).copied().collect();
            nets.sort_unstable();
            nets.dedup();
            nets.iter().map(|&e| u64::from(graph.cols[e as usize])).sum::<u64>()
        };
        ends.iter().map(window).sum()
    }

    #[test]
    fn no_cut_is_better_than_the_best_of_all() {
        for seed in 0..40 {
            let n = 1 + seed as usize % 11;
            let a = uniform::<f32>(n, 6, 2, seed).unwrap();
            let (graph, _) = Hypergraph::of(a.pattern());
            let order: Vec<u32> = (0..n as u32).rev().collect();
            for window_rows in 1..5 {
                let (ends, found) = close(&graph, &order, window_rows);
                assert_eq!(found, packed(&graph, &order, &ends));
                // Bit i: a window ends after place i.
                let best = (0..1u32 << (n - 1)).filter_map(|cuts| {
                    let ends: Vec<u32> = (1..n as u32)
                        .filter(|i| cuts >> (i - 1) & 1 == 1)
                        .chain([n as u32])
                        .collect();
                    let mut begin = 0;
                    let fits = ends.iter().all(|&end| {
                        let rows = end - begin;
                        begin = end;
                        rows as usize <= window_rows
                    });
                    fits.then(|| packed(&graph, &order, &ends))
                });
                assert_eq!(Some(found), best.min());
            }
        }
    }
}
