//! Recursive matrices: graphs with hubs.

use girih_parallel::prelude::*;

use super::rows::{from_keys, value_at};
use crate::rng::SplitMix64;
use girih_formats::{Csr, FormatError, Scalar};

/// Quadrant probabilities a, a + b, a + b + c of Graph500, in units of 2⁻¹⁶.
const QUADRANTS: [u64; 3] = [37_356, 49_807, 62_259];

/// The adjacency matrix of an R-MAT graph with 2^scale vertices and `edge_factor · 2^scale` draws.
///
/// Edges are drawn by the recursion of Chakrabarti, Zhan & Faloutsos (SDM 2004) with the Graph500
/// quadrants (0.57, 0.19, 0.19, 0.05) and vertices are relabelled by a random bijection. An edge
/// drawn twice is one entry, so nnz is a little below the number of draws. Stands for social
/// networks and web graphs: degrees over several orders of magnitude. O(nnz · (scale + log nnz))
/// time, 8 bytes per draw besides the matrix.
///
/// # Errors
/// If `scale` is above 31, or the number of draws does not fit in memory's address space.
///
/// ```
/// let a = girih_generate::rmat::<f32>(10, 16, 1)?;
/// assert_eq!(a.nrows(), 1024);
/// let longest = (0..a.nrows()).map(|i| a.row(i).0.len()).max();
/// assert!(longest > Some(10 * a.nnz() / a.nrows()));
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn rmat<T: Scalar>(scale: u32, edge_factor: usize, seed: u64) -> Result<Csr<T>, FormatError> {
    if scale > 31 {
        return Err(FormatError::Parameter {
            what: "scale",
            found: scale as usize,
            expected: "at most 2³¹ vertices can be generated",
        });
    }
    let n = 1usize << scale;
    let draws = n
        .checked_mul(edge_factor)
        .filter(|&draws| draws <= isize::MAX as usize / size_of::<u64>())
        .ok_or(FormatError::TooManyElements { found: n as u128 * edge_factor as u128 })?;
    let mut keys: Vec<u64> = (0..draws)
        .into_par_iter()
        .with_min_len(1 << 12)
        .map(|edge| {
            let (row, col) = draw(&mut SplitMix64::new(seed, edge as u64), scale);
            relabel(row, scale, seed) << 32 | relabel(col, scale, seed)
        })
        .collect();
    keys.par_sort_unstable();
    keys.dedup();
    from_keys(n, n, &keys, |i, j| value_at(seed, i, j))
}

/// One edge: a quadrant per level, 16 random bits each.
fn draw(rng: &mut SplitMix64, scale: u32) -> (u64, u64) {
    let (mut row, mut col, mut bits) = (0, 0, 0);
    for level in 0..scale {
        if level % 4 == 0 {
            bits = rng.next_u64();
        }
        let u = bits & 0xffff;
        bits >>= 16;
        let lower = u >= QUADRANTS[1];
        let right = (u >= QUADRANTS[0] && !lower) || u >= QUADRANTS[2];
        row = row << 1 | u64::from(lower);
        col = col << 1 | u64::from(right);
    }
    (row, col)
}

/// A bijection of the numbers of `scale` bits: odd multiplications and right xor-shifts, each of
/// which can be undone.
fn relabel(mut x: u64, scale: u32, seed: u64) -> u64 {
    let mask = (1u64 << scale) - 1;
    let mut keys = SplitMix64::new(seed, u64::MAX);
    for _ in 0..3 {
        x = x.wrapping_mul(keys.next_u64() | 1).wrapping_add(keys.next_u64()) & mask;
        x ^= x >> scale.div_ceil(2).max(1);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relabelling_is_a_bijection() {
        for scale in [0, 1, 2, 5, 10] {
            let mut images: Vec<u64> = (0..1 << scale).map(|x| relabel(x, scale, 3)).collect();
            images.sort_unstable();
            assert!(images.into_iter().eq(0..1 << scale), "{scale}");
        }
    }

    #[test]
    fn quadrants_have_their_shares() {
        let n = 100_000;
        let mut counts = [0u32; 4];
        for edge in 0..n {
            let (row, col) = draw(&mut SplitMix64::new(1, edge), 1);
            counts[(row * 2 + col) as usize] += 1;
        }
        for (count, share) in counts.into_iter().zip([0.57, 0.19, 0.19, 0.05]) {
            assert!((f64::from(count) / n as f64 - share).abs() < 0.01, "{counts:?}");
        }
    }
}
