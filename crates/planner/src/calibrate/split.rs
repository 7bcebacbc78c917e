//! What is fitted on, and what is held out.

use super::Observation;

/// One of so many is held out.
const HELD_OUT_OF: usize = 5;

/// Observations to fit on and to test on: of every five that took nearly the same time one is held out,
/// a different one each time, so that neither part has all the long products or all problems of one
/// kind.
pub(super) fn split(observations: &[Observation]) -> (Vec<Observation>, Vec<Observation>) {
    let mut by_time = observations.to_vec();
    by_time.sort_by(|x, y| x.seconds.total_cmp(&y.seconds));
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let (mut fitted_on, mut held_out) = (Vec::new(), Vec::new());
    for alike in by_time.chunks(HELD_OUT_OF) {
        // A 64-bit linear congruence (Knuth's MMIX), of which the upper bits are used.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let chosen = (state >> 33) as usize % HELD_OUT_OF;
        for (i, observation) in alike.iter().enumerate() {
            let part = if i == chosen { &mut held_out } else { &mut fitted_on };
            part.push(*observation);
        }
    }
    (fitted_on, held_out)
}
