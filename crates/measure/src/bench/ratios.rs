//! How cases compare with their peers: the time of a peer over the time of the case.

use serde::Serialize;

use super::report::case::CaseReport;
use super::report::problem::ProblemReport;

/// What cases of the CUDA backend are compared with: a name, the backend, and the beginning of the format
/// that counts. An empty one counts all formats.
const PEERS: [(&str, &str, &str); 4] = [
    ("cusparse csr", "cusparse", "csr"),
    ("cusparse bsr", "cusparse", "bcsr"),
    ("cusparse blocked-ell", "cusparse", "blocked-ell"),
    ("cublaslt dense", "cublaslt", ""),
];

/// How much faster a case is than a peer.
#[derive(Clone, Debug, Serialize)]
pub struct RatioReport {
    /// The problem of both.
    #[serde(flatten)]
    pub problem: ProblemReport,
    /// The format of the case.
    pub spec: String,
    /// The order of its rows.
    pub order: String,
    /// The peer.
    pub over: &'static str,
    /// What the fastest of the peer's cases multiplied, and in which way.
    pub peer: String,
    /// The peer's median time over the case's.
    pub ratio: f64,
}

/// The ratios of the cases of one matrix, value type and number of columns.
pub(super) fn ratios(cases: &[CaseReport]) -> Vec<RatioReport> {
    let mut found = Vec::new();
    for case in cases.iter().filter(|case| case.engine.backend == "cuda") {
        for (over, backend, format) in PEERS {
            let of_peer = |peer: &&CaseReport| {
                peer.engine.backend == backend && peer.spec.starts_with(format)
            };
            let fastest = cases
                .iter()
                .filter(of_peer)
                .min_by(|a, b| a.median_seconds.total_cmp(&b.median_seconds));
            if let Some(peer) = fastest {
                let way = peer.engine.way.unwrap_or_default();
                found.push(RatioReport {
                    problem: case.problem.clone(),
                    spec: case.spec.clone(),
                    order: case.order.clone(),
                    over,
                    peer: format!("{} {way}", peer.spec).trim_end().to_owned(),
                    ratio: peer.median_seconds / case.median_seconds.max(1e-9),
                });
            }
        }
    }
    found
}

/// What like cases have in common: the peer, the format, order, value type and columns.
type Key<'a> = (&'a str, &'a str, &'a str, &'a str, usize);

/// The geometric mean of the ratios of like cases.
#[derive(Clone, Debug, PartialEq)]
pub struct RatioMean {
    /// The peer.
    pub over: String,
    /// The format of the cases, and their order if it is not the matrix's own.
    pub format: String,
    /// The value type.
    pub dtype: String,
    /// Columns of B.
    pub n: usize,
    /// The geometric mean.
    pub mean: f64,
    /// The least ratio.
    pub least: f64,
    /// The number of matrices.
    pub matrices: usize,
}

/// The means of ratios, by peer, format, order, value type and columns.
pub fn means(ratios: &[RatioReport]) -> Vec<RatioMean> {
    let mut groups: Vec<(Key<'_>, Vec<f64>)> = Vec::new();
    for ratio in ratios {
        // Formats without their sizes, which planners choose.
        let format = ratio.spec.split(' ').next().unwrap_or_default();
        let key = (ratio.over, format, &*ratio.order, ratio.problem.dtype, ratio.problem.n);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(ratio.ratio),
            None => groups.push((key, vec![ratio.ratio])),
        }
    }
    groups.sort_by_key(|&(key, _)| key);
    let mean = |((over, format, order, dtype, n), values): (Key<'_>, Vec<f64>)| RatioMean {
        over: over.to_owned(),
        format: match order {
            "none" | "natural" => format.to_owned(),
            order => format!("{format}, {order}"),
        },
        dtype: dtype.to_owned(),
        n,
        mean: (values.iter().map(|ratio| ratio.ln()).sum::<f64>() / values.len() as f64).exp(),
        least: values.iter().copied().fold(f64::INFINITY, f64::min),
        matrices: values.len(),
    };
    groups.into_iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(matrix: &str, spec: &str, n: usize, ratio: f64) -> RatioReport {
        RatioReport {
            problem: ProblemReport { matrix: matrix.into(), dtype: "f32", n, bytes: 0, flops: 0 },
            spec: spec.into(),
            order: "none".into(),
            over: "cusparse csr",
            peer: "csr csr 2".into(),
            ratio,
        }
    }

    #[test]
    fn means_are_geometric_and_of_like_cases() {
        let ratios = [
            ratio("a", "wcsr 64/8", 8, 4.0),
            ratio("a", "csr", 8, 0.5),
            ratio("b", "csr", 8, 8.0),
            ratio("b", "wcsr 16/8", 8, 9.0),
            ratio("b", "csr", 16, 3.0),
        ];
        let row = |format: &str, n, mean: &str, least, matrices| {
            (format.to_owned(), n, mean.to_owned(), least, matrices)
        };
        let found: Vec<_> = means(&ratios)
            .into_iter()
            .map(|m| (m.format, m.n, format!("{:.2}", m.mean), m.least, m.matrices))
            .collect();
        let expected = [
            row("csr", 8, "2.00", 0.5, 2),
            row("csr", 16, "3.00", 3.0, 1),
            row("wcsr", 8, "6.00", 4.0, 2),
        ];
        assert_eq!(found, expected);
    }
}
