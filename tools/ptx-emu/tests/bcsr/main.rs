//! A sparse product on 64 CTAs: TMA loads into a ring of slots, `wgmma` by another warpgroup, and in
//! one variant clusters of two that share blocks of A by multicast.
//!
//! Values are small integers, so that the result is exact in any order of summation. Both kernels have
//! run on an H200, to the same result.

use half::bf16;
use ptx_emu::asynch::mbarrier::MbarrierError;
use ptx_emu::report::Problem;
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

const SOURCE: &str = include_str!("bcsr.ptx");

/// Whether the product is right, if the kernel runs to its end.
fn multiply(
    source: &str,
    kernel: &str,
    timing: Timing,
    schedule: Schedule,
) -> Result<bool, LaunchError> {
    let module = Module::parse(source).unwrap_or_else(|error| panic!("{error}"));
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
    Ok(gpu.read(c) == reference(&a, &b))
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
        match multiply(SOURCE, kernel, timing, schedule) {
            Ok(right) => assert!(right, "{kernel}, {timing:?}, {schedule:?}"),
            Err(error) => panic!("{kernel}, {timing:?}, {schedule:?}: {error}"),
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

/// A fault planted in the pipeline, by replacing text of the kernel, and what may be found.
struct Fault {
    kernel: &'static str,
    from: &'static str,
    to: &'static str,
    finds: fn(&Problem) -> bool,
}

macro_rules! fault {
    ($kernel:literal, $from:literal => $to:literal, $finds:pat) => {
        Fault { kernel: $kernel, from: $from, to: $to, finds: |problem| matches!(problem, $finds) }
    };
}

const FAULTS: &[Fault] = &[
    fault!("bcsr", "@!%done bra empty_wait;" => "",
        Problem::Pending { .. } | Problem::Race { .. } | Problem::Mbarrier { .. }),
    fault!("bcsr", "@!%done bra full_wait;" => "",
        Problem::Pending { .. } | Problem::Race { .. } | Problem::Poison { .. }),
    fault!("bcsr", "_, [%full], 16384" => "_, [%full], 16368",
        Problem::Mbarrier { error: MbarrierError::TransactionSurplus { .. }, .. }
            | Problem::LateTransaction { .. }),
    fault!("bcsr", "_, [%full], 16384" => "_, [%full], 16400", Problem::Deadlock { .. }),
    fault!("bcsr", "wgmma.wait_group.sync.aligned 0;" => "wgmma.wait_group.sync.aligned 1;",
        Problem::InFlightRegister { .. } | Problem::Pending { .. } | Problem::Race { .. }),
    fault!("bcsr", "    wgmma.fence.sync.aligned;" => "", Problem::WgmmaFence { .. }),
    fault!("bcsr", "@%first mbarrier.arrive.shared::cta.b64 _, [%empty];" => "",
        Problem::Deadlock { .. }),
    fault!("bcsr", "    barrier.cta.sync.aligned 0;" => "",
        Problem::Race { .. } | Problem::Mbarrier { .. }),
    fault!("bcsr", "setmaxnreg.inc.sync.aligned.u32 216;" => "setmaxnreg.inc.sync.aligned.u32 224;",
        Problem::Deadlock { .. }),
    fault!("bcsr_cluster", "    barrier.cluster.arrive.release;\n    barrier.cluster.wait.acquire;" => "",
        Problem::Exited { .. } | Problem::Leak { .. }),
    fault!("bcsr_cluster", "mapa.shared::cluster.u32 %remote, %empty, 1;" =>
        "mapa.shared::cluster.u32 %remote, %empty, 0;",
        Problem::Mbarrier { .. } | Problem::Deadlock { .. } | Problem::Pending { .. }
            | Problem::Race { .. }),
    fault!("bcsr_cluster", "mov.u16 %both, 3;" => "mov.u16 %both, 1;",
        Problem::Deadlock { .. } | Problem::Mbarrier { .. }),
];

#[test]
fn faults_in_the_pipeline_are_found() {
    for fault in FAULTS {
        let (kernel, from) = (fault.kernel, fault.from);
        assert!(SOURCE.contains(from), "{from}");
        let source = SOURCE.replace(from, fault.to);
        for (timing, schedule) in
            [(Timing::Late, Schedule::Fixed), (Timing::Eager, Schedule::Random(5))]
        {
            match multiply(&source, kernel, timing, schedule) {
                Err(LaunchError::Fault(found)) => {
                    let problem = &found.first.problem;
                    assert!((fault.finds)(problem), "{from}, {timing:?}: {found}");
                }
                Err(error) => panic!("{from}, {timing:?}: {error}"),
                Ok(_) => panic!("{from}, {timing:?}: not found"),
            }
        }
    }
}

/// Breaks no rule by itself, but other bytes are read than were meant.
#[test]
fn a_descriptor_without_the_swizzle_is_found() {
    let source = SOURCE.replace("0x4000004000010000", "0x0000004000010000");
    match multiply(&source, "bcsr", Timing::Late, Schedule::Fixed) {
        Ok(right) => assert!(!right),
        Err(LaunchError::Fault(found)) => {
            assert!(matches!(found.first.problem, Problem::Pending { .. }), "{found}");
        }
        Err(error) => panic!("{error}"),
    }
}
