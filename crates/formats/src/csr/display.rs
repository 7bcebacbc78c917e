//! A matrix in a few lines, for people.

use std::fmt;

use super::Csr;
use crate::scalar::Scalar;

/// Entries that are shown.
const SHOWN: usize = 8;

/// The shape, the value type and the number of entries, and then up to eight entries, one a line.
///
/// ```
/// let a = girih_formats::Csr::from_triplets(2, 3, [(0, 2, 5.0f32), (1, 0, -1.5)])?;
/// assert_eq!(a.to_string(), "2×3 f32, 2 entries\n  (0, 2)  5\n  (1, 0)  -1.5");
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
impl<T: Scalar> fmt::Display for Csr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nrows, ncols, nnz) = (self.nrows, self.ncols, self.nnz());
        let noun = if nnz == 1 { "entry" } else { "entries" };
        write!(f, "{nrows}×{ncols} {}, {nnz} {noun}", T::DTYPE)?;
        for (i, j, value) in self.iter().take(SHOWN) {
            write!(f, "\n  ({i}, {j})  {value}")?;
        }
        match nnz.saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  … {more} more"),
        }
    }
}
