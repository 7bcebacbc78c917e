//! What lanes do with each other: PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync",
//! "elect.sync", "activemask".

use ptx_emu::Launch;

use super::try_run;

/// The words that the lanes of a warp leave in `%r31`.
fn by_lane(body: &str) -> Vec<u32> {
    let body = format!(
        "mov.u32 %r0, %laneid; {body}
         mul.wide.u32 %rd0, %r0, 4; add.u64 %rd0, %out, %rd0; st.global.u32 [%rd0], %r31;"
    );
    try_run("", &body, &Launch::grid(1, 1, 1), 32).unwrap_or_else(|error| panic!("{error}")).0
}

#[test]
fn shuffles() {
    let expected = |f: fn(u32) -> u32| (0..32).map(f).collect::<Vec<_>>();
    assert_eq!(
        by_lane("shfl.sync.up.b32 %r31, %r0, 3, 0, -1;"),
        expected(|lane| if lane < 3 { lane } else { lane - 3 })
    );
    assert_eq!(
        by_lane("shfl.sync.down.b32 %r31, %r0, 5, 31, -1;"),
        expected(|lane| if lane > 26 { lane } else { lane + 5 })
    );
    assert_eq!(by_lane("shfl.sync.bfly.b32 %r31, %r0, 17, 31, -1;"), expected(|lane| lane ^ 17));
    assert_eq!(by_lane("shfl.sync.idx.b32 %r31, %r0, 9, 31, -1;"), vec![9; 32]);
    // Segments of 8: a mask of 24 in bits 8 to 12.
    assert_eq!(
        by_lane("shfl.sync.idx.b32 %r31, %r0, 1, 0x181F, -1;"),
        expected(|lane| lane & 24 | 1)
    );
    assert_eq!(
        by_lane("shfl.sync.down.b32 %r31|%p0, %r0, 6, 0x181F, -1; selp.b32 %r31, 1, 0, %p0;"),
        expected(|lane| u32::from(lane % 8 < 2))
    );
}

#[test]
fn votes() {
    let odd = "and.b32 %r1, %r0, 1; setp.ne.u32 %p0, %r1, 0; ";
    assert_eq!(
        by_lane(&format!("{odd} vote.sync.ballot.b32 %r31, %p0, -1;")),
        vec![0xAAAA_AAAA; 32]
    );
    let any = format!("{odd} vote.sync.any.pred %p1, %p0, -1; selp.b32 %r31, 1, 0, %p1;");
    assert_eq!(by_lane(&any), vec![1; 32]);
    let all = format!("{odd} vote.sync.all.pred %p1, !%p0, -1; selp.b32 %r31, 1, 0, %p1;");
    assert_eq!(by_lane(&all), vec![0; 32]);
    // Half of the warp each: uniform within a half of the lanes below 16 only.
    let uniform = "setp.lt.u32 %p0, %r0, 24; setp.lt.u32 %p2, %r0, 16;
        selp.b32 %r2, 0xFFFF, 0xFFFF0000, %p2;
        vote.sync.uni.pred %p1, %p0, %r2; selp.b32 %r31, 1, 0, %p1;";
    let expected: Vec<u32> = (0..32).map(|lane| u32::from(lane < 16)).collect();
    assert_eq!(by_lane(uniform), expected);
}

#[test]
fn matches_and_reductions() {
    let expected: Vec<u32> = (0..32).map(|lane| 0x1111_1111 << (lane % 4)).collect();
    assert_eq!(by_lane("and.b32 %r1, %r0, 3; match.any.sync.b32 %r31, %r1, -1;"), expected);
    let all = "mov.u32 %r1, 7; match.all.sync.b32 %r31|%p0, %r1, -1;";
    assert_eq!(by_lane(all), vec![u32::MAX; 32]);
    assert_eq!(by_lane("match.all.sync.b32 %r31, %r0, -1;"), vec![0; 32]);
    assert_eq!(by_lane("redux.sync.add.u32 %r31, %r0, -1;"), vec![496; 32]);
    assert_eq!(
        by_lane("sub.s32 %r1, %r0, 16; redux.sync.min.s32 %r31, %r1, -1;"),
        vec![0xFFFF_FFF0; 32]
    );
    assert_eq!(by_lane("redux.sync.max.u32 %r31, %r0, -1;"), vec![31; 32]);
    assert_eq!(by_lane("redux.sync.xor.b32 %r31, %r0, -1;"), vec![0; 32]);
}

#[test]
fn one_is_elected() {
    let words = by_lane("elect.sync _|%p0, -1; selp.b32 %r31, 1, 0, %p0;");
    assert_eq!(words.iter().sum::<u32>(), 1);
    assert_eq!(by_lane("elect.sync %r31|%p0, -1;"), vec![0; 32]);
}

#[test]
fn lanes_that_part_meet_again() {
    let words = by_lane(
        "mov.u32 %r31, 0; setp.lt.u32 %p0, %r0, 10;
         @%p0 bra less;
         activemask.b32 %r31;
         bra join;
         less: activemask.b32 %r31;
         join: shfl.sync.bfly.b32 %r1, %r31, 31, 31, -1; or.b32 %r31, %r31, %r1;
         activemask.b32 %r2; and.b32 %r31, %r31, %r2;",
    );
    let expected: Vec<u32> = (0..32u32)
        .map(|lane| {
            let way = |lane: u32| if lane < 10 { 0x3FF } else { !0x3FF };
            way(lane) | way(31 - lane)
        })
        .collect();
    assert_eq!(words, expected);
}
