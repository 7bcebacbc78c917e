//! Generated matrices: the same on any number of threads and as their documentation says.

use girih_formats::{Csr, FormatError, Scalar};
use girih_generate::*;
use half::bf16;
use proptest::prelude::*;

fn families<T: Scalar>(seed: u64) -> Vec<(&'static str, Csr<T>)> {
    vec![
        ("uniform", uniform(1000, 777, 9, seed).unwrap()),
        ("rmat", rmat(9, 8, seed).unwrap()),
        ("power_law_rows", power_law_rows(900, 5000, 3, seed).unwrap()),
        ("fem_2d", fem_2d(13, 17, 2, seed).unwrap()),
        ("fem_3d", fem_3d(7, 5, 6, 3, seed).unwrap()),
        ("laplacian_5pt", laplacian_5pt(31, 20).unwrap()),
        ("banded", banded(700, 650, 5, 2, seed).unwrap()),
        ("block_sparse", block_sparse(333, 200, 16, 0.2, seed).unwrap()),
        ("pruned_weights", pruned_weights(300, 500, 0.85, seed).unwrap()),
        ("two_four", two_four(300, 63, seed).unwrap()),
        ("dense_row", dense_row(600, 400, 3, 599, seed).unwrap()),
        ("dense_col", dense_col(600, 400, 3, 0, seed).unwrap()),
        ("empty_rows", empty_rows(600, 400, 3, 0.3, seed).unwrap()),
    ]
}

#[test]
fn any_number_of_threads_gives_the_same_matrix() {
    let expected = families::<f32>(42);
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for ((name, a), (_, b)) in expected.iter().zip(pool.install(|| families::<f32>(42))) {
            assert!(*a == b, "{name} on {threads} threads");
        }
    }
}

/// FNV-1a over the arrays: a change of this number is a change of every benchmark and every test
/// that rests on a generated matrix.
fn fingerprint(a: &Csr<f64>) -> u64 {
    let ptr = a.row_ptr().iter().copied();
    let idx = a.col_idx().iter().map(|&j| u64::from(j));
    let values = a.values().iter().map(|v| v.to_bits());
    ptr.chain(idx)
        .chain(values)
        .flat_map(u64::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn a_seed_means_the_same_matrix_for_ever() {
    let found: Vec<_> = families::<f64>(1).iter().map(|(n, a)| (*n, fingerprint(a))).collect();
    assert_eq!(found, FINGERPRINTS);
}

const FINGERPRINTS: &[(&str, u64)] = &[
    ("uniform", 0xc8627a20bdcddc1a),
    ("rmat", 0x395cdf5fb1daa49e),
    ("power_law_rows", 0xf8c5b07047493a03),
    ("fem_2d", 0xfd46afb55db803e1),
    ("fem_3d", 0x4c35feb3855954af),
    ("laplacian_5pt", 0x6889d7eb83ccaff4),
    ("banded", 0xf1e46e64be24e18f),
    ("block_sparse", 0x68ce6fbae42ae6d6),
    ("pruned_weights", 0x0edb195bda6184e1),
    ("two_four", 0xf150165808859568),
    ("dense_row", 0x33188d41c65ccdc6),
    ("dense_col", 0x49289aa854bc16dd),
    ("empty_rows", 0xdaf939854d4a4e7d),
];

#[test]
fn seeds_differ_and_values_are_never_zero() {
    for ((name, a), (_, b)) in families::<bf16>(1).iter().zip(&families::<bf16>(2)) {
        assert!(*name == "laplacian_5pt" || a != b, "{name}");
        assert!(a.values().iter().all(|v| !v.is_zero()), "{name}");
    }
}

#[test]
fn value_types_are_roundings_of_each_other() {
    for ((name, a), (_, b)) in families::<f64>(3).iter().zip(&families::<f32>(3)) {
        assert!(a.cast::<f32>() == *b, "{name}");
    }
}

#[test]
fn a_fem_matrix_has_the_row_lengths_it_promises() {
    let a = fem_3d::<f32>(32, 32, 8, 3, 1).unwrap();
    let mean = a.nnz() as f64 / a.nrows() as f64;
    assert!((50.0..57.0).contains(&mean), "{mean}");
}

#[test]
fn rmat_keeps_most_of_its_draws() {
    let a = rmat::<f32>(12, 16, 5).unwrap();
    assert!((a.nnz() as f64) > 0.75 * f64::from(16 << 12), "{}", a.nnz());
    assert_eq!(rmat::<f32>(0, 5, 1).unwrap().nnz(), 1);
    assert_eq!(rmat::<f32>(4, 0, 1).unwrap().nnz(), 0);
}

#[test]
fn impossible_requests_are_refused() {
    use FormatError::{Fraction, Parameter, TooLarge, TooManyElements};
    assert!(matches!(uniform::<f32>(2, 3, 4, 0), Err(Parameter { what: "per_row", .. })));
    assert!(matches!(uniform::<f32>(usize::MAX, 3, 1, 0), Err(TooLarge { .. })));
    assert!(matches!(rmat::<f32>(32, 1, 0), Err(Parameter { what: "scale", .. })));
    assert!(matches!(rmat::<f32>(31, usize::MAX, 0), Err(TooManyElements { .. })));
    assert!(matches!(fem_3d::<f32>(1 << 11, 1 << 11, 1 << 11, 3, 0), Err(TooLarge { .. })));
    assert!(matches!(pruned_weights::<f32>(2, 3, -0.1, 0), Err(Fraction { .. })));
    assert!(matches!(block_sparse::<f32>(2, 3, 1, 1.5, 0), Err(Fraction { .. })));
    assert!(matches!(empty_rows::<f32>(2, 3, 1, f64::NAN, 0), Err(Fraction { .. })));
    assert!(matches!(dense_row::<f32>(2, 3, 1, 2, 0), Err(Parameter { what: "row", .. })));
    assert!(matches!(dense_col::<f32>(2, 3, 3, 2, 0), Err(Parameter { what: "per_row", .. })));
    assert!(matches!(power_law_rows::<f32>(2, 3, 4, 0), Err(Parameter { .. })));
}

proptest! {
    #[test]
    fn small_shapes_are_valid_and_have_the_promised_nnz(
        nrows in 0usize..20, ncols in 0usize..40, per_row in 0usize..6,
        block in 1usize..9, fraction in 0.0..=1.0f64, seed: u64,
    ) {
        let per_row = per_row.min(ncols);
        prop_assert_eq!(uniform::<f32>(nrows, ncols, per_row, seed).unwrap().nnz(), nrows * per_row);
        let pruned = pruned_weights::<f32>(nrows, ncols, fraction, seed).unwrap();
        prop_assert_eq!(pruned.nnz(), ((nrows * ncols) as f64 * (1.0 - fraction)).round() as usize);
        let blocks = block_sparse::<f32>(nrows * block, ncols * block, block, fraction, seed).unwrap();
        let n_blocks = ((nrows * ncols) as f64 * fraction).round() as usize;
        prop_assert_eq!(blocks.nnz(), n_blocks * block * block);
        power_law_rows::<f32>(nrows, ncols, per_row, seed).unwrap();
        empty_rows::<f32>(nrows, ncols, per_row, fraction, seed).unwrap();
        banded::<f32>(nrows, ncols, per_row, block, seed).unwrap();
        if ncols > per_row {
            let col = seed as usize % ncols;
            let a = dense_col::<f32>(nrows, ncols, per_row, col, seed).unwrap();
            prop_assert!((0..nrows).all(|i| a.row(i).0.binary_search(&(col as u32)).is_ok()));
        }
    }
}
