//! A small seeded generator whose streams can be opened anywhere.

/// `SplitMix64` (Steele, Lea & Flood 2014), opened by seed and stream number.
///
/// A parallel loop opens one stream per item — `SplitMix64::new(seed, i)` — so that what it draws
/// depends on the seed and the item alone, never on the thread. Only integer operations and exactly
/// rounded floating-point ones are used: the same seed gives the same numbers on every platform.
/// Not for cryptography.
///
/// ```
/// use girih_generate::SplitMix64;
///
/// let (mut a, mut b) = (SplitMix64::new(7, 0), SplitMix64::new(7, 0));
/// assert_eq!(a.next_u64(), b.next_u64());
/// assert!(a.below(10) < 10);
/// ```
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// √(4/3) · 2¹⁶: the standard deviation of the sum in [`SplitMix64::normal`].
const SUM_DEVIATION: f64 = 75_674.453_417_704_73;

impl SplitMix64 {
    /// Opens stream `stream` of `seed`.
    #[inline]
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { state: mix(mix(seed.wrapping_add(GOLDEN)) ^ stream.wrapping_mul(GOLDEN)) }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// A number below `n`, uniform to within `n / 2⁶⁴`; 0 if `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A number in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * f64::EPSILON / 2.0
    }

    /// A number that is nearly standard normal: mean 0, variance 1, within ±3.47, never zero.
    ///
    /// The sum of four 16-bit uniforms (Irwin–Hall), moved off zero by half a step: unlike a
    /// logarithm or a cosine it has the same bits on every platform.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let bits = self.next_u64();
        let sum: i64 = (0..4).map(|i| 2 * ((bits >> (16 * i)) & 0xffff) as i64 - 0xffff).sum();
        (sum + 1) as f64 / SUM_DEVIATION
    }
}

/// Stafford's variant 13 of the `MurmurHash3` finalizer, a bijection.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_fixed() {
        // The published SplitMix64 started at state 0.
        let mut rng = SplitMix64 { state: 0 };
        assert_eq!(rng.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(rng.next_u64(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn normals_have_the_moments_they_promise() {
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|i| SplitMix64::new(1, i).normal()).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / n as f64;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
        assert!(draws.iter().all(|&x| x != 0.0 && x.abs() < 3.4642));
    }

    #[test]
    fn below_reaches_every_value_evenly() {
        let mut counts = [0u32; 7];
        let mut rng = SplitMix64::new(3, 9);
        for _ in 0..70_000 {
            counts[rng.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)), "{counts:?}");
        assert_eq!(rng.below(0), 0);
    }
}
