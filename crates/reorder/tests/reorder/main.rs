//! Permutations, orderings and what they make of matrices.

mod metrics;
mod permutation;
mod rcm;
mod real_matrices;
mod window;
