//! Least squares of few unknowns that must not be negative.

use super::Observation;
use crate::device::Terms;

const COUNT: usize = Terms::COUNT;

/// The power of the measured time that errors are divided by: between 1, which counts relative errors
/// and lets the longest products be far off, and 0, with which the shortest count for nothing.
const POWER: f64 = 0.75;

/// The seconds per unit that minimise Σ ((predicted − measured) / measured^¾)², each at least 0.
///
/// The optimum is the unconstrained one over those terms that it does not leave at 0; with so few terms
/// every set of them is tried, so the result is exact and does not depend on where a search begins.
pub(super) fn solve(observations: &[Observation]) -> Terms {
    // Columns are scaled to length 1, since their units differ by orders of magnitude.
    let weights = observations.iter().map(|o| o.seconds.powf(-POWER));
    let rows: Vec<[f64; COUNT]> = observations
        .iter()
        .zip(weights.clone())
        .map(|(o, weight)| o.terms.to_array().map(|term| term * weight))
        .collect();
    let scale: [f64; COUNT] =
        std::array::from_fn(|j| rows.iter().map(|row| row[j] * row[j]).sum::<f64>().sqrt());
    let mut gram = [[0.0; COUNT]; COUNT];
    let mut right = [0.0; COUNT];
    for ((row, weight), observation) in rows.iter().zip(weights).zip(observations) {
        let scaled: [f64; COUNT] =
            std::array::from_fn(|j| if scale[j] > 0.0 { row[j] / scale[j] } else { 0.0 });
        let measured = observation.seconds * weight;
        for i in 0..COUNT {
            right[i] += scaled[i] * measured;
            for j in 0..COUNT {
                gram[i][j] += scaled[i] * scaled[j];
            }
        }
    }
    let mut best = ([0.0; COUNT], 0.0);
    for set in 1..1usize << COUNT {
        let members: Vec<usize> =
            (0..COUNT).filter(|&j| set >> j & 1 == 1 && scale[j] > 0.0).collect();
        let Some(solution) = solve_on(&gram, &right, &members) else { continue };
        if solution.iter().any(|x| *x < 0.0) {
            continue;
        }
        // At the optimum over a set, what the squares shrink by is the solution times the right side.
        let gain: f64 = members.iter().zip(&solution).map(|(&j, x)| x * right[j]).sum();
        if gain > best.1 {
            let mut all = [0.0; COUNT];
            members.iter().zip(&solution).for_each(|(&j, &x)| all[j] = x / scale[j]);
            best = (all, gain);
        }
    }
    Terms::from_array(best.0)
}

/// The solution over some of the unknowns, by Cholesky's decomposition; `None` if they depend on one
/// another.
fn solve_on(
    gram: &[[f64; COUNT]; COUNT],
    right: &[f64; COUNT],
    members: &[usize],
) -> Option<Vec<f64>> {
    let n = members.len();
    let mut lower = [[0.0; COUNT]; COUNT];
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = gram[members[i]][members[j]] - known;
            if i == j {
                // The diagonal is 1: less than this is rounding, and no direction of its own.
                if rest < 1e-9 {
                    return None;
                }
                lower[i][i] = rest.sqrt();
            } else {
                lower[i][j] = rest / lower[j][j];
            }
        }
    }
    let mut x = vec![0.0; n];
    for i in 0..n {
        let known: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
        x[i] = (right[members[i]] - known) / lower[i][i];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| lower[k][i] * x[k]).sum();
        x[i] = (x[i] - known) / lower[i][i];
    }
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(product: f64, windows: f64, values: f64, seconds: f64) -> Observation {
        Observation { terms: Terms { product, windows, values, ..Terms::default() }, seconds }
    }

    #[test]
    fn what_is_linear_is_found() {
        let of = |w: f64, v: f64| observation(1.0, w, v, 1e-6 + 2e-9 * w + 5e-9 * v);
        let all = [of(10.0, 3.0), of(500.0, 40.0), of(3.0, 900.0), of(77.0, 77.0), of(2.0, 1.0)];
        let found = solve(&all);
        assert!((found.product - 1e-6).abs() < 1e-12);
        assert!((found.windows - 2e-9).abs() < 1e-14 && (found.values - 5e-9).abs() < 1e-14);
        assert_eq!(found.multiply_adds, 0.0);
    }

    #[test]
    fn nothing_is_negative() {
        // More windows, less time: without the constraint their coefficient would be negative.
        let of = |w: f64, v: f64| observation(1.0, w, v, 1e-6 * v / (1.0 + w));
        let all = [of(1.0, 3.0), of(2.0, 4.0), of(3.0, 9.0), of(7.0, 7.0), of(2.0, 1.0)];
        let found = solve(&all);
        assert!(found.to_array().iter().all(|x| *x >= 0.0) && found.sum() > 0.0, "{found:?}");
    }
}
