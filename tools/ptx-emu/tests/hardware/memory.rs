//! Atomic operations, and copies by address.

use std::fmt::Write as _;

use crate::case::{Case, Judged};
use crate::kernel::{Form, entry};
use crate::matrices::{COMMON, dump, fill};
use crate::values::Kind::{self, Bf16, Bf16x2, F16, F16x2, F32, F64, I32, I64};
use crate::values::{Plain, Random};

/// `atom`, every thread at an address of its own: what is there then, and what was.
pub(crate) fn atomics() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut add = |opcode: &str, kind: Kind, values: usize| {
        let bits = 8 * kind.size();
        let operands = (1..=values).map(|i| format!(", %i{i}")).collect::<String>();
        let text = format!(
            ".shared .align 8 .b8 cells[2048];\n.reg .b32 %cell;\nmov.u32 %cell, cells;\n\
             mad.lo.u32 %cell, %thread, 8, %cell;\nst.shared.b{bits} [%cell], %i0;\n\
             {opcode} %o1, [%cell]{operands};\nld.shared.b{bits} %o0, [%cell];"
        );
        forms.push(Form::lines(opcode, &[kind; 2], &vec![kind; values + 1], &text));
    };
    for op in ["add", "min", "max"] {
        for (name, kind) in [("u32", I32), ("s32", I32), ("u64", I64), ("s64", I64)] {
            if (op, name) != ("add", "s64") {
                add(&format!("atom.shared.{op}.{name}"), kind, 1);
            }
        }
    }
    for (name, kind) in [("b32", I32), ("b64", I64)] {
        for op in ["and", "or", "xor", "exch"] {
            add(&format!("atom.shared.{op}.{name}"), kind, 1);
        }
        add(&format!("atom.shared.cas.{name}"), kind, 2);
    }
    for op in ["inc", "dec"] {
        add(&format!("atom.shared.{op}.u32"), I32, 1);
    }
    for (op, kind) in [
        ("add.f32", F32),
        ("add.f64", F64),
        ("add.noftz.f16", F16),
        ("add.noftz.f16x2", F16x2),
        ("add.noftz.bf16", Bf16),
        ("add.noftz.bf16x2", Bf16x2),
    ] {
        add(&format!("atom.shared.{op}"), kind, 1);
    }
    forms
}

/// A case of two inputs, the second of which fills the variable `tile` of 16 KiB.
fn case(name: &str, registers: &str, body: &str, output: usize, plain: Plain) -> Case {
    let mut random = Random(name.len() as u64);
    let registers = COMMON.to_owned()
        + "  .shared .align 1024 .b8 tile[16384];\n  .shared .align 8 .b64 barrier;\n\
           \x20 .reg .pred %first;\n  .reg .b32 %bar, %tries, %size;\n  .reg .b64 %wide;\n"
        + registers;
    let body = fill("tile", 16384, 1, 128)
        + "  setp.eq.u32 %first, %thread, 0;\n  mov.u32 %bar, barrier;\n  mov.u32 %to, tile;\n\
           \x20 @%first mbarrier.init.shared.b64 [%bar], 1;\n  fence.proxy.async;\n  bar.sync 0;\n"
        + body;
    Case {
        name: name.to_owned(),
        ptx: entry(2, 0, 0, &registers, &body),
        blocks: 1,
        threads: 128,
        inputs: vec![plain.image(16384, &mut random), plain.image(16384, &mut random)],
        output_len: output,
        scalars: Vec::new(),
        maps: Vec::new(),
        judged: Judged::Exactly,
        element: 4,
    }
}

/// Waits for phase 0 of the barrier, not for ever.
const WAIT: &str = "  mov.u32 %tries, 0;\nwait:\n\
    \x20 mbarrier.try_wait.parity.shared.b64 %more, [%bar], 0;\n  @%more bra done;\n\
    \x20 add.u32 %tries, %tries, 1;\n  setp.lt.u32 %more, %tries, 10000;\n  @%more bra wait;\n\
    \x20 trap;\ndone:\n";

/// Copies between global and shared memory by address.
pub(crate) fn copies() -> Vec<Case> {
    let mut cases = Vec::new();
    for len in [16, 48, 8192] {
        let mut body = "  ld.param.u64 %at, [in0];\n  add.u64 %at, %at, 32;\n".to_owned();
        write!(
            body,
            "  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {len};\n\
             \x20 @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes \
             [%to], [%at], {len}, [%bar];\n{WAIT}"
        )
        .unwrap();
        body += &dump("tile", 16384, 128);
        cases.push(case(&format!("bulk load of {len}"), "", &body, 16384, Plain::I8x4));
    }
    for (op, plain) in [
        ("", Plain::I8x4),
        (".add.u32", Plain::I8x4),
        (".min.s32", Plain::I8x4),
        (".inc.u32", Plain::I8x4),
        (".add.f32", Plain::F32),
        (".xor.b32", Plain::I8x4),
        (".add.noftz.f16", Plain::F16x2),
        (".max.bf16", Plain::Bf16x2),
        (".add.noftz.bf16", Plain::Bf16x2),
    ] {
        let reduce = if op.is_empty() { "" } else { ".reduce" };
        // Twice: the second adds to what the first left.
        let text = format!(
            "  ld.param.u64 %at, [out];\n\
             \x20 @%first cp{reduce}.async.bulk.global.shared::cta.bulk_group{op} [%at+64], [%to], 8192;\n\
             \x20 @%first cp.async.bulk.commit_group;\n  @%first cp.async.bulk.wait_group 0;\n\
             \x20 add.u32 %to, %to, 4096;\n\
             \x20 @%first cp{reduce}.async.bulk.global.shared::cta.bulk_group{op} [%at], [%to], 4096;\n\
             \x20 @%first cp.async.bulk.commit_group;\n  @%first cp.async.bulk.wait_group 0;\n"
        );
        // An address with an offset is no operand of a bulk copy in all versions.
        let text = text.replace("[%at+64]", "[%wide]").replace(
            "  ld.param.u64 %at, [out];\n",
            "  ld.param.u64 %at, [out];\n  add.u64 %wide, %at, 64;\n",
        );
        cases.push(case(&format!("bulk store{op}"), "", &text, 16384, plain));
    }
    for (size, modifier) in [(4, "ca"), (8, "ca"), (16, "ca"), (16, "cg")] {
        // Each thread copies less than there is room for: the rest becomes zero.
        let mut body = format!(
            "  ld.param.u64 %at, [in0];\n  mad.wide.u32 %at, %thread, 16, %at;\n\
             \x20 mad.lo.u32 %to, %thread, 16, %to;\n  rem.u32 %size, %thread, {};\n\
             \x20 cp.async.{modifier}.shared.global [%to], [%at], {size}, %size;\n\
             \x20 cp.async.commit_group;\n  cp.async.wait_group 0;\n  bar.sync 0;\n",
            size + 1
        );
        body += &dump("tile", 16384, 128);
        cases.push(case(&format!("cp.async.{modifier} of {size}"), "", &body, 16384, Plain::I8x4));
    }
    cases
}
