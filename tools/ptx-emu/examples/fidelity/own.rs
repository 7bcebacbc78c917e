//! Our own small programs: what compilers make of ordinary CUDA.

use half::{bf16, f16};
use ptx_emu::tensor_core::Swizzle;
use ptx_emu::tensor_map::DataType;
use ptx_emu::{Arg, Device, Gpu, Launch, Launched};

use crate::case::{Case, Expected, Failure, Kernel, Mode, Number};
use crate::expected::{
    collatz, fibonacci, float_math, integer_math, local_arrays, switches, warp_ops,
};
use crate::maps::{parameter, tiled};
use crate::reference::{Stream, close, compare};

/// `n` integers with all bits in use.
fn integers(n: usize, seed: u64) -> Vec<i32> {
    let mut stream = Stream(seed);
    (0..n).map(|_| stream.next() as i32).collect()
}

/// A launch of one of our programs: inputs, a check of the outputs.
type Program = fn(&mut Gpu, &Kernel, Mode) -> Result<Launched, Failure>;

const N: usize = 200;

fn launch(
    gpu: &mut Gpu,
    kernel: &Kernel,
    mode: Mode,
    shape: Launch,
    arguments: &[Arg],
) -> Result<Launched, Failure> {
    Ok(gpu.launch(&kernel.module, &kernel.entry, &mode.of(shape), arguments)?)
}

/// 64 threads a CTA, enough CTAs for `N`.
fn per_element() -> Launch {
    Launch::grid((N as u32).div_ceil(64), 1, 1).block(64, 1, 1)
}

fn run_integer_math(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let a = integers(N, 1);
    let b: Vec<u32> = integers(N, 2).iter().map(|&b| b as u32).collect();
    let out = gpu.alloc::<u32>(N);
    let arguments =
        [gpu.alloc_from(&a).arg(), gpu.alloc_from(&b).arg(), out.arg(), (N as u32).arg()];
    let launched = launch(gpu, kernel, mode, per_element(), &arguments)?;
    let expected: Vec<u32> = a.iter().zip(&b).map(|(&a, &b)| integer_math(a, b)).collect();
    compare(&gpu.read(out), &expected)?;
    Ok(launched)
}

fn run_warp_ops(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let input: Vec<i32> = integers(64, 3).iter().map(|x| x >> 20).collect();
    let out = gpu.alloc::<i32>(64);
    let arguments = [gpu.alloc_from(&input).arg(), out.arg()];
    let launched = launch(gpu, kernel, mode, Launch::grid(1, 1, 1).block(64, 1, 1), &arguments)?;
    let expected: Vec<i32> = input.chunks(32).flat_map(warp_ops).collect();
    compare(&gpu.read(out), &expected)?;
    Ok(launched)
}

fn run_calls(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let input: Vec<i32> = (1..=40).collect();
    let vectors: Vec<f32> = (0..160).map(|i| i as f32 * 0.25).collect();
    let (out, vec) = (gpu.alloc::<i32>(40), gpu.alloc_from(&vectors));
    let arguments = [gpu.alloc_from(&input).arg(), out.arg(), vec.arg(), 40u32.arg()];
    let launched = launch(gpu, kernel, mode, Launch::grid(1, 1, 1).block(64, 1, 1), &arguments)?;
    let expected: Vec<i32> =
        input.iter().enumerate().map(|(i, &x)| collatz(x) + fibonacci(i as i32 & 7)).collect();
    compare(&gpu.read(out), &expected)?;
    let mixed: Vec<f32> = input
        .iter()
        .zip(vectors.chunks(4))
        .flat_map(|(&x, v)| {
            let t = collatz(x) as f32;
            [v[0] + t, v[1] - t * 2.0, v[2] * 3.0 + t, v[3] / (4.0 + t)]
        })
        .collect();
    compare(&gpu.read(vec), &mixed)?;
    Ok(launched)
}

fn run_switches(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let input = integers(N, 5);
    let out = gpu.alloc_from(&vec![0i32; N]);
    let arguments = [gpu.alloc_from(&input).arg(), out.arg(), (N as u32).arg()];
    let launched = launch(gpu, kernel, mode, per_element(), &arguments)?;
    let expected: Vec<i32> = (0..).zip(&input).map(|(i, &x)| switches(x, i)).collect();
    compare(&gpu.read(out), &expected)?;
    Ok(launched)
}

fn run_local_arrays(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let mut stream = Stream(6);
    let input: Vec<f32> = (0..N).map(|_| stream.between(-50, 50) as f32).collect();
    let out = gpu.alloc::<f32>(N);
    let arguments = [gpu.alloc_from(&input).arg(), out.arg(), (N as u32).arg(), 7u32.arg()];
    let launched = launch(gpu, kernel, mode, per_element(), &arguments)?;
    let expected: Vec<f32> = (0..N).map(|i| local_arrays(&input, i, 7)).collect();
    close(&gpu.read(out), &expected, 1e-3, 1e-5)?;
    Ok(launched)
}

fn run_atomics(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let keys: Vec<i32> = integers(N, 7).iter().map(|x| x & 0xffff).collect();
    let n = N as i32;
    let mut start = [0i32; 43];
    start[33] = i32::MAX;
    start[36] = -1;
    let (counters, sums, big) =
        (gpu.alloc_from(&start), gpu.alloc_from(&[0.0f32; 8]), gpu.alloc_from(&[0u64]));
    let arguments =
        [counters.arg(), sums.arg(), big.arg(), gpu.alloc_from(&keys).arg(), (N as u32).arg()];
    let launched = launch(gpu, kernel, mode, per_element(), &arguments)?;
    let mut expected = start;
    for &key in &keys {
        expected[(key & 31) as usize] += 1;
        expected[32] = expected[32].max(key);
        expected[33] = expected[33].min(key);
        expected[34] ^= key;
        expected[35] |= 1 << (key & 31);
        expected[36] &= !(1 << (key & 7));
    }
    expected[37..43].copy_from_slice(&[n, -n, 7, n, n, n]);
    compare(&gpu.read(counters), &expected)?;
    let per_sum = |i: i32| keys.iter().filter(|&&key| key & 3 == i).count() as f32;
    compare(&gpu.read(sums)[..4], &[per_sum(0), per_sum(1), per_sum(2), per_sum(3)])?;
    let sums = gpu.read(sums);
    let half = f64::from_bits(u64::from(sums[5].to_bits()) << 32 | u64::from(sums[4].to_bits()));
    compare(&[half], &[0.5 * f64::from(n)])?;
    compare(&gpu.read(big), &[keys.iter().map(|&key| key as u64).sum()])?;
    Ok(launched)
}

fn run_groups(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let input: Vec<i32> = (0..128).map(|i| i % 5 - 2).collect();
    let out = gpu.alloc::<i32>(4);
    let arguments = [gpu.alloc_from(&input).arg(), out.arg()];
    let launched = launch(gpu, kernel, mode, Launch::grid(2, 1, 1).block(64, 1, 1), &arguments)?;
    let sum = |values: &[i32]| values.iter().sum::<i32>();
    let expected: Vec<i32> = input
        .chunks(64)
        .flat_map(|cta| cta.chunks(32).map(move |warp| sum(cta) + i32::from(sum(&warp[..16]) > 3)))
        .collect();
    compare(&gpu.read(out), &expected)?;
    Ok(launched)
}

fn run_cluster_sum(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let input = [3i32, 5, 7, 11, 13, 17, 19, 23];
    let out = gpu.alloc::<i32>(8);
    let arguments = [gpu.alloc_from(&input).arg(), out.arg()];
    let launched = launch(gpu, kernel, mode, Launch::grid(8, 1, 1).block(32, 1, 1), &arguments)?;
    compare(&gpu.read(out), &[26, 26, 26, 26, 72, 72, 72, 72])?;
    Ok(launched)
}

fn run_async_copy(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let input = integers(256, 8);
    let out = gpu.alloc::<i32>(128);
    let arguments = [gpu.alloc_from(&input).arg(), out.arg()];
    let launched = launch(gpu, kernel, mode, Launch::grid(1, 1, 1).block(128, 1, 1), &arguments)?;
    let expected: Vec<i32> =
        (0..128).map(|i| input[127 - i].wrapping_add(input[255 - i])).collect();
    compare(&gpu.read(out), &expected)?;
    Ok(launched)
}

fn run_reverse_dynamic(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let input: Vec<f32> = (0..128).map(|i| i as f32).collect();
    let out = gpu.alloc::<f32>(128);
    let arguments = [gpu.alloc_from(&input).arg(), out.arg()];
    let shape = Launch::grid(2, 1, 1).block(64, 1, 1).dynamic_shared(256);
    let launched = launch(gpu, kernel, mode, shape, &arguments)?;
    let expected: Vec<f32> =
        (0..128).map(|i| input[i / 64 * 64 + 63 - i % 64] * (i % 8 + 1) as f32).collect();
    compare(&gpu.read(out), &expected)?;
    Ok(launched)
}

fn run_decoupled(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let input: Vec<i32> = (1..=12).collect();
    let out = gpu.alloc::<i32>(12);
    let arguments = [
        gpu.alloc_from(&[0i32; 12]).arg(),
        gpu.alloc_from(&[0i32; 12]).arg(),
        gpu.alloc_from(&input).arg(),
        out.arg(),
    ];
    let launched = launch(gpu, kernel, mode, Launch::grid(12, 1, 1).block(32, 1, 1), &arguments)?;
    let expected: Vec<i32> = (1..=12).map(|i| i * (i + 1) / 2).collect();
    compare(&gpu.read(out), &expected)?;
    Ok(launched)
}

fn run_spin_cta(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let (flag, out) = (gpu.alloc_from(&[0i32]), gpu.alloc_from(&[0i32; 2]));
    let launched =
        launch(gpu, kernel, mode, Launch::grid(1, 1, 1).block(64, 1, 1), &[flag.arg(), out.arg()])?;
    compare(&gpu.read(out), &[9, 9])?;
    Ok(launched)
}

fn run_float_math(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let mut stream = Stream(9);
    let input: Vec<f32> = (0..N).map(|_| stream.unit() * 20.0).collect();
    let out = gpu.alloc::<f32>(N);
    let arguments = [gpu.alloc_from(&input).arg(), out.arg(), (N as u32).arg()];
    let launched = launch(gpu, kernel, mode, per_element(), &arguments)?;
    let expected: Vec<f32> = input.iter().map(|&x| float_math(f64::from(x)) as f32).collect();
    close(&gpu.read(out), &expected, 1e-3, 1e-4)?;
    Ok(launched)
}

fn run_double_math(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let mut stream = Stream(10);
    let input: Vec<f64> = (0..N).map(|_| f64::from(stream.unit()) * 20.0).collect();
    let out = gpu.alloc::<f64>(N);
    let arguments = [gpu.alloc_from(&input).arg(), out.arg(), (N as u32).arg()];
    let launched = launch(gpu, kernel, mode, per_element(), &arguments)?;
    for (i, (&got, &x)) in gpu.read(out).iter().zip(&input).enumerate() {
        let expected = x.abs().sqrt() / (1.0 + x * x)
            + (x * x - 1.0)
            + x.round_ties_even()
            + x.floor()
            + x % 3.0;
        if (got - expected).abs() > 1e-12 * expected.abs().max(1.0) {
            return Err(format!("at {i}: {got} instead of {expected}").into());
        }
    }
    Ok(launched)
}

fn run_half_math(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let mut stream = Stream(11);
    let (a, b): (Vec<f16>, Vec<f16>) = (0..N)
        .map(|_| (f16::from_f32(stream.unit() * 2.0), f16::from_f32(stream.unit() * 2.0)))
        .unzip();
    let out = gpu.alloc::<f16>(N);
    let arguments =
        [gpu.alloc_from(&a).arg(), gpu.alloc_from(&b).arg(), out.arg(), (N as u32).arg()];
    let launched = launch(gpu, kernel, mode, per_element(), &arguments)?;
    let expected: Vec<f32> = a
        .iter()
        .zip(&b)
        .map(|(x, y)| {
            let (x, y) = (x.to_f32(), y.to_f32());
            let r = x * x + x + (y * y + x) * x.max(y);
            let r = if x < y { r / (y + 3.0) } else { r - x.exp() };
            r + x.abs().sqrt()
        })
        .collect();
    let got: Vec<f32> = gpu.read(out).into_iter().map(f16::to_f32).collect();
    close(&got, &expected, 2e-2, 5e-3)?;
    Ok(launched)
}

fn run_bf16_math(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    let mut stream = Stream(12);
    let (a, b): (Vec<bf16>, Vec<bf16>) = (0..N)
        .map(|_| (bf16::from_f32(stream.unit() * 9.0), bf16::from_f32(stream.unit() * 9.0)))
        .unzip();
    let out = gpu.alloc::<bf16>(N);
    let arguments =
        [gpu.alloc_from(&a).arg(), gpu.alloc_from(&b).arg(), out.arg(), (N as u32).arg()];
    let launched = launch(gpu, kernel, mode, per_element(), &arguments)?;
    let rounded = |value: f64| bf16::from_f64(value).to_f64();
    let expected: Vec<bf16> = a
        .iter()
        .zip(&b)
        .map(|(x, y)| {
            let (x, y) = (x.to_f64(), y.to_f64());
            let (low, high) = (rounded(x * x + y), rounded(y * y + y));
            bf16::from_f64(low.max(x) + rounded(high * y.min(x)))
        })
        .collect();
    compare(&gpu.read(out), &expected)?;
    Ok(launched)
}

fn run_tensor_copy(gpu: &mut Gpu, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
    // 40×48 with rows of 52: tiles of 16×32 stand out on both sides.
    let input: Vec<f32> = (0..40 * 52).map(|i| i as f32).collect();
    let (source, target) = (gpu.alloc_from(&input), gpu.alloc_from(&vec![-1.0f32; 40 * 52]));
    let map = |address| {
        parameter(&tiled((DataType::Float32, Swizzle::None), address, &[48, 40], &[208], &[32, 16]))
    };
    let arguments = [map(source.address()), map(target.address())];
    let launched = launch(gpu, kernel, mode, Launch::grid(2, 3, 1).block(64, 1, 1), &arguments)?;
    let expected: Vec<f32> =
        (0..40 * 52).map(|i| if i % 52 < 48 { input[i] * 2.0 + 1.0 } else { -1.0 }).collect();
    compare(&gpu.read(target), &expected)?;
    Ok(launched)
}

/// Which compilers' output each program is run from.
const BUILDS: [&str; 5] =
    ["own_misc", "own_misc_debug", "own_misc_rdc", "nvrtc13_misc", "nvrtc12_misc"];

const PROGRAMS: [(&str, Program); 17] = [
    ("integer_math", run_integer_math),
    ("half_math", run_half_math),
    ("bf16_math", run_bf16_math),
    ("float_math", run_float_math),
    ("double_math", run_double_math),
    ("atomics", run_atomics),
    ("warp_ops", run_warp_ops),
    ("calls", run_calls),
    ("switches", run_switches),
    ("local_arrays", run_local_arrays),
    ("reverse_dynamic", run_reverse_dynamic),
    ("groups", run_groups),
    ("cluster_sum", run_cluster_sum),
    ("async_copy", run_async_copy),
    ("tensor_copy", run_tensor_copy),
    ("decoupled", run_decoupled),
    ("spin_cta", run_spin_cta),
];

/// All cases of this family.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for file in BUILDS {
        // Tensor maps come from a header that the runtime compiler does not have; cooperative groups
        // need calls through addresses where nothing is inlined.
        let missing: &[&str] = match file {
            "nvrtc13_misc" | "nvrtc12_misc" => &["tensor_copy"],
            "own_misc_debug" => &["groups", "cluster_sum"],
            _ => &[],
        };
        for (name, program) in PROGRAMS.into_iter().filter(|(name, _)| !missing.contains(name)) {
            cases.push(Case {
                name,
                file,
                entry: name,
                size: format!("from {file}"),
                repair: None,
                expected: Expected::Right,
                run: Box::new(move |kernel, mode| {
                    program(&mut Gpu::new(Device::h100()), kernel, mode)
                }),
            });
        }
    }
    cases
}
