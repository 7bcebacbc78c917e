//! The algebra of CSR beside a map from places to values.

use std::collections::BTreeMap;
use std::fmt::Debug;

use girih_formats::{
    Complex, Coo, Csr, DType, Duplicates, FormatError, Narrowing, Real, RealNumber, f16, normalize,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// The entries of a matrix by place.
type Entries<T> = BTreeMap<(usize, usize), T>;

const M: usize = 9;
const K: usize = 7;

fn triplets() -> impl Strategy<Value = Vec<(usize, usize, f64)>> {
    // Few rows, so that there are duplicates, empty rows and columns; quarters, so that f16 holds all.
    let value = prop_oneof![
        8 => (-40i32..40).prop_map(|v| f64::from(v) / 4.0),
        1 => Just(0.0),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
    ];
    vec((0..M, 0..K, value), 0..40)
}

fn build<T: Real>(triplets: &[(usize, usize, f64)]) -> (Csr<T>, Entries<f64>) {
    let of = |&(i, j, v): &(usize, usize, f64)| (i, j, T::from_f64(v));
    let mut entries = Entries::new();
    for &(i, j, v) in triplets {
        entries.entry((i, j)).and_modify(|sum| *sum += v).or_insert(v);
    }
    (Csr::from_triplets(M, K, triplets.iter().map(of)).unwrap(), entries)
}

/// Compares all entries, NaN equal to NaN.
fn assert_entries<T: Real>(found: &Csr<T>, expected: &Entries<f64>) {
    assert_eq!(found.nnz(), expected.len());
    for ((i, j, value), (&place, &v)) in found.iter().zip(expected) {
        assert_eq!((i, j), place);
        assert_same(value, T::from_f64(v));
        assert_same(found.get(i, j).unwrap(), value);
    }
}

fn assert_same<T: RealNumber>(found: T, expected: T) {
    let (x, y) = (found.to_f64(), expected.to_f64());
    assert!(x == y || x.is_nan() && y.is_nan(), "{x} where {y} is expected");
}

fn check<T: Real + Debug>(a: &[(usize, usize, f64)], b: &[(usize, usize, f64)], factor: f64) {
    let ((a, of_a), (b, of_b)) = (build::<T>(a), build::<T>(b));
    assert_entries(&a, &of_a);
    assert_entries(&b, &of_b);
    for i in 0..M + 1 {
        for j in 0..K + 1 {
            assert_eq!(a.get(i, j).is_some(), of_a.contains_key(&(i, j)));
        }
    }
    let diagonal = a.diagonal();
    assert_eq!(diagonal.len(), M.min(K));
    for (i, &d) in diagonal.iter().enumerate() {
        assert_same(d, T::from_f64(of_a.get(&(i, i)).copied().unwrap_or(0.0)));
    }

    let mut union = of_a.clone();
    for (&place, &v) in &of_b {
        let scaled = factor * v;
        union.entry(place).and_modify(|sum| *sum += scaled).or_insert(scaled);
    }
    assert_entries(&a.add_scaled(factor, &b).unwrap(), &union);

    let by_row: Vec<f64> = (0..M).map(|i| i as f64 - 3.0).collect();
    let by_col: Vec<f64> = (0..K).map(|j| 0.5 * j as f64).collect();
    let acc = |factors: &[f64]| factors.iter().map(|&x| T::Acc::from_f64(x)).collect::<Vec<_>>();
    let scaled = |how: &dyn Fn(usize, usize) -> f64| {
        of_a.iter().map(|(&(i, j), v)| ((i, j), v * how(i, j))).collect::<Entries<f64>>()
    };
    let shared = a.clone();
    let mut changed = a.clone();
    changed.scale_rows(&acc(&by_row)).unwrap();
    assert_entries(&changed, &scaled(&|i, _| by_row[i]));
    let mut changed = a.clone();
    changed.scale_cols(&acc(&by_col)).unwrap();
    assert_entries(&changed, &scaled(&|_, j| by_col[j]));
    changed = a.clone();
    changed.scale(T::Acc::from_f64(-0.5));
    assert_entries(&changed, &scaled(&|_, _| -0.5));
    // What clones share is not written.
    assert_entries(&shared, &of_a);
    assert!(matches!(changed.scale_rows(&acc(&by_col)), Err(FormatError::Length { .. })));
    assert!(matches!(changed.scale_cols(&acc(&by_row)), Err(FormatError::Length { .. })));

    let sums = |of: &dyn Fn(usize, usize) -> usize, count: usize| {
        let mut sums = vec![0.0; count];
        of_a.iter().for_each(|(&(i, j), v)| sums[of(i, j)] += v);
        sums
    };
    for (found, expected) in
        [(a.row_sums(), sums(&|i, _| i, M)), (a.col_sums(), sums(&|_, j| j, K))]
    {
        assert_eq!(found.len(), expected.len());
        // Quarters add up without rounding.
        found.iter().zip(&expected).for_each(|(&x, &y)| assert_same(x, T::Acc::from_f64(y)));
    }

    assert_eq!(a.rows().len(), M);
    let from_rows: usize = a.rows().map(|(cols, values)| cols.len() + values.len()).sum();
    assert_eq!(from_rows, 2 * a.nnz());
    let part = a.slice_rows(2..=5);
    assert_eq!((part.nrows(), part.ncols()), (4, K));
    let inside = of_a.range((2, 0)..(6, 0)).map(|(&(i, j), &v)| ((i - 2, j), v)).collect();
    assert_entries(&part, &inside);
    let turned: Entries<f64> = of_a.iter().map(|(&(i, j), &v)| ((j, i), v)).collect();
    assert_entries(&a.t(), &turned);
    assert_eq!(a.iter().len(), a.nnz());
}

proptest! {
    #[test]
    fn agrees_with_a_map_of_places(a in triplets(), b in triplets()) {
        check::<f64>(&a, &b, -2.0);
        check::<f32>(&a, &b, 0.5);
        check::<f16>(&a, &b, 1.0);
    }

    #[test]
    fn symmetry_is_that_of_the_transpose(half in vec((0..6usize, 0..6usize), 0..12), odd in vec((0..6usize, 0..6usize), 0..2)) {
        let both = half.iter().flat_map(|&(i, j)| [(i, j, 1.0f32), (j, i, 1.0)]);
        let a = Csr::from_triplets(6, 6, both.chain(odd.iter().map(|&(i, j)| (i, j, 1.0)))).unwrap();
        prop_assert_eq!(a.is_symmetric(), a == a.t());
    }

    #[test]
    fn normalizations_follow_their_formulas(edges in vec((0..8usize, 0..8usize, 1..9u8), 0..30)) {
        let edges = edges.iter().map(|&(i, j, v)| (i, j, f64::from(v)));
        let a = Csr::from_triplets(8, 8, edges).unwrap();
        let with_loops = a.add(&Csr::identity(8).unwrap()).unwrap();
        let degree = with_loops.row_sums();
        for (i, j, found) in &normalize::symmetric(&a).unwrap() {
            let expected = with_loops.get(i, j).unwrap() / (degree[i] * degree[j]).sqrt();
            prop_assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected);
        }
        let both_ways = a.add(&a.t()).unwrap();
        prop_assert!(normalize::symmetric(&both_ways).unwrap().is_symmetric());
        for (row, sum) in normalize::row_stochastic(&a).row_sums().into_iter().zip(a.row_sums()) {
            let expected = if sum == 0.0 { 0.0 } else { 1.0 };
            prop_assert!((row - expected).abs() < 1e-14, "{} of {}", row, sum);
        }
    }
}

#[test]
fn degrees_without_a_root() {
    // Row 0 sums to 0 with its loop, row 1 to −3.
    let a = Csr::from_triplets(3, 3, [(0, 1, -1.0f64), (1, 1, -4.0)]).unwrap();
    let normalized = normalize::symmetric(&a).unwrap();
    assert_eq!((normalized.get(0, 0), normalized.get(2, 2)), (Some(0.0), Some(1.0)));
    assert!(normalized.get(1, 1).unwrap().is_nan());
    let rectangular = Csr::<f32>::empty(2, 3).unwrap();
    assert!(matches!(normalize::symmetric(&rectangular), Err(FormatError::Shape { .. })));
}

#[test]
fn shapes_and_places_out_of_range_are_named() {
    let (a, b) = (Csr::<f32>::empty(2, 3).unwrap(), Csr::<f32>::empty(3, 2).unwrap());
    let error = a.add(&b).unwrap_err();
    assert_eq!(error.to_string(), "the matrix is 3×2 where 2×3 is needed");
    let bad = |i, j| Csr::from_triplets(2, 3, [(0, 0, 1.0f32), (i, j, 1.0)]).unwrap_err();
    for (error, place) in
        [(bad(2, 0), "row_idx"), (bad(0, 3), "col_idx"), (bad(0, 1 << 40), "col_idx")]
    {
        assert!(
            matches!(error, FormatError::IndexOutOfRange { what, position: 1, .. } if what == place),
            "{error}"
        );
    }
    let twice = Coo::from_triplets(2, 2, [(1, 1, 1.0f32), (1, 1, 2.0)]).unwrap();
    let refused = FormatError::Duplicate { row: 1, col: 1 };
    assert_eq!(twice.into_csr(Duplicates::Refuse), Err(refused));
    assert_eq!(Csr::<f32>::identity(0).unwrap().nnz(), 0);
    assert_eq!(a.slice_rows(2..).nrows(), 0);
    assert_eq!(Csr::<f32>::empty(0, 0).unwrap().to_string(), "0×0 f32, 0 entries");
}

#[test]
fn complex_matrices_have_the_same_algebra() {
    let c = Complex::<f64>::new;
    let a = Csr::from_triplets(
        2,
        3,
        [(0, 0, c(1.0f64, 2.0)), (0, 2, c(-1.0, 0.5)), (1, 1, c(0.0, 4.0))],
    )
    .unwrap();
    let b = Csr::from_triplets(2, 3, [(0, 0, c(0.0f64, 1.0)), (1, 0, c(3.0, 0.0))]).unwrap();
    let sum = a.add_scaled(-2.0, &b).unwrap();
    assert_eq!((sum.get(0, 0), sum.get(1, 0)), (Some(c(1.0, 0.0)), Some(c(-6.0, 0.0))));
    let mut turned = a.clone();
    turned.scale(c(0.0, 1.0));
    assert_eq!(turned.values()[..], [c(-2.0, 1.0), c(-0.5, -1.0), c(-4.0, 0.0)]);
    assert_eq!(a.row_sums(), [c(0.0, 2.5), c(0.0, 4.0)]);
    assert_eq!(a.conj().t().get(2, 0), Some(c(-1.0, -0.5)));
    assert_eq!((a.re().values()[1], a.im().values()[1]), (-1.0, 0.5));
    assert_eq!(a.re().cast::<Complex<f64>>().values()[2], c(0.0, 0.0));
    assert_eq!(a.cast_complex::<Complex<f32>>().cast_complex::<Complex<f64>>(), a);
    // An entry goes only if both of its parts are zero.
    let zeros = Csr::from_triplets(
        1,
        3,
        [(0, 0, c(0.0f64, -0.0)), (0, 1, c(0.0, 1.0)), (0, 2, c(f64::NAN, 0.0))],
    );
    assert_eq!(zeros.unwrap().prune_zeros().col_idx()[..], [1, 2]);
    assert_eq!(
        Csr::from_triplets(1, 1, [(0, 0, c(1.0f64, -2.0))]).unwrap().to_string(),
        "1×1 c64, 1 entry\n  (0, 0)  1-2i"
    );
    // One value counts once, as its part that fares worse.
    let found = Narrowing::of(
        &[c(1e300f64, 1.0), c(1e300, f64::NAN), c(0.0, 1e-60), c(0.0, 0.0)],
        DType::C32,
    );
    assert_eq!((found.nonzeros, found.overflowed, found.non_finite, found.vanished), (3, 1, 1, 1));
}

#[test]
fn a_long_matrix_is_shown_in_part() {
    let text = Csr::<f32>::identity(20).unwrap().to_string();
    assert!(text.starts_with("20×20 f32, 20 entries\n  (0, 0)  1\n"), "{text}");
    assert!(text.ends_with("  (7, 7)  1\n  … 12 more"), "{text}");
}
