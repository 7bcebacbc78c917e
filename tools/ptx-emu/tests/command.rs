//! The `ptx-emu` command from outside.

#![cfg(feature = "cli")]

use std::path::Path;
use std::process::{Command, Output};

const SCALE: &str = "
.version 8.0
.target sm_90a
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 by, .param .u32 n)
.maxntid 128, 1, 1
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<6>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mad.lo.s32 %r3, %r1, %r2, %r0;
    ld.param.u32 %r4, [n];
    setp.ge.u32 %p, %r3, %r4;
    @%p ret;
    ld.param.u64 %rd0, [x];
    ld.param.u64 %rd1, [y];
    ld.param.f32 %f0, [by];
    mul.wide.u32 %rd2, %r3, 4;
    add.s64 %rd3, %rd0, %rd2;
    add.s64 %rd4, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    mul.f32 %f2, %f1, %f0;
    st.global.f32 [%rd4], %f2;
    ret;
}
";

fn ptx_emu(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ptx-emu"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

fn folder(ptx: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.ptx"), ptx).expect("written");
    folder
}

#[test]
fn runs_a_kernel_over_files() {
    let folder = folder(SCALE);
    let x: Vec<u8> = (0..100).flat_map(|i| (i as f32).to_le_bytes()).collect();
    std::fs::write(folder.path().join("x.bin"), &x).expect("written");
    let run = [
        "run",
        "k.ptx",
        "--grid",
        "2",
        "--block",
        "64",
        "--arg",
        "buf:f32:in=x.bin",
        "--arg",
        "buf:f32:100:out=y.bin:print=3",
        "--arg",
        "f32:2.5",
        "--arg",
        "u32:100",
    ];
    let output = ptx_emu(folder.path(), &run);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("argument 1: 0 2.5 5\n"), "{}", text(&output.stdout));
    let y = std::fs::read(folder.path().join("y.bin")).expect("written");
    let expected: Vec<u8> = (0..100).flat_map(|i| (i as f32 * 2.5).to_le_bytes()).collect();
    assert_eq!(y, expected);
}

#[test]
fn reports_what_a_kernel_does_wrong() {
    let folder = folder(SCALE);
    let run = [
        "run",
        "k.ptx",
        "--entry",
        "scale",
        "--buffer",
        "x=f32:8:zero",
        "--arg",
        "buf:@x",
        "--arg",
        "buf:@x",
        "--arg",
        "f32:1",
        "--arg",
        "u32:9",
    ];
    let output = ptx_emu(folder.path(), &run);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("ld.global.f32"), "{}", text(&output.stderr));
}

#[test]
fn says_what_is_in_a_file() {
    let folder = folder(SCALE);
    let output = ptx_emu(folder.path(), &["check", "k.ptx"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found = text(&output.stdout);
    assert!(found.contains("scale\n  parameters, in bytes  8, 8, 4, 4\n"), "{found}");
    assert!(found.contains("        2  ld.param.u64\n"), "{found}");
    assert!(!found.contains("metadata"), "{found}");
}

#[test]
fn check_finds_registers_that_die_too_soon() {
    let folder = folder(include_str!("faults/wgmma_metadata_dead.ptx"));
    let output = ptx_emu(folder.path(), &["check", "k.ptx"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found = text(&output.stdout);
    let problems: Vec<_> = found.lines().filter(|line| line.starts_with("  line ")).collect();
    let [problem] = problems[..] else { panic!("{found}") };
    assert!(problem.starts_with("  line 51: register %metadata holds metadata"), "{problem}");
    assert!(found.find(problem) < found.find("\nrepaired"), "{found}");
}

#[test]
fn names_the_line_of_what_it_does_not_know() {
    let folder = folder(&SCALE.replace("mul.f32", "mul.f33"));
    let output = ptx_emu(folder.path(), &["check", "k.ptx"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("line 26: "), "{}", text(&output.stderr));
    for bad in [
        &["run", "k.ptx", "--arg", "f32:x"][..],
        &["run", "k.ptx", "--arg", "map:x:f32:dims=4:box=4:colour=1"],
        &["run", "missing.ptx"],
    ] {
        assert_eq!(ptx_emu(folder.path(), bad).status.code(), Some(2), "{bad:?}");
    }
}
