//! Rows of a CSR matrix that have the columns of the row before them.

use girih_formats::{Csr, Scalar};
use rayon::prelude::*;

/// For every row of a matrix, whether its columns are those of the row before it.
///
/// Neighbours with the same columns — the unknowns of one finite-element node, the rows of a block —
/// are multiplied as a dense strip, so that a row of B is read once for all of them.
#[derive(Debug)]
pub(crate) struct Twins {
    bits: Vec<u64>,
}

impl Twins {
    /// Finds them: O(nnz) in parallel, one bit per row. `None` if less than a quarter of the entries
    /// are in such rows.
    pub(crate) fn find<T: Scalar>(a: &Csr<T>) -> Option<Self> {
        let word = |word: usize| {
            let rows = word * 64..a.nrows().min(word * 64 + 64);
            rows.fold((0u64, 0), |(bits, entries), row| {
                if row > 0 && !a.row_range(row).is_empty() && a.row(row).0 == a.row(row - 1).0 {
                    (bits | 1 << (row % 64), entries + a.row_range(row).len())
                } else {
                    (bits, entries)
                }
            })
        };
        let words = (0..a.nrows().div_ceil(64)).into_par_iter().with_min_len(64).map(word);
        let (bits, entries): (Vec<u64>, Vec<usize>) = words.unzip();
        (entries.iter().sum::<usize>() > a.nnz() / 4).then_some(Self { bits })
    }

    /// Whether a row has the columns of the one before it.
    #[inline]
    fn is_twin(&self, row: usize) -> bool {
        self.bits[row / 64] >> (row % 64) & 1 == 1
    }

    /// The end of the rows from `start` on, before `end`, that all have the same columns; or, if the
    /// first two don't, the end of those of which none has the columns of the next.
    pub(crate) fn run(&self, start: usize, end: usize) -> (usize, bool) {
        let same = start + 1 < end && self.is_twin(start + 1);
        let mut row = start + 1;
        while row < end && self.is_twin(row) == same {
            row += 1;
        }
        // The last of the different rows may be the first of the same ones.
        let shared = !same && row < end;
        (row - usize::from(shared), same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_equal_and_of_different_rows_alternate() {
        let rows: [&[u32]; 9] = [&[0], &[1], &[1, 2], &[1, 2], &[1, 2], &[], &[], &[3], &[3]];
        let mut row_ptr = vec![0];
        rows.iter().for_each(|row| row_ptr.push(row_ptr[row_ptr.len() - 1] + row.len() as u64));
        let col_idx = rows.concat();
        let values = vec![1.0f32; col_idx.len()];
        let a = Csr::try_new(9, 4, row_ptr, col_idx, values).unwrap();
        let twins = Twins::find(&a).unwrap();
        let mut runs = Vec::new();
        let mut row = 0;
        while row < 9 {
            let (end, same) = twins.run(row, 9);
            runs.push((row..end, same));
            row = end;
        }
        assert_eq!(runs, [(0..2, false), (2..5, true), (5..7, false), (7..9, true)]);
        assert_eq!(twins.run(3, 4), (4, false));
    }

    #[test]
    fn a_matrix_without_equal_rows_has_none() {
        let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1.0f32, 1.0]).unwrap();
        assert!(Twins::find(&a).is_none());
        assert!(Twins::find(&Csr::<f32>::empty(3, 3).unwrap()).is_none());
    }
}
