//! Faults in `sm90_dense_gemm`, in its clusters, and in the ring that it shares.

use girih_formats::{Csr, DType, FormatSpec};
use girih_testkit::matrices;
use girih_testkit::operands::Layout;
use half::bf16;
use ptx_emu::report::Problem;

use super::config::LARGE;
use super::{DenseConfig, FullBlocks};
use crate::emulated::faults::{Fault, Finish, Multiply, Outcome, Sized, check, fault, multiply};
use crate::emulated::{Emulated, Way};

/// Two tiles for one cluster of two, six stages each in a ring of four. B is copied by rows, half of it by
/// each CTA, and C is written by tensor copies.
fn rows(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, clustered(DType::Bf16), SIZED)
}

/// B is column-major, and so copied by columns.
fn columns(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, clustered(DType::Bf16), Sized { b: Layout::ColMajor, ..SIZED })
}

/// The same without a cluster, and up to the last column of a tile: the last patch is written too.
fn alone(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, SINGLE, Sized { n: 256, ..SIZED })
}

/// No cluster: B and C are read and written element by element.
fn elements(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, SINGLE, Sized { n: 101, c: Layout::PaddedRows, ..SIZED })
}

/// f32 as TF32: transposed, B through registers.
fn tf32(device: &Emulated, way: Way) -> (Outcome, String) {
    let device = device.with_full(FullBlocks::Dense(clustered(DType::F32)));
    multiply::<f32>(&device, way, &matrix(), SIZED)
}

const SIZED: Sized = Sized {
    spec: FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
    tiles_per_task: None,
    n: 304,
    beta: 0.0,
    b: Layout::RowMajor,
    c: Layout::RowMajor,
    epilogue: Finish::Nothing,
};

fn matrix() -> Csr<f64> {
    matrices::where_(200, 368, |i, j| (3 * i + 5 * j) % 7 < 2).unwrap()
}

/// The ladder's last rung: a cluster of two, and stores that are not waited for.
fn clustered(dtype: DType) -> DenseConfig {
    DenseConfig::ladder(dtype).last().unwrap().config
}

/// What large products run, with such stores.
const SINGLE: DenseConfig = DenseConfig { async_stores: true, ..LARGE };

fn product(device: &Emulated, way: Way, config: DenseConfig, sized: Sized) -> (Outcome, String) {
    let device = device.with_full(FullBlocks::Dense(config));
    multiply::<bf16>(&device, way, &matrix(), sized)
}

const FAULTS: &[Fault] = &[
    fault!("a stage is read before it is full", "shared/pipeline.cuh":
        "ptx::mbarrier_wait(full(at), at.parity);" => "",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Poison { .. } | Problem::Race { .. })),
    fault!("a stage is filled before both CTAs have read it", "shared/pipeline.cuh":
        "ptx::mbarrier_wait(empty(at), at.parity ^ 1);" => "",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Mbarrier { .. })),
    fault!("elements are stored before a stage is empty", "sm90_dense_gemm/produce.cuh":
        "                ring.wait_empty(at);\n" => "",
        elements, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Mbarrier { .. })),
    fault!("the wrong phase of empty is waited for", "shared/pipeline.cuh":
        "ptx::mbarrier_wait(empty(at), at.parity ^ 1);" => "ptx::mbarrier_wait(empty(at), at.parity);",
        rows, Outcome::Report(Problem::Deadlock { .. })),
    fault!("too few bytes are expected", "sm90_dense_gemm/produce.cuh":
        "ring.expect(at, kBytesOfA +" => "ring.expect(at, kBytesOfA - 16 +",
        rows, Outcome::Report(Problem::Mbarrier { .. } | Problem::LateTransaction { .. })),
    fault!("too many bytes are expected", "sm90_dense_gemm/produce.cuh":
        "ring.expect(at, kBytesOfA +" => "ring.expect(at, kBytesOfA + 16 +",
        columns, Outcome::Report(Problem::Deadlock { .. })),
    fault!("the other CTA's half of B is not expected", "sm90_dense_gemm/produce.cuh":
        ": kBytesOfB));" => ": kBytesOfB / CLUSTER));",
        rows, Outcome::Report(Problem::Mbarrier { .. } | Problem::LateTransaction { .. } | Problem::Poison { .. }
            | Problem::Pending { .. } | Problem::Race { .. })),
    fault!("the rank in a shared address reaches the descriptor", "ptx/wgmma.cuh":
        "(start & 0x3ffff) >> 4" => "start >> 4",
        rows, Outcome::Report(Problem::Descriptor { .. })),
    fault!("B is copied to one CTA of the cluster", "sm90_dense_gemm/produce.cuh":
        "constexpr u16 kAll = (1 << CLUSTER) - 1;" => "constexpr u16 kAll = 1;",
        rows, Outcome::Report(Problem::Deadlock { .. } | Problem::Mbarrier { .. }
            | Problem::LateTransaction { .. } | Problem::Pending { .. } | Problem::Race { .. })),
    fault!("both CTAs copy the same half of B", "sm90_dense_gemm/produce.cuh":
        "const u32 first = rank() * (kGroups / CLUSTER);" => "const u32 first = 0;",
        columns, Outcome::Report(_)),
    fault!("a stage is given back to one CTA alone", "sm90_dense_gemm/consume.cuh":
        "if (lane < CLUSTER) {" => "if (lane < 1) {",
        rows, Outcome::Report(Problem::Deadlock { .. } | Problem::Mbarrier { .. })),
    fault!("the other CTA's consumers are not waited for", "sm90_dense_gemm/sm90_dense_gemm.cu":
        "kConsumerThreads : kConsumerWarps * CLUSTER);" => "kConsumerThreads : kConsumerWarps);",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Mbarrier { .. }
            | Problem::Deadlock { .. })),
    fault!("a CTA ends while the other copies to it", "sm90_dense_gemm/sm90_dense_gemm.cu":
        "        __syncwarp();\n        meet();\n" => "",
        rows, Outcome::Report(Problem::Exited { .. } | Problem::Leak { .. })),
    fault!("barriers are used before they are made", "sm90_dense_gemm/sm90_dense_gemm.cu":
        "    meet();\n    constexpr" => "    constexpr",
        rows, Outcome::Report(Problem::Mbarrier { .. } | Problem::Race { .. } | Problem::Poison { .. })),
    fault!("CTAs of a cluster do not wait for each other", "sm90_dense_gemm/walk.cuh":
        "        ptx::cluster_sync();\n" => "        __syncthreads();\n",
        rows, Outcome::Report(Problem::Mbarrier { .. } | Problem::Race { .. } | Problem::Poison { .. }
            | Problem::Exited { .. } | Problem::Leak { .. } | Problem::Divergence { .. }
            | Problem::Deadlock { .. })),
    fault!("a stage is given back while it is multiplied", "sm90_dense_gemm/consume.cuh":
        "            ptx::wgmma_wait<kOverlaps ? 1 : 0>();\n" => "",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. })),
    fault!("a stage is given back a product early", "sm90_dense_gemm/consume.cuh":
        "kOverlaps ? 1 : 0>" => "kOverlaps ? 2 : 0>",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. })),
    fault!("sums are taken before they are there", "sm90_dense_gemm/consume.cuh":
        "        ptx::wgmma_wait<0>();\n" => "",
        rows, Outcome::Report(Problem::InFlightRegister { .. } | Problem::Pending { .. } | Problem::Race { .. })),
    fault!("products are not committed", "sm90_dense_gemm/consume.cuh":
        "            ptx::wgmma_commit();\n" => "",
        rows, Outcome::Report(Problem::InFlightRegister { .. } | Problem::Pending { .. }
            | Problem::Leak { .. } | Problem::Race { .. })),
    fault!("products are not fenced from zeroed sums", "sm90_dense_gemm/consume.cuh":
        "        ptx::wgmma_fence();\n" => "",
        rows, Outcome::Report(Problem::WgmmaFence { .. })),
    fault!("stages are never given back", "sm90_dense_gemm/consume.cuh":
        "                release<SOURCE>(ring, done);\n                done.next();" => "                done.next();",
        rows, Outcome::Report(Problem::Deadlock { .. })),
    fault!("sums do not begin with zero", "sm90_dense_gemm/consume.cuh":
        "sum[i] = 0.0f;" => "sum[i] = 1.0f;",
        rows, Outcome::Wrong),
    fault!("both consumers multiply the same rows", "sm90_dense_gemm/consume.cuh":
        "stage + consumer * kBlockBytes" => "stage",
        rows, Outcome::Wrong),
    fault!("A's descriptor is not moved along k", "sm90_dense_gemm/consume.cuh":
        "ptx::advance(a, k * kDepth * kValueBytes)" => "a",
        rows, Outcome::Wrong),
    fault!("B's descriptor is moved too little along k", "sm90_dense_gemm/consume.cuh":
        "ptx::advance(b, k * kStepB)" => "ptx::advance(b, k * kStepB / 2)",
        columns, Outcome::Wrong | Outcome::Report(Problem::Descriptor { .. })),
    fault!("groups of B change places", "sm90_dense_gemm/produce.cuh":
        "of_b + g * kGroupBytes" => "of_b + (g ^ 1) * kGroupBytes",
        rows, Outcome::Wrong),
    fault!("another block row is copied", "sm90_dense_gemm/produce.cuh":
        "(row / kBlock + r) * p.block_cols" => "(row / kBlock + r + 1) * p.block_cols",
        rows, Outcome::Wrong),
    fault!("CTAs of a cluster have the same tile", "sm90_dense_gemm/walk.cuh":
        "* CLUSTER + rank()) * ROWS" => "* CLUSTER) * ROWS",
        rows, Outcome::Wrong | Outcome::Report(Problem::Race { .. } | Problem::Pending { .. })),
    fault!("a cluster leaves out every other tile", "sm90_dense_gemm/walk.cuh":
        "next += gridDim.x / CLUSTER;" => "next += gridDim.x;",
        rows, Outcome::Wrong),
    fault!("C is copied out unfenced", "sm90_dense_gemm/store.cuh":
        "            ptx::fence_proxy_async_shared();\n" => "",
        rows, Outcome::Report(Problem::ProxyFence { .. })),
    fault!("a patch is overwritten while it is copied", "sm90_dense_gemm/store.cuh":
        "            if (is_leader) ptx::bulk_wait_read<1>();\n" => "",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. })),
    fault!("a patch is overwritten one too early", "sm90_dense_gemm/store.cuh":
        "bulk_wait_read<1>" => "bulk_wait_read<2>",
        columns, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. })),
    fault!("a CTA ends before C is copied", "sm90_dense_gemm/store.cuh":
        "ptx::bulk_wait_read<0>();" => "",
        alone, Outcome::Report(Problem::Leak { .. })),
    fault!("rows of a patch keep one order in two places", "sm90_dense_gemm/store.cuh":
        "(is_odd ? i ^ 2 : i) * 8" => "i * 8",
        rows, Outcome::Wrong),
    fault!("elements of B are multiplied unfenced", "sm90_dense_gemm/produce.cuh":
        "thread);\n                    ptx::fence_proxy_async_shared();" => "thread);",
        elements, Outcome::Report(Problem::ProxyFence { .. })),
    fault!("who stores elements does not arrive", "sm90_dense_gemm/produce.cuh":
        "                    if (thread != 0) ring.fill(at);\n" => "",
        elements, Outcome::Report(Problem::Deadlock { .. })),
    fault!("both consumers multiply the same columns", "sm90_dense_gemm/consume.cuh":
        "kBytesOfA + consumer * kShareOfB" => "kBytesOfA",
        tf32, Outcome::Wrong),
    fault!("fragments are loaded while they are multiplied", "sm90_dense_gemm/consume.cuh":
        "            ptx::wgmma_wait<kOverlaps ? 1 : 0>();\n" => "",
        tf32, Outcome::Report(Problem::InFlightRegister { .. } | Problem::Pending { .. }
            | Problem::Race { .. })),
    fault!("half of a block is left out", "sm90_dense_gemm/produce.cuh":
        "p.a, part * kPerRow," => "p.a, 0,",
        tf32, Outcome::Wrong),
];

#[test]
fn faults_in_dense_show() {
    check(&[rows as Multiply, columns, alone, elements, tf32], FAULTS);
}
