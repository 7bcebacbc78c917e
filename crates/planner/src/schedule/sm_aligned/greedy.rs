//! Points from one end to the other: Voltrix's Algorithm 1, and other points to start from.

use super::flat::Flat;

/// By how much more than the least possible partitions may hold, where that lets points lie on
/// boundaries.
const SLACK: [f64; 5] = [0.0, 0.005, 0.01, 0.02, 0.04];

/// Algorithm 1: each point moves on until the cost since the one before exceeds the average (lines
/// 1–3), and then to a boundary within D/8 (lines 4–10), if `snap`.
///
/// A point does not move back to where its partition began.
pub(super) fn greedy(flat: &Flat, workers: usize, snap: bool) -> Vec<u64> {
    let average = flat.total() / workers as f64;
    let end = flat.end();
    let mut points = vec![0u64];
    let mut last = 0;
    for _ in 1..workers {
        // One unit beyond what the average reaches.
        let mut at = (flat.reach(last, flat.before(last) + average) + 1).min(end);
        if snap {
            let snapped = flat.snapped(at).min(end);
            if snapped > last {
                at = snapped;
            }
        }
        points.push(at);
        last = at;
    }
    points.push(end);
    points
}

/// The first generation's parents: the greedy points, the same unsnapped, points that hold every
/// partition to a capacity, and points at equal shares of the whole.
pub(super) fn starts(flat: &Flat, workers: usize, greedy_points: Vec<u64>) -> Vec<Vec<u64>> {
    let mut starts = vec![greedy_points, greedy(flat, workers, false)];
    let least = least_capacity(flat, workers);
    for slack in SLACK {
        let capacity = least * (1.0 + slack);
        for snap in [false, true] {
            // Snapping back makes later partitions fuller: past its slack there is no such start.
            starts.extend(filled(flat, workers, capacity, snap));
        }
    }
    let share = |i: usize| flat.total() * (i as f64 / workers as f64);
    for snap in [false, true] {
        let mut points: Vec<u64> = vec![0];
        for i in 1..workers {
            let at = flat.reach(0, share(i));
            let at = if snap { flat.snapped(at).min(flat.end()) } else { at };
            points.push(at.max(points[i - 1]));
        }
        points.push(flat.end());
        starts.push(points);
    }
    starts
}

/// The least that the fullest partition can hold, to within a thousandth of the dearest unit.
fn least_capacity(flat: &Flat, workers: usize) -> f64 {
    let unit = flat.dearest_unit();
    let mut low = (flat.total() / workers as f64).max(unit);
    if filled(flat, workers, low, false).is_some() {
        return low;
    }
    // A unit more than the average always suffices, but for rounding.
    let mut high = (low + unit) * (1.0 + 1e-9);
    while high - low > unit * 1e-3 {
        let middle = f64::midpoint(low, high);
        if filled(flat, workers, middle, false).is_some() {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// Partitions as full as `capacity` allows; `None` if they don't suffice.
fn filled(flat: &Flat, workers: usize, capacity: f64, snap: bool) -> Option<Vec<u64>> {
    let end = flat.end();
    let mut points = vec![0u64];
    let mut last = 0;
    for _ in 1..workers {
        let reached = flat.reach(last, flat.before(last) + capacity).min(end);
        let back = if snap && reached < end { flat.snapped_back(reached) } else { reached };
        last = if back > last { back } else { reached };
        points.push(last);
    }
    points.push(end);
    (flat.total() - flat.before(last) <= capacity * (1.0 + 1e-12)).then_some(points)
}
