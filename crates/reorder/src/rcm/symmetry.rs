//! Whether a pattern is symmetric.

use girih_formats::CsrPattern;

/// Whether a square pattern has (j, i) wherever it has (i, j).
///
/// O(nnz): rows come in order, so the entries left of a row's diagonal are needed in the order
/// they stand in, and a cursor per row says which one is next. Stops at the first that has no
/// partner.
pub(super) fn is_symmetric(pattern: CsrPattern<'_>) -> bool {
    let (row_ptr, col_idx) = (pattern.row_ptr(), pattern.col_idx());
    let mut next = row_ptr[..pattern.nrows()].to_vec();
    for i in 0..pattern.nrows() {
        // Entries that rows above had partners for are behind the cursor.
        let Some(rest) = col_idx.get(next[i] as usize..row_ptr[i + 1] as usize) else {
            return false;
        };
        if rest.first().is_some_and(|&j| (j as usize) < i) {
            return false;
        }
        let above = &rest[usize::from(rest.first() == Some(&(i as u32)))..];
        let mut all = true;
        for &j in above {
            let place = &mut next[j as usize];
            // A cursor that leaves its row is found when that row is met.
            all &= col_idx.get(*place as usize) == Some(&(i as u32));
            *place += 1;
        }
        if !all {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;
    use girih_generate::{fem_3d, rmat};

    use super::*;

    fn pattern_of(n: usize, edges: &[(u32, u32)]) -> Csr<f32> {
        let mut edges = edges.to_vec();
        edges.sort_unstable();
        let mut row_ptr = vec![0; n + 1];
        edges.iter().for_each(|&(i, _)| row_ptr[i as usize + 1] += 1);
        for i in 0..n {
            row_ptr[i + 1] += row_ptr[i];
        }
        let cols: Vec<u32> = edges.iter().map(|&(_, j)| j).collect();
        let values = vec![1.0; cols.len()];
        Csr::try_new(n, n, row_ptr, cols, values).unwrap()
    }

    #[test]
    fn every_pattern_of_three_rows_is_told() {
        for bits in 0u32..1 << 9 {
            let has = |i: u32, j: u32| bits >> (3 * i + j) & 1 == 1;
            let places = (0..9).map(|at| (at / 3, at % 3));
            let edges: Vec<_> = places.filter(|&(i, j)| has(i, j)).collect();
            let expected = edges.iter().all(|&(i, j)| has(j, i));
            assert_eq!(is_symmetric(pattern_of(3, &edges).pattern()), expected, "{edges:?}");
        }
    }

    #[test]
    fn one_entry_decides() {
        let a = fem_3d::<f32>(5, 5, 5, 2, 1).unwrap();
        assert!(is_symmetric(a.pattern()));
        let entries = |a: &Csr<f32>| -> Vec<(u32, u32)> {
            let rows = 0..a.nrows() as u32;
            rows.flat_map(|i| a.row(i as usize).0.iter().map(move |&j| (i, j))).collect()
        };
        let all = entries(&a);
        for left_out in (0..all.len()).filter(|&at| all[at].0 != all[at].1) {
            let mut edges = all.clone();
            edges.remove(left_out);
            assert!(!is_symmetric(pattern_of(a.nrows(), &edges).pattern()), "{:?}", all[left_out]);
        }
        assert!(!is_symmetric(rmat::<f32>(8, 4, 1).unwrap().pattern()));
        assert!(is_symmetric(Csr::<f32>::empty(0, 0).unwrap().pattern()));
    }
}
