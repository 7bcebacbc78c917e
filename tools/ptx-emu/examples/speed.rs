//! How many instructions a second of processor time are executed: one worker, products checked.
//!
//! ```text
//! cargo run --release -p ptx-emu --example speed
//! ```

use std::io::Write;
use std::time::Instant;

use ptx_emu::{Arg, Device, Gpu, Launch, Launched};
use ptx_emu::{Module, num};

/// Registers only: a chain of multiply-adds on floats and one on integers.
const ARITHMETIC: &str = "
.version 8.0
.target sm_90a
.address_size 64
.visible .entry arithmetic(.param .u64 out, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [out];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r1, %r2, %r3, %r1;
    cvt.rn.f32.u32 %f0, %r1;
    mov.f32 %f1, 0f3F800000;
    mov.u32 %r4, %r1;
LOOP:
    fma.rn.f32 %f1, %f1, 0f3F000000, %f0;
    mad.lo.s32 %r4, %r4, 1664525, %r1;
    xor.b32 %r5, %r4, %r0;
    shr.u32 %r6, %r5, 3;
    add.s32 %r4, %r4, %r6;
    add.f32 %f2, %f1, %f0;
    mul.f32 %f1, %f2, 0f3F400000;
    sub.s32 %r0, %r0, 1;
    setp.ne.s32 %p0, %r0, 0;
    @%p0 bra LOOP;
    mov.b32 %r7, %f1;
    xor.b32 %r7, %r7, %r4;
    mul.wide.u32 %rd1, %r1, 4;
    add.s64 %rd2, %rd0, %rd1;
    st.global.u32 [%rd2], %r7;
    ret;
}
";

/// A product of 16 × 16 tiles through shared memory.
const TILES: &str = "
.version 8.0
.target sm_90a
.address_size 64
.visible .entry tiles(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<32>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<16>;
    .shared .align 16 .b8 tile_a[1024];
    .shared .align 16 .b8 tile_b[1024];
    ld.param.u64 %rd0, [a];
    ld.param.u64 %rd1, [b];
    ld.param.u64 %rd2, [c];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ctaid.y;
    shl.b32 %r5, %r3, 4;
    add.s32 %r5, %r5, %r1;
    shl.b32 %r6, %r4, 4;
    add.s32 %r6, %r6, %r2;
    mul.lo.s32 %r7, %r6, %r0;
    add.s32 %r8, %r7, %r1;
    mul.wide.u32 %rd3, %r8, 4;
    add.s64 %rd3, %rd0, %rd3;
    mul.lo.s32 %r9, %r2, %r0;
    add.s32 %r10, %r9, %r5;
    mul.wide.u32 %rd4, %r10, 4;
    add.s64 %rd4, %rd1, %rd4;
    shl.b32 %r11, %r0, 6;
    cvt.u64.u32 %rd5, %r11;
    mov.u32 %r12, tile_a;
    mov.u32 %r13, tile_b;
    shl.b32 %r14, %r2, 6;
    add.s32 %r15, %r12, %r14;
    shl.b32 %r16, %r1, 2;
    add.s32 %r17, %r15, %r16;
    add.s32 %r18, %r13, %r14;
    add.s32 %r18, %r18, %r16;
    add.s32 %r19, %r13, %r16;
    mov.f32 %f0, 0f00000000;
    mov.u32 %r20, 0;
LOOP:
    ld.global.f32 %f1, [%rd3];
    st.shared.f32 [%r17], %f1;
    ld.global.f32 %f1, [%rd4];
    st.shared.f32 [%r18], %f1;
    bar.sync 0;
@STEPS@
    bar.sync 0;
    add.s64 %rd3, %rd3, 64;
    add.s64 %rd4, %rd4, %rd5;
    add.s32 %r20, %r20, 16;
    setp.lt.u32 %p0, %r20, %r0;
    @%p0 bra LOOP;
    add.s32 %r21, %r7, %r5;
    mul.wide.u32 %rd6, %r21, 4;
    add.s64 %rd6, %rd2, %rd6;
    st.global.f32 [%rd6], %f0;
    ret;
}
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = &mut std::io::stdout().lock();
    arithmetic(out)?;
    tiles(out, true)?;
    tiles(out, false)?;
    Ok(())
}

fn arithmetic(out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let module = Module::parse(ARITHMETIC)?;
    let mut gpu = Gpu::new(Device::h100());
    let (threads, n) = (16 * 256, 1000_u32);
    let result = gpu.alloc::<u32>(threads);
    let launch = Launch::grid(16, 1, 1).block(256, 1, 1).workers(1);
    let (launched, seconds) =
        timed(|| Ok(gpu.launch(&module, "arithmetic", &launch, &[result.arg(), n.into()])?))?;
    for (thread, found) in gpu.read(result).into_iter().enumerate() {
        let first = thread as u32;
        let (mut f, mut r) = (1.0_f32, first);
        for i in (1..=n).rev() {
            f = f.mul_add(0.5, first as f32);
            r = r.wrapping_mul(1_664_525).wrapping_add(first);
            r = r.wrapping_add((r ^ i) >> 3);
            f = (f + first as f32) * 0.75;
        }
        assert_eq!(found, f.to_bits() ^ r, "thread {thread}");
    }
    report(out, "arithmetic in registers", &launched, seconds)
}

fn tiles(out: &mut dyn Write, races: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut steps = String::new();
    for k in 0..16 {
        steps += &format!(
            "    ld.shared.f32 %f2, [%r15+{}];\n    ld.shared.f32 %f3, [%r19+{}];\n    \
             fma.rn.f32 %f0, %f2, %f3, %f0;\n",
            4 * k,
            64 * k
        );
    }
    let module = Module::parse(&TILES.replace("@STEPS@", &steps))?;
    let mut gpu = Gpu::new(Device::h100());
    let n = 192_usize;
    let value = |i: usize| (i.wrapping_mul(2_654_435_761) % 17) as f32 - 8.0;
    let a: Vec<f32> = (0..n * n).map(value).collect();
    let b: Vec<f32> = (0..n * n).map(|i| value(i + 7)).collect();
    let (buffer_a, buffer_b) = (gpu.alloc_from(&a), gpu.alloc_from(&b));
    let c = gpu.alloc::<f32>(n * n);
    let args: [Arg; 4] = [buffer_a.arg(), buffer_b.arg(), c.arg(), (n as u32).into()];
    let ctas = (n / 16) as u32;
    let launch = Launch::grid(ctas, ctas, 1).block(16, 16, 1).workers(1).races(races);
    let (launched, seconds) = timed(|| Ok(gpu.launch(&module, "tiles", &launch, &args)?))?;
    for (i, found) in gpu.read(c).into_iter().enumerate() {
        let (row, column) = (i / n, i % n);
        let expected = (0..n).fold(0, |sum, k| {
            let bits = |value: f32| value.to_bits();
            let (a, b) = (bits(a[row * n + k]), bits(b[k * n + column]));
            num::single::fma(a, b, sum, num::Mode::NEAREST)
        });
        assert_eq!(found.to_bits(), expected, "row {row}, column {column}");
    }
    let what = if races { "tiles in shared memory" } else { "the same without looking for races" };
    report(out, what, &launched, seconds)
}

type Timed<T> = Result<(T, f64), Box<dyn std::error::Error>>;

fn timed<T>(run: impl FnOnce() -> Result<T, Box<dyn std::error::Error>>) -> Timed<T> {
    let (start, before) = (Instant::now(), cpu_seconds());
    let value = run()?;
    let wall = start.elapsed().as_secs_f64();
    Ok((value, before.zip(cpu_seconds()).map_or(wall, |(before, after)| after - before)))
}

/// Time that this process has run on processors, where the system says so (Linux). Of a busy
/// machine's time a process gets a part; its own time says what it costs.
fn cpu_seconds() -> Option<f64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let times = tasks.filter_map(|task| {
        let times = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        times.split(' ').next()?.parse::<f64>().ok()
    });
    Some(times.sum::<f64>() / 1e9)
}

fn report(
    out: &mut dyn Write,
    what: &str,
    launched: &Launched,
    seconds: f64,
) -> Result<(), Box<dyn std::error::Error>> {
    let threads = launched.statistics.total.threads as f64;
    let rate = threads / seconds / 1e6;
    writeln!(out, "{what:<36} {rate:>8.1} M thread-instructions/s ({seconds:.3} s of CPU)")?;
    Ok(())
}
