use proptest::prelude::*;

use super::module;
use crate::ast::{Operand, Space, Statement, Type};
use crate::error::Problem;

const SAMPLE: &str = r#"
// A comment; /* and another */
.version 8.7
.target sm_90a, debug
.address_size 64
.file 1 "kernel.cu", 12, 34
.extern .shared .align 1024 .b8 smem[];
.global .align 4 .u32 table[2][2] = {{1, 0x2U}, {-3}};
.global .u64 pointer = generic(table) + 8;
.func (.param .b32 result) helper(.param .b64 a, .param .align 8 .b8 b[16]);
.visible .entry kernel(
    .param .u64 .ptr .global .align 16 kernel_param_0,
    .param .align 64 .b8 kernel_param_1[128]
)
.maxntid 128, 1, 1
.reqnctapercluster 2
.explicitcluster
{
    .reg .pred %p<3>;
    .reg .b32 %r<10>, x;
    .loc 1 23 5, function_name $L__info+3, inlined_at 1 30 2
    .pragma "nounroll";
    mov.u32 %r1, %tid.x;
$L__BB0_1:
    { .reg .pred done;
      mbarrier.try_wait.parity.shared::cta.b64 done, [%r1+-8], 0;
    @!done bra $L__BB0_1; }
    shfl.sync.idx.b32 %r2|%p1, %r3, 0,
        31, -1;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [kernel_param_1, {%r2, %r3}], [smem + 16];
    fma.rn.f32 %r1, 0f3F800000, 1.5, -0d3FF0000000000000;
    { .param .b32 p0; st.param.b32 [p0], 1; call.uni (p0), helper, (p0, _); }
    table: .branchtargets $L__BB0_1, $L__BB0_1;
    ret;
}
.section .debug_str { info: .b8 1, 2 { } }
"#;

#[test]
fn reads_what_compilers_write() {
    let parsed = module(SAMPLE).unwrap();
    assert_eq!(parsed.version, (8, 7));
    assert_eq!(parsed.target, ["sm_90a", "debug"]);
    assert_eq!(parsed.files, [(1, "kernel.cu".to_owned())]);
    let names: Vec<_> = parsed.variables.iter().map(|v| (v.name.as_str(), v.space)).collect();
    let expected = [("smem", Space::Shared), ("table", Space::Global), ("pointer", Space::Global)];
    assert_eq!(names, expected);
    assert_eq!(parsed.variables[1].dims, [Some(2), Some(2)]);

    assert!(parsed.functions[0].body.is_none());
    let kernel = &parsed.functions[1];
    assert_eq!(kernel.attributes.max_threads, Some([128, 1, 1]));
    assert_eq!(kernel.attributes.required_cluster, Some([2, 1, 1]));
    assert!(kernel.attributes.explicit_cluster);
    assert_eq!(kernel.params[0].ty, Type::U64);
    assert_eq!((kernel.params[1].align, kernel.params[1].dims[0]), (Some(64), Some(128)));

    let body = kernel.body.as_ref().unwrap();
    let instructions: Vec<_> = body
        .iter()
        .filter_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction),
            _ => None,
        })
        .collect();
    assert_eq!(instructions[0].operands[1], Operand::Name("%tid.x".into()));
    let shuffle = instructions[1];
    assert_eq!((shuffle.line, shuffle.operands.len()), (28, 5));
    assert_eq!(shuffle.text, "shfl.sync.idx.b32 %r2|%p1, %r3, 0, 31, -1;");
    assert!(matches!(shuffle.operands[0], Operand::Pair(..)));
    assert_eq!(shuffle.operands[4], Operand::Integer(u64::MAX));
    let copy = instructions[2];
    assert_eq!(copy.modifiers[4], "shared::cluster");
    assert_eq!(copy.modifiers[6], "mbarrier::complete_tx::bytes");
    assert!(
        matches!(&copy.operands[1], Operand::Tensor { coordinates, .. } if coordinates.len() == 2)
    );
    let fma = instructions[3];
    assert_eq!(fma.operands[1], Operand::Single(0x3F80_0000));
    assert_eq!(fma.operands[2], Operand::Double(1.5_f64.to_bits()));
    assert_eq!(fma.operands[3], Operand::Double((-1.0_f64).to_bits()));
    let blocks = body.iter().filter(|statement| matches!(statement, Statement::Block(_)));
    assert_eq!(blocks.count(), 2);
}

#[test]
fn names_line_and_text_of_an_error() {
    let error = module(".version 8.0\n.entry k() {\n  add.s32 %r1 %r2;\n}").unwrap_err();
    assert_eq!((error.line, error.text.as_str()), (3, "add.s32 %r1 %r2;"));
    let error = module(".version 8.0\n\n  \u{1F980}").unwrap_err();
    assert_eq!(error.line, 3);
    let error = module(".version 8.0\n/* never ends").unwrap_err();
    assert_eq!(error.line, 2);
    assert!(module(".version 8.0 .entry k() { ret;").is_err());
    assert!(module("").is_err());
    assert!(module(".version 8.0 .global .u32 x = 18446744073709551616;").is_err());
}

#[test]
fn refuses_deep_nesting() {
    for (open, head) in
        [("{", ".entry k() "), ("(", ".entry k() { add "), ("{", ".global .u32 x = ")]
    {
        let text = format!(".version 8.0 {head}{}", open.repeat(100_000));
        let error = module(&text).unwrap_err();
        assert!(matches!(error.problem, Problem::TooDeep(_)), "{error}");
    }
    let not = format!(".version 8.0 .entry k() {{ add {}", "!".repeat(100_000));
    assert!(matches!(module(&not).unwrap_err().problem, Problem::TooDeep(_)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = module(&text);
    }

    #[test]
    fn any_soup_of_tokens_is_read_or_refused(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                ".version", "8.0", ".entry", ".func", "k", "%r1", "%r", "<", ">", "{", "}", "[", "]",
                "(", ")", ",", ";", ":", ".reg", ".param", ".b32", ".align", "16", "0x", "0f3F800000",
                "-", "+", "!", "@", "|", "_", "=", ".shared", ".loc", "1", "mov", ".global", "generic",
                "mask", "\"", "\"a\"", ".branchtargets", ".section", "//", "/*", "*/", "\n", ".v4",
            ]),
            0..60,
        ),
    ) {
        let _ = module(&format!(".version 8.0 {}", tokens.join(" ")));
        let _ = module(&format!(".version 8.0 .entry k() {{ {}", tokens.join(" ")));
    }

    #[test]
    fn any_change_to_a_module_is_read_or_refused(
        at in 0..SAMPLE.len(), removed in 0..40_usize, added in "[ -~\n]{0,12}",
    ) {
        let end = (at + removed).min(SAMPLE.len());
        let _ = module(&format!("{}{added}{}", &SAMPLE[..at], &SAMPLE[end..]));
    }
}
