use proptest::prelude::*;

use super::{eval, words};

const M32: u64 = 0xFFFF_FFFF;

fn bits(value: f32) -> u64 {
    value.to_bits().into()
}

#[track_caller]
fn check(text: &str, from: &str, value: u64, expected: u64) {
    let found = eval(text, &[(from, value)]);
    assert_eq!(found, expected, "{text} {value:x}: {found:x}, not {expected:x}");
}

#[test]
fn between_integers() {
    check("cvt.s64.s32 %d0, %r1;", "%r1", M32, u64::MAX);
    check("cvt.u64.u32 %d0, %r1;", "%r1", M32, M32);
    check("cvt.u32.u64 %r0, %d1;", "%d1", u64::MAX - 1, M32 - 1);
    check("cvt.u16.u32 %h0, %r1;", "%r1", 0x12_3456, 0x3456);
    check("cvt.s32.s16 %r0, %h1;", "%h1", 0x8000, 0xFFFF_8000);
    check("cvt.s32.s8 %r0, %r1;", "%r1", 0x1280, 0xFFFF_FF80);
    check("cvt.u32.u8 %r0, %h1;", "%h1", 0x1280, 0x80);
    // The sign reaches to the end of the register.
    check("cvt.s8.s32 %h0, %r1;", "%r1", 0x80, 0xFF80);
    check("cvt.s16.s8 %h0, %h1;", "%h1", 0x80, 0xFF80);
    check("cvt.u8.s32 %h0, %r1;", "%r1", 0x180, 0x80);
    check("cvt.s32.u32 %d0, %r1;", "%r1", M32, u64::MAX);
    check("cvt.sat.u8.s32 %h0, %r1;", "%r1", M32, 0);
    check("cvt.sat.s8.s32 %h0, %r1;", "%r1", 0x1000, 0x7F);
    check("cvt.sat.s32.u32 %r0, %r1;", "%r1", M32, 0x7FFF_FFFF);
    check("cvt.sat.u32.s32 %r0, %r1;", "%r1", 0x8000_0000, 0);
}

#[test]
fn between_integers_and_floats() {
    check("cvt.rn.f32.s32 %r0, %r1;", "%r1", 0xFFFF_FFFE, bits(-2.0));
    check("cvt.rn.f32.u32 %r0, %r1;", "%r1", M32, bits(4_294_967_296.0));
    check("cvt.rz.f32.u32 %r0, %r1;", "%r1", M32, 0x4F7F_FFFF);
    check("cvt.rn.f64.s64 %d0, %d1;", "%d1", u64::MAX, (-1.0_f64).to_bits());
    check("cvt.rn.f16.s32 %h0, %r1;", "%r1", 3, 0x4200);
    check("cvt.rn.bf16.u16 %h0, %h1;", "%h1", 3, 0x4040);
    check("cvt.rzi.s32.f32 %r0, %r1;", "%r1", bits(-2.9), 0xFFFF_FFFE);
    check("cvt.rni.s32.f32 %r0, %r1;", "%r1", bits(2.5), 2);
    check("cvt.rpi.u32.f32 %r0, %r1;", "%r1", bits(2.1), 3);
    check("cvt.rmi.s32.f32 %r0, %r1;", "%r1", bits(-2.1), 0xFFFF_FFFD);
    check("cvt.rzi.u32.f32 %r0, %r1;", "%r1", bits(-5.0), 0);
    check("cvt.rzi.s32.f32 %r0, %r1;", "%r1", bits(1e20), 0x7FFF_FFFF);
    check("cvt.rzi.s32.f32 %r0, %r1;", "%r1", 0x7FC0_0000, 0);
    check("cvt.rzi.s64.f64 %d0, %d1;", "%d1", f64::NAN.to_bits(), 1 << 63);
    check("cvt.rzi.s8.f32 %r0, %r1;", "%r1", bits(-200.0), 0xFFFF_FF80);
    check("cvt.rzi.u16.f16 %h0, %h1;", "%h1", 0x4200, 3);
}

#[test]
fn between_floats() {
    check("cvt.f64.f32 %d0, %r1;", "%r1", bits(1.5), 1.5_f64.to_bits());
    check("cvt.rn.f32.f64 %r0, %d1;", "%d1", 1.5_f64.to_bits(), bits(1.5));
    check("cvt.f32.f16 %r0, %h1;", "%h1", 0x3C00, bits(1.0));
    check("cvt.f32.bf16 %r0, %h1;", "%h1", 0x3F80, bits(1.0));
    check("cvt.rn.f16.f32 %h0, %r1;", "%r1", bits(65520.0), 0x7C00);
    check("cvt.rz.f16.f32 %h0, %r1;", "%r1", bits(65520.0), 0x7BFF);
    check("cvt.rn.satfinite.f16.f32 %h0, %r1;", "%r1", bits(1e9), 0x7BFF);
    check("cvt.rn.relu.bf16.f32 %h0, %r1;", "%r1", bits(-1.0), 0);
    check("cvt.rna.tf32.f32 %r0, %r1;", "%r1", 0x3F80_1000, 0x3F80_2000);
    check("cvt.rn.tf32.f32 %r0, %r1;", "%r1", 0x3F80_1000, 0x3F80_0000);
    check("cvt.rni.f32.f32 %r0, %r1;", "%r1", bits(2.5), bits(2.0));
    check("cvt.rmi.ftz.f32.f32 %r0, %r1;", "%r1", bits(-0.5), bits(-1.0));
    check("cvt.sat.f32.f32 %r0, %r1;", "%r1", bits(7.0), bits(1.0));
    check("cvt.ftz.f32.f32 %r0, %r1;", "%r1", 1, 0);
    check("cvt.rmi.f64.f64 %d0, %d1;", "%d1", (-0.5_f64).to_bits(), (-1.0_f64).to_bits());
}

#[test]
fn packed() {
    let (a, b) = (bits(1.0), bits(2.0));
    words("cvt.rn.f16x2.f32 %r0, %r1, %r2;", &[a, b], 0x3C00_4000);
    words("cvt.rn.bf16x2.f32 %r0, %r1, %r2;", &[a, b], 0x3F80_4000);
    words("cvt.rz.relu.bf16x2.f32 %r0, %r1, %r2;", &[bits(-1.0), b], 0x4000);
    let inputs = [("%r1", a), ("%r2", b)];
    assert_eq!(eval("cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", &inputs), 0x3840);
    assert_eq!(eval("cvt.rn.satfinite.relu.e5m2x2.f32 %h0, %r1, %r2;", &inputs), 0x3C40);
    let large = [("%r1", bits(1e9)), ("%r2", bits(-1e9))];
    assert_eq!(eval("cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", &large), 0x7EFE);
    check("cvt.rn.f16x2.e4m3x2 %r0, %h1;", "%h1", 0x3840, 0x3C00_4000);
    check("cvt.rn.satfinite.e4m3x2.f16x2 %h0, %r1;", "%r1", 0x3C00_4000, 0x3840);
    words("cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3;", &[300, M32, 0x1234], 0x1234_FF00);
    words("cvt.pack.sat.s16.s32 %r0, %r1, %r2;", &[0x7FFF_FFFF, 0xFFFF_FFFE], 0x7FFF_FFFE);
    words("cvt.pack.sat.s4.s32.b32 %r0, %r1, %r2, %r3;", &[3, M32, 1], 0x13F);
}

proptest! {
    #[test]
    fn integers_survive_formats_that_hold_them(value in -2048..=2048_i32) {
        let word = u64::from(i32::cast_unsigned(value));
        for format in ["f16", "f32", "f64"] {
            let register = match format { "f16" => "%h0", "f32" => "%r2", _ => "%d0" };
            let text = format!(
                "cvt.rn.{format}.s32 {register}, %r1; cvt.rzi.s32.{format} %r0, {register};"
            );
            let ran = super::run(&text, &[("%r1", word)]).unwrap();
            prop_assert_eq!(ran.get("%r0"), word);
        }
    }

    #[test]
    fn conversions_to_integers_clamp(value: f32) {
        let found = eval("cvt.rzi.s32.f32 %r0, %r1;", &[("%r1", bits(value))]);
        prop_assert_eq!(found, u64::from((value as i32).cast_unsigned()));
        let found = eval("cvt.rzi.u64.f32 %d0, %r1;", &[("%r1", bits(value))]);
        let expected = if value.is_nan() { 1 << 63 } else { value as u64 };
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn conversions_between_integers_keep_low_bits(value: u64) {
        let inputs = [("%d1", value)];
        prop_assert_eq!(eval("cvt.u16.u64 %h0, %d1;", &inputs), value & 0xFFFF);
        let extended = i64::from(value as i16).cast_unsigned();
        prop_assert_eq!(eval("cvt.s16.s64 %d0, %d1;", &inputs), extended);
        prop_assert_eq!(eval("cvt.s16.s64 %r0, %d1;", &inputs), extended & M32);
    }
}
