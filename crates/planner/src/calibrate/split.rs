//! What is fitted on, and what is held out.

use super::Observation;

/// Parts that observations are dealt into.
pub(super) const FOLDS: usize = 5;

/// The part that each observation belongs to: of every five that took nearly the same time each is dealt
/// into another one, at random, so that none has all the long products or all problems of one kind.
pub(super) fn folds(observations: &[Observation]) -> Vec<usize> {
    let mut by_time: Vec<usize> = (0..observations.len()).collect();
    by_time.sort_by(|&x, &y| observations[x].seconds.total_cmp(&observations[y].seconds));
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    // A 64-bit linear congruence (Knuth's MMIX), of which the upper bits are used.
    let mut below = |limit: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let mut parts = vec![0; observations.len()];
    for alike in by_time.chunks(FOLDS) {
        let mut left: Vec<usize> = (0..FOLDS).collect();
        for &observation in alike {
            parts[observation] = left.swap_remove(below(left.len()));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Terms;

    #[test]
    fn every_part_has_one_of_any_five_that_took_nearly_the_same_time() {
        // 7 and 103 share no factor, so that times are out of order and all different.
        let time = |i: usize| 1.0 + (i * 7 % 103) as f64;
        let all: Vec<_> =
            (0..103).map(|i| Observation { terms: Terms::default(), seconds: time(i) }).collect();
        let parts = folds(&all);
        let mut by_time: Vec<usize> = (0..all.len()).collect();
        by_time.sort_by(|&x, &y| time(x).total_cmp(&time(y)));
        let mut orders = Vec::new();
        for alike in by_time.chunks(FOLDS) {
            let order: Vec<usize> = alike.iter().map(|&i| parts[i]).collect();
            let mut distinct = order.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert!(distinct.len() == alike.len() && distinct.iter().all(|&part| part < FOLDS));
            orders.push(order);
        }
        // Nor do the slowest of them always come to the same part.
        orders.dedup();
        assert!(orders.len() > 10, "{orders:?}");
    }
}
