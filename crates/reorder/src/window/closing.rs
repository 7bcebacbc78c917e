//! Where to close windows, given the order of the rows.

use super::hypergraph::Hypergraph;

/// Places where a window may have begun that are looked at for each row at most.
const PLACES: usize = 1 << 10;

/// Cuts an order into windows of at most `window_rows` rows with the least packed columns that any
/// cut of this order has; of equally good windows at the end, the longest. Returns where each
/// window ends in `order`, and the packed columns.
///
/// The dynamic programme of Ahrens & Boman (*On Optimal Partitioning For Sparse Matrices In
/// Variable Block Row Format*, arXiv 2005.12414) over the last window's first row. The packed
/// columns of all windows that end with a row follow from those that end before it: a column adds
/// one to exactly the windows that begin after the row it stood in last. Exact for windows of up to
/// 1024 rows; higher ones begin and end at multiples of ⌈`window_rows` / 1024⌉ rows only. O(pins +
/// rows · min(`window_rows`, 1024)) time, 12 bytes per row and 4 per net.
///
/// The graph is one of rows: every vertex weighs one.
pub(super) fn close(graph: &Hypergraph, order: &[u32], window_rows: usize) -> (Vec<u32>, u64) {
    let n = order.len();
    let step = window_rows.min(n).div_ceil(PLACES).max(1);
    // cost[i]: least packed columns of the rows so far if their last window begins at row i·step.
    let mut cost: Vec<u64> = Vec::with_capacity(n / step + 1);
    // begin[i]: where, in steps, the best last window of the first i + 1 steps begins.
    let mut begin: Vec<u32> = Vec::with_capacity(n / step + 1);
    // One past the last place of every net; 0 if it was in none.
    let mut last = vec![0u32; graph.n_nets()];
    let mut added = Vec::new();
    let (mut best, mut low) = (0, 0);
    for (at, &v) in order.iter().enumerate() {
        if at % step == 0 {
            cost.push(best);
        }
        // A window that ends with this step, whatever is left of it, begins here or later.
        let end = (at / step * step + step).min(n);
        while end - low * step > window_rows && low + 1 < cost.len() {
            low += 1;
        }
        added.clear();
        added.resize(cost.len() - low, 0);
        for &e in graph.nets(v) {
            let place = &mut last[e as usize];
            let first = (*place as usize).div_ceil(step).saturating_sub(low);
            if let Some(added) = added.get_mut(first) {
                *added += u64::from(graph.cols[e as usize]);
            }
            *place = at as u32 + 1;
        }
        let mut more = 0;
        for (cost, added) in cost[low..].iter_mut().zip(&added) {
            more += added;
            *cost += more;
        }
        if at + 1 == end {
            let found = (low..cost.len()).min_by_key(|&i| cost[i]).unwrap_or(low);
            best = cost[found];
            begin.push(found as u32);
        }
    }
    let mut ends = Vec::new();
    let mut end = begin.len();
    while end > 0 {
        ends.push((end * step).min(n) as u32);
        end = begin[end - 1] as usize;
    }
    ends.reverse();
    (ends, best)
}

#[cfg(test)]
mod tests {
    use girih_generate::uniform;

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
