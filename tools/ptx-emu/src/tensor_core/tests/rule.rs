//! The accumulation rule, by hand and spelled out with wide integers.

use super::f32s;
use crate::num::{Format, Rounding};
use crate::tensor_core::accumulate::{self, Path, Rule, Unit};
use crate::tensor_core::mma::Mma;
use crate::tensor_core::{Accumulator, Element};
use proptest::prelude::*;

fn step(unit: Unit, element: Element, products: &[(u32, u32)], start: f32) -> f32 {
    let rule = Rule::of(unit, element);
    let products = products.iter().copied();
    f32::from_bits(accumulate::step(
        rule,
        (element, element),
        Accumulator::F32,
        &products,
        f32s(start),
    ))
}

/// bf16 bits of a power of two.
fn bf16(exponent: i32) -> u32 {
    ((exponent + 127) as u32) << 7
}

#[test]
fn terms_are_cut_25_bits_below_the_largest() {
    let one_term =
        |exponent| step(Unit::Warpgroup, Element::Bf16, &[(bf16(exponent), bf16(0)); 16], 1.0);
    assert_eq!(one_term(-26), 1.0);
    assert_eq!(one_term(-25), 1.0 + 16.0 * 2f32.powi(-25));
    // A single half unit in the last place is cut off the result.
    let half = step(Unit::Warpgroup, Element::Bf16, &[(bf16(-24), bf16(0))], 1.0);
    assert_eq!(half, 1.0);
    let negative = step(Unit::Warpgroup, Element::Bf16, &[(bf16(-24), 0xbf80)], 1.0);
    assert_eq!(negative, 1.0 - 2f32.powi(-24));
    // The products' exponent is their operands' sum: 1.5 × 1.5 counts as 2^0.
    let (small, wide) = (bf16(-25), 0x3fc0);
    let sum = step(
        Unit::Warpgroup,
        Element::Bf16,
        &[(wide, wide), (small, bf16(0)), (small, bf16(0))],
        0.0,
    );
    assert_eq!(sum, 2.25);
    let sum = step(Unit::Warpgroup, Element::Bf16, &[(wide, wide); 4], 2f32.powi(-24));
    assert_eq!(sum, 9.0);
}

#[test]
fn a_zero_counts_for_nothing_whatever_its_exponent() {
    // 2^15 times zero, beside a product of subnormal numbers.
    let large = Format::F16.encode(32768.0, Rounding::NearestEven) as u32;
    let tiny = Format::F16.encode(2f64.powi(-24), Rounding::NearestEven) as u32;
    let products = [(large, 0), (tiny, tiny)];
    assert_eq!(step(Unit::Warpgroup, Element::F16, &products, 0.0), 2f32.powi(-48));
}

#[test]
fn eight_bit_floats_keep_thirteen_bits() {
    let one = Format::E5m2.encode(1.0, Rounding::NearestEven) as u32;
    let power = |e: i32| Format::E5m2.encode(2f64.powi(e), Rounding::NearestEven) as u32;
    let at = |unit, e| step(unit, Element::E5m2, &[(power(e), one); 16], 1.0);
    assert_eq!(at(Unit::Warpgroup, -13), 1.0 + 16.0 * 2f32.powi(-13));
    assert_eq!(at(Unit::Warpgroup, -14), 1.0);
    assert_eq!(at(Unit::Warp, -14), 1.0 + 16.0 * 2f32.powi(-14));
    // What the accumulator had beyond 13 bits is lost.
    let kept = step(Unit::Warpgroup, Element::E5m2, &[(one, one)], 1.0 + 2f32.powi(-20));
    assert_eq!(kept, 2.0);
}

#[test]
fn special_values_make_canonical_results() {
    let (infinity, nan, zero) = (0x7f80, 0x7fc1, 0);
    let bits =
        |products: &[(u32, u32)], start| step(Unit::Warp, Element::Bf16, products, start).to_bits();
    assert_eq!(bits(&[(infinity, bf16(3))], 1.0), f32s(f32::INFINITY));
    assert_eq!(bits(&[(infinity, zero)], 1.0), 0x7fff_ffff);
    assert_eq!(bits(&[(infinity, bf16(0))], f32::NEG_INFINITY), 0x7fff_ffff);
    assert_eq!(bits(&[(nan, bf16(0))], 1.0), 0x7fff_ffff);
    assert_eq!(bits(&[(bf16(127), bf16(127))], 0.0), f32s(f32::INFINITY));
    assert_eq!(bits(&[(bf16(127), bf16(127)), (bf16(127) | 0x8000, bf16(127))], 5.0), 0);
    assert_eq!(bits(&[(0x8000, bf16(0))], -0.0), 0);
    // The smallest subnormal survives where nothing larger is near.
    assert_eq!(bits(&[(zero, zero)], f32::from_bits(1)), 1);
}

#[test]
fn accumulators_of_sixteen_bits_round_to_nearest() {
    let rule = Rule::of(Unit::Warpgroup, Element::F16);
    let one = 0x3c00;
    let tiny = Format::F16.encode(2f64.powi(-11), Rounding::NearestEven) as u32;
    let run = |count: usize, start| {
        let products = std::iter::repeat_n((one, tiny), count);
        accumulate::step(rule, (Element::F16, Element::F16), Accumulator::F16, &products, start)
    };
    // 1 + 2^-11 is a tie and stays even; three halves of a unit round up.
    assert_eq!(run(1, one), one);
    assert_eq!(run(3, one), one + 2);
    assert_eq!(run(1, 0x7bff), 0x7bff);
    let large = accumulate::step(
        rule,
        (Element::F16, Element::F16),
        Accumulator::F16,
        &[(0x7bff, 0x7bff)].into_iter(),
        0,
    );
    assert_eq!(large, 0x7c00);
}

/// A value of a type: any bits, or one near 1 so that alignment matters.
fn element_bits(element: Element) -> BoxedStrategy<u32> {
    let mask = u32::MAX >> (32 - 8 * element.bytes());
    match element.format() {
        None => any::<u32>().prop_map(move |bits| bits & mask).boxed(),
        Some(format) => {
            let small =
                (-20i32..20, any::<u16>(), any::<bool>()).prop_map(move |(e, m, negative)| {
                    let value = (1.0 + f64::from(m) / 65536.0) * 2f64.powi(e / 2);
                    format.encode(if negative { -value } else { value }, Rounding::TowardZero)
                        as u32
                });
            prop_oneof![12 => small, 1 => Just(0)].boxed()
        }
    }
}

/// The rule spelled out with unlimited integers for moderate exponents.
fn slow(rule: Rule, format: (Format, Format), products: &[(u32, u32)], start: f32) -> f32 {
    // Every value is an integer multiple of 2^-200 here.
    let integer = |value: f64| {
        let (mantissa, exponent) = (
            (value.to_bits() & ((1 << 52) - 1) | 1 << 52),
            (value.to_bits() >> 52 & 0x7ff) as i32 - 1075,
        );
        (if value == 0.0 { 0 } else { i128::from(mantissa) }, exponent, value < 0.0)
    };
    let exponent = |value: f64| {
        if value == 0.0 { None } else { Some((value.abs().to_bits() >> 52) as i32 - 1023) }
    };
    let lowest = |format: Format, value: f64| {
        let smallest = match format {
            Format::F16 | Format::E5m2 => -14,
            Format::E4m3 => -6,
            _ => -126,
        };
        exponent(value).map(|e| e.max(smallest))
    };
    let mut terms = vec![(f64::from(start), lowest(Format::F32, f64::from(start)))];
    for &(a, b) in products {
        let (x, y) = (format.0.decode(u64::from(a)), format.1.decode(u64::from(b)));
        let e = lowest(format.0, x).zip(lowest(format.1, y)).map(|(e, f)| e + f);
        terms.push((x * y, e));
    }
    let largest = terms.iter().filter_map(|term| term.1).fold(-126, i32::max);
    let unit = largest - rule.fraction_bits as i32;
    let total: i128 = terms
        .iter()
        .map(|&(value, _)| {
            let (mantissa, exponent, negative) = integer(value);
            let up = exponent - unit;
            let cut = if up >= 0 { mantissa << up } else { mantissa >> (-up).min(100) };
            if negative { -cut } else { cut }
        })
        .sum();
    let magnitude = total.unsigned_abs();
    let length = 128 - magnitude.leading_zeros() as i32;
    let dropped = (length - 1 - rule.result_bits as i32).max(0);
    let kept = (magnitude >> dropped << dropped) as f64 * 2f64.powi(unit);
    (if total < 0 { -kept } else { kept }) as f32
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn one_step_agrees_with_the_rule_spelled_out(
        a in proptest::collection::vec(element_bits(Element::F16), 16),
        b in proptest::collection::vec(element_bits(Element::F16), 16),
        start in prop_oneof![Just(0.0f32), -4.0f32..4.0, (-1e-6f32..1e-6), (-1e9f32..1e9)],
    ) {
        let products: Vec<_> = a.iter().copied().zip(b.iter().copied()).collect();
        let rule = Rule::of(Unit::Warpgroup, Element::F16);
        let got = step(Unit::Warpgroup, Element::F16, &products, start);
        prop_assert_eq!(got, slow(rule, (Format::F16, Format::F16), &products, start));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    /// Products that are all zero leave what the rule makes of the accumulator by itself.
    #[test]
    fn an_accumulator_alone_is_a_step_of_zeros(
        start in any::<u32>(),
        (accumulator, format) in prop_oneof![
            Just((Accumulator::F32, Format::F32)),
            Just((Accumulator::F16, Format::F16)),
        ],
        unit in prop_oneof![Just(Unit::Warpgroup), Just(Unit::Warp)],
        element in prop_oneof![Just(Element::F16), Just(Element::Tf32), Just(Element::E4m3)],
    ) {
        let rule = Rule::of(unit, element);
        let sign = format.sign() as u32;
        let mask = sign | (sign - 1);
        for start in [start & mask, 0, sign] {
            if format.decode(u64::from(start)).is_finite() {
                let zeros = std::iter::once((0, 0));
                let stepped = accumulate::step(rule, (element, element), accumulator, &zeros, start);
                prop_assert_eq!(accumulate::alone(rule, accumulator, start), stepped);
            }
        }
    }
}

#[test]
fn warps_multiply_eight_bit_floats_as_sixteen_bit_ones() {
    assert_eq!(Path::Converted.steps(8, 16), [[0, 1, 4, 5], [2, 3, 6, 7]]);
    // k 0 to 1 come first and leave 2^26; what k 2 and 3 add is then cut, and rounded with the
    // accumulator.
    let mma = Mma::try_new(32, false, Accumulator::F32, Element::E5m2, Element::E5m2).unwrap();
    let power = |e: i32| Format::E5m2.encode(2f64.powi(e), Rounding::NearestEven) as u32;
    let run = |k: [i32; 4], start: f32| {
        let mut first = None;
        mma.run(
            |lane, register| {
                if (lane, register) != (0, 0) {
                    return 0;
                }
                (0..4).fold(0, |word, at| word | power(k[at]) << (8 * at))
            },
            |lane, register| if (lane, register) == (0, 0) { 0x3c3c_3c3c } else { 0 },
            |_, _| f32s(start),
            None,
            false,
            |lane, register, bits| {
                if (lane, register) == (0, 0) {
                    first = Some(f32::from_bits(bits));
                }
            },
        );
        first.unwrap()
    };
    assert_eq!(run([13, 12, -13, -14], 0.0), 12288.0);
    assert_eq!(run([13, 12, -10, -13], 0.0), 12288.0 + 2f32.powi(-10));
    assert_eq!(run([0, 0, 0, 0], 2f32.powi(26)), 2f32.powi(26));
    assert_eq!(run([0, 0, 1, 1], 2f32.powi(26)), 2f32.powi(26) + 8.0);
}
