//! The machine: special registers, lanes that part, clusters that wait for each other, limits and
//! reports.

use ptx_emu::report::Problem;
use ptx_emu::{Device, Gpu, Launch, LaunchError, Module, Schedule};

use super::try_run;

fn words(variables: &str, body: &str, launch: &Launch, n: usize) -> Vec<u32> {
    match try_run(variables, body, launch, n) {
        Ok((words, _)) => words,
        Err(error) => panic!("{error}"),
    }
}

fn problem(variables: &str, body: &str, launch: &Launch) -> (Problem, u32) {
    match try_run(variables, body, launch, 64) {
        Err(LaunchError::Fault(fault)) => (fault.first.problem, fault.first.place.line),
        other => panic!("no fault: {other:?}"),
    }
}

/// Stores `%r31` in the word of the thread's number in the grid.
const STORE: &str = "mov.u32 %r28, %ctaid.x; mov.u32 %r29, %ntid.x; mov.u32 %r30, %tid.x;
    mad.lo.u32 %r28, %r28, %r29, %r30; mul.wide.u32 %rd15, %r28, 4;
    add.u64 %rd15, %out, %rd15; st.global.u32 [%rd15], %r31;";

#[test]
fn special_registers_say_where_a_thread_is() {
    let launch = Launch::grid(6, 4, 2).block(8, 4, 2).cluster(2, 2, 1).dynamic_shared(96);
    // Thread (3, 2, 1) of CTA (5, 1, 1) writes; it is in warp 1, lane 32·1 + 8·2 + 3 - 32.
    let mut body = "mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;
        mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ctaid.z;
        setp.ne.u32 %p0, %r0, 3; @%p0 exit; setp.ne.u32 %p0, %r1, 2; @%p0 exit;
        setp.ne.u32 %p0, %r2, 1; @%p0 exit; setp.ne.u32 %p0, %r3, 5; @%p0 exit;
        setp.ne.u32 %p0, %r4, 1; @%p0 exit; setp.ne.u32 %p0, %r5, 1; @%p0 exit;\n"
        .to_owned();
    let expected = [
        ("laneid", 19),
        ("warpid", 1),
        ("nwarpid", 2),
        ("ntid.x", 8),
        ("ntid.z", 2),
        ("nctaid.x", 6),
        ("nctaid.y", 4),
        ("clusterid.x", 2),
        ("clusterid.y", 0),
        ("clusterid.z", 1),
        ("nclusterid.x", 3),
        ("nclusterid.y", 2),
        ("cluster_ctaid.x", 1),
        ("cluster_ctaid.y", 1),
        ("cluster_nctaid.x", 2),
        ("cluster_ctarank", 3),
        ("cluster_nctarank", 4),
        ("lanemask_eq", 1 << 19),
        ("lanemask_le", (1 << 20) - 1),
        ("lanemask_lt", (1 << 19) - 1),
        ("lanemask_ge", u32::MAX << 19),
        ("lanemask_gt", u32::MAX << 20),
        ("dynamic_smem_size", 96),
        ("nsmid", 132),
    ];
    for (i, (name, _)) in expected.iter().enumerate() {
        body += &format!("mov.u32 %r7, %{name}; st.global.u32 [%out+{}], %r7;\n", 4 * i);
    }
    body += "mov.pred %p1, %is_explicit_cluster; selp.b32 %r7, 1, 0, %p1;
        st.global.u32 [%out+96], %r7;";
    let found = words("", &body, &launch, 25);
    for (i, (name, value)) in expected.iter().enumerate() {
        assert_eq!(found[i], *value, "%{name}");
    }
    assert_eq!(found[24], 1);
}

#[test]
fn clocks_go_on() {
    let body = "mov.u64 %rd0, %clock64; mov.u32 %r0, %clock; mov.u64 %rd1, %clock64;
        setp.gt.u64 %p0, %rd1, %rd0; mov.u64 %rd2, %globaltimer;
        selp.b32 %r1, 1, 0, %p0; st.global.u32 [%out], %r1;";
    assert_eq!(words("", body, &Launch::grid(1, 1, 1).block(1, 1, 1), 1), [1]);
}

#[test]
fn lanes_loop_as_long_as_each_must() {
    let body = format!(
        "mov.u32 %r0, %tid.x; mov.u32 %r31, 0;
         again: add.u32 %r31, %r31, 2; setp.lt.u32 %p0, %r31, %r0; @%p0 bra again; {STORE}"
    );
    let found = words("", &body, &Launch::grid(1, 1, 1), 32);
    let expected: Vec<u32> = (0..32).map(|lane: u32| lane.next_multiple_of(2).max(2)).collect();
    assert_eq!(found, expected);
}

#[test]
fn indexed_branches_scatter() {
    let body = format!(
        "mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 3;
         table: .branchtargets zero, one, two, one;
         brx.idx %r1, table;
         zero: mov.u32 %r31, 100; bra join;
         one: mov.u32 %r31, 101; bra join;
         two: mov.u32 %r31, 102;
         join: activemask.b32 %r2; add.u32 %r31, %r31, %r2; {STORE}"
    );
    let found = words("", &body, &Launch::grid(1, 1, 1), 32);
    let expected: Vec<u32> = (0..32).map(|lane| [99u32, 100, 101, 100][lane % 4]).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_lane_that_polls_lets_another_go_on() {
    // Lane 0 stands before the others in the code and waits for lane 1.
    let body = "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @!%p0 bra set;
        poll: ld.acquire.cta.shared.u32 %r1, [s]; setp.ne.u32 %p1, %r1, 5; @%p1 bra poll;
        ld.shared.u32 %r2, [s+4]; st.global.u32 [%out], %r2; bra done;
        set: setp.eq.u32 %p2, %r0, 1; @!%p2 bra done;
        st.shared.u32 [s+4], 77; st.release.cta.shared.u32 [s], 5;
        done:";
    let start = "mov.u32 %r9, %tid.x; setp.eq.u32 %p7, %r9, 0;
        @%p7 st.shared.u32 [s], 0; bar.warp.sync -1;";
    let variables = ".shared .align 4 .b32 s[2];";
    let body = format!("{start} {body}");
    assert_eq!(words(variables, &body, &Launch::grid(1, 1, 1), 1), [77]);
    // With an ordinary store of the flag it is a race.
    let racy = body.replace("st.release.cta.shared", "st.shared");
    assert!(matches!(problem(variables, &racy, &Launch::grid(1, 1, 1)).0, Problem::Race { .. }));
}

#[test]
fn clusters_that_poll_let_others_run() {
    // The first CTA waits for a word that the last one writes.
    let body = "mov.u32 %r0, %ctaid.x; setp.eq.u32 %p0, %r0, 7; @%p0 bra tell;
        setp.ne.u32 %p0, %r0, 0; @%p0 exit;
        poll: ld.acquire.gpu.global.u32 %r1, [%out]; setp.eq.u32 %p1, %r1, 0; @%p1 bra poll;
        st.global.u32 [%out+4], %r1; exit;
        tell: st.release.gpu.global.u32 [%out], 3;";
    let launch = Launch::grid(8, 1, 1).block(1, 1, 1).workers(1);
    assert_eq!(words("", body, &launch, 2), [3, 3]);
}

/// A barrier of the grid as `cooperative_groups` makes it, in the workspace of a cooperative launch.
const GRID_SYNC: &str = "bar.sync 0; @%p1 bra waitN;
    fence.acq_rel.gpu; atom.global.add.u32 %r5, [%rd0+4], %r4;
    pollN: ld.acquire.gpu.global.u32 %r6, [%rd0+4]; xor.b32 %r6, %r6, %r5;
    setp.ge.s32 %p3, %r6, 0; @%p3 bra pollN;
    waitN: bar.sync 0;";

#[test]
fn a_grid_meets_without_spinning() {
    // Every CTA stores its number, loads its neighbour's and stores that; the neighbour loads it again.
    let sync = |n: &str| GRID_SYNC.replace('N', n);
    let body = format!(
        "mov.b64 %rd0, {{%envreg2, %envreg1}}; setp.eq.u64 %p0, %rd0, 0; @%p0 trap;
         mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
         setp.ne.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r1, 0;
         sub.u32 %r3, 0x80000001, %r2; selp.b32 %r4, %r3, 1, %p2;
         mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %out, %rd1;
         add.u32 %r7, %r1, 1; rem.u32 %r7, %r7, %r2;
         mul.wide.u32 %rd2, %r7, 4; add.u64 %rd2, %out, %rd2;
         @!%p1 st.global.u32 [%rd1], %r1;
         {}
         @!%p1 ld.global.u32 %r8, [%rd2]; @!%p1 st.global.u32 [%rd1+64], %r8;
         {}
         @!%p1 ld.global.u32 %r8, [%rd2+64]; @!%p1 st.global.u32 [%rd1+128], %r8;",
        sync("1"),
        sync("2"),
    );
    let launch = Launch::grid(16, 1, 1).block(128, 1, 1).cooperative();
    let mut expected: Vec<u32> = (0..16).collect();
    expected.extend((0..16).map(|cta| (cta + 1) % 16));
    expected.extend((0..16).map(|cta| (cta + 2) % 16));
    for schedule in [Schedule::Fixed, Schedule::Random(1)] {
        let launch = launch.clone().schedule(schedule).workers(1);
        let (words, launched) = try_run("", &body, &launch, 48).unwrap();
        assert_eq!(words, expected);
        // 64 warps execute some 45 instructions each; the rest was spinning.
        let warps = launched.statistics.total.warps;
        assert!((2000..20_000).contains(&warps), "{schedule:?}: {warps}");
    }
    assert_eq!(words("", &body, &launch, 48), expected);
    // Other launches have no workspace, and larger grids are not resident at once.
    let alone = Launch::grid(16, 1, 1).block(128, 1, 1);
    assert_eq!(problem("", &body, &alone).0, Problem::Trap);
    let large = Launch::grid(133, 1, 1).block(128, 1, 1).cooperative();
    let refused = try_run("", &body, &large, 48).unwrap_err();
    assert!(refused.to_string().contains("132 clusters run at once"), "{refused}");
}

#[test]
fn locks_are_waited_for_without_spinning() {
    // A lock taken by compare-and-swap, in turns of four CTAs, each of two warps' first lanes.
    let body = "mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; setp.ne.u32 %p0, %r1, 0; @%p0 exit;
        take: atom.acquire.gpu.global.cas.b32 %r2, [%out], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra take;
        ld.global.u32 %r3, [%out+4]; add.u32 %r3, %r3, 1; st.global.u32 [%out+4], %r3;
        st.release.gpu.global.u32 [%out], 0;";
    let launch = Launch::grid(4, 1, 1).block(64, 1, 1);
    for seed in 0..4 {
        let launch = launch.clone().schedule(Schedule::Random(seed));
        let (words, launched) = try_run("", body, &launch.workers(1), 2).unwrap();
        assert_eq!(words, [0, 8]);
        assert!(launched.statistics.total.warps < 1000, "{:?}", launched.statistics.total);
    }
    assert_eq!(words("", body, &launch, 2), [0, 8]);
}

#[test]
fn the_systems_shared_memory_is_there_for_who_asks() {
    let body =
        "mov.u32 %r0, %reserved_smem_offset_1; cvt.u64.u32 %rd0, %r0; cvta.shared.u64 %rd0, %rd0;
        st.u64 [%rd0], 5; ld.shared.u32 %r1, [%r0];
        mov.u32 %r2, %reserved_smem_offset_begin; mov.u32 %r3, %reserved_smem_offset_end;
        sub.u32 %r3, %r3, %r2; sub.u32 %r4, WARP_SZ, %r1; mov.u32 %r5, %reserved_smem_offset_cap;
        st.global.v4.u32 [%out], {%r1, %r3, %r4, %r5};";
    let launch = Launch::grid(1, 1, 1).block(1, 1, 1);
    assert_eq!(words("", body, &launch, 4), [5, 0x120, 27, 1024]);
    let (found, _) = problem("", "st.shared.u32 [512], 5;", &launch);
    assert!(matches!(found, Problem::OutOfBounds { .. }));
}

#[test]
fn endless_loops_are_given_up() {
    let launch = Launch::grid(1, 1, 1).step_limit(1000);
    let (found, line) = problem("", "forever:\n bra forever;", &launch);
    assert_eq!(found, Problem::StepLimit { limit: 1000 });
    assert!(line > 0);
}

#[test]
fn trap_is_reported_where_it_stands() {
    let body = "mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 9;\n@%p0 trap;";
    match try_run("", body, &Launch::grid(2, 1, 1), 1) {
        Err(LaunchError::Fault(fault)) => {
            assert_eq!(fault.first.problem, Problem::Trap);
            assert_eq!(fault.first.place.text, "@%p0 trap;");
            assert_eq!(fault.first.place.thread.lane, Some(9));
            assert_eq!(fault.first.place.cluster, 0);
        }
        other => panic!("no fault: {other:?}"),
    }
}

#[test]
fn uninitialized_memory_is_not_read_unnoticed() {
    let source = ".version 8.3 .target sm_90a .address_size 64
        .visible .entry k(.param .u64 a) { .reg .b64 %a; .reg .b32 %x;
        ld.param.u64 %a, [a]; ld.global.u32 %x, [%a+4]; ret; }";
    let module = Module::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let mut gpu = Gpu::new(Device::h100());
    let buffer = gpu.alloc::<u32>(4);
    let launch = Launch::grid(1, 1, 1);
    let result = gpu.launch(&module, "k", &launch, &[buffer.arg()]);
    let Err(LaunchError::Fault(fault)) = result else { panic!("no fault") };
    assert!(matches!(fault.first.problem, Problem::Poison { .. }));
    assert!(gpu.launch(&module, "k", &launch.poison(false), &[buffer.arg()]).is_ok());
    gpu.write(buffer, &[1, 2, 3, 4]);
    assert!(gpu.launch(&module, "k", &Launch::grid(1, 1, 1), &[buffer.arg()]).is_ok());
}

#[test]
fn members_that_never_come_are_a_report() {
    let body = "mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 16; @%p0 bra one;
        shfl.sync.idx.b32 %r1, %r0, 0, 31, -1; bra done;
        one: vote.sync.any.pred %p1, %p0, -1;
        done:";
    let (found, _) = problem("", body, &Launch::grid(1, 1, 1));
    assert!(matches!(found, Problem::Divergence { .. }), "{found:?}");
}

#[test]
fn launches_are_checked_against_the_device() {
    let fails = |launch: &Launch| match try_run("", "", launch, 1) {
        Ok(_) => panic!("launched"),
        Err(error) => error.to_string(),
    };
    assert!(fails(&Launch::grid(1, 1, 1).block(1025, 1, 1)).contains("1024 threads"));
    assert!(fails(&Launch::grid(0, 1, 1)).contains("grid"));
    assert!(fails(&Launch::grid(3, 1, 1).cluster(2, 1, 1)).contains("multiple"));
    assert!(fails(&Launch::grid(16, 1, 1).cluster(16, 1, 1)).contains("1 to 8"));
    assert!(fails(&Launch::grid(1, 1, 1).dynamic_shared(228 << 10)).contains("232448"));
    let opted = Launch::grid(1, 1, 1).dynamic_shared(64 << 10);
    assert!(fails(&opted.clone().shared_opt_in(0)).contains("opted in"));
    assert!(try_run("", "", &opted, 1).is_ok());
    let large = Launch::grid(16, 1, 1).cluster(16, 1, 1).large_clusters();
    assert!(try_run("", "", &large, 1).is_ok());
}

#[test]
fn statistics_count_warps_and_threads() {
    let body = "mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 40;\n@%p0 add.u32 %r1, %r0, 1;";
    let launch = Launch::grid(3, 1, 1).block(64, 1, 1);
    let Ok((_, launched)) = try_run("", body, &launch, 1) else { panic!("a fault") };
    let add = launched.statistics.by_opcode["add.u32"];
    assert_eq!((add.warps, add.threads), (6, 120));
    let total = launched.statistics.total;
    assert_eq!(total.warps, 6 * 5);
    assert_eq!(total.threads, 3 * (64 * 4 + 40));
}

#[test]
fn the_order_of_warps_changes_no_result() {
    let body = format!(
        "mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, 4; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;
         st.shared.u32 [%r1], %r0; mov.u32 %r5, 1;
         next: bar.sync 0; xor.b32 %r3, %r0, %r5; mul.lo.u32 %r3, %r3, 4; add.u32 %r3, %r3, %r2;
         ld.shared.u32 %r4, [%r3]; bar.sync 0; ld.shared.u32 %r6, [%r1]; mad.lo.u32 %r6, %r6, 3, %r4;
         st.shared.u32 [%r1], %r6; shl.b32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 128; @%p0 bra next;
         mov.u32 %r31, %r6; {STORE}"
    );
    let launch = Launch::grid(5, 1, 1).block(128, 1, 1);
    let variables = ".shared .align 4 .b32 s[128];";
    let expected = words(variables, &body, &launch, 640);
    for seed in 0..6 {
        let launch = launch.clone().schedule(Schedule::Random(seed)).workers(1 + seed as usize % 3);
        assert_eq!(words(variables, &body, &launch, 640), expected);
    }
}

#[test]
fn shapes_beyond_all_bounds_are_refused() {
    let all = u32::MAX;
    for launch in [
        Launch::grid(all, all, all),
        Launch::grid(1, 1, 1).block(all, all, all),
        Launch::grid(1, 1, 1).cluster(all, all, all),
        Launch::grid(1, 1, 1).dynamic_shared(all),
    ] {
        assert!(try_run("", "", &launch, 1).is_err(), "{launch:?}");
    }
}

#[test]
fn addresses_beyond_all_bounds_are_refused() {
    for space in ["", ".global", ".shared", ".shared::cluster", ".local", ".param"] {
        for address in [8u64, 1 << 24, 1 << 32, 1 << 40, u64::MAX - 3, 1 << 63] {
            let body = format!("mov.b64 %rd0, {address}; ld{space}.u32 %r0, [%rd0];");
            let (found, _) = problem("", &body, &Launch::grid(1, 1, 1));
            assert!(matches!(found, Problem::OutOfBounds { .. }), "{space} {address:#x} {found}");
        }
    }
}
