//! A sparse product on 64 CTAs: TMA loads into a ring of slots, `wgmma` by another warpgroup, and in
//! one variant clusters of two that share blocks of A by multicast.
//!
//! Values are small integers, so that the result is exact in any order of summation. Both kernels have
//! run on an H200, to the same result.

use half::bf16;
use ptx_emu::tensor_core::Swizzle;
use ptx_emu::tensor_map::{DataType, TensorMap, Tiled};
use ptx_emu::{Arg, Device, Gpu, Launch, LaunchError, Module, Schedule, Timing};

const BLOCK: usize = 64;
const BLOCK_ROWS: usize = 16;
const BLOCK_COLS: usize = 8;
const N: usize = 256;

/// A in blocks of 64×64, each row-major.
struct Bcsr {
    row_ptr: Vec<u32>,
    col_idx: Vec<u32>,
    values: Vec<bf16>,
}

fn small(i: usize) -> f32 {
    (((i * 2_654_435_761) >> 7) % 5) as f32 - 2.0
}

/// Rows of blocks with 0 to 5 blocks.
fn matrix() -> Bcsr {
    let (mut row_ptr, mut col_idx) = (vec![0], Vec::new());
    for row in 0..BLOCK_ROWS {
        let n = row * 5 % 6;
        col_idx.extend((0..n).map(|i| ((row + i * (row % 3 + 1)) % BLOCK_COLS) as u32));
        row_ptr.push(col_idx.len() as u32);
    }
    let n_values = col_idx.len() * BLOCK * BLOCK;
    let values = (0..n_values).map(|i| bf16::from_f32(small(i))).collect();
    Bcsr { row_ptr, col_idx, values }
}

fn reference(a: &Bcsr, b: &[bf16]) -> Vec<f32> {
    let mut c = vec![0.0; BLOCK_ROWS * BLOCK * N];
    for row in 0..BLOCK_ROWS {
        for block in a.row_ptr[row] as usize..a.row_ptr[row + 1] as usize {
            let tile = &a.values[block * BLOCK * BLOCK..][..BLOCK * BLOCK];
            let first = a.col_idx[block] as usize * BLOCK;
            for (i, of_a) in tile.chunks_exact(BLOCK).enumerate() {
                let of_c = &mut c[(row * BLOCK + i) * N..][..N];
                for (k, a) in of_a.iter().enumerate() {
                    let of_b = &b[(first + k) * N..][..N];
                    for (c, b) in of_c.iter_mut().zip(of_b) {
                        *c += a.to_f32() * b.to_f32();
                    }
                }
            }
        }
    }
    c
}

fn map(address: u64, cols: usize, rows: usize, box_rows: u32) -> Arg {
    let dims = [cols as u64, rows as u64];
    let strides = [cols as u64 * 2];
    let box_dims = [BLOCK as u32, box_rows];
    let tiled = Tiled::new(DataType::Bfloat16, address, &dims, &strides, &box_dims);
    let map = TensorMap::tiled(&Tiled { swizzle: Swizzle::Bytes128, ..tiled });
    Arg::bytes(map.expect("a legal tensor map").to_bytes())
}

fn multiply(kernel: &str, timing: Timing, schedule: Schedule) -> Result<Vec<f32>, LaunchError> {
    let module = Module::parse(include_str!("bcsr.ptx")).expect("legal PTX");
    let a = matrix();
    let b: Vec<bf16> = (0..BLOCK_COLS * BLOCK * N).map(|i| bf16::from_f32(small(i + 77))).collect();
    let mut gpu = Gpu::new(Device::h100());
    let values = gpu.alloc_from(&a.values);
    let dense = gpu.alloc_from(&b);
    let row_ptr = gpu.alloc_from(&a.row_ptr);
    let col_idx = gpu.alloc_from(&a.col_idx);
    let c = gpu.alloc::<f32>(BLOCK_ROWS * BLOCK * N);
    let box_rows = if kernel == "bcsr" { 64 } else { 32 };
    let args = [
        map(values.address(), BLOCK, a.col_idx.len() * BLOCK, box_rows),
        map(dense.address(), N, BLOCK_COLS * BLOCK, 64),
        row_ptr.arg(),
        col_idx.arg(),
        c.arg(),
        (N as u32).into(),
    ];
    let launch = Launch::grid((N / BLOCK) as u32, BLOCK_ROWS as u32, 1)
        .block(256, 1, 1)
        .dynamic_shared(3 * 16384)
        .timing(timing)
        .schedule(schedule);
    gpu.launch(&module, kernel, &launch, &args)?;
    let c = gpu.read(c);
    assert_eq!(c, reference(&a, &b), "{kernel}, {timing:?}, {schedule:?}");
    Ok(c)
}

fn check(kernel: &str) {
    let ways = [
        (Timing::Late, Schedule::Fixed),
        (Timing::Late, Schedule::Random(1)),
        (Timing::Eager, Schedule::Fixed),
        (Timing::Random(2), Schedule::Fixed),
        (Timing::Random(3), Schedule::Random(3)),
    ];
    for (timing, schedule) in ways {
        if let Err(error) = multiply(kernel, timing, schedule) {
            panic!("{kernel}, {timing:?}, {schedule:?}: {error}");
        }
    }
}

#[test]
fn blocks_are_multiplied() {
    check("bcsr");
}

#[test]
fn clusters_share_blocks() {
    check("bcsr_cluster");
}
