//! Bounds and classes by hand.

use girih_formats::{E4m3Overflow, E4m3Scales, RowCsr, RowLayout, Tiling, TwoFour, Wcsr};
use half::{bf16, f16};
use ndarray::{Array2, array};

use super::*;
use crate::epilogue::Activation;

fn csr<T: DenseScalar>(nrows: usize, ncols: usize, rows: &[&[(u32, f64)]]) -> Csr<T> {
    let mut row_ptr = vec![0];
    let entries: Vec<_> = rows.iter().flat_map(|row| row.iter().copied()).collect();
    row_ptr.extend(rows.iter().scan(0, |end, row| {
        *end += row.len() as u64;
        Some(*end)
    }));
    let values: Vec<T> = entries.iter().map(|&(_, v)| T::from_c64(v.into())).collect();
    let cols: Vec<u32> = entries.iter().map(|&(c, _)| c).collect();
    Csr::try_new(nrows, ncols, row_ptr, cols, values).unwrap()
}

fn plan<T: DenseScalar>(a: &Csr<T>) -> Plan {
    let layout = RowLayout::natural(a.nrows(), 1).unwrap();
    Plan::from_tiling(Tiling::Csr(RowCsr::try_new(layout, a.clone()).unwrap()))
}

fn judge_f32(a: &Csr<f32>, b: &Array2<f32>, found: &Array2<f32>) -> Verification {
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let rounding = Rounding::exact_inputs(girih_formats::DType::F32);
    verify(a, &plan(a), &product, &found.view().into(), rounding).unwrap()
}

#[test]
fn one_rounding_passes_and_two_units_fail() {
    // One product per element: a single rounding, half a unit in the last place at most.
    let a = csr::<f32>(1, 1, &[&[(0, 3.0)]]);
    let b = array![[1.0f32 / 3.0]];
    let exact = 3.0 * b[[0, 0]];
    assert!(judge_f32(&a, &b, &array![[exact]]).passed());
    let off = judge_f32(&a, &b, &array![[exact.next_up().next_up()]]);
    assert!(off.max_error_over_bound > 1.0 && off.max_error_over_bound < 6.0, "{off:?}");
    assert_eq!(off.worst.map(|w| (w.row, w.col)), Some((0, 0)));
}

#[test]
fn an_empty_row_must_be_exactly_zero() {
    let a = csr::<f32>(2, 1, &[&[], &[(0, 1.0)]]);
    let b = array![[5.0f32]];
    let right = judge_f32(&a, &b, &array![[0.0], [5.0]]);
    assert_eq!((right.max_error_over_bound, right.worst), (0.0, None));
    assert_eq!(judge_f32(&a, &b, &array![[1e-30], [5.0]]).max_error_over_bound, f64::INFINITY);
}

#[test]
fn the_bound_grows_with_the_row_and_the_magnitudes_not_with_the_sum() {
    // 1 − 1 + 2⁻²³ …: cancellation leaves little, the bound stays that of the magnitudes.
    let a = csr::<f32>(1, 3, &[&[(0, 1.0), (1, -1.0), (2, 1.0)]]);
    let b = array![[1.0f32], [1.0], [f32::EPSILON]];
    let verdict = judge_f32(&a, &b, &array![[0.0]]);
    // The error is 2⁻²³, the bound 3·2⁻²⁴·(2 + 2⁻²³).
    assert!((verdict.max_error_over_bound - 1.0 / 3.0).abs() < 1e-6, "{verdict:?}");
}

#[test]
fn f64_is_judged_by_more_than_f64() {
    // 2⁵⁴ + 1 − 2⁵⁴ is 1; a plain f64 sum of these says 0.
    let big = 2f64.powi(54);
    let a = csr::<f64>(1, 3, &[&[(0, big), (1, 1.0), (2, -big)]]);
    let b = array![[1.0f64], [1.0], [1.0]];
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let rounding = Rounding::exact_inputs(girih_formats::DType::F64);
    let judge =
        |c: f64| verify(&a, &plan(&a), &product, &array![[c]].view().into(), rounding).unwrap();
    assert_eq!(judge(1.0).max_error_over_bound, 0.0);
    let zero = judge(0.0);
    assert_eq!(zero.worst.unwrap().expected, 1.0);
    assert!(zero.passed());
}

#[test]
fn alpha_beta_and_what_was_there_before_count() {
    let a = csr::<f32>(1, 1, &[&[(0, 2.0)]]);
    let b = array![[3.0f32]];
    let before = array![[10.0f32]];
    let product =
        Product { alpha: -2.5, b: b.view().into(), added: Some((0.5, before.view().into())) };
    let rounding = Rounding::exact_inputs(girih_formats::DType::F32);
    let judge =
        |c: f32| verify(&a, &plan(&a), &product, &array![[c]].view().into(), rounding).unwrap();
    assert_eq!(judge(-10.0).max_error_over_bound, 0.0);
    assert!(!judge(-15.0).passed());
}

#[test]
fn classes_of_non_finite_elements_must_match() {
    let a = csr::<f32>(2, 2, &[&[(0, 1.0), (1, -1.0)], &[(1, 1.0)]]);
    let b = array![[f32::INFINITY, f32::NAN], [1.0, 2.0]];
    let right = array![[f32::INFINITY, f32::NAN], [1.0, 2.0]];
    assert_eq!(judge_f32(&a, &b, &right).max_error_over_bound, 0.0);
    for (row, col, value) in
        [(0, 0, f32::NEG_INFINITY), (0, 0, f32::NAN), (0, 1, 0.0), (1, 0, f32::NAN)]
    {
        let mut wrong = right.clone();
        wrong[[row, col]] = value;
        let verdict = judge_f32(&a, &b, &wrong);
        assert_eq!(verdict.max_error_over_bound, f64::INFINITY);
        assert_eq!(verdict.worst.map(|w| (w.row, w.col)), Some((row, col)));
    }
}

#[test]
fn elements_that_are_not_finite_are_counted() {
    let count = |v: &Verification| (v.elements, v.non_finite, v.non_finite_expected, v.unjudged);
    let a = csr::<f32>(2, 2, &[&[(0, 1.0), (1, -1.0)], &[(1, 1.0)]]);
    let b = array![[f32::INFINITY, f32::NAN], [1.0, 2.0]];
    let right = array![[f32::INFINITY, f32::NAN], [1.0, 2.0]];
    assert_eq!(count(&judge_f32(&a, &b, &right)), (4, 2, 2, 0));
    // Finite where the oracle is not, not finite where the oracle is: both wrong, one of them counted.
    let mut wrong = right.clone();
    (wrong[[0, 0]], wrong[[1, 1]]) = (0.0, f32::INFINITY);
    let verdict = judge_f32(&a, &b, &wrong);
    assert_eq!((count(&verdict), verdict.max_error_over_bound), ((4, 2, 1, 0), f64::INFINITY));
    // Infinity of the other sign is wrong, and not finite by the oracle either.
    wrong = right;
    wrong[[0, 0]] = f32::NEG_INFINITY;
    let verdict = judge_f32(&a, &b, &wrong);
    assert_eq!((count(&verdict), verdict.max_error_over_bound), ((4, 2, 2, 0), f64::INFINITY));
    // What leaves the range on the way is not judged, and not what the oracle expects.
    let a = csr::<f32>(1, 1, &[&[(0, f32::MAX.into())]]);
    let verdict = judge_f32(&a, &array![[2.0f32]], &array![[f32::INFINITY]]);
    assert_eq!(count(&verdict), (1, 1, 0, 1));
}

#[test]
fn values_that_overflow_f16_make_a_product_without_errors_to_measure() {
    use girih_formats::f16;
    // Every row holds 1e6, which is infinite in f16; sums are of f32, where it would not be.
    let wide = csr::<f64>(2, 2, &[&[(0, 1e6), (1, 1.0)], &[(0, 2.0), (1, -1e6)]]);
    let (a, narrowing) = wide.cast_counted::<f16>();
    assert_eq!((narrowing.nonzeros, narrowing.overflowed), (4, 2));
    let b = array![[f16::ONE], [f16::ONE]];
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let found = array![[f32::INFINITY], [f32::NEG_INFINITY]];
    let rounding = Rounding::exact_inputs(girih_formats::DType::F16);
    let verdict = verify(&a, &plan(&a), &product, &found.view().into(), rounding).unwrap();
    assert!(verdict.passed());
    assert_eq!((verdict.elements, verdict.non_finite, verdict.non_finite_expected), (2, 2, 2));
    assert_eq!(verdict.max_error_over_bound, 0.0);
    // The product of the values before they were rounded is wrong.
    let found = array![[1000001.0f32], [-999998.0]];
    let verdict = verify(&a, &plan(&a), &product, &found.view().into(), rounding).unwrap();
    assert_eq!((verdict.passed(), verdict.non_finite), (false, 0));
}

#[test]
fn fill_in_may_leak_and_padding_may_not() {
    // Row 0 holds column 1, row 1 column 2: one window of two rows packs both. Column 0 is absent.
    let a = csr::<f32>(2, 3, &[&[(1, 1.0)], &[(2, 1.0)]]);
    let layout = RowLayout::natural(2, 2).unwrap();
    let pad = girih_formats::PAD_COL;
    let values = vec![1.0f32, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    let wcsr = Wcsr::try_new(layout, 3, 2, 4, vec![0, 4], vec![1, 2, pad, pad], values).unwrap();
    let plan = Plan::from_tiling(Tiling::Wcsr(wcsr));
    let rounding = Rounding::exact_inputs(girih_formats::DType::F32);
    let judge = |b: [f32; 3], c: [f32; 2]| {
        let (b, c) = (array![[b[0]], [b[1]], [b[2]]], array![[c[0]], [c[1]]]);
        let product = Product { alpha: 1.0, b: b.view().into(), added: None };
        verify(&a, &plan, &product, &c.view().into(), rounding).unwrap()
    };
    let leaked = judge([1.0, f32::NAN, 3.0], [f32::NAN, f32::NAN]);
    assert_eq!((leaked.non_finite, leaked.non_finite_expected), (2, 1));
    let judge = |b, c| judge(b, c).passed();
    let nan = f32::NAN;
    assert!(judge([1.0, nan, 3.0], [nan, 3.0]));
    assert!(judge([1.0, nan, 3.0], [nan, nan]), "row 1 stores a zero over column 1");
    assert!(judge([nan, 2.0, 3.0], [2.0, 3.0]));
    assert!(!judge([nan, 2.0, 3.0], [2.0, nan]), "no tile holds column 0");
}

#[test]
fn what_overflows_on_the_way_is_not_judged() {
    let a = csr::<f32>(1, 2, &[&[(0, f32::MAX.into()), (1, -f64::from(f32::MAX))]]);
    let verdict = judge_f32(&a, &array![[2.0f32], [2.0]], &array![[f32::NAN]]);
    assert_eq!((verdict.unjudged, verdict.passed()), (1, false));
}

#[test]
fn the_verdict_does_not_depend_on_threads() {
    let rows: Vec<Vec<(u32, f64)>> =
        (0..97u32).map(|i| (0..i % 5).map(|j| (j, 0.1 * f64::from(i + j))).collect()).collect();
    let rows: Vec<&[(u32, f64)]> = rows.iter().map(Vec::as_slice).collect();
    let a = csr::<f32>(97, 5, &rows);
    let b = Array2::from_shape_fn((5, 70), |(i, j)| 0.3 * (i + j) as f32);
    let found = Array2::zeros((97, 70));
    let verdicts: Vec<_> = [1, 2, 3, 7]
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| judge_f32(&a, &b, &found))
        })
        .into();
    assert!(verdicts.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(!verdicts[0].passed());
}

#[test]
fn operands_that_do_not_fit_are_errors() {
    let a = csr::<f32>(1, 2, &[&[(0, 1.0)]]);
    let (b, c) = (Array2::<f32>::zeros((2, 3)), Array2::<f32>::zeros((1, 4)));
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let rounding = Rounding::exact_inputs(girih_formats::DType::F32);
    let error = verify(&a, &plan(&a), &product, &c.view().into(), rounding).unwrap_err();
    assert_eq!(error.to_string(), "C is 1×4 where the product needs 1×3");
    let error = verify(&a.cast::<f64>(), &plan(&a), &product, &c.view().into(), rounding);
    assert!(matches!(error, Err(BackendError::DType { operand: "A", .. })));
}

/// A product of one rounding: 3 · fl(1/3), with an epilogue.
fn judge_with(epilogue: &Epilogue<'_>, found: f32) -> Verification {
    let a = csr::<f32>(1, 1, &[&[(0, 3.0)]]);
    let b = array![[1.0f32 / 3.0]];
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let rounding = Rounding::exact_inputs(girih_formats::DType::F32);
    let found = array![[found]];
    verify_with(&a, &plan(&a), &product, epilogue, &found.view().into(), rounding).unwrap()
}

#[test]
fn a_bias_costs_one_rounding_and_an_activation_its_units() {
    let product = 3.0 * (1.0f32 / 3.0);
    let bias = [-0.25f32];
    let biased = Epilogue::new().bias_per_column(&bias[..]);
    assert!(judge_with(&biased, product - 0.25).passed());
    assert!(!judge_with(&biased, product).passed());
    // ε·1 for the product and ε·0.75 for the bias; a unit of 0.75 is ε.
    let mut off = product - 0.25;
    (0..3).for_each(|_| off = off.next_up());
    let verdict = judge_with(&biased, off);
    assert!((1.0..2.0).contains(&verdict.max_error_over_bound), "{verdict:?}");

    let negative = [-2.0f32];
    let relu = Epilogue::new().bias_per_row(&negative[..]).activation(Activation::Relu);
    assert_eq!(judge_with(&relu, 0.0).max_error_over_bound, 0.0);
    assert!(!judge_with(&relu, -1.0).passed() && !judge_with(&relu, 1e-6).passed());

    let gelu = Epilogue::from(Activation::Gelu);
    let exact = Activation::Gelu.apply(f64::from(product)) as f32;
    assert!(judge_with(&gelu, exact).passed());
    // The form with erf is another function, and tanh.approx, which has 11 bits, another rounding.
    assert!(!judge_with(&gelu, 0.841_344_7).passed());
    assert!(!judge_with(&gelu, exact * (1.0 + 2f32.powi(-11))).passed());
}

#[test]
fn an_empty_row_is_its_activated_bias() {
    let a = csr::<f32>(1, 1, &[&[]]);
    let (b, bias) = (array![[5.0f32]], [0.3f32]);
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let rounding = Rounding::exact_inputs(girih_formats::DType::F32);
    let judge = |activation, found: f32| {
        let epilogue = Epilogue::new().bias_per_row(&bias[..]).activation(activation);
        let found = array![[found]];
        verify_with(&a, &plan(&a), &product, &epilogue, &found.view().into(), rounding).unwrap()
    };
    assert_eq!(judge(Activation::Relu, 0.3).worst, None);
    assert_eq!(judge(Activation::Relu, 0.3f32.next_up()).max_error_over_bound, f64::INFINITY);
    assert!(judge(Activation::Gelu, Activation::Gelu.apply(f64::from(0.3f32)) as f32).passed());
}

#[test]
fn non_finite_values_go_through_the_activation() {
    let gelu = Epilogue::from(Activation::Gelu);
    for (b, found) in
        [(f32::NEG_INFINITY, 0.0), (f32::INFINITY, f32::INFINITY), (f32::NAN, f32::NAN)]
    {
        let a = csr::<f32>(1, 1, &[&[(0, 3.0)]]);
        let b = array![[b]];
        let product = Product { alpha: 1.0, b: b.view().into(), added: None };
        let rounding = Rounding::exact_inputs(girih_formats::DType::F32);
        let judge = |found: f32| {
            let found = array![[found]];
            let of = found.view().into();
            verify_with(&a, &plan(&a), &product, &gelu, &of, rounding).unwrap()
        };
        assert!(judge(found).passed() && !judge(1.0).passed());
    }
    let bias = [f32::INFINITY];
    let biased = Epilogue::new().bias_per_row(&bias[..]);
    assert!(judge_with(&biased, f32::INFINITY).passed() && !judge_with(&biased, 1.0).passed());
}

/// Of B too, what is multiplied is what counts, and sums may be off by what tensor cores lose.
#[test]
fn products_of_e4m3_are_judged_by_their_codes() {
    let a = csr::<f32>(1, 6, &[&[(0, 1.0), (4, 2.0)]]);
    let scales = E4m3Scales::per_tensor(0.5).unwrap();
    let layout = RowLayout::natural(1, 1).unwrap();
    let tiled = TwoFour::from_csr_e4m3(&a, layout, &scales, E4m3Overflow::Error).unwrap();
    let plan = Plan::from_tiling(Tiling::TwoFour(tiled));
    // The scale of the column is 1, and 17.25 becomes 18.
    let b = array![[17.25f32], [0.0], [0.0], [0.0], [448.0], [0.0]];
    let product = Product { alpha: 3.0, b: b.view().into(), added: None };
    let rounding = |partial| Rounding {
        e4m3: Some(E4m3Sums { partial }),
        ..Rounding::exact_inputs(girih_formats::DType::F32)
    };
    let judge = |c: f32, partial| {
        verify(&a, &plan, &product, &array![[c]].view().into(), rounding(partial)).unwrap()
    };
    let (exact, magnitude) = (3.0 * (18.0 + 896.0), 3.0 * (18.0 + 896.0));
    assert_eq!(judge(exact, 0.0).max_error_over_bound, 0.0);
    assert!(!judge(3.0 * (17.25 + 896.0), 0.0).passed());
    let off = judge(exact - 0.01 * magnitude, 0.02);
    assert!((off.max_error_over_bound - 0.5).abs() < 1e-3, "{off:?}");
    assert!(!judge(exact - 0.03 * magnitude, 0.02).passed());
    // A backend that takes B as it is has another exact product.
    let as_it_is = Rounding::exact_inputs(girih_formats::DType::F32);
    let found = array![[3.0 * (17.25f32 + 896.0)]];
    assert!(verify(&a, &plan, &product, &found.view().into(), as_it_is).unwrap().passed());
}

/// 2⁻⁹ is aligned as 2⁻⁶ is.
#[test]
fn subnormal_codes_widen_the_bound() {
    let a = csr::<f32>(1, 1, &[&[(0, 2f64.powi(-9))]]);
    let scales = E4m3Scales::per_tensor(1.0).unwrap();
    let layout = RowLayout::natural(1, 1).unwrap();
    let tiled = TwoFour::from_csr_e4m3(&a, layout, &scales, E4m3Overflow::Error).unwrap();
    let plan = Plan::from_tiling(Tiling::TwoFour(tiled));
    let b = array![[448.0f32]];
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let rounding = Rounding {
        least_operand: 2f64.powi(-6),
        e4m3: Some(E4m3Sums { partial: 0.125 }),
        ..Rounding::exact_inputs(girih_formats::DType::F32)
    };
    // The bound is an eighth of 448·2⁻⁶: the product itself.
    let found = array![[0.0f32]];
    let verdict = verify(&a, &plan, &product, &found.view().into(), rounding).unwrap();
    assert!((verdict.max_error_over_bound - 1.0).abs() < 1e-3, "{verdict:?}");
}

/// On tensor cores 2⁻²⁴ in f16 is aligned as 2⁻¹⁴ is; a zero is not aligned at all.
#[test]
fn subnormal_operands_widen_the_bound_of_tensor_cores() {
    let a = csr::<f16>(1, 2, &[&[(0, 2f64.powi(-24)), (1, 0.0)]]);
    let b = array![[f16::from_f32(2.0)], [f16::from_f32(6e4)]];
    let unit = 2f64.powi(-22);
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let judge = |off: f64, rounding| {
        let found = array![[(2f64.powi(-23) + off) as f32]];
        verify(&a, &plan(&a), &product, &found.view().into(), rounding).unwrap()
    };
    let exact = Rounding { unit, ..Rounding::exact_inputs(girih_formats::DType::F16) };
    let aligned = Rounding::tensor_cores(girih_formats::DType::F16, 0.0, unit);
    // Two roundings of 2⁻²² of the product, and of 2⁻¹³.
    assert!(judge(2f64.powi(-45), exact).passed() && !judge(2f64.powi(-43), exact).passed());
    assert!(judge(2f64.powi(-35), aligned).passed() && !judge(2f64.powi(-33), aligned).passed());
}

#[test]
fn c_of_16_bits_may_be_off_by_one_more_rounding() {
    let a = csr::<f32>(3, 1, &[&[], &[(0, 3.0)], &[(0, 7e4)]]);
    let b = array![[1.0f32 / 3.0], [1.0]];
    let (b, plan) = (b.slice(ndarray::s![..1, ..]).to_owned(), plan(&a));
    let b = b.mapv(|x| x + 1.0);
    let judge = |c: [f32; 3]| {
        let c = Array2::from_shape_fn((3, 1), |(i, _)| f16::from_f32(c[i]));
        let product = Product { alpha: 1.0, b: b.view().into(), added: None };
        let rounding = Rounding::exact_inputs(girih_formats::DType::F32);
        verify(&a, &plan, &product, &c.view().into(), rounding).unwrap()
    };
    // Elements of f16 from 4 on lie 2⁻⁸ apart.
    let unit = 2f32.powi(-8);
    let right = judge([0.0, 4.0, f32::INFINITY]);
    assert!(right.passed() && right.non_finite == 1, "{right:?}");
    for wrong in [[0.0, 4.0 + unit, f32::INFINITY], [1e-7, 4.0, f32::INFINITY]] {
        assert!(!judge(wrong).passed(), "{wrong:?}");
    }
    for wrong in [[0.0, 4.0, 65504.0], [0.0, 4.0, f32::NEG_INFINITY], [0.0, f32::INFINITY, 0.0]] {
        let verdict = judge(wrong);
        assert!(!verdict.passed(), "{wrong:?}: {verdict:?}");
    }
}

/// What no sum has rounded must be the nearest.
#[test]
fn c_of_16_bits_is_the_nearest_where_sums_are_exact() {
    let (a, b) = (csr::<f32>(1, 1, &[&[]]), array![[1.0f32]]);
    let bias = [1.0 + 2f32.powi(-9) + 2f32.powi(-20)];
    let epilogue = Epilogue::new().bias_per_row(&bias[..]);
    let judge = |c: bf16| {
        let product = Product { alpha: 1.0, b: b.view().into(), added: None };
        let rounding = Rounding::exact_inputs(girih_formats::DType::F32);
        let found = array![[c]];
        let found = found.view().into();
        verify_with(&a, &plan(&a), &product, &epilogue, &found, rounding).unwrap().passed()
    };
    assert!(judge(bf16::from_f32(1.0)));
    assert!(!judge(bf16::from_f32(1.0 + 2f32.powi(-7))));
}
