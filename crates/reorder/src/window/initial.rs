//! Orders to start from.

use crate::rng::SplitMix64;
use girih_formats::{Csr, CsrPattern};
use girih_parallel::prelude::*;
use serde::{Deserialize, Serialize};

use super::clustering::cluster_order;
use super::hypergraph::{Hypergraph, TASK};
use crate::error::ReorderError;
use crate::rcm::{rcm, rcm_rows_cols};

/// Hash functions of [`WindowStart::MinHash`].
const HASHES: usize = 6;

/// An order of the rows that the window ordering starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WindowStart {
    /// The order of the input.
    #[default]
    Natural,
    /// Reverse Cuthill–McKee, on the graph of rows and columns.
    Rcm,
    /// Rows sorted by their median column.
    MedianColumn,
    /// Leaves of a tree of clusters, the most alike rows joined first.
    Clusters,
    /// Rows sorted by the least hashes of their columns (Broder 1997): similar rows are likely to
    /// have the same ones.
    MinHash,
}

impl WindowStart {
    /// Every start that is tried.
    pub(super) const ALL: [Self; 5] =
        [Self::Natural, Self::Rcm, Self::MedianColumn, Self::MinHash, Self::Clusters];

    /// The rows that have nets, in this order.
    pub(super) fn order(
        self,
        pattern: CsrPattern<'_>,
        graph: &Hypergraph,
        seed: u64,
    ) -> Result<Vec<u32>, ReorderError> {
        let n = graph.n_vertices() as u32;
        let mut order: Vec<u32> = match self {
            Self::Natural => (0..n).collect(),
            Self::Rcm if pattern.nrows() == pattern.ncols() => rcm(pattern)?.order(),
            Self::Rcm => rcm_rows_cols(graph.to_csr()?.pattern())?.0.order(),
            Self::MedianColumn => by_key(n, |v| {
                let cols = pattern.row(v as usize);
                cols.get(cols.len() / 2).copied()
            }),
            Self::Clusters => cluster_order(graph),
            Self::MinHash => by_key(n, |v| min_hashes(graph.nets(v), seed)),
        };
        order.retain(|&v| !graph.nets(v).is_empty());
        Ok(order)
    }
}

/// 0..n by key, equal keys by number.
fn by_key<K: Ord + Send>(n: u32, key: impl Fn(u32) -> K + Sync + Send) -> Vec<u32> {
    let mut keyed: Vec<(K, u32)> =
        (0..n).into_par_iter().with_min_len(TASK).map(|v| (key(v), v)).collect();
    keyed.par_sort_unstable();
    keyed.into_iter().map(|(_, v)| v).collect()
}

fn min_hashes(nets: &[u32], seed: u64) -> [u64; HASHES] {
    let mut least = [u64::MAX; HASHES];
    for &e in nets {
        let mut hashes = SplitMix64::new(seed, u64::from(e));
        least.iter_mut().for_each(|least| *least = hashes.next_u64().min(*least));
    }
    least
}

impl Hypergraph {
    /// The incidences as a matrix: vertices are rows, nets are columns.
    pub(super) fn to_csr(&self) -> Result<Csr<f32>, ReorderError> {
        let mut row_ptr = vec![0u64];
        let mut col_idx = Vec::with_capacity(self.n_pins());
        for v in 0..self.n_vertices() as u32 {
            col_idx.extend_from_slice(self.nets(v));
            row_ptr.push(col_idx.len() as u64);
        }
        let values = vec![1.0; col_idx.len()];
        Ok(Csr::try_new(self.n_vertices(), self.n_nets(), row_ptr, col_idx, values)?)
    }
}
