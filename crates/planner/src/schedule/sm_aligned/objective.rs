//! What is minimised: Voltrix §3.2.2, eq. 2.

use super::flat::Flat;

/// The largest partition's share of the cost, plus a penalty P for crossing windows. The paper does not
/// define P: here it is the cost of loading tiles again, spread over the partitions, as a share of
/// the cost, so that both terms count time on one worker. 0 if everything is free.
pub(super) fn objective(flat: &Flat, points: &[u64]) -> f64 {
    let total = flat.total();
    if total <= 0.0 {
        return 0.0;
    }
    let mut largest = 0.0f64;
    let mut crossing = 0.0;
    let mut before = flat.before(points[0]);
    for (i, &point) in points.iter().enumerate().skip(1) {
        let upto = flat.before(point);
        largest = largest.max(upto - before);
        before = upto;
        // Two points on one place are one cut.
        if point != points[i - 1] && i + 1 < points.len() {
            crossing += flat.crossing(point);
        }
    }
    let partitions = (points.len() - 1) as f64;
    largest / total + crossing / partitions / total
}
