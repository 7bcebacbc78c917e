use proptest::prelude::*;
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};

use super::{doubles, halves, words};

const ONE: u64 = 0x3F80_0000;
const NAN: u64 = 0x7FC0_0000;
const CANONICAL: u64 = 0x7FFF_FFFF;
const INFINITY: u64 = 0x7F80_0000;

fn bits(value: f32) -> u64 {
    value.to_bits().into()
}

#[test]
fn single() {
    words("add.f32 %r0, %r1, %r2;", &[bits(1.5), bits(2.25)], bits(3.75));
    words("sub.rn.f32 %r0, %r1, 0f3F800000;", &[bits(1.5)], bits(0.5));
    // One and 2^-24 is halfway to the next value.
    words("add.rp.f32 %r0, %r1, %r2;", &[ONE, 0x3380_0000], ONE + 1);
    words("add.rn.f32 %r0, %r1, %r2;", &[ONE, 0x3380_0000], ONE);
    words("add.rz.f32 %r0, %r1, %r2;", &[ONE, 0x33FF_FFFF], ONE);
    words("add.rm.f32 %r0, %r1, %r2;", &[bits(1.0), bits(-1.0)], 0x8000_0000);
    words("add.f32 %r0, %r1, %r2;", &[NAN, ONE], CANONICAL);
    words("add.ftz.f32 %r0, %r1, %r2;", &[1, 1], 0);
    words("add.f32 %r0, %r1, %r2;", &[1, 1], 2);
    words("mul.sat.f32 %r0, %r1, %r2;", &[bits(3.0), bits(2.0)], ONE);
    words("mul.ftz.f32 %r0, %r1, %r2;", &[0x8080_0000, bits(0.5)], 0x8000_0000);
    words("fma.rn.f32 %r0, %r1, %r2, %r3;", &[bits(2.0), bits(3.0), bits(4.0)], bits(10.0));
    words("mad.rz.ftz.sat.f32 %r0, %r1, %r2, %r3;", &[bits(2.0), bits(-3.0), 0], 0);
    words("div.rn.f32 %r0, %r1, %r2;", &[ONE, bits(3.0)], bits(1.0 / 3.0));
    words("div.full.f32 %r0, %r1, %r2;", &[bits(6.0), bits(3.0)], bits(2.0));
    words("div.approx.ftz.f32 %r0, %r1, %r2;", &[bits(6.0), bits(3.0)], bits(2.0));
    words("rcp.approx.ftz.f32 %r0, %r1;", &[bits(4.0)], bits(0.25));
    words("rcp.rz.f32 %r0, %r1;", &[bits(3.0)], 0x3EAA_AAAA);
    words("sqrt.rn.f32 %r0, %r1;", &[bits(2.0)], bits(2.0_f32.sqrt()));
    words("sqrt.approx.f32 %r0, %r1;", &[bits(9.0)], bits(3.0));
    words("rsqrt.approx.f32 %r0, %r1;", &[bits(0.25)], bits(2.0));
    words("ex2.approx.ftz.f32 %r0, %r1;", &[bits(-2.0)], bits(0.25));
    words("lg2.approx.f32 %r0, %r1;", &[bits(8.0)], bits(3.0));
    words("sin.approx.f32 %r0, %r1;", &[0], 0);
    words("cos.approx.f32 %r0, %r1;", &[0], ONE);
    words("tanh.approx.f32 %r0, %r1;", &[INFINITY], ONE);
}

#[test]
fn signs_bounds_and_properties() {
    words("abs.f32 %r0, %r1;", &[bits(-2.0)], bits(2.0));
    words("neg.ftz.f32 %r0, %r1;", &[1], 0x8000_0000);
    words("min.f32 %r0, %r1, %r2;", &[NAN, ONE], ONE);
    words("min.NaN.f32 %r0, %r1, %r2;", &[NAN, ONE], CANONICAL);
    words("max.f32 %r0, %r1, %r2;", &[0x8000_0000, 0], 0);
    words("max.xorsign.abs.f32 %r0, %r1, %r2;", &[bits(-2.0), bits(1.0)], bits(-2.0));
    words("copysign.f32 %r0, %r1, %r2;", &[bits(-1.0), bits(3.0)], bits(-3.0));
    for (property, value, holds) in [
        ("finite", INFINITY, 0),
        ("infinite", INFINITY, 1),
        ("number", NAN, 0),
        ("notanumber", NAN, 1),
        ("normal", 1, 0),
        ("normal", 0, 1),
        ("normal", ONE, 1),
        ("subnormal", 1, 1),
    ] {
        let text = format!("testp.{property}.f32 %p0, %r1;");
        assert_eq!(super::eval(&text, &[("%r1", value)]), holds, "{text} {value:x}");
    }
    let tiny = [("%d1", 1)];
    assert_eq!(super::eval("testp.subnormal.f64 %p0, %d1;", &tiny), 1);
}

#[test]
fn double() {
    let b = f64::to_bits;
    doubles("add.f64 %d0, %d1, %d2;", &[b(1.5), b(2.25)], b(3.75));
    doubles("mul.rz.f64 %d0, %d1, %d2;", &[b(1.5), b(2.0)], b(3.0));
    doubles("fma.rn.f64 %d0, %d1, %d2, %d3;", &[b(2.0), b(3.0), b(4.0)], b(10.0));
    doubles("div.rn.f64 %d0, %d1, %d2;", &[b(1.0), b(3.0)], b(1.0 / 3.0));
    doubles("rcp.rn.f64 %d0, %d1;", &[b(4.0)], b(0.25));
    doubles("sqrt.rn.f64 %d0, %d1;", &[b(9.0)], b(3.0));
    doubles("rcp.approx.ftz.f64 %d0, %d1;", &[b(4.0)], b(0.25));
    doubles("rsqrt.approx.f64 %d0, %d1;", &[b(4.0)], b(0.5));
    doubles("neg.f64 %d0, %d1;", &[b(4.0)], b(-4.0));
    doubles("max.f64 %d0, %d1, %d2;", &[b(4.0), b(-5.0)], b(4.0));
    doubles("copysign.f64 %d0, %d1, %d2;", &[b(-4.0), b(5.0)], b(-5.0));
}

#[test]
fn half() {
    let (one, two, three) = (0x3C00, 0x4000, 0x4200);
    halves("add.f16 %h0, %h1, %h2;", &[one, two], three);
    halves("sub.rn.f16 %h0, %h1, %h2;", &[three, two], one);
    halves("mul.sat.f16 %h0, %h1, %h2;", &[three, two], one);
    halves("fma.rn.relu.f16 %h0, %h1, %h2, %h3;", &[one, two, 0xC200], 0);
    halves("fma.rn.bf16 %h0, %h1, %h2, %h3;", &[0x3F80, 0x4000, 0x3F80], 0x4040);
    halves("neg.bf16 %h0, %h1;", &[0x3F80], 0xBF80);
    halves("max.NaN.f16 %h0, %h1, %h2;", &[0x7E00, one], 0x7FFF);
    halves("ex2.approx.f16 %h0, %h1;", &[one], two);
    halves("tanh.approx.bf16 %h0, %h1;", &[0x7F80], 0x3F80);
    words("add.f16x2 %r0, %r1, %r2;", &[0x4000_3C00, 0x3C00_4000], 0x4200_4200);
    words("mul.bf16x2 %r0, %r1, %r2;", &[0x4000_3F80, 0x4000_4000], 0x4080_4000);
    words("fma.rn.f16x2 %r0, %r1, %r2, %r3;", &[0x4000_3C00, 0x3C00_4000, 0x3C00], 0x4000_4200);
    words("min.f16x2 %r0, %r1, %r2;", &[0x4000_3C00, 0x3C00_4000], 0x3C00_3C00);
    words("abs.bf16x2 %r0, %r1;", &[0xC000_BF80], 0x4000_3F80);
}

fn narrow(bits: u32) -> Single {
    Single::from_bits(bits.into())
}

/// NaNs of every kind come out as one.
fn expected(value: Single) -> u64 {
    if value.is_nan() { CANONICAL } else { value.to_bits() as u64 }
}

proptest! {
    #[test]
    fn roundings_are_those_of_the_modifiers(
        (a, b, c) in (any::<u32>(), any::<u32>(), any::<u32>()),
        (name, round) in prop::sample::select(vec![
            ("rn", Round::NearestTiesToEven), ("rz", Round::TowardZero),
            ("rm", Round::TowardNegative), ("rp", Round::TowardPositive),
        ]),
    ) {
        let inputs = [a.into(), b.into(), c.into()];
        let (x, y, z) = (narrow(a), narrow(b), narrow(c));
        let check = |opcode: &str, value: Single| {
            let three = if opcode == "fma" { ", %r3" } else { "" };
            words(&format!("{opcode}.{name}.f32 %r0, %r1, %r2{three};"), &inputs, expected(value));
        };
        check("add", x.add_r(y, round).value);
        check("sub", x.sub_r(y, round).value);
        check("mul", x.mul_r(y, round).value);
        check("div", x.div_r(y, round).value);
        check("fma", x.mul_add_r(y, z, round).value);
    }

    #[test]
    fn double_roundings_are_those_of_the_modifiers(
        a in 0.001..1e3_f64, b in -1e3..1e3_f64,
        (name, round) in prop::sample::select(vec![
            ("rn", Round::NearestTiesToEven), ("rz", Round::TowardZero),
            ("rm", Round::TowardNegative), ("rp", Round::TowardPositive),
        ]),
    ) {
        let inputs = [a.to_bits(), b.to_bits()];
        let (x, y) = (Double::from_bits(a.to_bits().into()), Double::from_bits(b.to_bits().into()));
        let check = |opcode: &str, value: Double| {
            words_of_double(opcode, name, &inputs, value.to_bits() as u64);
        };
        check("add", x.add_r(y, round).value);
        check("mul", x.mul_r(y, round).value);
        check("div", y.div_r(x, round).value);
    }
}

fn words_of_double(opcode: &str, rounding: &str, inputs: &[u64], expected: u64) {
    let operands = if opcode == "div" { "%d2, %d1" } else { "%d1, %d2" };
    doubles(&format!("{opcode}.{rounding}.f64 %d0, {operands};"), inputs, expected);
}
