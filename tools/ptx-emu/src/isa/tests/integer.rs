use proptest::prelude::*;

use super::{doubles, eval, halves, run, words};

const M32: u64 = 0xFFFF_FFFF;

#[test]
fn sums_and_differences() {
    words("add.s32 %r0, %r1, %r2;", &[M32, 2], 1);
    words("add.u32 %r0, %r1, -1;", &[5], 4);
    words("sub.s32 %r0, 3, %r1;", &[5], 0xFFFF_FFFE);
    words("add.sat.s32 %r0, %r1, 1;", &[0x7FFF_FFFF], 0x7FFF_FFFF);
    words("sub.sat.s32 %r0, %r1, 1;", &[0x8000_0000], 0x8000_0000);
    words("add.u16x2 %r0, %r1, %r2;", &[0xFFFF_0001, 0x0001_FFFF], 0);
    words("sub.s16x2 %r0, %r1, %r2;", &[0x0000_0005, 0x0001_0003], 0xFFFF_0002);
    doubles("add.s64 %d0, %d1, %d2;", &[u64::MAX, 2], 1);
    halves("add.s16 %h0, %h1, %h2;", &[0xFFFF, 3], 2);
    halves("sub.u16 %h0, %h1, %h2;", &[1, 3], 0xFFFE);
}

#[test]
fn carries_run_through_chains() {
    // 2^64 - 1 plus 1, in two words; then minus 1 again.
    let chain = "add.cc.u32 %r0, %r1, 1; addc.cc.u32 %r3, %r2, 0; addc.u32 %r4, 0, 0;
                 sub.cc.u32 %r5, %r0, 1; subc.cc.u32 %r6, %r3, 0; subc.u32 %r7, %r4, 0;";
    let ran = run(chain, &[("%r1", M32), ("%r2", M32)]).unwrap();
    let results = ["%r0", "%r3", "%r4", "%r5", "%r6", "%r7"].map(|name| ran.get(name));
    assert_eq!(results, [0, 0, 1, M32, M32, 0]);

    let product = "mad.lo.cc.u32 %r0, %r1, %r2, %r3; madc.hi.u32 %r4, %r1, %r2, 0;";
    let ran = run(product, &[("%r1", M32), ("%r2", M32), ("%r3", M32)]).unwrap();
    let expected = M32 * M32 + M32;
    assert_eq!(ran.get("%r4") << 32 | ran.get("%r0"), expected);
}

#[test]
fn products() {
    words("mul.lo.s32 %r0, %r1, %r2;", &[0xFFFF_FFFD, 5], 0xFFFF_FFF1);
    words("mul.hi.s32 %r0, %r1, %r2;", &[0xFFFF_FFFD, 5], M32);
    words("mul.hi.u32 %r0, %r1, %r2;", &[0xFFFF_FFFD, 5], 4);
    doubles("mul.hi.u64 %d0, %d1, %d2;", &[u64::MAX, u64::MAX], u64::MAX - 1);
    doubles("mul.hi.s64 %d0, %d1, %d2;", &[u64::MAX, 7], u64::MAX);
    assert_eq!(eval("mul.wide.s32 %d0, %r1, -2;", &[("%r1", 3)]), (-6_i64).cast_unsigned());
    assert_eq!(eval("mul.wide.u32 %d0, %r1, %r1;", &[("%r1", M32)]), M32 * M32);
    assert_eq!(eval("mul.wide.u16 %r0, %h1, 3;", &[("%h1", 0xFFFF)]), 0x2_FFFD);
    assert_eq!(eval("mul.wide.s16 %r0, %h1, 3;", &[("%h1", 0xFFFF)]), 0xFFFF_FFFD);
    words("mad.lo.s32 %r0, %r1, %r2, %r3;", &[7, 6, 0xFFFF_FFFF], 41);
    words("mad.hi.sat.s32 %r0, %r1, %r2, %r3;", &[0x4000_0000, 8, 0x7FFF_FFFF], 0x7FFF_FFFF);
    assert_eq!(eval("mad.wide.u32 %d0, %r1, 4, %d1;", &[("%r1", M32), ("%d1", 4)]), 1 << 34);
    words("mul24.lo.s32 %r0, %r1, %r2;", &[0x00FF_FFFF, 5], 0xFFFF_FFFB);
    words("mul24.hi.u32 %r0, %r1, %r2;", &[0xFFFF_FFFF, 0x0001_0000], 0x00FF_FFFF);
    words("mad24.lo.u32 %r0, %r1, %r2, %r3;", &[0x0100_0003, 5, 1], 16);
}

#[test]
fn quotients() {
    words("div.s32 %r0, %r1, %r2;", &[0xFFFF_FFF9, 2], 0xFFFF_FFFD);
    words("rem.s32 %r0, %r1, %r2;", &[0xFFFF_FFF9, 2], M32);
    words("div.u32 %r0, %r1, 0;", &[7], M32);
    words("div.s32 %r0, %r1, -1;", &[0x8000_0000], 0x8000_0000);
    words("rem.s32 %r0, %r1, -1;", &[0x8000_0000], 0);
    doubles("rem.u64 %d0, %d1, %d2;", &[u64::MAX, 10], 5);
}

#[test]
fn signs_and_bounds() {
    words("abs.s32 %r0, %r1;", &[0xFFFF_FFF9], 7);
    words("neg.s32 %r0, %r1;", &[7], 0xFFFF_FFF9);
    halves("neg.s16 %h0, %h1;", &[1], 0xFFFF);
    words("min.s32 %r0, %r1, %r2;", &[0xFFFF_FFFF, 1], M32);
    words("min.u32 %r0, %r1, %r2;", &[0xFFFF_FFFF, 1], 1);
    words("max.relu.s32 %r0, %r1, %r2;", &[0xFFFF_FFFF, 0xFFFF_FFFE], 0);
    words("max.s16x2 %r0, %r1, %r2;", &[0xFFFF_0005, 0x0001_FFFF], 0x0001_0005);
    words("max.u16x2 %r0, %r1, %r2;", &[0xFFFF_0005, 0x0001_FFFF], 0xFFFF_FFFF);
    words("min.relu.s16x2 %r0, %r1, %r2;", &[0xFFFF_0005, 0x0001_0003], 3);
    words("sad.s32 %r0, %r1, %r2, %r3;", &[0xFFFF_FFFE, 3, 10], 15);
    words("sad.u32 %r0, %r1, %r2, %r3;", &[3, 10, 1], 8);
}

#[test]
fn dot_products_of_bytes() {
    // 1*1 + -1*2 + 127*3 + -128*4 + 10
    let expected = (1 - 2 + 381 - 512 + 10_i32) as u32;
    words("dp4a.s32.s32 %r0, %r1, %r2, %r3;", &[0x807F_FF01, 0x0403_0201, 10], expected.into());
    words("dp4a.u32.u32 %r0, %r1, %r2, %r3;", &[0xFF00_0001, 0x0200_0003, 10], 523);
    words("dp2a.lo.s32.u32 %r0, %r1, %r2, %r3;", &[0x0002_FFFF, 0x0A09_0403, 0], 5);
    words("dp2a.hi.s32.u32 %r0, %r1, %r2, %r3;", &[0x0002_FFFF, 0x0A09_0403, 0], 11);
}

#[test]
fn bits_counted_found_and_moved() {
    words("popc.b32 %r0, %r1;", &[0xF0F0_0001], 9);
    assert_eq!(eval("popc.b64 %r0, %d1;", &[("%d1", u64::MAX)]), 64);
    words("clz.b32 %r0, %r1;", &[1], 31);
    assert_eq!(eval("clz.b64 %r0, %d1;", &[("%d1", 0)]), 64);
    words("bfind.u32 %r0, %r1;", &[0x10], 4);
    words("bfind.shiftamt.u32 %r0, %r1;", &[0x10], 27);
    words("bfind.u32 %r0, %r1;", &[0], M32);
    words("bfind.s32 %r0, %r1;", &[0xFFFF_FFFF], M32);
    words("bfind.s32 %r0, %r1;", &[0xFFFF_FF0F], 7);
    words("brev.b32 %r0, %r1;", &[1], 0x8000_0000);
    words("bfe.u32 %r0, %r1, 4, 8;", &[0x1234_5678], 0x67);
    words("bfe.s32 %r0, %r1, 4, 4;", &[0x0000_0080], 0xFFFF_FFF8);
    words("bfe.s32 %r0, %r1, 28, 16;", &[0x8000_0000], 0xFFFF_FFF8);
    words("bfe.s32 %r0, %r1, 40, 4;", &[0x8000_0000], M32);
    words("bfe.u32 %r0, %r1, 0, 0;", &[M32], 0);
    words("bfi.b32 %r0, %r1, %r2, 8, 4;", &[0xABC, 0x1111_1111], 0x1111_1C11);
    words("bfi.b32 %r0, %r1, %r2, 32, 4;", &[0xABC, 0x1111_1111], 0x1111_1111);
    words("fns.b32 %r0, %r1, 3, 1;", &[0xAAAA_AAAA], 3);
    words("fns.b32 %r0, %r1, 2, -1;", &[0xAAAA_AAAA], 1);
    words("fns.b32 %r0, %r1, 2, 0;", &[0xAAAA_AAAA], M32);
    words("bmsk.clamp.b32 %r0, %r1, %r2;", &[4, 8], 0xFF0);
    words("bmsk.clamp.b32 %r0, %r1, %r2;", &[32, 8], 0);
    words("bmsk.wrap.b32 %r0, %r1, %r2;", &[36, 33], 0x10);
    words("szext.clamp.s32 %r0, %r1, 4;", &[0x8], 0xFFFF_FFF8);
    words("szext.wrap.u32 %r0, %r1, 32;", &[M32], 0);
}

proptest! {
    #[test]
    fn products_are_those_of_wide_integers(a: u64, b: u64, c: u64) {
        let inputs = [("%d1", a), ("%d2", b), ("%d3", c)];
        let (sa, sb) = (i128::from(a.cast_signed()), i128::from(b.cast_signed()));
        prop_assert_eq!(
            eval("mad.hi.u64 %d0, %d1, %d2, %d3;", &inputs),
            (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c)
        );
        prop_assert_eq!(eval("mul.hi.s64 %d0, %d1, %d2;", &inputs), ((sa * sb) >> 64) as u64);
        let inputs = [("%r1", a & M32), ("%r2", b & M32), ("%d3", c)];
        let (na, nb) = (a as i32, b as i32);
        prop_assert_eq!(
            eval("mad.wide.s32 %d0, %r1, %r2, %d3;", &inputs),
            (i64::from(na) * i64::from(nb)).wrapping_add(c.cast_signed()).cast_unsigned()
        );
        prop_assert_eq!(
            eval("mul.hi.s32 %r0, %r1, %r2;", &inputs),
            u64::from(((i64::from(na) * i64::from(nb)) >> 32) as u32)
        );
    }

    #[test]
    fn fields_are_taken_and_put_bit_by_bit(a: u32, b: u32, start in 0..70_u32, length in 0..70_u32) {
        let inputs = [
            ("%r1", a.into()), ("%r2", b.into()), ("%r3", start.into()), ("%r4", length.into()),
        ];
        let bit = |value: u32, i: u32| value >> i & 1;
        let sign = if length == 0 { 0 } else { bit(a, (start + length - 1).min(31)) };
        let (mut unsigned, mut signed, mut put) = (0, 0, b);
        for i in 0..32 {
            let inside = i < length && start + i <= 31;
            let taken = if inside { bit(a, start + i) } else { 0 };
            unsigned |= taken << i;
            signed |= if inside { taken } else { sign } << i;
            if inside {
                put = put & !(1 << (start + i)) | bit(a, i) << (start + i);
            }
        }
        prop_assert_eq!(eval("bfe.u32 %r0, %r1, %r3, %r4;", &inputs), unsigned.into());
        prop_assert_eq!(eval("bfe.s32 %r0, %r1, %r3, %r4;", &inputs), signed.into());
        prop_assert_eq!(eval("bfi.b32 %r0, %r1, %r2, %r3, %r4;", &inputs), put.into());
    }

    #[test]
    fn chains_add_and_subtract_like_wide_integers(a: u128, b: u128) {
        let low = |value: u128| value as u64;
        let high = |value: u128| (value >> 64) as u64;
        let inputs = [("%d1", low(a)), ("%d2", high(a)), ("%d3", low(b)), ("%d4", high(b))];
        let both = |text: &str| {
            let ran = run(text, &inputs).unwrap();
            u128::from(ran.get("%d6")) << 64 | u128::from(ran.get("%d5"))
        };
        prop_assert_eq!(
            both("add.cc.u64 %d5, %d1, %d3; addc.u64 %d6, %d2, %d4;"), a.wrapping_add(b)
        );
        prop_assert_eq!(
            both("sub.cc.s64 %d5, %d1, %d3; subc.s64 %d6, %d2, %d4;"), a.wrapping_sub(b)
        );
    }
}
