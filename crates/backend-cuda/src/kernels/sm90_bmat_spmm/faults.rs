//! Faults in `sm90_bmat_spmm`.

use girih_backend::DenseScalar;
use girih_formats::{AnyTiling, Csr, FormatSpec, RowLayout, Tiling};
use girih_planner::cost::LinearCost;
use girih_planner::{Plan, Schedule};
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, random};
use ptx_emu::report::Problem;

use crate::emulated::faults::{
    Fault, Finish, Multiply, Outcome, Sized, check, fault, multiply, multiply_plan,
};
use crate::emulated::{Emulated, Way};

const SPEC: FormatSpec = FormatSpec::BMat { pattern_only: false };

/// Windows of one to 40 tiles, none a whole number of tiles wide, one of them in parts, times 36 columns.
fn parts(device: &Emulated, way: Way) -> (Outcome, String) {
    let (b, c) = (Layout::RowMajor, Layout::PaddedRows);
    let sized = Sized {
        spec: SPEC,
        tiles_per_task: Some(9),
        n: 36,
        beta: 0.0,
        b,
        c,
        epilogue: Finish::Nothing,
    };
    multiply::<f32>(device, way, &matrix(), sized)
}

fn matrix() -> Csr<f64> {
    matrices::where_(40, 1100, |i, j| {
        (i < 16 && (i * 5 + j) % 29 < 3 && j < 320) || (i * 11 + j) % 97 == 1
    })
    .unwrap()
}

/// Many windows in partitions that are cut by columns too, and shared, times 200 columns.
fn partitions(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(167, 90, |i, j| (i / 16 * 5 + i + j * 3) % 17 < i / 16 % 4);
    planned::<f32>(device, way, &a.unwrap(), (200, 3), false)
}

/// Columns of C for three tiles of them, one after the other.
fn wide(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(20, 30, |i, j| (i + j) % 7 == 0);
    planned::<f32>(device, way, &a.unwrap(), (1100, 1), false)
}

/// The same with NaN and Inf in B, where some rows of a window have an entry and others have none.
fn poisoned(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(45, 60, |i, j| (i * 7 + j * 3) % 11 < 2);
    planned::<half::f16>(device, way, &a.unwrap(), (200, 3), true)
}

fn planned<T: DenseScalar<Acc: DenseScalar>>(
    device: &Emulated,
    way: Way,
    a: &Csr<f64>,
    (n, workers): (usize, usize),
    poisoned: bool,
) -> (Outcome, String) {
    let a = a.cast::<T>();
    let layout = RowLayout::natural(a.nrows(), 16).unwrap();
    let tiling = AnyTiling::from(Tiling::from_csr(&a, SPEC, layout).unwrap());
    let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
    let schedule = Schedule::sm_aligned(&tiling, n, workers, &cost);
    let plan = Plan::from_tiling(tiling).with_schedule(&schedule).unwrap();
    let mut columns = random::<T>(a.ncols(), n, 1);
    if poisoned {
        for (j, poison) in [(3, f64::NAN), (17, f64::INFINITY), (40, f64::NEG_INFINITY)] {
            columns.row_mut(j).iter_mut().step_by(3).for_each(|x| *x = T::from_c64(poison.into()));
        }
    }
    let (b, c) = (Layout::RowMajor, Layout::PaddedRows);
    let sized =
        Sized { spec: SPEC, tiles_per_task: None, n, beta: 0.0, b, c, epilogue: Finish::Nothing };
    multiply_plan(device, way, (&a, &plan), &columns, sized)
}

/// Element by element, in bf16, with columns that fill no chunk.
fn elements(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(40, 300, |i, j| (i * 11 + j) % 97 < 2);
    let (b, c) = (Layout::ColMajor, Layout::PaddedRows);
    let sized = Sized {
        spec: SPEC,
        tiles_per_task: None,
        n: 35,
        beta: 0.0,
        b,
        c,
        epilogue: Finish::Nothing,
    };
    multiply::<half::bf16>(device, way, &a.unwrap(), sized)
}

const FAULTS: &[Fault] = &[
    fault!("a stage is read before it is full", "sm90_bmat_spmm/consume.cuh":
        "                ring.wait_full(place);\n" => "",
        parts, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Poison { .. })),
    fault!("a stage is filled before it is empty", "sm90_bmat_spmm/produce.cuh":
        "    ring.wait_empty(place);\n" => "",
        partitions, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Mbarrier { .. })),
    fault!("the wrong phase is waited for", "shared/pipeline.cuh":
        "at.parity ^ 1" => "at.parity",
        parts, Outcome::Report(Problem::Deadlock { .. })),
    fault!("the first warp gives a stage back for all", "sm90_bmat_spmm/sm90_bmat_spmm.cu":
        "C::kConsumerWarps * kWarpSize" => "kWarpSize",
        partitions, Outcome::Report(Problem::Race { .. } | Problem::Deadlock { .. } | Problem::Pending { .. } | Problem::Mbarrier { .. })),
    fault!("a stage is never given back", "sm90_bmat_spmm/consume.cuh":
        "                ring.release(place);\n" => "",
        partitions, Outcome::Report(Problem::Deadlock { .. })),
    fault!("fewer bytes are expected than come", "sm90_bmat_spmm/produce.cuh":
        "bytes += __popc(present) * chunk.row_bytes();" => "bytes += __popc(present) * 16;",
        partitions, Outcome::Report(Problem::Mbarrier { .. } | Problem::LateTransaction { .. })),
    fault!("padding's rows are not cleared", "sm90_bmat_spmm/produce.cuh":
        "clear_rows<C>(rows, all & ~present," => "clear_rows<C>(rows, 0,",
        partitions, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("B is read for padding", "sm90_bmat_spmm/produce.cuh":
        "        if (col != kPadCol) {\n            ptx::bulk_load" => "        if (lane < n_rows) {\n            ptx::bulk_load",
        partitions, Outcome::Report(Problem::OutOfBounds { .. } | Problem::Misaligned { .. })),
    fault!("an entry of A counts itself before its value", "sm90_bmat_spmm/decode.cuh":
        "__popc(mask[t] & bits.below)" => "__popc(mask[t] & (bits.below | bits.own))",
        parts, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("values before a word are those before the next", "sm90_bmat_spmm/decode.cuh":
        "8 * (t - 1) & 0xff" => "8 * t & 0xff",
        parts, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("a stage's first value is taken for its first chunk's", "sm90_bmat_spmm/consume.cuh":
        "ptx::load_shared_32(headers + 16) / kPerChunk * kPerChunk" => "ptx::load_shared_32(headers + 16)",
        parts, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("the last chunk of values is left out", "sm90_bmat_spmm/produce.cuh":
        "(last_value + kPerChunk - 1) / kPerChunk" => "last_value / kPerChunk",
        parts, Outcome::Wrong | Outcome::Report(Problem::Poison { .. } | Problem::Pending { .. } | Problem::Mbarrier { .. })),
    fault!("bits are other lanes'", "sm90_bmat_spmm/decode.cuh":
        "own(1u << lane)" => "own(1u << (lane ^ 4))",
        parts, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("A and B are not rounded to TF32, but cut off", "ptx/convert.cuh":
        "asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(rounded) : \"f\"(__uint_as_float(bits)));" => "rounded = bits;",
        partitions, Outcome::Wrong),
    fault!("the last segment of a chunk is left out", "sm90_bmat_spmm/walk.cuh":
        "count = n < kWarpSize ? n : kWarpSize;" => "count = (n < kWarpSize ? n : kWarpSize) - 1;",
        partitions, Outcome::Wrong),
    fault!("the last window, which is not full, is not stored", "sm90_bmat_spmm/params.cuh":
        "slot < p.m ?" => "slot < p.m / 16 * 16 ?",
        parts, Outcome::Wrong),
    fault!("a partition's columns go to the end of C", "sm90_bmat_spmm/params.cuh":
        "end = of_end < p.end ? of_end : p.end;" => "end = p.end;",
        partitions, Outcome::Report(Problem::Race { .. })),
    fault!("a partition's columns begin with C's", "sm90_bmat_spmm/params.cuh":
        "start = of_start > p.begin ? of_start : p.begin;" => "start = p.begin;",
        partitions, Outcome::Report(Problem::Race { .. })),
    fault!("a run's later tiles of columns are left out", "sm90_bmat_spmm/walk.cuh":
        "chunk.column < columns.end; chunk.column" => "chunk.column <= columns.start + blockIdx.y * p.tile_columns; chunk.column",
        wide, Outcome::Wrong),
    fault!("parts of a window are written to C one over the other", "sm90_bmat_spmm/consume.cuh":
        "const bool keeps = piece != kWhole;" => "const bool keeps = false;",
        parts, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("the last part of a window is left out", "sm90_bmat_spmm/sm90_bmat_spmm.cu":
        "split.n_pieces, 0.0f" => "split.n_pieces - 1, 0.0f",
        parts, Outcome::Wrong),
    fault!("C is read with beta = 0", "sm90_bmat_spmm/store.cuh":
        "scaled = beta == 0.0f ? alpha * sum : __fmaf_rn(" => "scaled = __fmaf_rn(",
        elements, Outcome::Report(Problem::Poison { .. })),
    fault!("columns of C beyond the last are written", "sm90_bmat_spmm/store.cuh":
        "if (column + 3 < width && " => "if (",
        elements, Outcome::Stray | Outcome::Report(Problem::OutOfBounds { .. } | Problem::Race { .. })),
    fault!("NaN spreads over a window", "sm90_bmat_spmm/consume.cuh":
        "any ? non_finite(sums[unit], 2 * i + odd) : 0" => "0",
        poisoned, Outcome::Wrong),
    fault!("what is computed once more has all columns of a tile", "sm90_bmat_spmm/exact.cuh":
        "if ((mask >> bit & 1) == 0) continue;" => "",
        poisoned, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. } | Problem::Poison { .. })),
    fault!("elements are stored after arriving", "sm90_bmat_spmm/produce.cuh":
        "    if constexpr (C::kGather == Gather::kRows) {\n        __syncwarp();" =>
        "    if constexpr (C::kGather == Gather::kElements) {\n        gather_elements<C>(p, chunk, rows, n_rows, col, lane);\n    } else {\n        __syncwarp();",
        elements, Outcome::Report(Problem::Race { .. })),
    fault!("vectors are read before they have come", "sm90_bmat_spmm/produce.cuh":
        "ring.fill_with_copies(place);" => "ring.fill(place);",
        parts, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Poison { .. })),
    fault!("masks are not expected beside vectors", "sm90_bmat_spmm/produce.cuh":
        "            ring.expect_more(place, bytes);\n" => "",
        parts, Outcome::Report(Problem::Mbarrier { .. } | Problem::Pending { .. } | Problem::Race { .. })),
    fault!("elements of rows are paired wrongly", "sm90_bmat_spmm/config.cuh":
        "i % 2 ? 0x7632 : 0x5410" => "i % 2 ? 0x5410 : 0x7632",
        elements, Outcome::Wrong),
];

#[test]
fn faults_in_bmat_show() {
    check(&[parts as Multiply, partitions, wide, poisoned, elements], FAULTS);
}
