//! Saturation, NaNs, signed zeros and flushing, worked out by hand from the PTX ISA.

use super::convert::{self, Conversion, Integer, Saturation};
use super::order::{self, Choice};
use super::{Format, Mode, Rounding, approx, double, narrow, single};

fn cvt(value: f32, to: Format, how: Conversion) -> u64 {
    convert::float_to_float(u64::from(value.to_bits()), Format::F32, to, how)
}

#[test]
fn saturation_follows_the_tables() {
    let finite = Conversion { saturation: Saturation::Finite, ..Conversion::default() };
    let relu = Conversion { relu: true, ..finite };
    // The largest e4m3 is 448, the largest e5m2 57344.
    assert_eq!(cvt(449.0, Format::E4m3, finite), 0x7e);
    assert_eq!(cvt(f32::INFINITY, Format::E4m3, finite), 0x7e);
    assert_eq!(cvt(-1e9, Format::E4m3, finite), 0xfe);
    assert_eq!(cvt(f32::NAN, Format::E4m3, finite), 0x7f);
    assert_eq!(cvt(f32::NEG_INFINITY, Format::E5m2, finite), 0xfb);
    assert_eq!(cvt(f32::NAN, Format::E5m2, finite), 0x7f);
    assert_eq!(cvt(-3.0, Format::E5m2, relu), 0);
    assert_eq!(cvt(-0.0, Format::F16, relu), 0);
    assert_eq!(cvt(-f32::NAN, Format::F16, relu), 0x7fff);
    assert_eq!(cvt(1e6, Format::F16, finite), 0x7bff);
    assert_eq!(cvt(1e6, Format::F16, Conversion::default()), 0x7c00);
    let down = Conversion { rounding: Rounding::TowardZero, ..Conversion::default() };
    assert_eq!(cvt(1e6, Format::F16, down), 0x7bff);
    let unit = Conversion { saturation: Saturation::Unit, ..Conversion::default() };
    assert_eq!(cvt(1.5, Format::F32, unit), u64::from(1f32.to_bits()));
    assert_eq!(cvt(f32::NAN, Format::F32, unit), 0);
    assert_eq!(cvt(-0.0, Format::F32, unit), 0);
}

#[test]
fn nan_becomes_the_integer_the_isa_names() {
    let (f32_nan, f64_nan) = (u64::from(f32::NAN.to_bits()), f64::NAN.to_bits());
    let to = |bits, signed| Integer { bits, signed };
    let int =
        |bits, from, to| convert::float_to_integer(bits, from, to, Rounding::TowardZero, false);
    assert_eq!(int(f32_nan, Format::F32, to(32, true)), 0);
    assert_eq!(int(f32_nan, Format::F32, to(64, false)), 1 << 63);
    assert_eq!(int(f64_nan, Format::F64, to(32, true)), 1 << 31);
    assert_eq!(int(f64_nan, Format::F64, to(8, false)), 1 << 7);
    assert_eq!(int(0x7e00, Format::F16, to(16, true)), 0);
}

#[test]
fn integral_rounding_keeps_format_and_sign() {
    let bits = |v: f32| u64::from(v.to_bits());
    let how = |rounding| Conversion { rounding, ..Conversion::default() };
    let round = |v, r| convert::round_to_integral(bits(v), Format::F32, how(r));
    assert_eq!(round(2.5, Rounding::NearestEven), bits(2.0));
    assert_eq!(round(-0.3, Rounding::Up), bits(-0.0));
    assert_eq!(round(-0.3, Rounding::Down), bits(-1.0));
    assert_eq!(round(-7.9, Rounding::TowardZero), bits(-7.0));
    let ftz = Conversion { ftz: true, rounding: Rounding::Up, ..Conversion::default() };
    assert_eq!(convert::round_to_integral(1, Format::F32, ftz), 0);
    assert_eq!(convert::round_to_integral(1, Format::F32, how(Rounding::Up)), bits(1.0));
}

#[test]
fn integers_clamp_only_when_asked() {
    let (s32, u8) = (Integer { bits: 32, signed: true }, Integer { bits: 8, signed: false });
    assert_eq!(convert::integer_to_integer(0xffff_ffff, s32, u8, true), 0);
    assert_eq!(convert::integer_to_integer(0xffff_ffff, s32, u8, false), 0xff);
    assert_eq!(convert::integer_to_integer(300, s32, u8, true), 255);
}

#[test]
fn modes_flush_and_clamp() {
    let ftz = Mode { ftz: true, ..Mode::NEAREST };
    let sat = Mode { saturate: true, ..Mode::NEAREST };
    let one = 1f32.to_bits();
    assert_eq!(single::add(0x8000_0001, 0x8000_0001, ftz), 0x8000_0000);
    assert_eq!(single::mul(0x0080_0000, 0.5f32.to_bits(), ftz), 0);
    assert_eq!(single::fma(one, one, one, sat), one);
    assert_eq!(single::sub(one, 2f32.to_bits(), sat), 0);
    assert_eq!(single::add(0x7fc0_0000, one, sat), 0);
    assert_eq!(single::add(0xffc1_2345, one, Mode::NEAREST), 0x7fff_ffff);
    assert_eq!(double::add(0x7ff0_0000_0000_0001, 0, Rounding::NearestEven), 0x7ff8_0000_0000_0001);
    assert_eq!(narrow::fma(Format::F16, 0x3c00, 0x3c00, 0x3c00, sat), 0x3c00);
    assert_eq!(narrow::mul(Format::F16, 0x0001, 0x3c00, ftz), 0);
    assert_eq!(narrow::relu(Format::Bf16, 0x8000), 0);
    assert_eq!(narrow::relu(Format::Bf16, 0x7fff), 0x7fff);
}

#[test]
fn min_and_max_order_zeros_and_nans() {
    let plain = Choice::default();
    let nan = Choice { propagate_nan: true, ..plain };
    let xorsign = Choice { xorsign_abs: true, ..plain };
    let bits = |v: f32| u64::from(v.to_bits());
    let quiet = bits(f32::NAN);
    assert_eq!(order::min(Format::F32, bits(0.0), bits(-0.0), plain), bits(-0.0));
    assert_eq!(order::max(Format::F32, bits(-0.0), bits(0.0), plain), bits(0.0));
    assert_eq!(order::max(Format::F32, quiet, bits(-3.0), plain), bits(-3.0));
    assert_eq!(order::max(Format::F32, bits(-3.0), quiet, plain), bits(-3.0));
    assert_eq!(order::max(Format::F32, quiet, quiet, plain), 0x7fff_ffff);
    assert_eq!(order::min(Format::F32, bits(1.0), quiet, nan), 0x7fff_ffff);
    assert_eq!(order::min(Format::F32, bits(-5.0), bits(2.0), plain), bits(-5.0));
    assert_eq!(order::min(Format::F32, bits(-5.0), bits(2.0), xorsign), bits(-2.0));
    assert_eq!(order::max(Format::F32, bits(-5.0), bits(-2.0), xorsign), bits(5.0));
    let ftz = Choice { ftz: true, ..plain };
    assert_eq!(order::max(Format::F32, 1, bits(-1.0), ftz), 0);
    assert_eq!(
        order::max(Format::F64, (-1f64).to_bits(), f64::INFINITY.to_bits(), plain),
        f64::INFINITY.to_bits()
    );
}

#[test]
fn approximations_keep_the_special_values() {
    let bits = f32::to_bits;
    assert_eq!(approx::ex2(bits(f32::NEG_INFINITY), false), 0);
    assert_eq!(approx::ex2(bits(3.0), true), bits(8.0));
    assert_eq!(approx::lg2(bits(-0.0), false), bits(f32::NEG_INFINITY));
    assert_eq!(approx::lg2(bits(-1.0), false), 0x7fff_ffff);
    assert_eq!(approx::rsqrt(bits(-0.0), false), bits(f32::NEG_INFINITY));
    assert_eq!(approx::rsqrt(bits(4.0), false), bits(0.5));
    assert_eq!(approx::rcp(1, true), bits(f32::INFINITY));
    assert_eq!(approx::div(bits(1.0), bits(2e38), false), 0);
    assert_eq!(approx::div(bits(f32::INFINITY), bits(2e38), false), 0x7fff_ffff);
    assert_eq!(approx::sin(bits(f32::INFINITY), false), 0x7fff_ffff);
    assert_eq!(approx::tanh(bits(f32::INFINITY)), bits(1.0));
}
