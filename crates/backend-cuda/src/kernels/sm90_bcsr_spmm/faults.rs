//! Faults in `sm90_bcsr_spmm` and in the ring that it shares.

use girih_backend::Activation;
use girih_formats::{Csr, FormatSpec};
use girih_testkit::matrices;
use girih_testkit::operands::Layout;
use half::bf16;
use ptx_emu::report::Problem;

use crate::emulated::faults::{
    Fault, Finish, Multiply, Outcome, Sized, check, fault, multiply, multiply_variant,
};
use crate::emulated::{Emulated, Way};

/// Block rows of 8, 1 and 0 blocks: the first goes twice round the ring. B is copied by rows, and C is
/// written by tensor copies.
fn rows(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, SIZED)
}

/// Two consumers, as a step of an ablation has them, that share a block row.
fn two(device: &Emulated, way: Way) -> (Outcome, String) {
    multiply_variant(device, way, &matrix(), "bcsr-2x64", SIZED)
}

/// B is column-major, and so copied by columns.
fn columns(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, Sized { b: Layout::ColMajor, ..SIZED })
}

/// Rows that no tensor copy can move: B and C are read and written element by element.
fn elements(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, Sized { n: 101, c: Layout::PaddedRows, ..SIZED })
}

/// A bias for each column, by vectors.
fn biased(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, Sized { epilogue: Finish::PerColumn(Activation::Gelu), ..SIZED })
}

/// A bias for each column, element by element.
fn biased_elements(device: &Emulated, way: Way) -> (Outcome, String) {
    let epilogue = Finish::PerColumn(Activation::Relu);
    product(device, way, Sized { n: 101, c: Layout::PaddedRows, epilogue, ..SIZED })
}

/// f32 as TF32: transposed, B through registers.
fn tf32(device: &Emulated, way: Way) -> (Outcome, String) {
    multiply::<f32>(device, way, &matrix(), SIZED)
}

const SIZED: Sized = Sized {
    spec: FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
    tiles_per_task: None,
    n: 104,
    beta: 0.0,
    b: Layout::RowMajor,
    c: Layout::RowMajor,
    epilogue: Finish::Nothing,
};

fn matrix() -> Csr<f64> {
    let is_there = |i, j| i < 64 || (i < 128 && j / 64 == 5);
    matrices::where_(150, 464, |i, j| is_there(i, j) && (3 * i + 5 * j) % 7 < 2).unwrap()
}

fn product(device: &Emulated, way: Way, sized: Sized) -> (Outcome, String) {
    multiply::<bf16>(device, way, &matrix(), sized)
}

const FAULTS: &[Fault] = &[
    fault!("a stage is read before it is full", "shared/pipeline.cuh":
        "ptx::mbarrier_wait(full(at), at.parity);" => "",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Poison { .. } | Problem::Race { .. })),
    fault!("a stage is read before it was stored", "shared/pipeline.cuh":
        "ptx::mbarrier_wait(full(at), at.parity);" => "",
        elements,
        Outcome::Report(Problem::Pending { .. } | Problem::Poison { .. } | Problem::Race { .. })),
    fault!("a stage is filled before it is empty", "shared/pipeline.cuh":
        "ptx::mbarrier_wait(empty(at), at.parity ^ 1);" => "",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Mbarrier { .. })),
    fault!("the wrong phase of full is waited for", "shared/pipeline.cuh":
        "ptx::mbarrier_wait(full(at), at.parity);" => "ptx::mbarrier_wait(full(at), at.parity ^ 1);",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Poison { .. } | Problem::Race { .. })),
    fault!("the wrong phase of empty is waited for", "shared/pipeline.cuh":
        "ptx::mbarrier_wait(empty(at), at.parity ^ 1);" => "ptx::mbarrier_wait(empty(at), at.parity);",
        rows, Outcome::Report(Problem::Deadlock { .. })),
    fault!("the parity never changes", "shared/pipeline.cuh":
        "            parity ^= 1;\n" => "",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Mbarrier { .. }
            | Problem::Deadlock { .. })),
    fault!("too few bytes are expected", "sm90_bcsr_spmm/produce.cuh":
        "ring.expect(at, __popc(mask) * kBlockBytes + kCopied);" =>
        "ring.expect(at, __popc(mask) * kBlockBytes + kCopied - 16);",
        rows, Outcome::Report(Problem::Mbarrier { .. } | Problem::LateTransaction { .. })),
    fault!("too many bytes are expected", "sm90_bcsr_spmm/produce.cuh":
        "ring.expect(at, __popc(mask) * kBlockBytes + kCopied);" =>
        "ring.expect(at, __popc(mask) * kBlockBytes + kCopied + 16);",
        columns, Outcome::Report(Problem::Deadlock { .. })),
    fault!("sums are copied out unfenced", "sm90_bcsr_spmm/consume.cuh":
        "if (p.copies_c) ptx::fence_proxy_async_shared();" => "",
        rows, Outcome::Report(Problem::ProxyFence { .. })),
    fault!("stored elements of B are multiplied unfenced", "sm90_bcsr_spmm/produce.cuh":
        "column, thread);\n        ptx::fence_proxy_async_shared();" => "column, thread);",
        elements, Outcome::Report(Problem::ProxyFence { .. })),
    fault!("A is described with another swizzle", "sm90_bcsr_spmm/consume.cuh":
        "ptx::descriptor(block, ptx::Swizzle::Bytes128," => "ptx::descriptor(block, ptx::Swizzle::Bytes64,",
        rows, Outcome::Wrong),
    fault!("elements of B are stored with another swizzle", "shared/elements.cuh":
        "(chunk ^ k) % 8 * 16" => "chunk % 8 * 16",
        elements, Outcome::Wrong),
    fault!("sums are put down with another swizzle", "shared/outgoing.cuh":
        "(chunk ^ row % 8) * 16" => "chunk * 16",
        rows, Outcome::Wrong),
    fault!("A's descriptor is not moved along k", "sm90_bcsr_spmm/consume.cuh":
        "ptx::advance(a, k * kDepth * 2)" => "a",
        rows, Outcome::Wrong),
    fault!("B's descriptor is moved too little along k", "sm90_bcsr_spmm/consume.cuh":
        "ptx::advance(b, on)" => "ptx::advance(b, on / 2)",
        columns, Outcome::Wrong | Outcome::Report(Problem::Descriptor { .. })),
    fault!("B's descriptor has another stride", "sm90_bcsr_spmm/consume.cuh":
        "8 * kRowBytes, kByRows ? kBlockBytes : 0)" => "16 * kRowBytes, kByRows ? kBlockBytes : 0)",
        columns, Outcome::Wrong | Outcome::Report(Problem::Pending { .. } | Problem::Poison { .. }
            | Problem::Race { .. } | Problem::Descriptor { .. })),
    fault!("a stage is given back while it is multiplied", "sm90_bcsr_spmm/consume.cuh":
        "        ptx::wgmma_wait<kUnderWay>();\n" => "",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. })),
    fault!("sums are taken before they are there", "sm90_bcsr_spmm/consume.cuh":
        "    ptx::wgmma_wait<0>();\n    ptx::hold(sum);\n    if (accumulate" => "    if (accumulate",
        rows, Outcome::Report(Problem::InFlightRegister { .. } | Problem::Pending { .. })),
    fault!("products are not committed", "sm90_bcsr_spmm/consume.cuh":
        "        ptx::wgmma_commit();\n" => "",
        rows, Outcome::Report(Problem::InFlightRegister { .. } | Problem::Pending { .. }
            | Problem::Leak { .. } | Problem::Race { .. })),
    fault!("the CTA ends before C is copied", "shared/outgoing.cuh":
        "        ptx::bulk_wait_read<0>();\n" => "",
        rows, Outcome::Report(Problem::Leak { .. })),
    fault!("a box goes to the next one's place", "sm90_bcsr_spmm/produce.cuh":
        "ptx::tensor_load(to + g * kGroupBytes," => "ptx::tensor_load(to + (g + 1) * kGroupBytes,",
        rows, Outcome::Report(_)),
    fault!("a box is copied from beyond B", "sm90_bcsr_spmm/produce.cuh":
        "p.b, column + g * kPerRow, k, ring.full(at)," =>
        "p.b, column + g * kPerRow, k + kBlock, ring.full(at),",
        rows, Outcome::Wrong),
    fault!("rows of C are written beyond the last", "shared/output.cuh":
        "return slot < m ? static_cast<u32>(slot) : kNoRow;" => "return static_cast<u32>(slot);",
        elements, Outcome::Report(Problem::OutOfBounds { .. }) | Outcome::Stray),
    fault!("columns of C are written beyond the last", "shared/output.cuh":
        "if (column + i < n) put(" => "put(",
        elements, Outcome::Report(Problem::OutOfBounds { .. } | Problem::Race { .. }) | Outcome::Stray),
    fault!("all CTAs write one block row", "sm90_bcsr_spmm/consume.cuh":
        "group.block_rows[row]" => "p.groups[0].block_rows[row]",
        rows, Outcome::Report(Problem::Race { .. } | Problem::Pending { .. })),
    fault!("C is read with beta = 0", "shared/output.cuh":
        "beta == 0.0f ? alpha * sum : __fmaf_rn" => "__fmaf_rn",
        elements, Outcome::Report(Problem::Poison { .. })),
    fault!("half of the consumers are waited for", "sm90_bcsr_spmm/sm90_bcsr_spmm.cu":
        "? kConsumerThreads : kConsumerThreads / kWarpSize;" =>
        "? kConsumerThreads : kConsumerThreads / kWarpSize / 2;",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Mbarrier { .. }
            | Problem::Deadlock { .. })),
    fault!("barriers are used before they are made", "sm90_bcsr_spmm/sm90_bcsr_spmm.cu":
        "    meet();\n    const auto" => "    const auto",
        rows, Outcome::Report(Problem::Mbarrier { .. } | Problem::Race { .. } | Problem::Poison { .. })),
    fault!("sums are put where others still read", "sm90_bcsr_spmm/consume.cuh":
        "    ptx::barrier_sync(1, kConsumerThreads);\n" => "",
        two, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. })),
    fault!("sums are copied before all are there", "sm90_bcsr_spmm/consume.cuh":
        "    ptx::barrier_sync(2 + consumer, kWarpgroupSize);\n" => "",
        rows, Outcome::Report(Problem::ProxyFence { .. } | Problem::Race { .. } | Problem::Pending { .. }
            | Problem::Poison { .. })),
    fault!("stages are never given back", "sm90_bcsr_spmm/consume.cuh":
        "        ring.release(done);\n" => "",
        rows, Outcome::Report(Problem::Deadlock { .. })),
    fault!("each step begins anew", "sm90_bcsr_spmm/consume.cuh":
        "            }\n            accumulate = 1;\n" => "            }\n",
        rows, Outcome::Wrong),
    fault!("fragments are not fenced", "shared/transposed.cuh":
        "        ptx::wgmma_fence();\n" => "",
        tf32, Outcome::Report(Problem::WgmmaFence { .. })),
    fault!("fragments are loaded while they are multiplied", "sm90_bcsr_spmm/consume.cuh":
        "        ptx::wgmma_wait<kUnderWay>();\n" => "",
        tf32, Outcome::Report(Problem::InFlightRegister { .. } | Problem::Pending { .. }
            | Problem::Race { .. })),
    fault!("B is read without its swizzle", "shared/transposed.cuh":
        "const u32 chunk = (lane / 4 ^ k) % 8;" => "const u32 chunk = lane / 4;",
        tf32, Outcome::Wrong),
    fault!("the order along k is not that of A", "shared/transposed.cuh":
        "const u32 k = s * kStep + lane % 4 * 2 + odd;" => "const u32 k = s * kStep + lane % 4 + 4 * odd;",
        tf32, Outcome::Wrong),
    fault!("a block's columns have their neighbours' bias", "shared/output.cuh":
        "epilogue(out.z, row, column + 2)" => "epilogue(out.z, row, column)",
        biased, Outcome::Wrong),
    fault!("elements of a block have their neighbours' bias", "shared/output.cuh":
        "finish(sums[i], element, row, column + i)" => "finish(sums[i], element, row, column)",
        biased_elements, Outcome::Wrong),
];

#[test]
fn faults_in_bcsr_show() {
    check(&[rows as Multiply, two, columns, elements, tf32, biased, biased_elements], FAULTS);
}
