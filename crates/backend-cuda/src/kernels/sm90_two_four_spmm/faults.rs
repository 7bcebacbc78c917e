//! Faults in `sm90_two_four_spmm`.

use girih_formats::{FormatSpec, ScalesPer};
use girih_testkit::operands::Layout;
use half::bf16;
use ptx_emu::report::Problem;

use super::entries::matrix;
use crate::emulated::faults::{
    Fault, Finish, Multiply, Outcome, Sized, check, fault, multiply, multiply_variant,
};
use crate::emulated::{Emulated, Way};

/// A tile of rows alone: eight steps, which go twice round the ring. B is copied by rows, and C is written by
/// tensor copies.
fn alone(device: &Emulated, way: Way) -> (Outcome, String) {
    multiply::<bf16>(device, way, &matrix(100, 464), SIZED)
}

/// Two tiles of rows, in a cluster.
fn pair(device: &Emulated, way: Way) -> (Outcome, String) {
    multiply_variant(device, way, &matrix(150, 464), "two-four-cluster", SIZED)
}

/// Four tiles of rows in a cluster, the last of them empty.
fn four(device: &Emulated, way: Way) -> (Outcome, String) {
    let sized = Sized { n: 200, ..SIZED };
    multiply_variant(device, way, &matrix(270, 464), "two-four-cluster-of-four", sized)
}

/// B is column-major, and so copied by columns, by a cluster.
fn columns(device: &Emulated, way: Way) -> (Outcome, String) {
    let sized = Sized { b: Layout::ColMajor, ..SIZED };
    multiply_variant(device, way, &matrix(150, 464), "two-four-cluster", sized)
}

/// Rows that no tensor copy can move: B and C are read and written element by element.
fn elements(device: &Emulated, way: Way) -> (Outcome, String) {
    let sized = Sized { n: 101, c: Layout::PaddedRows, ..SIZED };
    multiply::<bf16>(device, way, &matrix(100, 464), sized)
}

/// Twelve steps in e4m3, every two of them added up in f32: rows of A have scales far apart.
fn narrow(device: &Emulated, way: Way) -> (Outcome, String) {
    let spec = FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row };
    let a = matrix(100, 1500);
    let scaled =
        (0..100).flat_map(|i| a.row(i).1.iter().map(move |x| x * [1.0, 16.0, 256.0][i % 3]));
    let a = a.with_values(scaled.collect::<Vec<_>>()).unwrap();
    multiply::<bf16>(device, way, &a, Sized { spec, ..SIZED })
}

const SIZED: Sized = Sized {
    spec: FormatSpec::TwoFour,
    tiles_per_task: None,
    n: 104,
    beta: 0.0,
    b: Layout::RowMajor,
    c: Layout::RowMajor,
    epilogue: Finish::Nothing,
};

const FAULTS: &[Fault] = &[
    fault!("metadata are read before they have come", "sm90_two_four_spmm/consume.cuh":
        "    ptx::mbarrier_wait(shared.metadata_full(at), at.parity);\n" => "",
        alone, Outcome::Report(Problem::Pending { .. } | Problem::Poison { .. } | Problem::Race { .. })),
    fault!("the wrong phase of metadata is waited for", "sm90_two_four_spmm/consume.cuh":
        "ptx::mbarrier_wait(shared.metadata_full(at), at.parity);" =>
        "ptx::mbarrier_wait(shared.metadata_full(at), at.parity ^ 1);",
        alone, Outcome::Report(Problem::Pending { .. } | Problem::Poison { .. } | Problem::Race { .. })),
    fault!("metadata of the first step are kept", "sm90_two_four_spmm/consume.cuh":
        "if (step + 1 < n_steps) other = load_metadata" => "if (step + 1 < n_steps) load_metadata",
        alone, Outcome::Wrong | Outcome::Report(Problem::Operand { .. } | Problem::DeadMetadata { .. })),
    fault!("metadata may lose their register", "sm90_two_four_spmm/consume.cuh":
        "        keep(other);\n" => "",
        alone, Outcome::Report(Problem::DeadMetadata { .. })),
    fault!("metadata of the first warpgroup are taken", "sm90_two_four_spmm/consume.cuh":
        "                                       threadIdx.x * 4);" =>
        "                                       threadIdx.x % kWarpgroupSize * 4);",
        alone, Outcome::Wrong),
    fault!("metadata of the other half are selected", "sm90_two_four_spmm/consume.cuh":
        "sparse<kElement, 0, kByRows>" => "sparse<kElement, 1, kByRows>",
        alone, Outcome::Wrong),
    fault!("too few bytes of metadata are expected", "sm90_two_four_spmm/produce.cuh":
        "ptx::mbarrier_arrive_expect(shared.metadata_full(at), kBytesMetadata);" =>
        "ptx::mbarrier_arrive_expect(shared.metadata_full(at), kBytesMetadata - 16);",
        alone, Outcome::Report(Problem::Mbarrier { .. } | Problem::LateTransaction { .. })),
    fault!("too few bytes are expected", "sm90_two_four_spmm/produce.cuh":
        "ring.expect(at, kBytesA + kCopied);" => "ring.expect(at, kBytesA + kCopied - 16);",
        pair, Outcome::Report(Problem::Mbarrier { .. } | Problem::LateTransaction { .. })),
    fault!("too many bytes are expected", "sm90_two_four_spmm/produce.cuh":
        "ring.expect(at, kBytesA + kCopied);" => "ring.expect(at, kBytesA + kCopied + 16);",
        columns, Outcome::Report(Problem::Deadlock { .. })),
    fault!("all tiles have the values of the first", "sm90_two_four_spmm/produce.cuh":
        "const u64 first = u64(blockIdx.x) * n_steps;" => "const u64 first = 0;",
        pair, Outcome::Wrong),
    fault!("A is described with another swizzle", "sm90_two_four_spmm/consume.cuh":
        "ptx::descriptor(a_at, ptx::Swizzle::Bytes64," => "ptx::descriptor(a_at, ptx::Swizzle::Bytes32,",
        alone, Outcome::Wrong),
    fault!("A's descriptor is not moved along k", "sm90_two_four_spmm/consume.cuh":
        "ptx::advance(a, kRowBytesA / 2)" => "a",
        alone, Outcome::Wrong),
    fault!("B's descriptor is moved too little along k", "sm90_two_four_spmm/consume.cuh":
        "ptx::advance(b, kOnB)" => "ptx::advance(b, kOnB / 2)",
        columns, Outcome::Wrong | Outcome::Report(Problem::Descriptor { .. })),
    fault!("groups of B's columns lie elsewhere", "sm90_two_four_spmm/consume.cuh":
        "kByRows ? kGroupBytes : 0);" => "kByRows ? kGroupBytes / 2 : 0);",
        alone, Outcome::Wrong),
    fault!("both warpgroups multiply the first slots", "sm90_two_four_spmm/consume.cuh":
        "shared.a(at) + consumer * kSlots * kRowBytesA" => "shared.a(at)",
        alone, Outcome::Wrong),
    fault!("each step begins anew", "sm90_two_four_spmm/consume.cuh":
        "                         follows);" => "                         0);",
        alone, Outcome::Wrong),
    fault!("a stage is given back while it is multiplied", "sm90_two_four_spmm/consume.cuh":
        "        ptx::wgmma_wait<kUnderWay>();\n" => "",
        alone, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::DeadMetadata { .. })),
    fault!("the stage of the newest products is given back", "sm90_two_four_spmm/consume.cuh":
        "        if (kUnderWay == 0 || follows) {\n            release<SOURCE>(ring, done);" =>
        "        {\n            release<SOURCE>(ring, done);",
        alone, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Mbarrier { .. })),
    fault!("sums are taken before they are there", "sm90_two_four_spmm/consume.cuh":
        "    }\n    ptx::wgmma_wait<0>();\n" => "    }\n",
        alone, Outcome::Report(Problem::InFlightRegister { .. } | Problem::Pending { .. })),
    fault!("products are not committed", "sm90_two_four_spmm/consume.cuh":
        "        ptx::wgmma_commit();\n" => "",
        alone, Outcome::Report(Problem::InFlightRegister { .. } | Problem::Pending { .. }
            | Problem::Leak { .. } | Problem::Race { .. })),
    fault!("stages are never given back", "sm90_two_four_spmm/consume.cuh":
        "        ring.release(at);\n" => "",
        alone, Outcome::Report(Problem::Deadlock { .. })),
    fault!("neighbours are not signalled that a stage is free", "sm90_two_four_spmm/consume.cuh":
        "if (lane < CLUSTER) {" => "if (lane == 0) {",
        pair, Outcome::Report(Problem::Deadlock { .. })),
    fault!("all lanes signal one CTA", "sm90_two_four_spmm/consume.cuh":
        "ptx::cluster_address(ring.empty(at), lane)" => "ptx::cluster_address(ring.empty(at), 0)",
        pair, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Mbarrier { .. }
            | Problem::LateTransaction { .. } | Problem::Deadlock { .. })),
    fault!("the neighbour's consumers are not waited for", "sm90_two_four_spmm/sm90_two_four_spmm.cu":
        "kOfConsumers * CLUSTER);" => "kOfConsumers);",
        pair, Outcome::Report(_)),
    fault!("all CTAs copy the same rows of B", "sm90_two_four_spmm/produce.cuh":
        "const u32 part = rank * (kDepth / CLUSTER);" => "const u32 part = 0;",
        four, Outcome::Report(_)),
    fault!("all CTAs copy the same columns of B", "sm90_two_four_spmm/produce.cuh":
        "const u32 part = rank * (COLUMNS / CLUSTER);" => "const u32 part = 0;",
        columns, Outcome::Report(_)),
    fault!("B is copied to one CTA only", "sm90_two_four_spmm/produce.cuh":
        "ptx::tensor_load_multicast(to, p.b, x, y, barrier, (1 << CLUSTER) - 1);" =>
        "ptx::tensor_load_multicast(to, p.b, x, y, barrier, 1);",
        pair, Outcome::Report(_)),
    fault!("barriers are used before the neighbour has made them",
        "sm90_two_four_spmm/sm90_two_four_spmm.cu":
        "        ptx::cluster_sync();\n    } else {" => "        __syncthreads();\n    } else {",
        pair, Outcome::Report(_)),
    fault!("a CTA ends while neighbours signal it", "sm90_two_four_spmm/sm90_two_four_spmm.cu":
        "        __syncwarp();\n        ptx::cluster_sync();\n" => "        __syncwarp();\n",
        four, Outcome::Report(_)),
    fault!("barriers are used before they are made", "sm90_two_four_spmm/sm90_two_four_spmm.cu":
        "    } else {\n        __syncthreads();\n    }" => "    }",
        alone, Outcome::Report(Problem::Mbarrier { .. } | Problem::Race { .. } | Problem::Poison { .. })),
    fault!("stored elements of B are multiplied unfenced", "sm90_two_four_spmm/produce.cuh":
        "            ptx::fence_proxy_async_shared();\n" => "",
        elements, Outcome::Report(Problem::ProxyFence { .. })),
    fault!("elements of B are stored with another swizzle", "sm90_two_four_spmm/produce.cuh":
        "(chunk ^ k) % 8 * 16" => "chunk % 8 * 16",
        elements, Outcome::Wrong),
    fault!("elements of B are read beyond the last row", "sm90_two_four_spmm/produce.cuh":
        "if (row + k < p.k && at < p.output.n)" => "if (at < p.output.n)",
        elements, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("sums are copied out unfenced", "sm90_two_four_spmm/consume.cuh":
        "    if (p.copies_c) ptx::fence_proxy_async_shared();\n" => "",
        alone, Outcome::Report(Problem::ProxyFence { .. })),
    fault!("sums are put where others still read", "sm90_two_four_spmm/consume.cuh":
        "    ptx::barrier_sync(1, kConsumerThreads);\n" => "",
        alone, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. })),
    fault!("sums are copied before all are there", "sm90_two_four_spmm/consume.cuh":
        "    ptx::barrier_sync(2 + consumer, kWarpgroupSize);\n" => "",
        alone, Outcome::Report(Problem::ProxyFence { .. } | Problem::Race { .. } | Problem::Pending { .. }
            | Problem::Poison { .. })),
    fault!("all CTAs write the first slots", "sm90_two_four_spmm/consume.cuh":
        "const u64 first_slot = u64(blockIdx.x) * kRows + consumer * kSlots;" =>
        "const u64 first_slot = consumer * kSlots;",
        pair, Outcome::Report(Problem::Race { .. } | Problem::Pending { .. })),
];

/// Faults in what only values in e4m3 have.
const NARROW: &[Fault] = &[
    fault!("both products have the metadata of the first", "sm90_two_four_spmm/consume.cuh":
        "metadata.word[NARROW], 1);" => "metadata.word[0], 1);",
        narrow, Outcome::Wrong),
    fault!("metadata of the second product are those of the first", "sm90_two_four_spmm/consume.cuh":
        "shared.metadata(at) + i * kConsumerThreads * 4 +" => "shared.metadata(at) +",
        narrow, Outcome::Wrong),
    fault!("sums are added up in f32 before they are there", "sm90_two_four_spmm/consume.cuh":
        "        ptx::wgmma_wait<0>();\n        ptx::hold(sum);\n        keep(now);\n" => "        keep(now);\n",
        narrow, Outcome::Report(_)),
    fault!("the last stage of two is not given back", "sm90_two_four_spmm/consume.cuh":
        "        if (kUnderWay > 0) {\n            release<SOURCE>(ring, done);\n" =>
        "        if (kUnderWay > 0) {\n",
        narrow, Outcome::Report(_)),
    fault!("sums are not added up", "sm90_two_four_spmm/consume.cuh":
        "total[PROMOTES ? i : 0] += sum[i];" => "total[PROMOTES ? i : 0] = sum[i];",
        narrow, Outcome::Wrong),
    fault!("sums of the step before are forgotten", "sm90_two_four_spmm/consume.cuh":
        "PROMOTES ? step % kTogether != 0 : step > 0;" => "PROMOTES ? false : step > 0;",
        narrow, Outcome::Wrong | Outcome::Report(_)),
    fault!("slots have the scales of their neighbours", "sm90_two_four_spmm/consume.cuh":
        "p.slot_scales[first_slot + row + half * 8];" => "p.slot_scales[first_slot + row];",
        narrow, Outcome::Wrong),
    fault!("columns have no scales", "sm90_two_four_spmm/consume.cuh":
        "column < p.output.n ? p.column_scales[column] : 0.0f;" => "1.0f;",
        narrow, Outcome::Wrong),
    fault!("scales are left out", "sm90_two_four_spmm/consume.cuh":
        "    if constexpr (NARROW) scale_sums(p, first_slot, column, sum);\n" => "",
        narrow, Outcome::Wrong),
];

#[test]
fn faults_in_e4m3_show() {
    check(&[narrow as Multiply], NARROW);
}

#[test]
fn faults_in_two_four_show() {
    check(&[alone as Multiply, pair, four, columns, elements], FAULTS);
}
