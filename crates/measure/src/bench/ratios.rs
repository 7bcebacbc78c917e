//! What a case is worth: the time of its peers over its own.

use serde::Serialize;

use super::facts::{CaseFacts, Problem};

/// What cases of the CUDA backend are compared with: a name, the backend, and the beginning of the
/// format, if only cases of one count.
const PEERS: [(&str, &str, &str); 4] = [
    ("cusparse csr", "cusparse", "csr"),
    ("cusparse bsr", "cusparse", "bcsr"),
    ("cusparse blocked-ell", "cusparse", "blocked-ell"),
    ("cublaslt dense", "cublaslt", ""),
];

/// How much faster a case is than a peer.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RatioFacts {
    #[serde(flatten)]
    pub(super) problem: Problem,
    /// What the case multiplied, and in which order.
    pub(super) spec: String,
    pub(super) order: String,
    pub(super) over: &'static str,
    /// What the fastest of the peer's cases multiplied, and in which way.
    pub(super) peer: String,
    /// The peer's median time over the case's.
    pub(super) ratio: f64,
}

/// The ratios of the cases of one matrix, value type and number of columns.
pub(super) fn ratios(cases: &[CaseFacts]) -> Vec<RatioFacts> {
    let mut found = Vec::new();
    for case in cases.iter().filter(|case| case.engine.backend == "cuda") {
        for (over, backend, format) in PEERS {
            let of_peer =
                |peer: &&CaseFacts| peer.engine.backend == backend && peer.spec.starts_with(format);
            let fastest = cases
                .iter()
                .filter(of_peer)
                .min_by(|a, b| a.median_seconds.total_cmp(&b.median_seconds));
            if let Some(peer) = fastest {
                let way = peer.engine.way.unwrap_or_default();
                found.push(RatioFacts {
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

/// The peer, the case's format, order, value type and columns.
type Key<'a> = (&'a str, &'a str, &'a str, &'a str, usize);

/// A row of the table of geometric means: the peer, the case's format, value type and columns, the mean,
/// the least ratio, and how many there are.
pub(super) fn means(ratios: &[RatioFacts]) -> Vec<Vec<String>> {
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
    let row = |((over, format, order, dtype, n), values): (Key<'_>, Vec<f64>)| {
        let mean = values.iter().map(|ratio| ratio.ln()).sum::<f64>() / values.len() as f64;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let (mean, least) = (format!("{:.2}", mean.exp()), format!("{least:.2}"));
        let counts = (n.to_string(), values.len().to_string());
        let format = match order {
            "none" | "natural" => format.to_owned(),
            order => format!("{format}, {order}"),
        };
        vec![over.to_owned(), format, dtype.to_owned(), counts.0, mean, least, counts.1]
    };
    groups.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(matrix: &str, spec: &str, n: usize, ratio: f64) -> RatioFacts {
        RatioFacts {
            problem: Problem { matrix: matrix.into(), dtype: "f32", n, bytes: 0, flops: 0 },
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
        let row = |cells: [&str; 7]| cells.map(str::to_owned).to_vec();
        assert_eq!(
            means(&ratios),
            [
                row(["cusparse csr", "csr", "f32", "8", "2.00", "0.50", "2"]),
                row(["cusparse csr", "csr", "f32", "16", "3.00", "3.00", "1"]),
                row(["cusparse csr", "wcsr", "f32", "8", "6.00", "4.00", "2"]),
            ]
        );
    }
}
