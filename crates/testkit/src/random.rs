//! Numbers that look random and depend on nothing but their arguments.

/// A hash of a seed and two coordinates (the finalizer of `SplitMix64`).
pub(crate) fn hash(seed: u64, i: usize, j: usize) -> u64 {
    let mut z = seed
        .wrapping_add((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_add((j as u64).wrapping_mul(0xd1b5_4a32_d192_ed03));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// True for one in `n` coordinates.
pub(crate) fn one_in(n: u64, seed: u64, i: usize, j: usize) -> bool {
    hash(seed, i, j).is_multiple_of(n)
}

/// A number in [0, 1).
pub(crate) fn unit(seed: u64, i: usize, j: usize) -> f64 {
    (hash(seed, i, j) >> 11) as f64 / (1u64 << 53) as f64
}

/// A number in [−1, 1), never 0.
pub(crate) fn signed(seed: u64, i: usize, j: usize) -> f64 {
    let magnitude = 0.05 + 0.95 * unit(seed ^ 0x5eed, i, j);
    if hash(seed ^ 0x519, i, j) & 1 == 0 { magnitude } else { -magnitude }
}
