//! The order of the windows themselves.

use girih_formats::Csr;

use super::hypergraph::Hypergraph;
use super::partition::Partition;
use crate::error::ReorderError;
use crate::rcm::rcm_rows_cols;

/// Nets in more than this share of the windows join everything to everything and order nothing.
const EVERYWHERE: usize = 8;

impl Partition {
    /// Numbers the windows in reverse Cuthill–McKee order of their quotient graph, in which windows
    /// are neighbours if they share a net: what a window gathers is likely to be in a cache from
    /// the one before. O(pins).
    pub(super) fn order_windows(&mut self, graph: &Hypergraph) -> Result<(), ReorderError> {
        let (ptr, windows) = self.connectivity(graph);
        let limit = (self.n_windows() / EVERYWHERE).max(2);
        let (mut net_ptr, mut kept) = (vec![0u64], Vec::new());
        for range in ptr.windows(2).filter(|p| (2..=limit).contains(&(p[1] - p[0]))) {
            kept.extend_from_slice(&windows[range[0]..range[1]]);
            net_ptr.push(kept.len() as u64);
        }
        let values = vec![1.0f32; kept.len()];
        let quotient = Csr::try_new(net_ptr.len() - 1, self.n_windows(), net_ptr, kept, values)?;
        let (_, order) = rcm_rows_cols(quotient.pattern())?;
        self.renumbered(&order.order());
        Ok(())
    }
}
