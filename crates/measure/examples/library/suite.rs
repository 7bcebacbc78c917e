//! What is measured, as data.

use serde::Deserialize;

use crate::Failure;

/// The sections of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suite {
    /// Seconds for each side of a case.
    pub(crate) seconds: f64,
    pub(crate) jobs: Jobs,
    pub(crate) transposed: Products,
    pub(crate) refresh: Matrices,
    pub(crate) pairs: Products,
    pub(crate) sddmm: Sampled,
    pub(crate) batches: Batches,
}

/// The matrices of each job, and columns of B.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Jobs {
    pub(crate) n: Vec<usize>,
    pub(crate) pagerank: Vec<String>,
    pub(crate) chebyshev: Vec<String>,
    pub(crate) block_cg: Vec<String>,
    pub(crate) gcn: Vec<String>,
}

/// Matrices and columns of B.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Products {
    pub(crate) matrices: Vec<String>,
    pub(crate) n: Vec<usize>,
}

/// Matrices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Matrices {
    pub(crate) matrices: Vec<String>,
}

/// Patterns and columns of X and Y.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sampled {
    pub(crate) matrices: Vec<String>,
    pub(crate) d: Vec<usize>,
}

/// Matrices, columns of each B, and how many B there are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batches {
    pub(crate) matrices: Vec<String>,
    pub(crate) n: Vec<usize>,
    pub(crate) batch: usize,
}

impl Suite {
    /// The one beside this file.
    pub(crate) fn standard() -> Result<Self, Failure> {
        Ok(toml::from_str(include_str!("suite.toml"))?)
    }

    /// One of the caller's.
    pub(crate) fn read(path: &str) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        Ok(toml::from_str(&text).map_err(|error| format!("{path}: {error}"))?)
    }
}
