//! deepseek-ai/DeepGEMM: bf16 and fp8 products, D = A·Bᵀ.

use half::bf16;
use ptx_emu::tensor_core::Swizzle;
use ptx_emu::tensor_map::DataType;
use ptx_emu::{Arg, Device, Gpu, Launch, Launched};

use crate::case::{Case, Expected, Failure, Kernel, Mode, Number, Repair};
use crate::maps::{parameter, tiled};
use crate::reference::{compare, product, small, to_bf16, transposed};

/// CTAs of every launch, a template argument of the kernels.
const CTAS: u32 = 4;

/// m, n, k.
type Size = [usize; 3];

fn bf16_nt(
    kernel: &Kernel,
    mode: Mode,
    [m, n, k]: Size,
    cluster: u32,
    shared: u32,
) -> Result<Launched, Failure> {
    let (a, b) = (small(m * k, 1), small(n * k, 2));
    let expected = to_bf16(&product(m, n, k, &a, &transposed(n, k, &b)));
    let mut gpu = Gpu::new(Device::h100());
    let (a, b, d) =
        (gpu.alloc_from(&to_bf16(&a)), gpu.alloc_from(&to_bf16(&b)), gpu.alloc::<bf16>(m * n));
    let map = |address, rows: usize, columns: usize| {
        let dims = [columns as u64, rows as u64];
        parameter(&tiled(
            (DataType::Bfloat16, Swizzle::Bytes128),
            address,
            &dims,
            &[dims[0] * 2],
            &[64, 128],
        ))
    };
    let maps = [map(a.address(), m, k), map(b.address(), n, k), map(d.address(), m, n)];
    let launched =
        launch(&mut gpu, kernel, mode, [m, n, k], (384, cluster, shared), maps.to_vec(), None)?;
    compare(&gpu.read(d), &expected)?;
    Ok(launched)
}

/// B is k×n row-major, D is f32.
fn bf16_nn(kernel: &Kernel, mode: Mode, [m, n, k]: Size) -> Result<Launched, Failure> {
    let (a, b) = (small(m * k, 1), small(k * n, 2));
    let expected = product(m, n, k, &a, &b);
    let mut gpu = Gpu::new(Device::h100());
    let (a, b, d) =
        (gpu.alloc_from(&to_bf16(&a)), gpu.alloc_from(&to_bf16(&b)), gpu.alloc::<f32>(m * n));
    let (rows, inner, columns) = (m as u64, k as u64, n as u64);
    let bf16 = |swizzle| (DataType::Bfloat16, swizzle);
    let maps = [
        tiled(bf16(Swizzle::Bytes128), a.address(), &[inner, rows], &[inner * 2], &[64, 64]),
        tiled(bf16(Swizzle::Bytes64), b.address(), &[columns, inner], &[columns * 2], &[32, 64]),
        tiled(
            (DataType::Float32, Swizzle::None),
            d.address(),
            &[columns, rows],
            &[columns * 4],
            &[96, 64],
        ),
    ]
    .map(|map| parameter(&map));
    let shared = 24_576 + 4 * (8192 + 12_288) + 64;
    let launched =
        launch(&mut gpu, kernel, mode, [m, n, k], (256, 1, shared), maps.to_vec(), None)?;
    compare(&gpu.read(d), &expected)?;
    Ok(launched)
}

/// The e4m3 bits of an integer of `-4..=4`.
fn e4m3(value: f32) -> u8 {
    let magnitude = [0x00, 0x38, 0x40, 0x44, 0x48][value.abs() as usize];
    magnitude | if value < 0.0 { 0x80 } else { 0 }
}

/// A has a factor for each row and 128 of k, B for each 128×128.
fn fp8(kernel: &Kernel, mode: Mode, [m, n, k]: Size) -> Result<Launched, Failure> {
    let (a, b) = (small(m * k, 1), small(n * k, 2));
    let (k_blocks, n_blocks) = (k / 128, n.div_ceil(128));
    let factor = |i: usize| [0.5f32, 1.0, 2.0, 4.0][i % 4];
    let (factors_a, factors_b): (Vec<f32>, Vec<f32>) = (
        (0..m * k_blocks).map(|i| factor(i * 7)).collect(),
        (0..n_blocks * k_blocks).map(|i| factor(i * 5 + 1)).collect(),
    );
    let scaled_a: Vec<f32> =
        (0..m * k).map(|i| a[i] * factors_a[i % k / 128 * m + i / k]).collect();
    let scaled_b: Vec<f32> =
        (0..n * k).map(|i| b[i] * factors_b[i % k / 128 * n_blocks + i / k / 128]).collect();
    let expected = to_bf16(&product(m, n, k, &scaled_a, &transposed(n, k, &scaled_b)));
    let mut gpu = Gpu::new(Device::h100());
    let narrow = |values: &[f32]| values.iter().map(|&value| e4m3(value)).collect::<Vec<_>>();
    let bytes = |data_type| (data_type, Swizzle::Bytes128);
    let (a, b, d) =
        (gpu.alloc_from(&narrow(&a)), gpu.alloc_from(&narrow(&b)), gpu.alloc::<bf16>(m * n));
    let (factors_a, factors_b) = (gpu.alloc_from(&factors_a), gpu.alloc_from(&factors_b));
    let (rows, columns, inner) = (m as u64, n as u64, k as u64);
    let maps = [
        tiled(bytes(DataType::Uint8), a.address(), &[inner, rows], &[inner], &[128, 128]),
        tiled(bytes(DataType::Uint8), b.address(), &[inner, columns], &[inner], &[128, 128]),
        tiled(bytes(DataType::Bfloat16), d.address(), &[columns, rows], &[columns * 2], &[64, 128]),
        tiled(
            (DataType::Float32, Swizzle::None),
            factors_a.address(),
            &[rows, k_blocks as u64],
            &[rows * 4],
            &[128, 1],
        ),
    ]
    .map(|map| parameter(&map));
    let shared = 32_768 + 4 * (32_768 + 512) + (k_blocks * 4).next_multiple_of(8) as u32 + 64;
    let first = Some(factors_b.arg());
    let launched =
        launch(&mut gpu, kernel, mode, [m, n, k], (384, 1, shared), maps.to_vec(), first)?;
    compare(&gpu.read(d), &expected)?;
    Ok(launched)
}

/// Threads, CTAs a cluster, bytes of dynamic shared memory.
type Shape = (u32, u32, u32);

fn launch(
    gpu: &mut Gpu,
    kernel: &Kernel,
    mode: Mode,
    size: Size,
    (threads, cluster, shared): Shape,
    maps: Vec<Arg>,
    first: Option<Arg>,
) -> Result<Launched, Failure> {
    let mut arguments: Vec<Arg> = first.into_iter().collect();
    arguments.push(0u64.arg());
    arguments.extend(size.map(|extent| (extent as u32).arg()));
    arguments.extend(maps);
    let shape =
        Launch::grid(CTAS, 1, 1).block(threads, 1, 1).cluster(cluster, 1, 1).dynamic_shared(shared);
    Ok(gpu.launch(&kernel.module, &kernel.entry, &mode.of(shape), &arguments)?)
}

/// No kernel waits for its last tensor store before it exits.
const LEFT: &str = "left behind at exit";

/// In the fp8 kernel lanes read factors, then lane 0 alone gives the stage back: nothing orders the
/// other lanes' reads before its arrival.
const READ: &str = "are not ordered by any synchronization";

fn mend(ptx: &str) -> String {
    ptx.replace("\tret;", "cp.async.bulk.wait_group 0; ret;")
}

fn mend_fp8(ptx: &str) -> String {
    let wait = "wgmma.wait_group.sync.aligned 0;";
    mend(ptx).replace(wait, &format!("{wait} bar.warp.sync 0xffffffff;"))
}

/// Name, file, part of the entry's name, size, runner, what is reported of it, what mends that.
type Entry = (
    &'static str,
    &'static str,
    &'static str,
    Size,
    fn(&Kernel, Mode, Size) -> Result<Launched, Failure>,
    &'static [&'static str],
    Repair,
);

const ENTRIES: [Entry; 4] = [
    (
        "deepgemm bf16",
        "dg_bf16",
        "ELj4ELj128ELj256ELj1ELb0E",
        [200, 256, 320],
        |kernel, mode, size| bf16_nt(kernel, mode, size, 1, 32_768 + 4 * 32_768 + 64),
        &[LEFT],
        mend,
    ),
    (
        "deepgemm bf16 multicast",
        "dg_bf16",
        "ELj3ELj128ELj256ELj2ELb1E",
        [384, 256, 320],
        |kernel, mode, size| bf16_nt(kernel, mode, size, 2, 32_768 + 3 * 32_768 + 48),
        &[LEFT],
        mend,
    ),
    (
        "deepgemm bf16 nn f32",
        "dg_bf16",
        "ELj4ELj128ELj128ELj1ELb0E",
        [128, 288, 320],
        bf16_nn,
        &[LEFT],
        mend,
    ),
    ("deepgemm fp8", "dg_fp8", "sm90_fp8_gemm_1d2d", [256, 256, 640], fp8, &[LEFT, READ], mend_fp8),
];

/// All cases of this family.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, file, entry, size, run, parts, repair) in ENTRIES {
        let mut case = |repair, expected| {
            cases.push(Case {
                name,
                file,
                entry,
                size: format!("{}x{}x{}", size[0], size[1], size[2]),
                repair,
                expected,
                run: Box::new(move |kernel, mode| run(kernel, mode, size)),
            });
        };
        case(None, Expected::Report(parts));
        case(Some(repair), Expected::Right);
    }
    cases
}
