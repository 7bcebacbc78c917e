//! What runs on its own: copies, their groups and mbarriers, and the matrices of warps.
//!
//! Every kernel runs under all timings; results may not differ.

use ptx_emu::{Launch, Schedule, Timing};

use super::{kernel, try_run};

/// Runs a kernel under all timings; the words of its output.
fn run_all(variables: &str, body: &str, launch: &Launch, words: usize) -> Vec<u32> {
    let mut found: Option<Vec<u32>> = None;
    for timing in [Timing::Late, Timing::Eager, Timing::Random(1)] {
        for schedule in [Schedule::Fixed, Schedule::Random(2)] {
            let launch = launch.clone().timing(timing).schedule(schedule).step_limit(1 << 22);
            match try_run(variables, body, &launch, words) {
                Ok((words, _)) => assert_eq!(found.get_or_insert_with(|| words.clone()), &words),
                Err(error) => panic!("{timing:?}, {schedule:?}: {error}\n{}", kernel("", body)),
            }
        }
    }
    found.unwrap_or_default()
}

fn one() -> Launch {
    Launch::grid(1, 1, 1).block(1, 1, 1)
}

fn warp() -> Launch {
    Launch::grid(1, 1, 1).block(32, 1, 1)
}

#[test]
fn bulk_reductions_add_to_global_memory() {
    let words = run_all(
        ".shared .align 16 .b8 s[16];",
        "mov.u32 %r0, 7; mov.u32 %r1, 0x3c00c000;
         st.shared.v4.b32 [s], {%r0, %r0, %r1, %r1};
         fence.proxy.async.shared::cta;
         cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [s], 16;
         cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [s], 16;
         cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%out+16], [s], 16;
         cp.async.bulk.commit_group;
         cp.async.bulk.wait_group 0;",
        &one(),
        8,
    );
    assert_eq!(words[..4], [14, 14, 0x7801_8000, 0x7801_8000]);
    assert_eq!(words[6..], [0x3c00_c000, 0x3c00_c000]);
}

#[test]
fn short_copies_are_filled_with_zeros() {
    let words = run_all(
        ".shared .align 16 .b8 s[32];",
        "mov.u32 %r0, 1; mov.u32 %r1, 2;
         st.global.v4.b32 [%out], {%r0, %r1, %r0, %r1};
         cp.async.ca.shared.global [s], [%out], 16, 8;
         cp.async.commit_group;
         setp.eq.u32 %p0, %r0, 1;
         cp.async.ca.shared.global [s+16], [%out], 16, %p0;
         cp.async.wait_all;
         ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [s];
         st.global.v4.b32 [%out+16], {%r2, %r3, %r4, %r5};
         ld.shared.b32 %r6, [s+16];
         st.global.b32 [%out+32], %r6;",
        &one(),
        9,
    );
    assert_eq!(words, [1, 2, 1, 2, 1, 2, 0, 0, 0]);
}

#[test]
fn copies_arrive_on_mbarriers() {
    for (arrive, more) in [(".noinc", ""), ("", "mbarrier.arrive.shared.b64 %rd1, [m];")] {
        let body = format!(
            "mov.u32 %r0, 5; st.global.b32 [%out+4], %r0;
             mbarrier.init.shared.b64 [m], 1;
             cp.async.ca.shared.global [s], [%out+4], 4;
             cp.async.mbarrier.arrive{arrive}.shared.b64 [m];
             {more}
             w: mbarrier.try_wait.parity.shared.b64 %p0, [m], 0;
             @!%p0 bra w;
             ld.shared.b32 %r1, [s]; st.global.b32 [%out], %r1;"
        );
        let variables = ".shared .align 8 .b64 m; .shared .align 4 .b32 s;";
        assert_eq!(run_all(variables, &body, &one(), 2), [5, 5]);
    }
}

#[test]
fn tokens_tell_phases_and_pending_arrivals() {
    let words = run_all(
        ".shared .align 8 .b64 m;",
        "mbarrier.init.shared.b64 [m], 3;
         mbarrier.arrive.noComplete.shared.b64 %rd1, [m], 2;
         mbarrier.pending_count.b64 %r1, %rd1;
         st.global.b32 [%out], %r1;
         mbarrier.test_wait.shared.b64 %p1, [m], %rd1;
         selp.u32 %r2, 1, 0, %p1;
         st.global.b32 [%out+4], %r2;
         mbarrier.arrive_drop.shared.b64 %rd2, [m];
         mbarrier.test_wait.shared.b64 %p1, [m], %rd1;
         selp.u32 %r2, 1, 0, %p1;
         st.global.b32 [%out+8], %r2;
         mbarrier.arrive.shared.b64 %rd3, [m], 2;
         mbarrier.test_wait.parity.shared.b64 %p1, [m], 1;
         selp.u32 %r2, 1, 0, %p1;
         st.global.b32 [%out+12], %r2;",
        &one(),
        4,
    );
    assert_eq!(words, [3, 0, 1, 1]);
}

#[test]
fn a_thread_may_spin_on_a_phase() {
    let words = run_all(
        ".shared .align 8 .b64 m; .shared .align 16 .b8 s[16];",
        "mov.u32 %r0, 9; st.global.b32 [%out], %r0;
         st.global.v4.b32 [%out+16], {%r0, %r0, %r0, %r0};
         fence.proxy.async;
         mbarrier.init.shared.b64 [m], 1;
         mbarrier.arrive.expect_tx.shared.b64 %rd1, [m], 16;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%out+16], 16, [m];
         w: mbarrier.test_wait.shared.b64 %p0, [m], %rd1;
         @!%p0 bra w;
         ld.shared.b32 %r1, [s+12]; st.global.b32 [%out+4], %r1;",
        &one(),
        8,
    );
    assert_eq!(words[..2], [9, 9]);
}

#[test]
fn a_peer_is_reached_through_mapa() {
    let words = run_all(
        ".shared .align 8 .b64 m; .shared .align 16 .b8 s[32];",
        "mov.u32 %r0, %cluster_ctarank;
         setp.eq.u32 %p0, %r0, 1;
         mbarrier.init.shared.b64 [m], 2;
         fence.mbarrier_init.release.cluster;
         barrier.cluster.arrive.release.aligned;
         barrier.cluster.wait.acquire.aligned;
         @%p0 bra second;
         mbarrier.arrive.expect_tx.shared.b64 %rd1, [m], 16;
         w: mbarrier.try_wait.acquire.cluster.shared.b64 %p1, [m], %rd1;
         @!%p1 bra w;
         ld.shared.b32 %r1, [s]; st.global.b32 [%out], %r1;
         ld.shared.b32 %r1, [s+28]; st.global.b32 [%out+4], %r1;
         bra end;
         second:
         mov.u32 %r2, 21; mov.u32 %r3, 22;
         st.shared.v4.b32 [s], {%r3, %r3, %r3, %r3};
         fence.proxy.async.shared::cta;
         mapa.shared::cluster.u32 %r4, s, 0;
         mapa.shared::cluster.u32 %r5, m, 0;
         getctarank.shared::cluster.u32 %r6, %r4;
         st.shared::cluster.b32 [%r4], %r2;
         cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
             [%r4+16], [s], 16, [%r5];
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
         st.global.b32 [%out+8], %r6;
         end:
         barrier.cluster.arrive.release;
         barrier.cluster.wait.acquire;",
        &Launch::grid(2, 1, 1).block(1, 1, 1).cluster(2, 1, 1),
        3,
    );
    assert_eq!(words, [21, 22, 0]);
}

#[test]
fn matrices_are_stored_loaded_and_transposed() {
    // Lane l holds elements 2l and 2l + 1 of a matrix of 8 rows.
    let words = run_all(
        ".shared .align 16 .b8 s[128];",
        "mov.u32 %r0, %laneid;
         shl.b32 %r1, %r0, 1; add.u32 %r2, %r1, 1; shl.b32 %r2, %r2, 16; or.b32 %r1, %r1, %r2;
         mov.u32 %r3, s; and.b32 %r4, %r0, 7; shl.b32 %r4, %r4, 4; add.u32 %r3, %r3, %r4;
         stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r1};
         bar.warp.sync 0xffffffff;
         ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r5}, [%r3];
         movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r5;
         mul.wide.u32 %rd1, %r0, 8; add.u64 %rd1, %out, %rd1;
         st.global.v2.b32 [%rd1], {%r5, %r6};",
        &warp(),
        64,
    );
    for lane in 0..32u32 {
        let (row, col) = (lane / 4, lane % 4 * 2);
        let transposed = (col * 8 + row) | (((col + 1) * 8 + row) << 16);
        assert_eq!(words[lane as usize * 2], transposed);
        assert_eq!(words[lane as usize * 2 + 1], (2 * lane) | ((2 * lane + 1) << 16));
    }
}

#[test]
fn warps_multiply() {
    let words = run_all(
        "",
        "mov.u32 %r0, 0x3c003c00; mov.u32 %r1, 0x40004000;
         mov.f32 %f0, 0f3F800000;
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
             {%f1, %f2, %f3, %f4}, {%r0, %r0, %r0, %r0}, {%r1, %r1}, {%f0, %f0, %f0, %f0};
         mov.u32 %r2, %laneid; mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %out, %rd1;
         st.global.f32 [%rd1], %f4;",
        &warp(),
        32,
    );
    assert_eq!(words, [33f32.to_bits(); 32]);
}
