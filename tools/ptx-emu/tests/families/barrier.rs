//! Barriers: PTX ISA, "bar, barrier", "bar.warp.sync", "barrier.cluster".

use ptx_emu::{Launch, LaunchError, Schedule};

use super::try_run;

/// The words that threads leave in `%r31`; runs in several schedules, which must agree.
fn by_thread(variables: &str, body: &str, launch: &Launch, threads: usize) -> Vec<u32> {
    let body = format!(
        "mov.u32 %r0, %tid.x; {body}
         mov.u32 %r30, %ctaid.x; mov.u32 %r29, %ntid.x; mad.lo.u32 %r30, %r30, %r29, %r0;
         mul.wide.u32 %rd0, %r30, 4; add.u64 %rd0, %out, %rd0; st.global.u32 [%rd0], %r31;"
    );
    let run = |launch: &Launch| match try_run(variables, &body, launch, threads) {
        Ok((words, _)) => words,
        Err(error) => panic!("{error}"),
    };
    let words = run(launch);
    for seed in 0..8 {
        assert_eq!(run(&launch.clone().schedule(Schedule::Random(seed))), words);
    }
    words
}

/// Every thread stores its number and loads another's.
const EXCHANGE: &str = "mul.lo.u32 %r1, %r0, 4; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;
    st.shared.u32 [%r1], %r0; SYNC
    xor.b32 %r3, %r0, 32; mul.lo.u32 %r3, %r3, 4; add.u32 %r3, %r3, %r2;
    ld.shared.u32 %r31, [%r3];";

#[test]
fn a_barrier_orders_what_is_before_and_after() {
    let launch = Launch::grid(1, 1, 1).block(128, 1, 1);
    let expected: Vec<u32> = (0..128).map(|thread| thread ^ 32).collect();
    for sync in ["bar.sync 0;", "barrier.cta.sync.aligned 3;", "barrier.sync 15, 128;"] {
        let body = EXCHANGE.replace("SYNC", sync);
        assert_eq!(by_thread(".shared .align 4 .b32 s[128];", &body, &launch, 128), expected);
    }
}

#[test]
fn producers_arrive_and_consumers_wait() {
    let body = "mov.u32 %r31, 0; setp.lt.u32 %p0, %r0, 32; @%p0 bra produce;
        bar.sync 1, 64; ld.shared.u32 %r31, [s]; bra done;
        produce: setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [s], 77; bar.arrive 1, 64;
        done:";
    let launch = Launch::grid(1, 1, 1).block(64, 1, 1);
    let mut expected = vec![0; 32];
    expected.extend([77; 32]);
    assert_eq!(by_thread(".shared .align 4 .b32 s;", body, &launch, 64), expected);
}

#[test]
fn barriers_reduce() {
    let launch = Launch::grid(1, 1, 1).block(96, 1, 1);
    let body = "setp.lt.u32 %p0, %r0, 40; bar.red.popc.u32 %r31, 0, %p0;";
    assert_eq!(by_thread("", body, &launch, 96), vec![40; 96]);
    let body = "setp.lt.u32 %p0, %r0, 40; barrier.cta.red.and.aligned.pred %p1, 0, %p0;
        barrier.cta.red.or.aligned.pred %p2, 0, 96, !%p0;
        selp.b32 %r1, 1, 0, %p1; selp.b32 %r2, 2, 0, %p2; or.b32 %r31, %r1, %r2;";
    assert_eq!(by_thread("", body, &launch, 96), vec![2; 96]);
}

#[test]
fn threads_that_exit_are_not_waited_for() {
    let body = "setp.ge.u32 %p0, %r0, 40; @%p0 exit; barrier.sync 0; mov.u32 %r31, 5;";
    let launch = Launch::grid(1, 1, 1).block(96, 1, 1);
    let mut expected = vec![5; 40];
    expected.extend([0; 56]);
    assert_eq!(by_thread("", body, &launch, 96), expected);
    // An aligned barrier wants all of a warp, or none.
    let body = body.replace("barrier.sync", "bar.sync");
    let report = fails("", &format!("mov.u32 %r0, %tid.x; {body}"), &launch);
    assert!(report.contains("lanes ffffff00 have exited without it"), "{report}");
    let body = body.replace("40", "64");
    assert_eq!(by_thread("", &body, &launch, 96)[63..65], [5, 0]);
}

#[test]
fn lanes_sync_within_their_warp() {
    let body = EXCHANGE.replace("SYNC", "bar.warp.sync -1;").replace("%r0, 32;", "%r0, 1;");
    let launch = Launch::grid(1, 1, 1).block(64, 1, 1);
    let expected: Vec<u32> = (0..64).map(|thread| thread ^ 1).collect();
    assert_eq!(by_thread(".shared .align 4 .b32 s[64];", &body, &launch, 64), expected);
    // Also from different places.
    let body = "mov.u32 %r31, 0; setp.lt.u32 %p0, %r0, 16; @%p0 bra one;
        bar.warp.sync -1; ld.shared.u32 %r31, [s]; bra done;
        one: setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [s], 9; bar.warp.sync -1;
        done:";
    let mut expected = vec![0; 16];
    expected.extend([9; 16]);
    let launch = Launch::grid(1, 1, 1);
    assert_eq!(by_thread(".shared .align 4 .b32 s;", body, &launch, 32), expected);
}

/// What CTA 1 of a cluster of two finds: `%r1` is its rank, `%r31` a word of the output for each CTA.
fn in_cluster(variables: &str, body: &str) -> Result<Vec<u32>, LaunchError> {
    let start = "mov.u32 %r1, %cluster_ctarank;
        barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";
    let end = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        mul.wide.u32 %rd15, %r1, 4; add.u64 %rd15, %out, %rd15; st.global.u32 [%rd15], %r31;";
    let launch = Launch::grid(2, 1, 1).block(1, 1, 1).cluster(2, 1, 1);
    try_run(variables, &format!("{start}\n{body}\n{end}"), &launch, 2).map(|(words, _)| words)
}

#[test]
fn shared_addresses_have_the_rank_of_their_cta() {
    let found = |body: &str| in_cluster(".shared .align 16 .b8 s[64];", body).unwrap();
    assert_eq!(found("mov.u32 %r31, s;"), [0x400, 0x100_0400]);
    assert_eq!(found("mov.u32 %r31, s+8;"), [0x408, 0x100_0408]);
    let generic = "cvta.shared.u64 %rd0, s; cvta.to.shared.u64 %rd1, %rd0; cvt.u32.u64 %r31, %rd1;";
    assert_eq!(found(generic), [0x400, 0x100_0400]);
    assert_eq!(found("mapa.shared::cluster.u32 %r31, s, 1;"), [0x100_0400; 2]);
    assert_eq!(found("mapa.shared::cluster.u32 %r31, s, %r1;"), [0x400, 0x100_0400]);
    let window = |space: &str, rank: u32| {
        found(&format!(
            "mapa.shared::cluster.u32 %r2, s, {rank}; cvt.u64.u32 %rd0, %r2;
             cvta.shared::cluster.u64 %rd1, %rd0; isspacep.{space} %p0, %rd1; selp.u32 %r31, 1, 0, %p0;"
        ))
    };
    assert_eq!([window("shared", 0), window("shared::cta", 1)], [[1, 0], [0, 1]]);
    assert_eq!(window("shared::cluster", 1), [1, 1]);
}

#[test]
fn an_address_without_a_rank_is_in_the_first_cta() {
    let masked = "st.shared.u32 [s], %r1; mov.u32 %r2, s; and.b32 %r2, %r2, 0xffffff;
        barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";
    let load =
        |load: &str| in_cluster(".shared .align 16 .b8 s[64];", &format!("{masked}\n{load}"));
    assert_eq!(load("ld.shared::cluster.u32 %r31, [%r2];").unwrap(), [0, 0]);
    let generic = "cvt.u64.u32 %rd0, %r2; cvta.shared.u64 %rd0, %rd0; ld.u32 %r31, [%rd0];";
    assert_eq!(load(generic).unwrap(), [0, 0]);
    let error = load("ld.shared.u32 %r31, [%r2];").unwrap_err().to_string();
    assert!(error.contains("that is CTA 0 of the cluster"), "{error}");
    let error = load("mbarrier.init.shared.b64 [%r2+8], 1;").unwrap_err().to_string();
    assert!(error.contains("CTA 0 of the cluster, not in the executing one"), "{error}");
}

#[test]
fn clusters_share_their_memory() {
    let body = "mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p0, %r0, 0;
        add.u32 %r2, %r1, 100; @%p0 st.shared.u32 [s], %r2;
        barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
        xor.b32 %r3, %r1, 1; mov.u32 %r4, s; mapa.shared::cluster.u32 %r5, %r4, %r3;
        ld.shared::cluster.u32 %r31, [%r5];
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    let launch = Launch::grid(4, 1, 1).block(32, 1, 1).cluster(2, 1, 1);
    let words = by_thread(".shared .align 4 .b32 s;", body, &launch, 128);
    let expected: Vec<u32> = (0..128).map(|thread| 100 + ((thread / 32) ^ 1) % 2).collect();
    assert_eq!(words, expected);
}

fn fails(variables: &str, body: &str, launch: &Launch) -> String {
    match try_run(variables, body, launch, 1024) {
        Ok(_) => panic!("no report"),
        Err(LaunchError::Fault(fault)) => fault.to_string(),
        Err(other) => other.to_string(),
    }
}

#[test]
fn misuse_is_reported() {
    let launch = Launch::grid(1, 1, 1).block(64, 1, 1);
    let report = fails("", "bar.sync 16;", &launch);
    assert!(report.contains("no barrier 16"), "{report}");
    let report = fails("", "bar.sync 1, 40;", &launch);
    assert!(report.contains("multiple of 32"), "{report}");
    let body = "mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 32; @%p0 bar.arrive 1, 64;
        @!%p0 bar.sync 1;";
    let report = fails("", body, &launch);
    assert!(report.contains("now all"), "{report}");
    let report = fails("", "barrier.cluster.wait.aligned;", &launch);
    assert!(report.contains("without barrier.cluster.arrive"), "{report}");
}
