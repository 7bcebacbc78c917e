//! The generator that random orders and hashes of columns are drawn from.

/// `SplitMix64` (Steele, Lea & Flood 2014), opened by seed and stream number.
///
/// The bytes of plans rest on it, so it is this crate's own: test data may draw from another.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix64 {
    state: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix64 {
    /// Opens stream `stream` of `seed`.
    #[inline]
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self { state: mix(mix(seed.wrapping_add(GOLDEN)) ^ stream.wrapping_mul(GOLDEN)) }
    }

    /// The next 64 bits.
    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// A number below `n`, uniform to within `n / 2⁶⁴`; 0 if `n` is 0.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
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
