//! HazyResearch/ThunderKittens: `kernels/gemm/bf16_h100` and `kernels/attention/mha_h100_lcf`.
//!
//! Both take one struct by value: for each matrix 384 bytes with the pointer at 0, the sizes that
//! are not compile-time constants after it, and the tensor map at 128.

use half::bf16;
use ptx_emu::tensor_core::Swizzle;
use ptx_emu::tensor_map::{DataType, TensorMap};
use ptx_emu::{Arg, Device, Gpu, Launch, Launched};

use crate::case::{Case, Expected, Failure, Kernel, Mode, Repair};
use crate::maps::tiled;
use crate::reference::{Stream, close, compare, product, small, to_bf16};

/// Bytes of dynamic shared memory: all of an SM's but 2 KiB.
const SHARED: u32 = 231_424;

/// A matrix's part of the parameter struct.
fn global(address: u64, sizes: &[(usize, usize)], map: &TensorMap) -> Vec<u8> {
    let mut bytes = vec![0; 384];
    bytes[..8].copy_from_slice(&address.to_le_bytes());
    for &(at, size) in sizes {
        bytes[at..at + 8].copy_from_slice(&(size as u64).to_le_bytes());
    }
    bytes[128..256].copy_from_slice(&map.to_bytes());
    bytes
}

/// The library's map of `planes` row-major matrices: groups of 64 columns are a dimension.
fn map(
    address: u64,
    planes: [usize; 2],
    rows: usize,
    columns: usize,
    tile: [usize; 2],
) -> TensorMap {
    let plane = (rows * columns * 2) as u64;
    let dims = [64, rows as u64, columns as u64 / 64, planes[1] as u64, planes[0] as u64];
    let strides = [columns as u64 * 2, 128, plane, plane * planes[1] as u64];
    let box_dims = [64, tile[0] as u32, tile[1] as u32 / 64, 1, 1];
    tiled((DataType::Bfloat16, Swizzle::Bytes128), address, &dims, &strides, &box_dims)
}

fn gemm(
    kernel: &Kernel,
    mode: Mode,
    [m, n, k]: [usize; 3],
    ctas: u32,
) -> Result<Launched, Failure> {
    let (a, b) = (small(m * k, 1), small(k * n, 2));
    let expected = to_bf16(&product(m, n, k, &a, &b));
    let mut gpu = Gpu::new(Device::h100());
    let (a, b) = (gpu.alloc_from(&to_bf16(&a)), gpu.alloc_from(&to_bf16(&b)));
    let c = gpu.alloc::<bf16>(m * n);
    let mut globals = Vec::new();
    for (address, rows, columns) in [(a.address(), m, k), (b.address(), k, n), (c.address(), m, n)]
    {
        let map = map(address, [1, 1], rows, columns, [64, 64]);
        globals.extend(global(address, &[(16, rows), (24, columns)], &map));
    }
    let launch = Launch::grid(ctas, 1, 1).block(384, 1, 1).dynamic_shared(SHARED);
    let launched = gpu.launch(
        &kernel.module,
        &kernel.entry,
        &mode.of(launch),
        &[Arg::bytes(globals.as_slice())],
    )?;
    compare(&gpu.read(c), &expected)?;
    Ok(launched)
}

/// softmax(Q·Kᵀ/√d)·V for one head, in f32.
fn attention(q: &[f32], k: &[f32], v: &[f32], d: usize) -> Vec<f32> {
    let scale = (d as f32).sqrt().recip();
    q.chunks_exact(d)
        .flat_map(|q| {
            let scores: Vec<f32> = k
                .chunks_exact(d)
                .map(|k| scale * q.iter().zip(k).map(|(q, k)| q * k).sum::<f32>())
                .collect();
            let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let weights: Vec<f32> = scores.iter().map(|score| (score - largest).exp()).collect();
            let sum: f32 = weights.iter().sum();
            (0..d)
                .map(|j| {
                    v.chunks_exact(d).zip(&weights).map(|(v, weight)| v[j] * weight).sum::<f32>()
                        / sum
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

fn mha(
    kernel: &Kernel,
    mode: Mode,
    heads: usize,
    rows: usize,
    keys: usize,
    ctas: u32,
) -> Result<Launched, Failure> {
    const D: usize = 128;
    let mut stream = Stream(3);
    let mut random =
        |n: usize| (0..n).map(|_| bf16::from_f32(stream.unit()).to_f32()).collect::<Vec<_>>();
    let (q, k, v) = (random(heads * rows * D), random(heads * keys * D), random(heads * keys * D));
    let expected: Vec<f32> = (0..heads)
        .flat_map(|head| {
            let of = |x: &[f32], rows: usize| x[head * rows * D..][..rows * D].to_vec();
            attention(&of(&q, rows), &of(&k, keys), &of(&v, keys), D)
        })
        .collect();
    let mut gpu = Gpu::new(Device::h100());
    let o = gpu.alloc::<bf16>(q.len());
    let addresses = [
        o.address(),
        gpu.alloc_from(&to_bf16(&q)).address(),
        gpu.alloc_from(&to_bf16(&k)).address(),
        gpu.alloc_from(&to_bf16(&v)).address(),
    ];
    let mut globals = Vec::new();
    for (address, rows, tile) in addresses
        .into_iter()
        .zip([rows, rows, keys, keys])
        .zip([64, 64, 128, 128])
        .map(|((a, b), c)| (a, b, c))
    {
        let map = map(address, [1, heads], rows, D, [tile, D]);
        globals.extend(global(address, &[(8, 1), (16, heads), (24, rows)], &map));
    }
    let launch = Launch::grid(ctas, 1, 1).block(512, 1, 1).dynamic_shared(SHARED);
    let launched = gpu.launch(
        &kernel.module,
        &kernel.entry,
        &mode.of(launch),
        &[Arg::bytes(globals.as_slice())],
    )?;
    let got: Vec<f32> = gpu.read(o).into_iter().map(bf16::to_f32).collect();
    close(&got, &expected, 4e-3, 1e-2)?;
    Ok(launched)
}

/// All 32 lanes of a warp initialize every mbarrier at once, where the source's comment says a
/// single thread does: `mbarrier.init` over a barrier that exists is undefined.
const FAULT: Expected = Expected::Report(&["mbarrier.init"]);

/// Lets the warp's first lane do it: the branch before compares the thread's number instead of the
/// first of its warp.
fn mend(ptx: &str) -> String {
    let mut mended = String::with_capacity(ptx.len());
    let mut rest = ptx;
    while let Some(at) = rest.find(".entry") {
        let (before, entry) = rest.split_at(at + 1);
        mended.push_str(before);
        let end = entry.find(".entry").unwrap_or(entry.len());
        let body = &entry[..end];
        let warp = body.find("mbarrier.init").and_then(|init| {
            let mask = body[..init].rfind(", -32;")?;
            Some((body[..mask].rfind("and.b32")?, mask))
        });
        match warp {
            None => mended.push_str(body),
            Some((and, mask)) => {
                mended.push_str(&body[..and]);
                mended.push_str("or.b32");
                mended.push_str(&body[and + 7..mask]);
                mended.push_str(", 0;");
                mended.push_str(&body[mask + 6..]);
            }
        }
        rest = &entry[end..];
    }
    mended.push_str(rest);
    mended
}

/// All cases of this family.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mended in [false, true] {
        let repair: Option<Repair> = if mended { Some(mend) } else { None };
        let expected = || if mended { Expected::Right } else { FAULT };
        for (name, file, entry, size, ctas) in [
            ("tk gemm 2x4", "tk_gemm", "lcf6kernelI15matmul_templateILi2ELi4E", [256, 512, 320], 3),
            (
                "tk gemm 2x2",
                "tk_gemm_small",
                "lcf6kernelI15matmul_templateILi2ELi2E",
                [256, 256, 384],
                3,
            ),
        ] {
            cases.push(Case {
                name,
                file,
                entry,
                size: format!("{}x{}x{}, {ctas} CTAs", size[0], size[1], size[2]),
                repair,
                expected: expected(),
                run: Box::new(move |kernel, mode| gemm(kernel, mode, size, ctas)),
            });
        }
        cases.push(Case {
            name: "tk attention",
            file: "tk_attn",
            entry: "attn_fwd_template",
            size: "2 heads, 384x256x128, 3 CTAs".to_owned(),
            repair,
            expected: expected(),
            run: Box::new(|kernel, mode| mha(kernel, mode, 2, 384, 256, 3)),
        });
    }
    cases
}
