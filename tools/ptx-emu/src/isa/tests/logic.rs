use proptest::prelude::*;

use super::{doubles, eval, halves, run, words};

const M32: u64 = 0xFFFF_FFFF;

#[test]
fn bitwise() {
    words("and.b32 %r0, %r1, 0x0F;", &[0x3C], 0x0C);
    words("or.b32 %r0, %r1, %r2;", &[0x30, 0x0C], 0x3C);
    words("xor.b32 %r0, %r1, -1;", &[0xF0], 0xFFFF_FF0F);
    words("not.b32 %r0, %r1;", &[0], M32);
    halves("not.b16 %h0, %h1;", &[0xFF], 0xFF00);
    words("cnot.b32 %r0, %r1;", &[0], 1);
    words("cnot.b32 %r0, %r1;", &[5], 0);
    // (a & b) ^ c
    words("lop3.b32 %r0, %r1, %r2, %r3, 0x6A;", &[0xFF, 0x3C, 0x0F], 0x33);
}

#[test]
fn predicates() {
    let inputs = [("%p1", 1), ("%p2", 0)];
    assert_eq!(eval("and.pred %p0, %p1, !%p2;", &inputs), 1);
    assert_eq!(eval("or.pred %p0, %p2, %p2;", &inputs), 0);
    assert_eq!(eval("xor.pred %p0, %p1, %p2;", &inputs), 1);
    assert_eq!(eval("not.pred %p0, %p1;", &inputs), 0);
    assert_eq!(eval("mov.pred %p0, 1;", &inputs), 1);
    assert_eq!(eval("mov.pred %p0, %p2;", &inputs), 0);
    let text = "lop3.or.b32 %r0|%p0, %r1, %r2, %r3, 0x80, %p2;";
    let ran = run(text, &[("%r1", 6), ("%r2", 3), ("%r3", 2), ("%p2", 0)]).unwrap();
    assert_eq!((ran.get("%r0"), ran.get("%p0")), (2, 1));
    let text = "lop3.and.b32 _|%p0, %r1, %r2, %r3, 0x80, %p2;";
    assert_eq!(run(text, &[("%r1", 6), ("%p2", 0)]).unwrap().get("%p0"), 0);
}

#[test]
fn shifts() {
    words("shl.b32 %r0, %r1, 4;", &[0xF000_000F], 0xF0);
    words("shl.b32 %r0, %r1, %r2;", &[1, 32], 0);
    words("shr.u32 %r0, %r1, %r2;", &[0x8000_0000, 33], 0);
    words("shr.s32 %r0, %r1, %r2;", &[0x8000_0000, 33], M32);
    words("shr.s32 %r0, %r1, 4;", &[0x8000_0000], 0xF800_0000);
    assert_eq!(eval("shr.s64 %d0, %d1, 63;", &[("%d1", 1 << 63)]), u64::MAX);
    halves("shl.b16 %h0, %h1, 8;", &[0x1FF], 0xFF00);
    halves("shr.s16 %h0, %h1, 8;", &[0x8000], 0xFF80);
    words("shf.l.wrap.b32 %r0, %r1, %r2, %r3;", &[0x8000_0000, 1, 33], 3);
    words("shf.l.clamp.b32 %r0, %r1, %r2, %r3;", &[0x1234, 1, 40], 0x1234);
    words("shf.r.wrap.b32 %r0, %r1, %r2, %r3;", &[0x8000_0000, 1, 31], 3);
    words("shf.r.clamp.b32 %r0, %r1, %r2, %r3;", &[0x1234, 77, 32], 77);
}

#[test]
fn moves_and_parts() {
    words("mov.b32 %r0, %r1;", &[77], 77);
    words("mov.u32 %r0, -1;", &[], M32);
    words("mov.f32 %r0, 0f3F800000;", &[], 0x3F80_0000);
    words("mov.f32 %r0, 1.5;", &[], 0x3FC0_0000);
    doubles("mov.f64 %d0, 0d3FF8000000000000;", &[], 1.5_f64.to_bits());
    assert_eq!(eval("mov.b64 %d0, {%r1, %r2};", &[("%r1", 1), ("%r2", 2)]), 0x2_0000_0001);
    assert_eq!(eval("mov.b32 %r0, {%h1, %h2};", &[("%h1", 1), ("%h2", 2)]), 0x2_0001);
    let ran = run("mov.b64 {%r0, _}, %d1; mov.b64 {_, %r1}, %d1;", &[("%d1", 0x2_0000_0001)]);
    let ran = ran.unwrap();
    assert_eq!((ran.get("%r0"), ran.get("%r1")), (1, 2));
    let ran = run("mov.b64 {%h0, %h1, %h2, %h3}, %d1;", &[("%d1", 0x4_0003_0002_0001)]).unwrap();
    assert_eq!(["%h0", "%h1", "%h2", "%h3"].map(|name| ran.get(name)), [1, 2, 3, 4]);
}

#[test]
fn selections() {
    for (p, expected) in [(1, 5), (0, 6)] {
        assert_eq!(eval("selp.b32 %r0, %r1, 6, %p1;", &[("%r1", 5), ("%p1", p)]), expected);
    }
    words("slct.u32.s32 %r0, %r1, %r2, %r3;", &[1, 2, M32], 2);
    words("slct.u32.s32 %r0, %r1, %r2, %r3;", &[1, 2, 0], 1);
    words("slct.b32.f32 %r0, %r1, %r2, %r3;", &[1, 2, 0x8000_0000], 1);
    words("slct.b32.f32 %r0, %r1, %r2, %r3;", &[1, 2, 0x7FC0_0000], 2);
    words("slct.b32.f32 %r0, %r1, %r2, %r3;", &[1, 2, 0x8000_0001], 2);
    words("slct.ftz.b32.f32 %r0, %r1, %r2, %r3;", &[1, 2, 0x8000_0001], 1);
    words("prmt.b32 %r0, %r1, %r2, 0x5410;", &[0x3322_1100, 0x7766_5544], 0x5544_1100);
    words("prmt.b32 %r0, %r1, %r2, 0x9C80;", &[0x3322_8011, 0x7766_55C4], 0xFFFF_0011);
    words("prmt.b32.f4e %r0, %r1, %r2, 1;", &[0x3322_1100, 0x7766_5544], 0x4433_2211);
    words("prmt.b32.b4e %r0, %r1, %r2, 0;", &[0x3322_1100, 0x7766_5544], 0x5566_7700);
    words("prmt.b32.rc16 %r0, %r1, %r2, 1;", &[0x3322_1100, 0], 0x3322_3322);
    words("prmt.b32.ecl %r0, %r1, %r2, 2;", &[0x3322_1100, 0], 0x3322_2222);
    words("prmt.b32.ecr %r0, %r1, %r2, 2;", &[0x3322_1100, 0], 0x2222_1100);
}

#[test]
fn comparisons() {
    let compare = |text: &str, a: u64, b: u64| {
        let ran = run(text, &[("%r1", a), ("%r2", b), ("%p3", 1)]).unwrap();
        (ran.get("%p0"), ran.get("%p1"))
    };
    assert_eq!(compare("setp.lt.s32 %p0|%p1, %r1, %r2;", M32, 0), (1, 0));
    assert_eq!(compare("setp.lt.u32 %p0|%p1, %r1, %r2;", M32, 0), (0, 1));
    assert_eq!(compare("setp.lo.u32 %p0|%p1, %r1, 4;", 3, 0), (1, 0));
    assert_eq!(compare("setp.hs.u32 %p0|%p1, 4, %r1;", 3, 0), (1, 0));
    assert_eq!(compare("setp.ne.and.b32 %p0|%p1, %r1, %r2, !%p3;", 1, 2), (0, 0));
    assert_eq!(compare("setp.eq.xor.s32 %p0|%p1, %r1, %r2, %p3;", 2, 2), (0, 1));
    let inputs = [("%r1", 1), ("%r2", 2), ("%p3", 1)];
    assert_eq!(eval("setp.ge.or.s32 %p0|_, %r1, %r2, %p3;", &inputs), 1);
    let (one, two, nan) = (0x3F80_0000, 0x4000_0000, 0x7FC0_0000);
    assert_eq!(compare("setp.lt.f32 %p0|%p1, %r1, %r2;", one, two), (1, 0));
    assert_eq!(compare("setp.lt.f32 %p0|%p1, %r1, %r2;", one, nan), (0, 1));
    assert_eq!(compare("setp.ltu.f32 %p0|%p1, %r1, %r2;", one, nan), (1, 0));
    assert_eq!(compare("setp.ne.f32 %p0|%p1, %r1, %r2;", one, nan), (0, 1));
    assert_eq!(compare("setp.neu.f32 %p0|%p1, %r1, %r2;", one, nan), (1, 0));
    assert_eq!(compare("setp.num.f32 %p0|%p1, %r1, %r2;", one, two), (1, 0));
    assert_eq!(compare("setp.nan.f32 %p0|%p1, %r1, %r2;", one, nan), (1, 0));
    assert_eq!(compare("setp.eq.f32 %p0|%p1, %r1, %r2;", 0x8000_0000, 0), (1, 0));
    assert_eq!(compare("setp.gt.f32 %p0|%p1, %r1, %r2;", 1, 0), (1, 0));
    assert_eq!(compare("setp.gt.ftz.f32 %p0|%p1, %r1, %r2;", 1, 0), (0, 1));
    // Low halves 1 and 2, high halves 2 and 1.
    assert_eq!(compare("setp.lt.f16x2 %p0|%p1, %r1, %r2;", 0x4000_3C00, 0x3C00_4000), (1, 0));
    assert_eq!(compare("setp.gt.bf16x2 %p0|%p1, %r1, %r2;", 0x4000_3F80, 0x3F80_4000), (0, 1));

    words("set.eq.u32.s32 %r0, %r1, %r2;", &[4, 4], M32);
    words("set.lt.f32.f32 %r0, %r1, %r2;", &[one, two], one);
    words("set.gt.f16x2.f16x2 %r0, %r1, %r2;", &[0x4000_3C00, 0x3C00_4000], 0x3C00_0000);
    assert_eq!(eval("set.eq.f16.f16 %h0, %h1, %h1;", &[("%h1", 0x3C00)]), 0x3C00);
    assert_eq!(eval("set.le.bf16.bf16 %h0, %h1, %h1;", &[("%h1", 0x3F80)]), 0x3F80);
    assert_eq!(eval("set.ne.u16.f16 %h0, %h1, 0;", &[("%h1", 0x3C00)]), 0xFFFF);
}

#[test]
fn generic_addresses_come_back() {
    for space in ["shared", "local", "param", "global", "const", "shared::cluster"] {
        let text = format!("cvta.{space}.u64 %d0, %d1; cvta.to.{space}.u64 %d2, %d0;");
        let ran = run(&text, &[("%d1", 0x1230)]).unwrap();
        assert_eq!(ran.get("%d2"), 0x1230, "{space}");
        let text = format!("{text} isspacep.{space} %p0, %d0; isspacep.local %p1, %d0;");
        let ran = run(&text, &[("%d1", 0x1230)]).unwrap();
        assert_eq!((ran.get("%p0"), ran.get("%p1")), (1, u64::from(space == "local")), "{space}");
    }
}

proptest! {
    #[test]
    fn tables_of_three_bits(a: u32, b: u32, c: u32, table: u8) {
        let text = format!("lop3.b32 %r0, %r1, %r2, %r3, {table};");
        let found = eval(&text, &[("%r1", a.into()), ("%r2", b.into()), ("%r3", c.into())]);
        for i in 0..32 {
            let row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1;
            prop_assert_eq!(found >> i & 1, u64::from(table >> row & 1));
        }
    }

    #[test]
    fn bytes_go_where_selectors_say(a: u32, b: u32, c: u16) {
        let inputs = [("%r1", a.into()), ("%r2", b.into()), ("%r3", c.into())];
        let found = eval("prmt.b32 %r0, %r1, %r2, %r3;", &inputs) as u32;
        let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
        for (i, byte) in found.to_le_bytes().into_iter().enumerate() {
            let nibble = c >> (4 * i) & 15;
            let chosen = bytes[(nibble & 7) as usize];
            let expected = if nibble < 8 { chosen } else { (chosen.cast_signed() >> 7).cast_unsigned() };
            prop_assert_eq!(byte, expected);
        }
    }
}
