use super::run;
use crate::error::Problem;

#[test]
fn what_is_not_known_is_refused() {
    for text in [
        "addd.s32 %r0, %r1, %r2;",
        "add.s32.sat %r0, %r1, %r2;",
        "add.sat.u32 %r0, %r1, %r2;",
        "add.approx.f32 %r0, %r1, %r2;",
        "add.ftz.f64 %d0, %d1, %d2;",
        "fma.f32 %r0, %r1, %r2, %r3;",
        "fma.rn.ftz.bf16 %h0, %h1, %h2, %h3;",
        "mul.s32 %r0, %r1, %r2;",
        "mul.wide.u64 %d0, %d1, %d2;",
        "rsqrt.rn.f32 %r0, %r1;",
        "sqrt.approx.f64 %d0, %d1;",
        "cvt.f32.s32 %r0, %r1;",
        "cvt.f32.f64 %r0, %d1;",
        "cvt.rn.e4m3x2.f32 %h0, %r1, %r2;",
        "cvt.rs.f16x2.f32 %r0, %r1, %r2, %r3;",
        "cvt.rn.s32.f32 %r0, %r1;",
        "cvt.rna.f16.f32 %h0, %r1;",
        "setp.ltu.s32 %p0, %r1, %r2;",
        "setp.lo.s32 %p0, %r1, %r2;",
        "setp.lt.b32 %p0, %r1, %r2;",
        "setp.lt.and.s32 %p0, %r1, %r2;",
        "prmt.b32.xyz %r0, %r1, %r2, %r3;",
        "lop3.b32 %r0, %r1, %r2, %r3, 256;",
        "mov.b64 %d0, {%r1, %r2, %r3};",
        "cvta.shared.u32 %r0, %r1;",
    ] {
        let error = run(text, &[]).err().unwrap_or_else(|| panic!("{text} was taken"));
        assert_eq!((error.line, error.text.as_str()), (1, text));
    }
}

#[test]
fn operands_are_checked() {
    for (text, problem) in [
        ("add.s32 %r0, %r1;", "expected 3 operands, found 2"),
        ("add.s32 %r0, %r1, %d2;", "operand 3: expected a register or value of 32 bits"),
        ("add.s32 %h0, %r1, %r2;", "operand 1: expected a register of 32 bits"),
        ("add.s32 5, %r1, %r2;", "operand 1: expected a register of 32 bits"),
        ("add.s32 %r0, %r1, %x;", "%x is not declared"),
        ("add.s32 %r0, %r1, %r8;", "%r8 is not declared"),
        ("setp.eq.s32 %r0, %r1, %r2;", "operand 1: expected a predicate"),
        ("add.s32 %r0, %r1, [%r2];", "operand 3: expected a register or value of 32 bits"),
    ] {
        let error = run(text, &[]).err().unwrap_or_else(|| panic!("{text} was taken"));
        assert_eq!(error.problem.to_string(), problem, "{text}");
    }
    let error = run("foo.bar %r0;", &[]).err().unwrap();
    assert_eq!(error.problem, Problem::UnknownOpcode("foo".into()));
    assert_eq!(error.to_string(), "line 1: unknown instruction foo: `foo.bar %r0;`");
}
