//! Times, taken by turns.

use std::time::Instant;

/// The shortest sample: shorter runs are timed together.
const SAMPLE: f64 = 1e-3;

/// The least number of samples.
const SAMPLES: usize = 5;

/// The least seconds of a run of each, which take turns until `seconds` have passed for each of them. All have run once
/// before. Minima, since other programs only ever make a run longer.
pub(crate) fn by_turns<const N: usize>(seconds: f64, runs: [&mut dyn FnMut(); N]) -> [f64; N] {
    let time = |run: &mut dyn FnMut(), calls: usize| {
        let start = Instant::now();
        (0..calls).for_each(|_| run());
        start.elapsed().as_secs_f64()
    };
    let mut runs = runs.map(|run| {
        time(run, 1);
        let once = time(run, 1);
        (run, (SAMPLE / once.max(1e-9)).clamp(1.0, 1e5) as usize, once)
    });
    let start = Instant::now();
    for round in 0.. {
        if round >= SAMPLES && start.elapsed().as_secs_f64() >= seconds * N as f64 {
            break;
        }
        for (run, calls, least) in &mut runs {
            *least = least.min(time(run, *calls) / *calls as f64);
        }
    }
    runs.map(|(_, _, least)| least)
}
