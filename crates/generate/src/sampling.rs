//! Distinct numbers, drawn at random.

use crate::rng::SplitMix64;

/// Fills `out` with distinct numbers below `n`, increasing, every set equally likely.
///
/// Expected O(len · log len) for a sparse sample; O(n) ≤ 8 · len steps for a dense one.
///
/// `out` must not be longer than `n`.
pub(super) fn distinct(rng: &mut SplitMix64, n: u64, out: &mut [u32]) {
    debug_assert!(out.len() as u64 <= n && n <= 1 << 32);
    if (out.len() as u64) < n / 8 {
        by_rejection(rng, n, out);
    } else {
        by_selection(rng, n, out);
    }
}

/// Draws what is missing, sorts, drops repetitions, until nothing is missing. Each round draws
/// exactly what is missing, so the set is that of the first `len` distinct draws: unbiased.
fn by_rejection(rng: &mut SplitMix64, n: u64, out: &mut [u32]) {
    let mut kept = 0;
    while kept < out.len() {
        for slot in &mut out[kept..] {
            *slot = rng.below(n) as u32;
        }
        out.sort_unstable();
        kept = 0;
        for i in 0..out.len() {
            if i == 0 || out[i] != out[kept - 1] {
                out[kept] = out[i];
                kept += 1;
            }
        }
    }
}

/// Selection sampling (Knuth, TAOCP vol. 2, 3.4.2, Algorithm S).
fn by_selection(rng: &mut SplitMix64, n: u64, out: &mut [u32]) {
    let mut needed = out.len() as u64;
    let mut slots = out.iter_mut();
    for candidate in 0..n {
        if rng.below(n - candidate) < needed {
            if let Some(slot) = slots.next() {
                *slot = candidate as u32;
            }
            needed -= 1;
            if needed == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_increasing_in_range_and_even() {
        for (n, len) in [(1, 0), (1, 1), (5, 5), (100, 3), (100, 50), (1000, 124), (1000, 125)] {
            let mut hits = vec![0u32; n];
            for stream in 0..400 {
                let mut out = vec![0; len];
                distinct(&mut SplitMix64::new(5, stream), n as u64, &mut out);
                assert!(out.windows(2).all(|w| w[0] < w[1]), "{n} {len} {out:?}");
                out.iter().for_each(|&i| hits[i as usize] += 1);
            }
            let (low, high) =
                (hits[..n / 2].iter().sum::<u32>(), hits[n / 2..].iter().sum::<u32>());
            assert_eq!(low + high, 400 * len as u32);
            if n > 1 && len > 0 && len < n {
                let share = f64::from(low) / f64::from(low + high);
                assert!((share - 0.5).abs() < 0.05, "{n} {len} {share}");
            }
        }
    }
}
