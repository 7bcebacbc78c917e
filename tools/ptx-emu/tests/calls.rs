//! Calls of functions: through addresses, and of those that the driver brings along.

use ptx_emu::report::Problem;
use ptx_emu::{Device, Gpu, Launch, LaunchError, Module};

const PRINT: &str = r#"
.version 8.0
.target sm_90a
.address_size 64
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line,
    .param .b64 function, .param .b64 size);
.global .align 1 .b8 text[23] = {108, 97, 110, 101, 32, 37, 100, 32, 37, 115, 32, 37, 46, 50, 102,
    32, 37, 108, 108, 120, 10, 0, 0};
.const .align 1 .b8 word[4] = {97, 98, 99, 0};
.visible .entry print(.param .u64 out)
{
    .local .align 8 .b8 packed[40];
    .reg .b32 %r<4>;
    .reg .b64 %rd<9>;
    mov.u32 %r0, %tid.x;
    mov.u64 %rd0, packed;
    st.local.u32 [%rd0], %r0;
    mov.u64 %rd1, word;
    st.local.u64 [packed+8], %rd1;
    st.local.u64 [%rd0+16], 0x3FF8000000000000;
    mov.u64 %rd3, 0xABCDEF012;
    st.local.u64 [%rd0+24], %rd3;
    cvta.local.u64 %rd4, %rd0;
    mov.u64 %rd5, text;
    cvta.global.u64 %rd6, %rd5;
    { // callseq
    .param .b64 a;
    st.param.b64 [a+0], %rd6;
    .param .b64 b;
    st.param.b64 [b+0], %rd4;
    .param .b32 r;
    call.uni (r), vprintf, (a, b);
    ld.param.b32 %r1, [r+0];
    }
    ld.param.u64 %rd7, [out];
    mul.wide.u32 %rd8, %r0, 4;
    add.s64 %rd7, %rd7, %rd8;
    st.global.u32 [%rd7], %r1;
    ret;
}
.visible .entry check(.param .u32 limit)
{
    .reg .pred %p;
    .reg .b32 %r<2>;
    .reg .b64 %rd;
    mov.u32 %r0, %tid.x;
    ld.param.u32 %r1, [limit];
    setp.lt.u32 %p, %r0, %r1;
    mov.u64 %rd, word;
    {
    .param .b64 m; st.param.b64 [m], %rd;
    .param .b64 f; st.param.b64 [f], %rd;
    .param .b32 l; st.param.b32 [l], 77;
    .param .b64 n; st.param.b64 [n], %rd;
    .param .b64 s; st.param.b64 [s], 1;
    @!%p call.uni __assertfail, (m, f, l, n, s);
    }
    ret;
}
"#;

#[test]
fn threads_print_in_order() {
    let module = Module::parse(PRINT).expect("it is PTX");
    let mut gpu = Gpu::new(Device::h100());
    let out = gpu.alloc::<u32>(3);
    let launch = Launch::grid(1, 1, 1).block(3, 1, 1);
    let launched = gpu.launch(&module, "print", &launch, &[out.arg()]).expect("it runs");
    let lines: String = (0..3).map(|lane| format!("lane {lane} abc 1.50 abcdef012\n")).collect();
    assert_eq!(String::from_utf8_lossy(&launched.output), lines);
    assert_eq!(gpu.read(out), [26, 26, 26]);
}

#[test]
fn assertions_are_reported() {
    let module = Module::parse(PRINT).expect("it is PTX");
    let mut gpu = Gpu::new(Device::h100());
    let launch = Launch::grid(1, 1, 1).block(64, 1, 1);
    gpu.launch(&module, "check", &launch, &[64_u32.into()]).expect("all are below");
    let error = gpu.launch(&module, "check", &launch, &[40_u32.into()]).expect_err("40 is not");
    let LaunchError::Fault(fault) = error else { panic!("{error}") };
    let text = |text: &str| text.to_owned();
    let expected = Problem::Assertion {
        message: text("abc"),
        file: text("abc"),
        line: 77,
        function: text("abc"),
    };
    assert_eq!(fault.first.problem, expected);
}

const TABLE: &str = "
.version 8.0
.target sm_90a
.address_size 64
.func (.param .b32 r) plus(.param .b32 a, .param .b32 b);
.func (.param .b32 r) times(.param .b32 a, .param .b32 b);
.global .align 8 .u64 table[2] = {plus, times};
.func (.param .b32 r) plus(.param .b32 a, .param .b32 b)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r0, [a];
    ld.param.u32 %r1, [b];
    add.s32 %r2, %r0, %r1;
    st.param.b32 [r+0], %r2;
    ret;
}
.func (.param .b32 r) times(.param .b32 a, .param .b32 b)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r0, [a];
    ld.param.u32 %r1, [b];
    mul.lo.s32 %r2, %r0, %r1;
    st.param.b32 [r+0], %r2;
    ret;
}
.visible .entry choose(.param .u64 out, .param .u32 other)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %rd<8>;
    mov.u32 %r0, %tid.x;
    and.b32 %r1, %r0, 1;
    mul.wide.u32 %rd0, %r1, 8;
    mov.u64 %rd1, table;
    add.s64 %rd2, %rd1, %rd0;
    ld.global.u64 %rd3, [%rd2];
    ld.param.u32 %r3, [other];
    setp.eq.u32 %p, %r0, %r3;
    selp.b64 %rd4, 64, %rd3, %p;
    { .param .b32 a; st.param.b32 [a+0], %r0;
      .param .b32 b; st.param.b32 [b+0], 10;
      .param .b32 r;
      P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
      call (r), %rd4, (a, b), P;
      ld.param.b32 %r2, [r+0]; }
    ld.param.u64 %rd5, [out];
    mul.wide.u32 %rd6, %r0, 4;
    add.s64 %rd7, %rd5, %rd6;
    st.global.u32 [%rd7], %r2;
    ret;
}
";

#[test]
fn lanes_call_what_their_addresses_say() {
    let module = Module::parse(TABLE).expect("it is PTX");
    let mut gpu = Gpu::new(Device::h100());
    let out = gpu.alloc::<u32>(32);
    let launch = Launch::grid(1, 1, 1);
    gpu.launch(&module, "choose", &launch, &[out.arg(), 99_u32.into()]).expect("it runs");
    let expected: Vec<u32> =
        (0..32).map(|lane| if lane % 2 == 0 { lane + 10 } else { lane * 10 }).collect();
    assert_eq!(gpu.read(out), expected);
    // No function lies at 64.
    let result = gpu.launch(&module, "choose", &launch, &[out.arg(), 7_u32.into()]);
    let Err(LaunchError::Fault(fault)) = result else { panic!("{result:?}") };
    assert_eq!(fault.first.problem, Problem::Trap);
}
