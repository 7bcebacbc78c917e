//! Our own small programs: what compilers make of ordinary CUDA.

use std::rc::Rc;

use half::{bf16, f16};
use ptx_emu::tensor_core::Swizzle;
use ptx_emu::tensor_map::DataType;
use ptx_emu::{Arg, Device, Gpu, Launch, Launched};

use crate::case::{Case, Expected, Failure, Kernel, Mode, Number};
use crate::maps::{parameter, tiled};
use crate::reference::{Stream, close, compare, product, small, to_bf16};

/// `n` integers with all bits in use.
fn integers(n: usize, seed: u64) -> Vec<i32> {
    let mut stream = Stream(seed);
    (0..n).map(|_| stream.next() as i32).collect()
}

/// What `integer_math` computes for one pair.
fn integer_math(x: i32, y: u32) -> u32 {
    let (ux, iy) = (x as u32, y as i32);
    let permuted = {
        let bytes = (u64::from(y) << 32 | u64::from(ux)).to_le_bytes();
        [0x5, 0x1, 0x7, 0x3]
            .iter()
            .fold((0, 0), |(value, shift), &i: &usize| {
                (value | u32::from(bytes[i]) << shift, shift + 8)
            })
            .0
    };
    let mut h = y
        .count_ones()
        .wrapping_add(ux.leading_zeros() * 3)
        .wrapping_add(if x == 0 { 0 } else { (ux.trailing_zeros() + 1) * 5 })
        .wrapping_add(y.reverse_bits())
        .wrapping_add(permuted)
        .wrapping_add((u64::from(ux) * u64::from(y) >> 32) as u32)
        .wrapping_add((i64::from(x) * i64::from(iy) >> 32) as u32);
    let funnel_left = ((u64::from(y) << 32 | u64::from(ux)) << (ux & 31) >> 32) as u32;
    let funnel_right = ((u64::from(y) << 32 | u64::from(ux)) >> (y & 63).min(32)) as u32;
    let sad = h.wrapping_add(x.abs_diff(iy));
    let dot =
        x.to_le_bytes().iter().zip(iy.to_le_bytes()).fold(h as i32, |sum, (&a, b)| {
            sum.wrapping_add(i32::from(a as i8) * i32::from(b as i8))
        });
    let low24 = |v: i32| i64::from(v << 8 >> 8);
    let mul24 = (low24(x) * low24(iy)) as u32;
    h ^= funnel_left
        .wrapping_add(funnel_right)
        .wrapping_add(sad)
        .wrapping_add(dot as u32)
        .wrapping_add(mul24);
    h = h
        .wrapping_add((x / ((y & 1023) as i32 + 1)) as u32)
        .wrapping_add(y % 37)
        .wrapping_add((x % 11) as u32)
        .wrapping_add((i64::from(x) * i64::from(iy) >> 17) as u32);
    let mut l = u64::from(h) << 32 | u64::from(y);
    l = (l / (u64::from(y & 0xffff) + 3))
        .wrapping_add(u64::from(l.count_ones()))
        .wrapping_add(u64::from(l.leading_zeros()))
        .wrapping_add(l.reverse_bits())
        .wrapping_add((u128::from(l) * u128::from(l.wrapping_mul(3)) >> 64) as u64);
    h = h.wrapping_add(l as u32 ^ (l >> 32) as u32);
    h = h
        .wrapping_add(x.min(iy) as u32)
        .wrapping_add(ux.max(y))
        .wrapping_add(x.wrapping_abs() as u32)
        .wrapping_add((x >> 3) as u32)
        .wrapping_add(y >> (x & 15))
        .wrapping_add((x << (y & 7)) as u32);
    let bytewise = |f: fn(u8, u8) -> u8| {
        let (a, b) = (ux.to_le_bytes(), y.to_le_bytes());
        u32::from_le_bytes(std::array::from_fn(|i| f(a[i], b[i])))
    };
    let halves = (ux & 0xffff).max(y & 0xffff) | (ux >> 16).max(y >> 16) << 16;
    h = h
        .wrapping_add(bytewise(u8::wrapping_add))
        .wrapping_add(halves)
        .wrapping_add(bytewise(|a, b| u8::from(a > b)));
    let field = h >> 5 & 0x1ff;
    let inserted = h & !(0x7f << 3) | (field & 0x7f) << 3;
    let mixed = inserted ^ h ^ y;
    let (sum, carry) = mixed.overflowing_add(h);
    let end = sum.wrapping_add(5).wrapping_add(u32::from(carry));
    let end = end ^ sum & 0xf;
    let second = (0..32).filter(|bit| mixed >> bit & 1 == 1).nth(1).unwrap_or(u32::MAX);
    end.wrapping_add(second)
}

/// What `warp_ops` computes for each lane of one warp.
fn warp_ops(x: &[i32]) -> Vec<i32> {
    let bits = |f: &dyn Fn(usize) -> bool| {
        (0..32).filter(|&lane| f(lane)).fold(0u32, |mask, lane| mask | 1 << lane)
    };
    let sum = x.iter().fold(0i32, |sum, &x| sum.wrapping_add(x));
    let either = x.iter().fold(0, |all, &x| all | x);
    (0..32)
        .map(|lane| {
            let mut s = sum;
            let up = x[if lane >= 3 { lane - 3 } else { lane }];
            let down = x[if lane % 16 + 5 < 16 { lane + 5 } else { lane }];
            let from = x[(lane & !7) + (lane * 7 & 7)];
            let odd = bits(&|lane| x[lane] & 1 == 1);
            let any = i32::from(x.iter().any(|&x| x > 100));
            let all = i32::from(x.iter().all(|&x| x > -1000));
            let alike = bits(&|other| x[other] & 3 == x[lane] & 3);
            let mut active = 0;
            if lane & 1 == 1 {
                active = 16;
                s = s.wrapping_add(x[lane ^ 2]);
            }
            let wide = ((i64::from(x[lane ^ 1]) << 33) >> 33) as i32;
            [
                s,
                up.wrapping_mul(3),
                down.wrapping_mul(5),
                from.wrapping_mul(7),
                odd as i32,
                any,
                all * 2,
                alike as i32,
                -1,
                1,
                sum,
                x.iter().copied().max().unwrap_or(0),
                either,
                active,
                wide,
            ]
            .iter()
            .fold(0i32, |sum, &term| sum.wrapping_add(term))
        })
        .collect()
}

/// Steps of the Collatz sequence from `x` to 1.
fn collatz(mut x: i32) -> i32 {
    let mut steps = 0;
    while x != 1 {
        x = if x & 1 == 1 { 3 * x + 1 } else { x / 2 };
        steps += 1;
    }
    steps
}

fn fibonacci(n: i32) -> i32 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

/// What `switches` computes for input `x` at position `i`, where `out` held 0.
fn switches(x: i32, i: i32) -> i32 {
    let mut r = i;
    for k in 0..3 {
        r = match x.wrapping_add(k) & 15 {
            0 => r.wrapping_add(x.wrapping_mul(3)),
            1 => r ^ x,
            2 => r.wrapping_mul(7).wrapping_add(1),
            3 => r,
            4 => !r,
            5 => r << 2 | 1,
            6 => r.reverse_bits(),
            7 => r.wrapping_add(1000),
            8 => r / 3,
            9 => r % 1001,
            10 => r.count_ones() as i32,
            11 => r ^ r >> 5,
            12 => r.wrapping_neg(),
            _ => r.wrapping_add(k),
        };
    }
    r
}

/// What `local_arrays` computes at position `i`.
fn local_arrays(input: &[f32], i: usize, pick: usize) -> f32 {
    let mut a: [f32; 16] = std::array::from_fn(|k| input[(i + k * 5) % input.len()]);
    for k in 0..16 {
        let j = (pick * k + i) & 15;
        let t = a[k];
        a[k] = a[j];
        a[j] = t + 1.0;
    }
    a.iter().fold(0.0, |s, &a| s * 0.5 + a)
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

/// What `float_math` computes, in f64.
fn float_math(x: f64) -> f64 {
    let mut y = x.sin()
        + (-x.abs()).exp()
        + (1.0 + x * x).ln()
        + 1.0 / (1.0 + x.abs()).sqrt()
        + x.tanh()
        + error_function(x)
        + (x.abs() + 0.5).powf(1.25);
    y += x / 3.0
        + x / (2.0 + x * x)
        + x.abs().sqrt()
        + (x * x + y)
        + x.trunc()
        + y.copysign(x)
        + x % f64::from(0.7f32);
    y + 1.0 / (2.0 + x * x) + (x + y) + x * y + x.clamp(0.0, 1.0)
}

/// The error function by its Taylor series where that is exact enough, else its limit.
fn error_function(x: f64) -> f64 {
    if x.abs() > 5.0 {
        return 1f64.copysign(x);
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
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

/// A sparse matrix of 64×64 blocks of small integers, stored as `bcsr` wants them.
struct Blocks {
    rows: usize,
    row_ptr: Vec<i32>,
    col_idx: Vec<i32>,
    /// Blocks one after the other, each with the 16-byte chunks of a row permuted as the 128-byte
    /// swizzle does.
    values: Vec<bf16>,
    columns: usize,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl Blocks {
    fn new(rows: usize, per_row: usize, columns: usize) -> Rc<Self> {
        let (mut row_ptr, mut col_idx, mut values) = (vec![0], Vec::new(), Vec::new());
        let size = rows * 64;
        let mut dense = vec![0.0; size * size];
        for row in 0..rows {
            for i in 0..per_row {
                let column = (row * 7 + i * 3) % rows;
                let block = small(4096, (row * per_row + i) as u64);
                col_idx.push(column as i32);
                for (at, &value) in block.iter().enumerate() {
                    dense[(row * 64 + at / 64) * size + column * 64 + at % 64] += value;
                }
                values.extend((0..4096).map(|at| {
                    let (r, chunk, within) = (at / 64, at / 8 % 8, at % 8);
                    bf16::from_f32(block[r * 64 + (chunk ^ r % 8) * 8 + within])
                }));
            }
            row_ptr.push(col_idx.len() as i32);
        }
        let b = small(size * columns, 99);
        let c = product(size, columns, size, &dense, &b);
        Rc::new(Self { rows, row_ptr, col_idx, values, columns, b, c })
    }

    fn run(&self, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
        let mut gpu = Gpu::new(Device::h100());
        let b = gpu.alloc_from(&to_bf16(&self.b));
        let c = gpu.alloc::<f32>(self.c.len());
        let (inner, columns) = (self.rows as u64 * 64, self.columns as u64);
        let kind = (DataType::Bfloat16, Swizzle::Bytes128);
        let map =
            parameter(&tiled(kind, b.address(), &[columns, inner], &[columns * 2], &[64, 64]));
        let arguments = [
            gpu.alloc_from(&self.row_ptr).arg(),
            gpu.alloc_from(&self.col_idx).arg(),
            gpu.alloc_from(&self.values).arg(),
            map,
            c.arg(),
            (self.columns as u32).arg(),
        ];
        let shape = Launch::grid(self.rows as u32, (self.columns / 64) as u32, 1)
            .block(160, 1, 1)
            .dynamic_shared(65_536);
        let launched = gpu.launch(&kernel.module, &kernel.entry, &mode.of(shape), &arguments)?;
        compare(&gpu.read(c), &self.c)?;
        Ok(launched)
    }
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
    let blocks = Blocks::new(16, 6, 256);
    for file in ["nvrtc13_bcsr", "nvrtc12_bcsr", "nvrtc13_bcsr_lineinfo"] {
        let blocks = Rc::clone(&blocks);
        cases.push(Case {
            name: "bcsr",
            file,
            entry: "bcsr",
            size: format!("16 block rows x 6, 256 columns, from {file}"),
            repair: None,
            expected: Expected::Right,
            run: Box::new(move |kernel, mode| blocks.run(kernel, mode)),
        });
    }
    cases
}
