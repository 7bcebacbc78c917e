//! Orderings that need no search: baselines, and inputs for tests of better ones.

use crate::rng::SplitMix64;
use girih_formats::CsrPattern;

use crate::error::ReorderError;
use crate::permutation::{Permutation, check_len};

/// Which rows come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DegreeOrder {
    /// Short rows first.
    Ascending,
    /// Long rows first.
    Descending,
}

/// The order of the input: the identity.
///
/// # Errors
/// If `n` is above [`MAX_DIM`](girih_formats::MAX_DIM).
pub fn natural(n: usize) -> Result<Permutation, ReorderError> {
    Permutation::identity(n)
}

/// Last first.
///
/// # Errors
/// If `n` is above [`MAX_DIM`](girih_formats::MAX_DIM).
pub fn reverse(n: usize) -> Result<Permutation, ReorderError> {
    check_len(n)?;
    Permutation::try_new((0..n as u32).rev().collect())
}

/// A random order (Fisher–Yates), every one equally likely up to the quality of the generator; the
/// same for the same `seed` on every platform. O(n).
///
/// # Errors
/// If `n` is above [`MAX_DIM`](girih_formats::MAX_DIM).
///
/// ```
/// use girih_reorder::simple::random;
///
/// assert_eq!(random(100, 7)?, random(100, 7)?);
/// assert_ne!(random(100, 7)?, random(100, 8)?);
/// # Ok::<(), girih_reorder::ReorderError>(())
/// ```
pub fn random(n: usize, seed: u64) -> Result<Permutation, ReorderError> {
    check_len(n)?;
    let mut rng = SplitMix64::new(seed, 0);
    let mut new_of_old: Vec<u32> = (0..n as u32).collect();
    for last in (1..n).rev() {
        new_of_old.swap(last, rng.below(last as u64 + 1) as usize);
    }
    Permutation::try_new(new_of_old)
}

/// Rows by number of entries, equal ones in the order of the input. O(nrows + longest row).
///
/// ```
/// use girih_formats::Csr;
/// use girih_reorder::simple::{DegreeOrder, by_degree};
///
/// let a = Csr::try_new(3, 2, vec![0, 2, 2, 3], vec![0, 1, 1], vec![1.0f32; 3])?;
/// assert_eq!(by_degree(a.pattern(), DegreeOrder::Ascending).order(), [1, 2, 0]);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
#[must_use]
pub fn by_degree(pattern: CsrPattern<'_>, direction: DegreeOrder) -> Permutation {
    let longest = (0..pattern.nrows()).map(|i| pattern.row_range(i).len()).max().unwrap_or(0);
    let rank = |i: usize| match direction {
        DegreeOrder::Ascending => pattern.row_range(i).len(),
        DegreeOrder::Descending => longest - pattern.row_range(i).len(),
    };
    // Counting sort: rank r's rows go to start[r].. .
    let mut start = vec![0u32; longest + 2];
    for i in 0..pattern.nrows() {
        start[rank(i) + 1] += 1;
    }
    for r in 0..=longest {
        start[r + 1] += start[r];
    }
    let place = |i: usize| {
        let slot = &mut start[rank(i)];
        *slot += 1;
        *slot - 1
    };
    Permutation::from_valid((0..pattern.nrows()).map(place).collect())
}
