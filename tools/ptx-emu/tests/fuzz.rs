//! Whatever a file says, reading it ends with a module or an error: no panic, no overflow, no hang.

use proptest::prelude::*;
use ptx_emu::Module;

/// Instructions of every family, to be cut and mixed.
const INSTRUCTIONS: &str = "\
add.s32 %r1, %r2, 5; add.cc.u32 %r1, %r2, %r3; mad.wide.u32 %d1, %r2, %r3, %d2;
mul.hi.s64 %d1, %d2, %d3; div.u32 %r1, %r2, 0; bfi.b32 %r1, %r2, %r3, 4, 8;
fma.rn.ftz.f32 %r1, %r2, %r3, 0f3F800000; add.rn.f64 %d1, %d2, 0d3FF0000000000000;
fma.rn.relu.bf16x2 %r1, %r2, %r3, %r4; ex2.approx.ftz.f32 %r1, %r2; min.NaN.f16 %h1, %h2, %h3;
cvt.rn.satfinite.e4m3x2.f32 %h1, %r2, %r3; cvt.rzi.s64.f32 %d1, %r2; cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;
setp.lt.and.f32 %p1|%p2, %r1, %r2, !%p3; set.eq.f16.f16 %h1, %h2, %h3; selp.b64 %d1, %d2, 7, %p1;
lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x6A, %p2; shf.l.wrap.b32 %r1, %r2, %r3, 7; prmt.b32 %r1, %r2, %r3, 0x5410;
mov.b64 {%r1, _}, %d1; mov.b64 %d1, {%r1, %r2}; mov.u64 %d1, table+8; mov.u32 %r1, %tid.x; mov.u64 %d1, %clock64;
cvta.to.shared.u64 %d1, %d2; isspacep.global %p1, %d1; mapa.shared::cluster.u32 %r1, %r2, %r3;
ld.global.nc.L1::no_allocate.v4.f32 {%r1, %r2, %r3, %r4}, [%d1+16]; st.shared.v2.u32 [tile+8], {%r1, %r2};
ld.param.u64 %d1, [a]; ld.acquire.gpu.global.u32 %r1, [%d1]; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];
atom.global.add.f32 %r1, [%d1], %r2; red.shared.or.b32 [tile], %r1; atom.cas.acq_rel.gpu.b64 %d1, [%d2], %d3, %d4;
shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1; vote.sync.ballot.b32 %r1, %p1, -1; match.any.sync.b32 %r1, %r2, -1;
redux.sync.add.s32 %r1, %r2, -1; elect.sync _|%p1, -1; activemask.b32 %r1; bar.sync 1, 128; barrier.cluster.arrive.release.aligned;
fence.proxy.async.shared::cta; fence.acq_rel.cluster; membar.gl; fence.mbarrier_init.release.cluster;
mbarrier.init.shared::cta.b64 [tile], 1; mbarrier.try_wait.parity.shared::cta.b64 %p1, [tile], 0;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [tile], 4096; mbarrier.arrive.shared::cta.b64 %d1, [tile];
cp.async.cg.shared.global [tile], [%d1], 16; cp.async.wait_group 0; cp.async.commit_group;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%d1], 256, [tile+512];
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [a, {%r1, %r2}], [tile];
cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%d1, {%r1, %r2, 0}], [tile]; cp.async.bulk.wait_group.read 0;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%d1], [tile], 64; prefetch.tensormap [%d1];
wgmma.fence.sync.aligned; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r1, %r2, %r3, %r4}, %d1, %d2, %p1, 1, 1, 0, 0;
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2,%r3,%r4};
ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1,%r2,%r3,%r4}, [tile]; stmatrix.sync.aligned.m8n8.x2.shared.b16 [tile], {%r1,%r2};
setmaxnreg.inc.sync.aligned.u32 232; griddepcontrol.wait; nanosleep.u32 20; brx.idx %r1, targets;
@%p1 bra L; @!%p2 ret; bra.uni L; exit; trap; call.uni (r), helper, (p); call vprintf, (p, p);
";

fn module(body: &str) -> String {
    format!(
        ".version 8.7 .target sm_90a .address_size 64
         .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);
         .func (.param .b32 r) helper(.param .b32 x) {{ ret; }}
         .global .align 8 .b64 table[4] = {{1, 2}};
         .visible .entry k(.param .align 64 .b8 a[128]) {{
           .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>;
           .shared .align 128 .b8 tile[1024]; .param .b32 r; .param .b32 p;
           L: targets: .branchtargets L, L;
           {body}
         }}"
    )
}

/// What instructions are made of, and more.
fn pieces() -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for instruction in INSTRUCTIONS.split(';') {
        for word in instruction.split_whitespace() {
            for part in word.split_inclusive(&['.', ',', '{', '[', '(', '|'][..]) {
                pieces.push(part.to_owned());
            }
        }
    }
    let more = [
        ";",
        "}",
        "]",
        ")",
        "-1",
        "0x",
        "18446744073709551615",
        "0f7FC00000",
        "1.5",
        "_",
        "!",
        "@",
        ".reg .b32 x;",
        ".shared .b8 y[8];",
        "L2:",
        "%r99",
        "%x",
        "4294967295",
        "-9223372036854775808",
    ];
    pieces.extend(more.map(str::to_owned));
    pieces.sort();
    pieces.dedup();
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_mixture_of_instructions_is_read_or_refused(
        chosen in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(),
            prop::option::of(any::<prop::sample::Index>()), 0..3_u8), 1..8),
    ) {
        let instructions: Vec<_> = INSTRUCTIONS.split_inclusive(';').collect();
        let pieces = pieces();
        let mut body = String::new();
        for (which, at, piece, how) in chosen {
            let instruction = which.get(&instructions);
            let mut parts: Vec<&str> =
                instruction.split_inclusive(&['.', ',', ' ', '{', '}', '[', ']', '|'][..]).collect();
            let at = at.index(parts.len());
            match (how, &piece) {
                (0, Some(piece)) => parts[at] = &pieces[piece.index(pieces.len())],
                (1, Some(piece)) => parts.insert(at, &pieces[piece.index(pieces.len())]),
                (2, Some(_)) => { parts.remove(at); }
                _ => {}
            }
            body += &parts.concat();
        }
        let _ = Module::check(&module(&body));
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), at in 0..400_usize) {
        let _ = Module::check(&text);
        let whole = module("add.s32 %r1, %r2, 5;");
        let at = at.min(whole.len());
        let _ = Module::check(&format!("{}{text}{}", &whole[..at], &whole[at..]));
    }
}

#[test]
fn every_instruction_of_the_mixture_is_ptx() {
    for instruction in INSTRUCTIONS.split_inclusive(';') {
        if let Err(errors) = Module::check(&module(instruction.trim())) {
            let text = errors[0].to_string();
            assert!(!text.contains("expected"), "{text}");
        }
    }
}

#[test]
fn long_files_take_as_long_as_they_are() {
    let long = "add.s32 %r1, %r2, 5;\n".repeat(100_000);
    assert_eq!(Module::check(&module(&long)).expect("it is PTX").entries().count(), 1);
    for text in ["{", "@", "[", "mov.b32 %r1, {", "call (", "/*", "\"", ".loc 1 1 1, ", "x:"] {
        assert!(Module::check(&module(&text.repeat(100_000))).is_err());
    }
}

#[test]
fn many_kernels_and_variables_take_as_long_as_they_are() {
    let mut text = String::from(".version 8.7 .target sm_90a .address_size 64\n");
    for i in 0..10_000 {
        text += &format!(
            ".global .u64 v{i} = v{}; .shared .u32 s{i}; .func f{i}() {{ ret; }} .entry k{i}() {{ ret; }}\n",
            (i * 7) % 10_000
        );
    }
    assert_eq!(Module::check(&text).expect("it is PTX").entries().count(), 10_000);
    // Every function calls the one below it twice: kernels grow until they are refused.
    let mut text = String::from(".version 8.7 .target sm_90a .address_size 64 .func f0() { ret; }");
    for i in 1..1000 {
        text += &format!(
            ".func f{i}() {{ call f{0}; call f{0}; }} .entry k{i}() {{ call f{i}; }}",
            i - 1
        );
    }
    assert!(Module::check(&text).is_err());
}
