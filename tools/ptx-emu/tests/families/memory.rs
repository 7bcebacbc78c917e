//! Loads and stores: PTX ISA, "ld", "st".

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

#[test]
fn stores_keep_the_low_bytes() {
    let words = run(
        "",
        "mov.u32 %r0, 0x11223344; st.global.u8 [%out+1], %r0; st.global.u16 [%out+6], %r0;
         mov.b64 %rd0, 0x5566778899AABBCC; st.global.b32 [%out+8], %rd0;",
        3,
    );
    assert_eq!(words, [0x4400, 0x3344_0000, 0x99AA_BBCC]);
}

#[test]
fn vectors_are_in_order() {
    let words = run(
        "",
        "st.global.v2.b64 [%out], {1, 2};
         ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%out];
         st.global.v4.u32 [%out+16], {%r3, %r2, %r1, %r0};
         ld.global.v4.u16 {%h0, _, %h2, %h3}, [%out];
         st.global.u16 [%out+32], %h0;",
        9,
    );
    assert_eq!(words, [1, 0, 2, 0, 0, 2, 0, 1, 1]);
}

#[test]
fn generic_addresses_reach_every_space() {
    let words = run(
        ".shared .align 4 .b32 s; .local .align 4 .b32 l;",
        "mov.u64 %rd0, s; cvta.shared.u64 %rd1, %rd0; st.u32 [%rd1], 7; ld.shared.u32 %r0, [s];
         mov.u64 %rd2, l; cvta.local.u64 %rd3, %rd2; st.u32 [%rd3], 8; ld.local.u32 %r1, [l];
         cvta.to.global.u64 %rd4, %out; st.global.u32 [%rd4], %r0; st.u32 [%out+4], %r1;
         cvta.to.shared.u64 %rd5, %rd1; ld.shared.u32 %r2, [%rd5]; st.u32 [%out+8], %r2;",
        3,
    );
    assert_eq!(words, [7, 8, 7]);
}

#[test]
fn cache_operators_change_nothing() {
    let words = run(
        "",
        "createpolicy.fractional.L2::evict_first.b64 %rd0, 1.0;
         st.global.cs.u32 [%out], 5; st.volatile.global.u32 [%out+4], 6;
         ld.global.nc.L1::no_allocate.L2::128B.u32 %r0, [%out];
         ld.global.L2::cache_hint.u32 %r1, [%out+4], %rd0;
         prefetch.global.L2 [%out]; ld.relaxed.gpu.global.u32 %r2, [%out];
         st.global.v2.u32 [%out+8], {%r0, %r1}; st.release.sys.global.u32 [%out+16], %r2;",
        5,
    );
    assert_eq!(words, [5, 6, 5, 6, 5]);
}
