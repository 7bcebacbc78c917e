//! Softmax over rows beside its formula.

use girih_formats::{Csr, FormatError, Real, bf16, f16};
use proptest::collection::vec;
use proptest::prelude::*;

fn of_row<T: Real>(values: &[f64]) -> Vec<T> {
    let entries = values.iter().enumerate().map(|(j, &v)| (0, j, T::from_f64(v)));
    let mut a = Csr::from_triplets(1, values.len().max(1), entries).unwrap();
    a.row_softmax();
    a.values().to_vec()
}

/// Values so small that nothing overflows without a shift.
fn follows_the_formula<T: Real>(rows: &[Vec<i32>]) {
    let value = |v: i32| T::from_f64(f64::from(v) / 16.0);
    let entries = rows.iter().enumerate();
    let entries = entries
        .flat_map(|(i, row)| row.iter().enumerate().map(move |(j, &v)| (i, 2 * j, value(v))));
    let scores = Csr::from_triplets(rows.len(), 200, entries).unwrap();
    let mut soft = scores.clone();
    soft.row_softmax();
    for ((cols, before), (cols_after, after)) in scores.rows().zip(soft.rows()) {
        assert_eq!(cols, cols_after);
        let sum: f64 = before.iter().map(|v| v.to_f64().exp()).sum();
        for (before, &found) in before.iter().zip(after) {
            let expected = before.to_f64().exp() / sum;
            // Rounded once, from what f64 makes of the formula.
            let [least, most] = [1.0 - 1e-13, 1.0 + 1e-13].map(|off| T::from_f64(expected * off));
            assert!(least <= found && found <= most, "{found} where {expected} is expected");
        }
    }
    // What the clone shares is not written.
    let sum: f64 = scores.values().iter().map(|v| v.to_f64()).sum();
    assert_eq!(sum, rows.iter().flatten().map(|&v| value(v).to_f64()).sum::<f64>());
}

proptest! {
    #[test]
    fn agrees_with_its_formula(rows in vec(prop_oneof![vec(-160..160, 0..9), vec(-160..160, 60..100)], 1..9)) {
        follows_the_formula::<f64>(&rows);
        follows_the_formula::<f32>(&rows);
        follows_the_formula::<f16>(&rows);
        follows_the_formula::<bf16>(&rows);
    }
}

#[test]
fn large_scores_do_not_overflow() {
    assert_eq!(of_row::<f64>(&[1e300, 1e300, -1e300]), [0.5, 0.5, 0.0]);
    assert_eq!(of_row::<f16>(&[60000.0, 60000.0]), [f16::from_f32(0.5); 2]);
    assert_eq!(of_row::<f32>(&[-1e38]), [1.0]);
    assert_eq!(of_row::<f32>(&[]), [0f32; 0]);
}

#[test]
fn a_mask_becomes_zero_and_what_has_no_distribution_nan() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    assert_eq!(of_row::<f32>(&[-inf, 3.0, -inf, 3.0]), [0.0, 0.5, 0.0, 0.5]);
    for row in [&[1.0, nan][..], &[nan, 1.0], &[nan, inf], &[inf, 1.0], &[1.0, inf], &[-inf, -inf]]
    {
        assert!(of_row::<f32>(row).iter().all(|x| x.is_nan()), "{row:?}");
        assert!(of_row::<f64>(row).iter().all(|x| x.is_nan()), "{row:?}");
    }
    // Only its own row.
    let mut a = Csr::from_triplets(2, 1, [(0, 0, f64::NAN), (1, 0, 5.0)]).unwrap();
    a.row_softmax();
    assert!(a.values()[0].is_nan() && a.values()[1] == 1.0);
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let a = girih_generate::power_law_rows::<f32>(20_000, 3000, 4, 1).unwrap();
    let soft = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut a = a.clone();
        pool.install(|| a.row_softmax());
        a
    };
    let one = soft(1);
    assert!([2, 3, 7].into_iter().all(|threads| soft(threads) == one));
}

/// By the definition: ∂(Σ w·softmax(s))/∂sᵢ as a central difference.
#[test]
fn the_gradient_is_what_differences_say() {
    let a = girih_generate::power_law_rows::<f64>(60, 40, 4, 1).unwrap();
    let weigh =
        a.with_values((0..a.nnz()).map(|e| (e * 7 % 11) as f64 - 5.0).collect::<Vec<_>>()).unwrap();
    let loss = |scores: &Csr<f64>| -> f64 {
        let mut soft = scores.clone();
        soft.row_softmax();
        soft.values().iter().zip(&weigh.values()[..]).map(|(p, w)| p * w).sum()
    };
    let (mut soft, mut gradient) = (a.clone(), weigh.clone());
    soft.row_softmax();
    gradient.row_softmax_gradient(&soft).unwrap();
    for e in 0..a.nnz() {
        let moved = |by: f64| {
            let mut a = a.clone();
            a.values_mut()[e] += by;
            loss(&a)
        };
        let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        let found = gradient.values()[e];
        assert!((found - expected).abs() < 1e-7, "entry {e}: {found} where {expected} is expected");
    }
}

#[test]
fn a_gradient_takes_weights_of_its_own_pattern_only() {
    let of = |entries: [(usize, usize); 2]| {
        Csr::from_triplets(3, 3, entries.map(|(i, j)| (i, j, 0.5f32))).unwrap()
    };
    let mut gradient = of([(0, 1), (2, 2)]);
    let before = gradient.clone();
    let other = gradient.row_softmax_gradient(&of([(0, 1), (2, 0)]));
    assert_eq!(other, Err(FormatError::OtherPattern { row: 2 }));
    // As many entries, in another row.
    let other = gradient.row_softmax_gradient(&of([(0, 1), (1, 2)]));
    assert_eq!(other, Err(FormatError::OtherPattern { row: 1 }));
    let small = Csr::from_triplets(2, 3, [(0, 1, 0.5f32), (1, 2, 0.5)]).unwrap();
    assert!(matches!(gradient.row_softmax_gradient(&small), Err(FormatError::Shape { .. })));
    assert_eq!(gradient, before);
}
