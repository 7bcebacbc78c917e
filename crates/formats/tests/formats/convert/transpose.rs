//! Transposition against triplets, and on any number of threads.

use super::support::{Model, bits, csr_of, generator, matrix};
use girih_formats::Csr;
use proptest::prelude::*;

fn triplets(a: &Csr<f64>) -> Vec<(usize, u32, u64)> {
    (0..a.nrows())
        .flat_map(|i| {
            let (cols, values) = a.row(i);
            cols.iter().zip(values).map(move |(&c, v)| (i, c, v.to_bits()))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_entry_changes_sides((ncols, rows) in matrix()) {
        let a = csr_of::<f64>(ncols, &rows);
        let t = a.transpose();
        let parts = (t.row_ptr().clone(), t.col_idx().clone(), t.values().clone());
        prop_assert!(Csr::try_new(ncols, rows.len(), parts.0, parts.1, parts.2).is_ok());
        let mut swapped: Vec<_> =
            triplets(&t).into_iter().map(|(i, c, v)| (c as usize, i as u32, v)).collect();
        swapped.sort_unstable();
        prop_assert_eq!(swapped, triplets(&a));
    }
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    // Large enough for many blocks of columns; a third of all entries in ten columns.
    let mut random = generator(3);
    let ncols = 5000;
    let rows: Model = (0..9000)
        .map(|i| {
            let mut cols: Vec<u32> = (0..20)
                .map(|j| if j % 3 == 0 { 2000 + random(10) } else { random(ncols) } as u32)
                .collect();
            cols.sort_unstable();
            cols.dedup();
            cols.into_iter().map(|c| (c, f64::from(i))).collect()
        })
        .collect();
    threads_agree(&csr_of(ncols, &rows));

    // Rows of long runs, which are cut into narrow blocks instead.
    let rows: Model = (0..2000)
        .map(|i| {
            let start = random(ncols - 100) as u32;
            (start..start + 100).map(|c| (c, f64::from(i))).collect()
        })
        .collect();
    threads_agree(&csr_of(ncols, &rows));
}

fn threads_agree(a: &Csr<f64>) {
    let on = |n| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| a.transpose())
    };
    let one = on(1);
    assert_eq!(triplets(&one.transpose()), triplets(a));
    for n in [2, 3, 7] {
        let other = on(n);
        assert_eq!((one.row_ptr(), one.col_idx()), (other.row_ptr(), other.col_idx()));
        assert_eq!(bits(one.values()), bits(other.values()));
    }
}
