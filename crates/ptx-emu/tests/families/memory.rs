//! Loads and stores.

use super::run;

#[test]
fn bytes_are_extended_by_their_sign() {
    let words = run(
        ".shared .align 8 .b8 s[8];",
        "st.shared.u32 [s], 0x80FF7F01;
         ld.shared.u8 %r0, [s+3]; ld.shared.s8 %r1, [s+3]; ld.shared.s16 %r2, [s+2];
         ld.shared.u16 %r3, [s+2]; ld.shared.s32 %rd1, [s];
         st.global.v4.b32 [%out], {%r0, %r1, %r2, %r3};
         st.global.b64 [%out+16], %rd1;",
        6,
    );
    assert_eq!(words, [0x80, 0xFFFF_FF80, 0xFFFF_80FF, 0x80FF, 0x80FF_7F01, 0xFFFF_FFFF]);
}
