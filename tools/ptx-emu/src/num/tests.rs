//! Properties against `rustc_apfloat`, `half` and exact integers.

use super::convert::{self, Conversion, Integer};
use super::{Format, Mode, Rounding, double, narrow, single};
use proptest::prelude::*;
use rustc_apfloat::{Float, FloatConvert as _, Round, ieee};

const ROUNDINGS: [(Rounding, Round); 5] = [
    (Rounding::NearestEven, Round::NearestTiesToEven),
    (Rounding::NearestAway, Round::NearestTiesToAway),
    (Rounding::TowardZero, Round::TowardZero),
    (Rounding::Down, Round::TowardNegative),
    (Rounding::Up, Round::TowardPositive),
];

fn rounding() -> impl Strategy<Value = (Rounding, Round)> {
    (0..ROUNDINGS.len()).prop_map(|i| ROUNDINGS[i])
}

/// Bits whose exponents crowd around `centre` and whose mantissas are often all zeros or ones, so
/// that ties, carries, cancellation and the range's ends are hit.
fn near(centre: i32, spread: i32) -> impl Strategy<Value = f64> {
    let mantissa = prop_oneof![
        any::<u64>(),
        Just(0),
        Just(u64::MAX),
        (0..52u32, any::<bool>()).prop_map(|(at, ones)| if ones {
            u64::MAX << at
        } else {
            1 << at
        }),
        (0..52u32).prop_map(|at| (1u64 << at) - 1),
    ];
    (any::<bool>(), -spread..=spread, mantissa).prop_map(move |(negative, off, mantissa)| {
        let exponent = (1023 + centre + off).clamp(0, 2046) as u64;
        f64::from_bits(u64::from(negative) << 63 | exponent << 52 | mantissa & ((1 << 52) - 1))
    })
}

fn single_bits() -> impl Strategy<Value = u32> {
    let near_zero = near(-126, 26).prop_map(|v| (v as f32).to_bits());
    prop_oneof![
        any::<u32>(),
        near(0, 30).prop_map(|v| (v as f32).to_bits()),
        near_zero,
        near(127, 2).prop_map(|v| (v as f32).to_bits()),
        proptest::sample::select(vec![0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 1]),
    ]
}

fn double_bits() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        near(0, 60).prop_map(f64::to_bits),
        near(-1022, 60).prop_map(f64::to_bits),
        near(1023, 2).prop_map(f64::to_bits),
        proptest::sample::select(vec![0, 1 << 63, 0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000]),
    ]
}

/// The reference's result with the canonical NaN.
fn canonical<F: Float>(value: F, format: Format) -> u64 {
    if value.is_nan() { format.nan() } else { value.to_bits() as u64 }
}

fn encoded_by_reference(value: f64, to: Format, round: Round) -> u64 {
    let exact = ieee::Double::from_bits(u128::from(value.to_bits()));
    let mut loses = false;
    macro_rules! through {
        ($format:ty) => {{
            let converted: $format = exact.convert_r(round, &mut loses).value;
            canonical(converted, to)
        }};
    }
    match to {
        Format::E4m3 => through!(ieee::Float8E4M3FN),
        Format::E5m2 => through!(ieee::Float8E5M2),
        Format::F16 => through!(ieee::Half),
        Format::Bf16 => through!(ieee::BFloat),
        Format::F32 => through!(ieee::Single),
        Format::Tf32 | Format::F64 => unreachable!("no reference"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4096,
        max_global_rejects: 1 << 20,
        ..ProptestConfig::default()
    })]

    #[test]
    fn encode_agrees_with_apfloat(
        value in prop_oneof![
            near(0, 20), near(-14, 12), near(-126, 30), near(127, 2), near(15, 2), near(8, 2),
            any::<u64>().prop_map(f64::from_bits),
        ],
        (ours, theirs) in rounding(),
    ) {
        for to in [Format::E4m3, Format::E5m2, Format::F16, Format::Bf16, Format::F32] {
            // Only `.satfinite` conversions make e4m3, so nothing past its range ever arrives.
            let value = if to == Format::E4m3 { value.clamp(-448.0, 448.0) } else { value };
            prop_assert_eq!(
                to.encode(value, ours),
                encoded_by_reference(value, to, theirs),
                "{:e} to {:?} {:?}", value, to, ours
            );
        }
    }

    #[test]
    fn tf32_is_f32_with_its_tail_rounded_off(bits in single_bits()) {
        let nan = f32::from_bits(bits).is_nan();
        let cut = |rounding| Format::Tf32.encode(f64::from(f32::from_bits(bits)), rounding) as u32;
        let kept = bits & 0xffff_e000;
        let tail = bits & 0x1fff;
        let up = |grows: bool| if nan { 0x7fff_ffff } else { kept + (u32::from(grows) << 13) };
        prop_assert_eq!(cut(Rounding::TowardZero), up(false));
        prop_assert_eq!(cut(Rounding::NearestAway), up(tail >= 0x1000));
        let odd = kept >> 13 & 1 == 1;
        prop_assert_eq!(cut(Rounding::NearestEven), up(tail > 0x1000 || (tail == 0x1000 && odd)));
    }

    #[test]
    fn single_agrees_with_apfloat(
        a in single_bits(), b in single_bits(), c in single_bits(), (ours, theirs) in rounding()
    ) {
        let [x, y, z] = [a, b, c].map(|bits| ieee::Single::from_bits(u128::from(bits)));
        let mode = Mode::rounded(ours);
        let check = |got: u32, want: ieee::Single| {
            prop_assert_eq!(u64::from(got), canonical(want, Format::F32), "{:x} {:x} {:x}", a, b, c);
            Ok(())
        };
        check(single::add(a, b, mode), x.add_r(y, theirs).value)?;
        check(single::sub(a, b, mode), x.sub_r(y, theirs).value)?;
        check(single::mul(a, b, mode), x.mul_r(y, theirs).value)?;
        check(single::div(a, b, mode), x.div_r(y, theirs).value)?;
        check(single::fma(a, b, c, mode), x.mul_add_r(y, z, theirs).value)?;
        // An addend that nearly cancels the product.
        let cancel = (-(f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b))) as f32).to_bits();
        let w = ieee::Single::from_bits(u128::from(cancel));
        check(single::fma(a, b, cancel, mode), x.mul_add_r(y, w, theirs).value)?;
    }

    #[test]
    fn double_agrees_with_apfloat(
        a in double_bits(), b in double_bits(), c in double_bits(), (ours, theirs) in rounding()
    ) {
        if ours == Rounding::NearestAway {
            return Ok(());
        }
        let [x, y, z] = [a, b, c].map(|bits| ieee::Double::from_bits(u128::from(bits)));
        let any_nan = x.is_nan() || y.is_nan() || z.is_nan();
        prop_assume!(!any_nan);
        prop_assert_eq!(double::add(a, b, ours), canonical(x.add_r(y, theirs).value, Format::F64));
        prop_assert_eq!(double::sub(a, b, ours), canonical(x.sub_r(y, theirs).value, Format::F64));
        prop_assert_eq!(double::mul(a, b, ours), canonical(x.mul_r(y, theirs).value, Format::F64));
        prop_assert_eq!(double::div(a, b, ours), canonical(x.div_r(y, theirs).value, Format::F64));
        prop_assert_eq!(
            double::fma(a, b, c, ours),
            canonical(x.mul_add_r(y, z, theirs).value, Format::F64)
        );
    }

    #[test]
    fn narrow_agrees_with_apfloat(
        a in any::<u16>(), b in any::<u16>(), c in any::<u16>(), (ours, theirs) in rounding()
    ) {
        let mode = Mode::rounded(ours);
        macro_rules! check {
            ($format:expr, $float:ty) => {{
                let [x, y, z] = [a, b, c].map(|bits| <$float>::from_bits(u128::from(bits)));
                let [a, b, c] = [a, b, c].map(u64::from);
                prop_assert_eq!(narrow::add($format, a, b, mode), canonical(x.add_r(y, theirs).value, $format));
                prop_assert_eq!(narrow::sub($format, a, b, mode), canonical(x.sub_r(y, theirs).value, $format));
                prop_assert_eq!(narrow::mul($format, a, b, mode), canonical(x.mul_r(y, theirs).value, $format));
                prop_assert_eq!(
                    narrow::fma($format, a, b, c, mode),
                    canonical(x.mul_add_r(y, z, theirs).value, $format)
                );
            }};
        }
        check!(Format::F16, ieee::Half);
        check!(Format::Bf16, ieee::BFloat);
    }

    #[test]
    fn square_roots_bracket_their_argument(
        a in double_bits(), b in single_bits(), (ours, _) in rounding()
    ) {
        if ours == Rounding::NearestAway {
            return Ok(());
        }
        let quad = |bits: u64| {
            let mut loses = false;
            let value: ieee::Quad = ieee::Double::from_bits(u128::from(bits)).convert(&mut loses).value;
            value
        };
        // r is right when x lies between the squares of the values (nearest: the midpoints) around.
        let holds = |x: ieee::Quad, below: ieee::Quad, root: ieee::Quad, above: ieee::Quad| {
            let square = |v: ieee::Quad| (v * v).value;
            match ours {
                Rounding::Down | Rounding::TowardZero => square(root) <= x && x < square(above),
                Rounding::Up => square(below) < x && x <= square(root),
                _ => {
                    let four = (x * ieee::Quad::from_u128(4).value).value;
                    let sum = |a: ieee::Quad, b: ieee::Quad| (a + b).value;
                    square(sum(below, root)) < four && four < square(sum(root, above))
                }
            }
        };
        let value = f64::from_bits(a).abs();
        if value.is_finite() && value != 0.0 {
            let root = f64::from_bits(double::sqrt(value.to_bits(), ours));
            let [x, below, root, above] =
                [value, root.next_down(), root, root.next_up()].map(|v| quad(v.to_bits()));
            prop_assert!(holds(x, below, root, above), "sqrt {:e}", value);
        }
        let value = f32::from_bits(b).abs();
        if value.is_finite() && value != 0.0 {
            let root = f32::from_bits(single::sqrt(value.to_bits(), Mode::rounded(ours)));
            let [x, below, root, above] = [value, root.next_down(), root, root.next_up()]
                .map(|v| quad(f64::from(v).to_bits()));
            prop_assert!(holds(x, below, root, above), "sqrt {:e}", value);
        }
    }

    #[test]
    fn integers_convert_exactly(bits in any::<u64>(), shift in 0..64u32, (ours, theirs) in rounding()) {
        let bits = bits >> shift;
        for width in [8, 16, 32, 64] {
            for signed in [false, true] {
                let from = Integer { bits: width, signed };
                let value = from.decode(bits & (u64::MAX >> (64 - width)));
                let how = Conversion { rounding: ours, ..Conversion::default() };
                macro_rules! check {
                    ($format:expr, $float:ty) => {
                        prop_assert_eq!(
                            convert::integer_to_float(from.encode(value), from, $format, how),
                            canonical(<$float>::from_i128_r(value, theirs).value, $format),
                            "{} to {:?} {:?}", value, $format, ours
                        )
                    };
                }
                check!(Format::F16, ieee::Half);
                check!(Format::Bf16, ieee::BFloat);
                check!(Format::F32, ieee::Single);
                if ours != Rounding::NearestAway {
                    check!(Format::F64, ieee::Double);
                }
            }
        }
    }

    #[test]
    fn floats_convert_to_the_nearest_integer_in_range(
        a in prop_oneof![near(20, 45), near(-1, 3), near(63, 2), near(31, 2)], (ours, theirs) in rounding()
    ) {
        for width in [8, 16, 32, 64] {
            for signed in [false, true] {
                let to = Integer { bits: width, signed };
                let mut exact = false;
                let x = ieee::Double::from_bits(u128::from(a.to_bits()));
                // The reference clamps to the width it is asked for.
                let want = if signed {
                    x.to_i128_r(width as usize, theirs, &mut exact).value
                } else {
                    x.to_u128_r(width as usize, theirs, &mut exact).value as i128
                };
                let got = convert::float_to_integer(a.to_bits(), Format::F64, to, ours, false);
                prop_assert_eq!(to.decode(got), want, "{:e} to {:?} {:?}", a, to, ours);
            }
        }
    }
}

#[test]
fn every_narrow_value_decodes_as_the_references_have_it() {
    for bits in 0..=u16::MAX {
        let same = |format: Format, want: f64| {
            let got = format.decode(u64::from(bits));
            assert!(
                got == want && got.is_sign_negative() == want.is_sign_negative()
                    || got.is_nan() && want.is_nan(),
                "{format:?} {bits:x}: {got} {want}"
            );
        };
        same(Format::F16, half::f16::from_bits(bits).to_f64());
        same(Format::Bf16, half::bf16::from_bits(bits).to_f64());
        if bits < 256 {
            let e5m2: ieee::Double =
                ieee::Float8E5M2::from_bits(u128::from(bits)).convert(&mut false).value;
            same(Format::E5m2, f64::from_bits(e5m2.to_bits() as u64));
            let e4m3: ieee::Double =
                ieee::Float8E4M3FN::from_bits(u128::from(bits)).convert(&mut false).value;
            same(Format::E4m3, f64::from_bits(e4m3.to_bits() as u64));
        }
    }
}

#[test]
fn every_value_survives_a_round_trip() {
    for format in [Format::E4m3, Format::E5m2, Format::F16, Format::Bf16] {
        for bits in 0..1u64 << format.bits() {
            let want = if format.is_nan(bits) { format.nan() } else { bits };
            for (ours, _) in ROUNDINGS {
                assert_eq!(format.encode(format.decode(bits), ours), want, "{format:?} {bits:x}");
            }
        }
    }
}
