//! What a row's products come to, where that is not their sum: the layers of graph networks.

use crate::error::Unsupported;

/// How the products of a row's entries become an element of C: element (i, j) is made of `a(i, k)·b(k, j)` for
/// every entry (i, k) of A.
///
/// Their sum is what [`execute`](crate::PreparedSpmm::execute) computes; these are the others that networks over
/// graphs use (Hamilton et al., "Inductive Representation Learning on Large Graphs", 2017, §3.3; Xu et al., "How
/// Powerful are Graph Neural Networks?", 2019, §5). Entries with the value zero count; a row without entries gives 0, as
/// `PyG` and DGL do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Aggregation {
    /// The greatest product, rounded once. NaN if any is NaN; of zeros, either sign.
    Max,
    /// The least product, rounded once. NaN if any is NaN; of zeros, either sign.
    Min,
    /// The sum of products over the number of the row's entries: as a sum in its rounding and its NaN, and two
    /// roundings more.
    Mean,
}

impl Aggregation {
    /// Every aggregation.
    pub const ALL: [Self; 3] = [Self::Max, Self::Min, Self::Mean];

    /// What `before`, which earlier products came to, and a product come to; before division for a mean.
    pub(crate) fn add(self, before: Option<f64>, product: f64) -> f64 {
        match (before, self) {
            (None, _) => product,
            (Some(before), Self::Mean) => before + product,
            (Some(before), _) if before.is_nan() => before,
            (Some(_), _) if product.is_nan() => product,
            (Some(before), Self::Max) => before.max(product),
            (Some(before), Self::Min) => before.min(product),
        }
    }

    /// The element, of what [`add`](Self::add) made of `entries` products.
    pub(crate) fn finish(self, total: Option<f64>, entries: usize) -> f64 {
        match (total, self) {
            (None, _) => 0.0,
            (Some(total), Self::Mean) => total / entries as f64,
            (Some(total), Self::Max | Self::Min) => total,
        }
    }
}

/// Refuses every aggregation.
pub(crate) fn no_aggregation() -> Unsupported {
    Unsupported::Aggregation { reason: "its kernels add up the products of a row".to_owned() }
}
