//! Atomic operations: PTX ISA, "atom", "red".

use ptx_emu::{Launch, Schedule};

use super::{run, try_run};

#[test]
fn operations_return_what_was_there() {
    let words = run(
        "",
        "atom.global.add.u32 %r0, [%out], 5; atom.global.add.s32 %r1, [%out], -2;
         atom.global.exch.b32 %r2, [%out], 10; atom.global.max.u32 %r3, [%out], 12;
         atom.global.min.s32 %r4, [%out], -1; atom.global.and.b32 %r5, [%out], 0xFF;
         atom.global.or.b32 %r6, [%out], 0x100; atom.global.xor.b32 %r7, [%out], 0x1FE;
         st.global.v4.u32 [%out+16], {%r0, %r1, %r2, %r3};
         st.global.v4.u32 [%out+32], {%r4, %r5, %r6, %r7};",
        12,
    );
    assert_eq!(words, [1, 0, 0, 0, 0, 5, 3, 10, 12, 0xFFFF_FFFF, 0xFF, 0x1FF]);
}

#[test]
fn modifiers_come_in_the_orders_that_compilers_use() {
    let words = run(
        "",
        "atom.global.cta.add.u32 %r0, [%out], 5; atom.add.acquire.cta.u32 %r1, [%out], 2;
         atom.relaxed.gpu.global.add.u32 %r2, [%out], 1; red.release.sys.global.add.u32 [%out], 1;
         st.global.v4.u32 [%out+16], {%r0, %r1, %r2, %r0};",
        8,
    );
    assert_eq!(words, [9, 0, 0, 0, 0, 5, 7, 0]);
}

#[test]
fn compare_and_swap_and_counters() {
    let words = run(
        "",
        "atom.global.cas.b32 %r0, [%out], 0, 4; atom.global.cas.b32 %r1, [%out], 0, 9;
         atom.global.inc.u32 %r2, [%out], 4; atom.global.dec.u32 %r3, [%out], 6;
         atom.global.cas.b64 %rd0, [%out+8], 0, 0x100000002; red.global.add.u64 [%out+8], 1;
         atom.global.cas.b16 %h0, [%out+18], 0, 3;
         st.global.v4.u32 [%out+32], {%r0, %r1, %r2, %r3};",
        12,
    );
    assert_eq!(words, [6, 0, 3, 1, 0x3_0000, 0, 0, 0, 0, 4, 4, 0]);
}

#[test]
fn floats_are_summed() {
    let words = run(
        "",
        "red.global.add.f32 [%out], 0f3FC00000; red.global.add.f32 [%out], 0f40000000;
         mov.b32 %r0, 0x3C004000; red.global.add.noftz.f16x2 [%out+4], %r0;
         red.global.add.noftz.f16x2 [%out+4], %r0;
         mov.b32 %r1, 0x3F804000; red.global.add.noftz.bf16x2 [%out+8], %r1;
         red.global.add.f64 [%out+16], 0d3FF8000000000000;
         mov.f32 %f0, 0f3F800000;
         red.global.add.v4.f32 [%out+32], {%f0, %f0, %f0, 0f40400000};
         red.global.add.f32 [%out+48], 0f00000001;",
        13,
    );
    let one = 0x3F80_0000;
    assert_eq!(words[..3], [0x4060_0000, 0x4000_4400, 0x3F80_4000]);
    assert_eq!(words[4..6], [0, 0x3FF8_0000]);
    assert_eq!(words[8..], [one, one, one, 0x4040_0000, 0]);
}

#[test]
fn every_thread_counts_in_shared_and_global_memory() {
    let body = "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.u32 [s], 0;
        bar.sync 0; atom.shared.add.u32 %r1, [s], 1; red.global.add.u32 [%out], 1;
        bar.sync 0; ld.shared.u32 %r2, [s]; @%p0 red.global.max.u32 [%out+4], %r2;";
    for seed in 0..4 {
        let launch =
            Launch::grid(20, 1, 1).block(96, 1, 1).schedule(Schedule::Random(seed)).workers(4);
        let (words, _) = try_run(".shared .align 4 .b32 s;", body, &launch, 2)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(words, [1920, 96]);
    }
}

#[test]
fn a_last_cta_sees_what_the_others_released() {
    // Every CTA stores a word, then counts itself; the last one sums the words up.
    let body = "mov.u32 %r0, %ctaid.x; mul.wide.u32 %rd0, %r0, 4; add.u64 %rd1, %out, %rd0;
        st.global.u32 [%rd1+8], %r0; fence.acq_rel.gpu;
        atom.global.add.u32 %r1, [%out], 1; fence.acq_rel.gpu;
        setp.ne.u32 %p0, %r1, 9; @%p0 exit;
        mov.u32 %r2, 0; mov.u32 %r3, 0; mov.u64 %rd2, %out;
        next: ld.global.u32 %r4, [%rd2+8]; add.u32 %r3, %r3, %r4; add.u64 %rd2, %rd2, 4;
        add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 10; @%p1 bra next;
        st.global.u32 [%out+4], %r3;";
    let launch = Launch::grid(10, 1, 1).block(1, 1, 1).workers(3);
    // How the workers' CTAs meet differs from run to run.
    for _ in 0..500 {
        let (words, _) = try_run("", body, &launch, 12).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(words[..2], [10, 45]);
    }
    // Without the second fence the sum races with the stores.
    let racy = body.replacen("[%out], 1; fence.acq_rel.gpu;", "[%out], 1;", 1);
    let error = try_run("", &racy, &launch, 12).err().map(|error| error.to_string());
    assert!(error.as_deref().is_some_and(|text| text.starts_with("race")), "{error:?}");
}
