//! The genetic step: one generation, as Voltrix §3.2.2 finds enough.

use super::flat::Flat;
use super::objective::objective;

/// Children of the one generation.
const CHILDREN: usize = 96;

/// Points of a child that are moved, at most.
const MUTATIONS: u64 = 3;

/// The best of the parents and one generation of their children. Deterministic: the random numbers are
/// always the same, and of equal ones the first is taken.
pub(super) fn generation(flat: &Flat, parents: Vec<Vec<u64>>) -> Vec<u64> {
    let mut ranked: Vec<(f64, Vec<u64>)> =
        parents.into_iter().map(|points| (objective(flat, &points), points)).collect();
    // Stable, so that of equal parents the earlier stays first.
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut best: Option<(f64, Vec<u64>)> = None;
    for _ in 0..CHILDREN {
        let (mother, father) = (select(&ranked, &mut random), select(&ranked, &mut random));
        let mut child = crossed(mother, father, &mut random);
        for _ in 0..random.below(MUTATIONS + 1) {
            mutate(flat, &mut child, &mut random);
        }
        let value = objective(flat, &child);
        if value < best.as_ref().map_or(ranked[0].0, |best| best.0) {
            best = Some((value, child));
        }
    }
    match best {
        Some((_, child)) => child,
        None => ranked.swap_remove(0).1,
    }
}

/// The better of two parents drawn at random.
fn select<'a>(ranked: &'a [(f64, Vec<u64>)], random: &mut Random) -> &'a [u64] {
    let draw = |random: &mut Random| random.below(ranked.len() as u64) as usize;
    let first = draw(random);
    &ranked[first.min(draw(random))].1
}

/// The mother's points up to a place, and the father's from there.
fn crossed(mother: &[u64], father: &[u64], random: &mut Random) -> Vec<u64> {
    let at = random.below(mother.len() as u64) as usize;
    let last = at.checked_sub(1).map_or(0, |before| mother[before]);
    let rest = father[at..].iter().map(|&point| point.max(last));
    mother[..at].iter().copied().chain(rest).collect()
}

/// Moves a point by a unit or to the boundary of a window, between its neighbours.
fn mutate(flat: &Flat, points: &mut [u64], random: &mut Random) {
    if points.len() <= 2 {
        return;
    }
    let i = 1 + random.below(points.len() as u64 - 2) as usize;
    let (at, unit) = (points[i], points[i] % flat.units);
    let moved = match random.below(4) {
        0 => at.saturating_sub(1),
        1 => at + 1,
        2 => at - unit,
        _ => at - unit + flat.units,
    };
    points[i] = moved.clamp(points[i - 1], points[i + 1]);
}

/// Marsaglia's xorshift64*, seeded: good enough to draw parents with, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
        ((u128::from(bits) * u128::from(limit)) >> 64) as u64
    }
}
