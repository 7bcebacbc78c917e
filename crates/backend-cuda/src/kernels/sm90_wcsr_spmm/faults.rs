//! Faults in `sm90_wcsr_spmm`.

use girih_backend::Activation;
use girih_formats::{AnyTiling, FormatSpec};
use girih_planner::schedule::Reduction;
use girih_planner::{Precision, Schedule};
use girih_testkit::matrices;
use girih_testkit::operands::Layout;
use ptx_emu::report::Problem;

use crate::CtaOrder;
use crate::emulated::faults::{
    Fault, Finish, Multiply, Outcome, Sized, check, fault, multiply, multiply_reversed,
};
use crate::emulated::{Emulated, Way};

/// Windows of 16 rows, one of them split and none a whole number of steps wide, times 36 columns.
fn rows(device: &Emulated, way: Way) -> (Outcome, String) {
    let a =
        matrices::where_(40, 1100, |i, j| (i < 16 && (i + j) % 8 < 6) || (i * 11 + j) % 97 == 1);
    let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
    let (b, c) = (Layout::RowMajor, Layout::PaddedRows);
    let tiles_per_task = Some(48);
    multiply::<f32>(
        device,
        way,
        &a.unwrap(),
        Sized { spec, tiles_per_task, n: 36, beta: 0.0, b, c, epilogue: Finish::Nothing },
    )
}

/// Rows of B by vectors, in f16, of which the last vector has columns beyond the last.
fn vectors(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(40, 300, |i, j| (i * 11 + j) % 97 < 2);
    let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 16 };
    let (b, c) = (Layout::RowMajor, Layout::RowMajor);
    let tiles_per_task = None;
    multiply::<half::f16>(
        device,
        way,
        &a.unwrap(),
        Sized { spec, tiles_per_task, n: 40, beta: 0.0, b, c, epilogue: Finish::Nothing },
    )
}

/// Windows of 8 rows, more than run at once, of which blocks take several: some empty, some of one stage, some of several.
fn segments(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(140, 300, |i, j| match i / 8 % 4 {
        0 => false,
        1 => (i * 11 + j) % 97 < 2,
        2 => (i + j) % 150 == 0,
        _ => (i * 7 + j) % 60 < 2,
    });
    let spec = FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 };
    let (b, c) = (Layout::RowMajor, Layout::RowMajor);
    let sized =
        Sized { spec, tiles_per_task: None, n: 36, beta: 0.0, b, c, epilogue: Finish::Nothing };
    multiply::<f32>(device, way, &a.unwrap(), sized)
}

/// The same element by element, in bf16, with columns that fill no chunk.
fn elements(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(40, 300, |i, j| (i * 11 + j) % 97 < 2);
    let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
    let (b, c) = (Layout::ColMajor, Layout::PaddedRows);
    let tiles_per_task = None;
    multiply::<half::bf16>(
        device,
        way,
        &a.unwrap(),
        Sized { spec, tiles_per_task, n: 35, beta: 0.0, b, c, epilogue: Finish::Nothing },
    )
}

/// Three tiles of columns in panels of two: one block of each task is beyond the last.
fn panels(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(40, 300, |i, j| (i * 11 + j) % 97 < 2);
    let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
    let (b, c) = (Layout::RowMajor, Layout::RowMajor);
    let device = device.with_cta_order(CtaOrder { tile_columns: 128, panel_tiles: 2 });
    let sized =
        Sized { spec, tiles_per_task: None, n: 260, beta: 0.0, b, c, epilogue: Finish::Nothing };
    multiply::<f32>(&device, way, &a.unwrap(), sized)
}

/// Rows last first, with an epilogue; a window is split.
fn finished(
    device: &Emulated,
    way: Way,
    cut: fn(&AnyTiling) -> Schedule,
    epilogue: Finish,
) -> (Outcome, String) {
    let a =
        matrices::where_(40, 1100, |i, j| (i < 16 && (i + j) % 8 < 6) || (i * 11 + j) % 97 == 1);
    let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
    let (b, c) = (Layout::RowMajor, Layout::RowMajor);
    let sized = Sized { spec, tiles_per_task: None, n: 36, beta: 0.5, b, c, epilogue };
    multiply_reversed::<f32>(device, way, &a.unwrap(), (cut, Precision::Tf32), sized)
}

fn per_row(device: &Emulated, way: Way) -> (Outcome, String) {
    let cut = |tiles: &AnyTiling| Schedule::by_limit(tiles, 48, Reduction::TwoPass);
    finished(device, way, cut, Finish::PerRow(Activation::Relu))
}

fn per_column(device: &Emulated, way: Way) -> (Outcome, String) {
    let cut = |tiles: &AnyTiling| Schedule::by_limit(tiles, 48, Reduction::TwoPass);
    finished(device, way, cut, Finish::PerColumn(Activation::Gelu))
}

/// Parts are added to C in any order.
fn added(device: &Emulated, way: Way) -> (Outcome, String) {
    let cut = |tiles: &AnyTiling| Schedule::by_limit(tiles, 48, Reduction::Atomic);
    finished(device, way, cut, Finish::PerRow(Activation::Gelu))
}

const FAULTS: &[Fault] = &[
    fault!("a block beyond the last tile of a panel multiplies", "sm90_wcsr_spmm/sm90_wcsr_spmm.cu":
        "    if (tile_of<C>(p) >= p.n_tiles) return;\n" => "",
        panels, Outcome::Stray | Outcome::Report(Problem::OutOfBounds { .. } | Problem::Poison { .. })),
    fault!("neighbouring blocks of a panel have other tasks", "sm90_wcsr_spmm/params.cuh":
        "return blockIdx.x / p.panel_tiles;" => "return blockIdx.x;",
        panels, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. } | Problem::Poison { .. } | Problem::Race { .. })),
    fault!("panels overlap", "sm90_wcsr_spmm/params.cuh":
        "return blockIdx.y * p.panel_tiles + " => "return blockIdx.y + ",
        panels, Outcome::Wrong | Outcome::Report(Problem::Poison { .. } | Problem::Race { .. })),
    fault!("sums of a window are added to those of the next", "sm90_wcsr_spmm/consume.cuh":
        "            for (u32 i = 0; i < kWindowRows / 2; ++i) sums[tile][i] = 0.0f;" =>
        "            for (u32 i = 0; i < kWindowRows / 2; ++i) sums[tile][i] *= segment == 0 ? 0.0f : 1.0f;",
        segments, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("every window of a task has the first one's columns", "sm90_wcsr_spmm/produce.cuh":
        "        at.first_step += left;\n" => "",
        segments, Outcome::Wrong | Outcome::Report(_)),
    fault!("a task ends with its first window", "sm90_wcsr_spmm/produce.cuh":
        "        while (left == 0 && ++segment < part.n_segments) {" =>
        "        while (left == 0 && ++segment < 1) {",
        segments, Outcome::Report(_)),
    fault!("a stage is read before it is full", "sm90_wcsr_spmm/consume.cuh":
        "            ring.wait_full(place);\n#pragma unroll 1" => "#pragma unroll 1",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Poison { .. })),
    fault!("a stage is filled before it is empty", "sm90_wcsr_spmm/produce.cuh":
        "    ring.wait_empty(place);\n" => "",
        rows, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Mbarrier { .. })),
    fault!("the wrong phase is waited for", "shared/pipeline.cuh":
        "at.parity ^ 1" => "at.parity",
        rows, Outcome::Report(Problem::Deadlock { .. })),
    fault!("fewer bytes are expected than come", "sm90_wcsr_spmm/produce.cuh":
        "bytes += __popc(present) * part.row_bytes;" => "bytes += __popc(present) * 16;",
        rows, Outcome::Report(Problem::Mbarrier { .. })),
    fault!("padding's rows are not cleared", "shared/gather.cuh":
        "    if (padding == 0) return;" => "    return;",
        rows, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("B is read for padding", "sm90_wcsr_spmm/produce.cuh":
        "    if (col != kPadCol) {\n        ptx::bulk_load" => "    {\n        ptx::bulk_load",
        rows, Outcome::Report(Problem::OutOfBounds { .. } | Problem::Misaligned { .. })),
    fault!("columns of B beyond the last are multiplied", "sm90_wcsr_spmm/consume.cuh":
        "(byte < part.row_bytes ? byte : 0)" => "byte",
        rows, Outcome::Report(Problem::Poison { .. })),
    fault!("the offsets of a tile of values are exchanged", "sm90_wcsr_spmm/consume.cuh":
        "ptx::Swizzle::None, 256, 128" => "ptx::Swizzle::None, 128, 256",
        rows, Outcome::Wrong),
    fault!("fragments of one set are loaded while they are multiplied", "sm90_wcsr_spmm/consume.cuh":
        "fragment[turn % 2]);\n                    multiply" => "fragment[0]);\n                    multiply",
        rows, Outcome::Wrong | Outcome::Report(Problem::InFlightRegister { .. } | Problem::Poison { .. })),
    fault!("products are not waited for", "sm90_wcsr_spmm/consume.cuh":
        "                    ptx::wgmma_wait<1>();\n" => "",
        rows, Outcome::Report(Problem::InFlightRegister { .. } | Problem::Pending { .. } | Problem::Race { .. })),
    fault!("a stage is given back while it is read", "sm90_wcsr_spmm/consume.cuh":
        "if (turn == 0 && k == 0 && left != n_steps) ring.release(read);" =>
        "if (turn == 0 && k == 0) ring.release(place);",
        rows, Outcome::Report(Problem::Race { .. } | Problem::Pending { .. })),
    fault!("parts of a window are written to C one over the other", "sm90_wcsr_spmm/consume.cuh":
        "piece != kWhole && !p.atomic" => "false",
        rows, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("the last part of a window is left out", "sm90_wcsr_spmm/sm90_wcsr_spmm.cu":
        "split.n_pieces, float4{}" => "split.n_pieces - 1, float4{}",
        rows, Outcome::Wrong),
    fault!("C is read with beta = 0", "sm90_wcsr_spmm/store.cuh":
        "            if (beta != 0.0f) {" => "            {",
        rows, Outcome::Report(Problem::Poison { .. })),
    fault!("columns of C beyond the last are written", "sm90_wcsr_spmm/store.cuh":
        "if (column + 3 < n) " => "",
        elements, Outcome::Stray | Outcome::Report(Problem::OutOfBounds { .. } | Problem::Race { .. })),
    fault!("elements are stored after arriving", "sm90_wcsr_spmm/produce.cuh":
        "    if constexpr (C::kGather == Gather::kRows) {\n        __syncwarp();" =>
        "    if constexpr (C::kGather == Gather::kElements) {\n        gather_elements(p, part, rows, n_rows, col, lane);\n    } else {\n        __syncwarp();",
        elements, Outcome::Report(Problem::Race { .. })),
    fault!("vectors are read before they have come", "sm90_wcsr_spmm/produce.cuh":
        "ring.fill_with_copies(place);" => "ring.fill(place);",
        vectors, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Poison { .. })),
    fault!("values are not expected beside vectors", "sm90_wcsr_spmm/produce.cuh":
        "            ring.expect_more(place, bytes);\n" => "",
        vectors, Outcome::Report(Problem::Mbarrier { .. } | Problem::Pending { .. } | Problem::Race { .. })),
    fault!("vectors beyond the last column are copied", "shared/gather.cuh":
        "row < n_rows && at < row_bytes" => "row < n_rows",
        vectors, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("vectors of padding are read", "shared/gather.cuh":
        "present ? from + at : b,\n                                   present ? 16 : 0" => "from + at,\n                                   16",
        vectors, Outcome::Report(Problem::OutOfBounds { .. } | Problem::Misaligned { .. })),
    fault!("lanes copy to a row and from another", "shared/gather.cuh":
        "rows + row * C::kPitch + at, present" => "rows + (row ^ 1) * C::kPitch + at, present",
        vectors, Outcome::Wrong),
    fault!("elements of rows are paired wrongly", "sm90_wcsr_spmm/config.cuh":
        "upper ? 0x7632 : 0x5410" => "upper ? 0x5410 : 0x7632",
        elements, Outcome::Wrong),
    fault!("an epilogue is applied to a part of a split window", "sm90_wcsr_spmm/consume.cuh":
        "{p.epilogue, piece == kWhole}" => "{p.epilogue, true}",
        per_row, Outcome::Wrong),
    fault!("an epilogue is applied to a part that is added", "sm90_wcsr_spmm/store.cuh":
        "ptx::add_128(at, out.x, out.y," => "ptx::add_128(at, finish.epilogue(out.x, row, column), out.y,",
        added, Outcome::Wrong),
    fault!("split windows go without an epilogue", "sm90_wcsr_spmm/sm90_wcsr_spmm.cu":
        "store(finish, begin, row, column, sum.x" =>
        "store(Finish{p.epilogue, false}, begin, row, column, sum.x",
        per_row, Outcome::Wrong),
    fault!("a bias is that of a slot, not of its row", "sm90_wcsr_spmm/consume.cuh":
        "store(finish, begin, row,\n" => "store(finish, begin, window * kWindowRows + of_window,\n",
        per_row, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("a bias of a split window is that of a slot", "sm90_wcsr_spmm/sm90_wcsr_spmm.cu":
        "store(finish, begin, row, column, sum.x" =>
        "store(finish, begin, split.window * kWindowRows + of_window, column, sum.x",
        per_row, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("a bias of a window that was added up is the first row's", "sm90_wcsr_spmm/sm90_wcsr_spmm.cu":
        "store(finish, begin, row, column, 0.0f" => "store(finish, begin, 0, column, 0.0f",
        added, Outcome::Wrong),
    fault!("neighbouring columns have one bias", "sm90_wcsr_spmm/store.cuh":
        "finish(out.x, row, column + i)" => "finish(out.x, row, column)",
        per_column, Outcome::Wrong),
];

#[test]
fn faults_in_wcsr_show() {
    check(&[rows as Multiply, vectors, elements, panels, per_row, per_column, added], FAULTS);
}
