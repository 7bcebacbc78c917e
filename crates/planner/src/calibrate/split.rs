//! What is fitted on, and what is held out.

use super::Observation;

/// One of so many is held out.
const HELD_OUT_OF: usize = 5;

/// Observations to fit on and to test on: a fixed shuffle, so that neither part has all problems of one
/// kind, and of the shuffled every fifth.
pub(super) fn split(observations: &[Observation]) -> (Vec<Observation>, Vec<Observation>) {
    let mut order: Vec<usize> = (0..observations.len()).collect();
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    for i in (1..order.len()).rev() {
        // A 64-bit linear congruence (Knuth's MMIX), of which the upper bits are used.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(i, (state >> 33) as usize % (i + 1));
    }
    let (mut fitted_on, mut held_out) = (Vec::new(), Vec::new());
    for (i, &at) in order.iter().enumerate() {
        let part = if i % HELD_OUT_OF == 0 { &mut held_out } else { &mut fitted_on };
        part.push(observations[at]);
    }
    (fitted_on, held_out)
}
