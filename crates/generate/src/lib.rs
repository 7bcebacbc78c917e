//! Seeded generators of realistic matrices.
//!
//! Each family stands for a class of real matrices in SpMM:
//!
//! | function | stands for |
//! |---|---|
//! | [`uniform`] | hashed or sampled features, random graphs: no locality at all |
//! | [`rmat`] | social networks and web graphs: skewed degrees, hubs |
//! | [`planted_partition`] | citations, communities: vertices of groups that mostly know their own |
//! | [`power_law_rows`] | web graphs, ratings, text: a few very long rows |
//! | [`fem_2d`], [`fem_3d`] | stiffness matrices of finite elements: small dense node blocks |
//! | [`laplacian_5pt`], [`laplacian_7pt`] | ordered finite-difference stencils |
//! | [`banded`] | one-dimensional discretisations, splines, time series |
//! | [`block_sparse`] | weights pruned in blocks |
//! | [`pruned_weights`] | weights pruned entry by entry |
//! | [`two_four`] | weights pruned for 2:4 sparse tensor cores |
//! | [`dense_row`], [`dense_col`] | linear programs, circuits with a supply net: what breaks balance |
//! | [`empty_rows`] | isolated vertices, unused tokens: what breaks offsets |
//!
//! [`Problem`] names those that benchmarks share.
//!
//! The same arguments give the same bytes on every platform and any number of threads. A value
//! depends on the seed and its position only and is drawn in `f64` before it is rounded to `T`, so
//! the matrices of two value types are roundings of each other. No value is zero.

#![forbid(unsafe_code)]

mod grid;
mod partition;
mod problem;
mod random;
mod rmat;
mod rng;
mod rows;
mod sampling;
mod skewed;
mod weights;

pub use grid::{banded, fem_2d, fem_3d, laplacian_5pt, laplacian_7pt};
pub use partition::planted_partition;
pub use problem::Problem;
pub use random::uniform;
pub use rmat::rmat;
pub use rng::SplitMix64;
pub use skewed::{dense_col, dense_row, empty_rows, power_law_rows};
pub use weights::{block_sparse, pruned_weights, two_four};
