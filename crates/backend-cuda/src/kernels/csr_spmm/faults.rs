//! Faults in `csr_spmm`.

use girih_backend::{Activation, Aggregation};
use girih_formats::{Csr, FormatSpec};
use girih_testkit::matrices;
use girih_testkit::operands::Layout;
use half::f16;
use ptx_emu::report::Problem;

use crate::emulated::faults::{
    Fault, Finish, Multiply, Outcome, Sized, aggregate, check, fault, multiply,
};
use crate::emulated::{Emulated, Way};
use crate::{CsrLayout, CsrTeams};

/// Rows of all lengths, one of them in pieces, times 36 columns whose vectors can be read.
fn vectors(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, Sized { n: 36, ..SIZED })
}

/// The same element by element, with C in between what is not C's.
fn elements(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, SIZED)
}

/// In f16, whose rows of B and of C are whole vectors.
fn halves(device: &Emulated, way: Way) -> (Outcome, String) {
    multiply::<f16>(device, way, &all_lengths(), Sized { n: 40, ..SIZED })
}

/// In f16, whose rows are whole words and no whole vectors.
fn words(device: &Emulated, way: Way) -> (Outcome, String) {
    multiply::<f16>(device, way, &all_lengths(), Sized { n: 38, ..SIZED })
}

/// Two columns.
fn pair(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, Sized { n: 2, c: Layout::RowMajor, ..SIZED })
}

/// A single column.
fn column(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, Sized { n: 1, ..SIZED })
}

/// A single column; a long row is the last.
fn last_row(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(5, 530, |i, j| i == 4 || i == j).unwrap();
    multiply::<f32>(device, way, &a, Sized { n: 1, ..SIZED })
}

/// Short rows, several to a warp, some of them empty and one of them in pieces; a vector of columns to a
/// lane.
fn runs(device: &Emulated, way: Way) -> (Outcome, String) {
    short_rows(device, way, 100)
}

/// The same, two vectors to a lane.
fn wide_runs(device: &Emulated, way: Way) -> (Outcome, String) {
    short_rows(device, way, 132)
}

/// The first product, with a bias for each row; one row has no entries.
fn biased_rows(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, Sized { n: 36, epilogue: Finish::PerRow(Activation::Relu), ..SIZED })
}

/// The same with a bias for each column, and C in vectors.
fn biased_columns(device: &Emulated, way: Way) -> (Outcome, String) {
    let epilogue = Finish::PerColumn(Activation::Gelu);
    product(device, way, Sized { n: 36, c: Layout::RowMajor, epilogue, ..SIZED })
}

/// Element by element.
fn biased_elements(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, Sized { epilogue: Finish::PerColumn(Activation::Relu), ..SIZED })
}

/// Several rows to a warp, with a bias for each.
fn biased_runs(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = short_rows_of();
    let epilogue = Finish::PerRow(Activation::None);
    let sized = Sized { n: 100, beta: 0.5, c: Layout::RowMajor, epilogue, ..SIZED };
    multiply::<f32>(device, way, &a, sized)
}

/// Rows of 0 to 12 entries by teams of two groups of lanes each, three times, in panels of two tiles.
fn rows(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(101, 90, |i, j| (i * 5 + j) % 31 < i % 5).unwrap();
    let teams =
        CsrTeams { lanes: 4, team: 8, depth: 4, vectors: 1, warps: 2, turns: 3, panel_tiles: 2 };
    let device = device.with_csr_layout(CsrLayout::Teams(teams));
    multiply::<f32>(&device, way, &a, Sized { n: 52, ..SIZED })
}

/// The same with a C in vectors, whose sums are not exchanged.
fn rows_in_vectors(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(101, 90, |i, j| (i * 5 + j) % 31 < i % 5).unwrap();
    let teams =
        CsrTeams { lanes: 4, team: 8, depth: 4, vectors: 1, warps: 2, turns: 3, panel_tiles: 2 };
    let device = device.with_csr_layout(CsrLayout::Teams(teams));
    multiply::<f32>(&device, way, &a, Sized { n: 52, c: Layout::RowMajor, ..SIZED })
}

/// The same rows by a warp each, two vectors to a lane, of which the first lane alone has both in the last tile.
fn wide_rows(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(50, 90, |i, j| (i * 5 + j) % 31 < i % 5).unwrap();
    let teams =
        CsrTeams { lanes: 32, team: 32, depth: 4, vectors: 2, warps: 2, turns: 3, panel_tiles: 1 };
    let device = device.with_csr_layout(CsrLayout::Teams(teams));
    multiply::<f32>(&device, way, &a, Sized { n: 256 + 132, ..SIZED })
}

/// The greatest products of rows of all lengths, one of them in pieces and one of a single entry.
fn maxima(device: &Emulated, way: Way) -> (Outcome, String) {
    aggregate::<f32>(device, way, &all_lengths(), (Aggregation::Max, 36), Layout::RowMajor)
}

/// The least, element by element.
fn minima(device: &Emulated, way: Way) -> (Outcome, String) {
    aggregate::<f32>(device, way, &all_lengths(), (Aggregation::Min, 35), Layout::ColMajor)
}

/// Means, also of rows without entries.
fn means(device: &Emulated, way: Way) -> (Outcome, String) {
    aggregate::<f32>(device, way, &short_rows_of(), (Aggregation::Mean, 36), Layout::RowMajor)
}

/// Means of rows of which one is a block's, and not in pieces.
fn long_means(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(9, 200, |i, j| i == 4 || (i * 3 + j) % 97 == 1).unwrap();
    aggregate::<f32>(device, way, &a, (Aggregation::Mean, 36), Layout::RowMajor)
}

fn short_rows(device: &Emulated, way: Way, n: usize) -> (Outcome, String) {
    let a = short_rows_of();
    multiply::<f32>(device, way, &a, Sized { n, beta: 0.5, c: Layout::RowMajor, ..SIZED })
}

fn short_rows_of() -> Csr<f64> {
    let entry = |i: usize, j: usize| i == 7 || (i % 6 > 1 && (i * 7 + j) % 160 == 3);
    matrices::where_(130, 530, entry).unwrap()
}

const SIZED: Sized = Sized {
    spec: FormatSpec::Csr,
    tiles_per_task: None,
    n: 35,
    beta: 0.0,
    b: Layout::RowMajor,
    c: Layout::PaddedRows,
    epilogue: Finish::Nothing,
};

fn product(device: &Emulated, way: Way, sized: Sized) -> (Outcome, String) {
    multiply::<f32>(device, way, &all_lengths(), sized)
}

pub(in crate::kernels) fn all_lengths() -> Csr<f64> {
    matrices::where_(9, 530, |i, j| i == 4 || (i * 3 + j) % (29 * i + 1) == 1).unwrap()
}

const FAULTS: &[Fault] = &[
    fault!("entries are read before they are staged", "csr_spmm/items.cuh":
        "        chunk[in_team] = next;\n        __syncwarp();" =>
        "        chunk[in_team] = next;",
        vectors, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("entries are staged before all have read the last", "csr_spmm/items.cuh":
        "step, left - e, columns, sum);\n        }\n        __syncwarp();" =>
        "step, left - e, columns, sum);\n        }",
        vectors, Outcome::Report(Problem::Race { .. })),
    fault!("entries beyond the row are read", "csr_spmm/items.cuh":
        "if (ahead < item.length) next =" => "next =",
        vectors, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("entries beyond the last are read by lanes themselves", "csr_spmm/items.cuh":
        "load_constant_32_if(u * step < left, p.col_idx" => "load_constant_32_if(true, p.col_idx",
        last_row, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("lanes leave out what is less than they wait for at a time", "csr_spmm/items.cuh":
        "for (u32 first = group; first < item.length; first += kUnroll * step) {" =>
        "for (u32 first = group; first + kUnroll * step < item.length; first += kUnroll * step) {",
        column, Outcome::Wrong),
    fault!("columns of B beyond the last are read", "csr_spmm/access.cuh":
        "i < loads, row + offset[i]" => "true, row + offset[i]",
        elements, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("words beyond the last column are read", "csr_spmm/access.cuh":
        "is_wanted(i, loads), row" => "true, row",
        words, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("two columns change places as they are stored", "csr_spmm/store.cuh":
        "__float_as_uint(left), __float_as_uint(right)" => "__float_as_uint(right), __float_as_uint(left)",
        pair, Outcome::Wrong),
    fault!("columns of C beyond the last are written", "csr_spmm/store.cuh":
        "if (column < n) put(at, finish(sum[w], at, column));" =>
        "put(at, finish(sum[w], at, column));",
        elements, Outcome::Stray | Outcome::Report(Problem::Race { .. } | Problem::OutOfBounds { .. })),
    fault!("C is read with beta = 0", "csr_spmm/store.cuh":
        "bool reads() const { return beta != Acc(0); }" => "bool reads() const { return true; }",
        vectors, Outcome::Report(Problem::Poison { .. })),
    fault!("groups of a team add in a step too few", "csr_spmm/items.cuh":
        "for (u32 s = LANES; s < team; s *= 2) {" => "for (u32 s = 2 * LANES; s < team; s *= 2) {",
        column, Outcome::Wrong),
    fault!("all warps of a block take the first entries", "csr_spmm/items.cuh":
        "        item.begin += begin;\n" => "",
        column, Outcome::Wrong),
    fault!("sums are put where a warp still reads entries", "csr_spmm/block.cuh":
        "        // What is staged has been read by all.\n        __syncthreads();\n" => "",
        vectors, Outcome::Report(Problem::Race { .. })),
    fault!("sums are read before all warps have put them there", "csr_spmm/block.cuh":
        "            staging.sums[warp - 1][lane] = out.vector;\n        }\n        __syncthreads();" =>
        "            staging.sums[warp - 1][lane] = out.vector;\n        }",
        vectors, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("the last warp's sums are left out", "csr_spmm/block.cuh":
        "other < kWarps - 1" => "other < kWarps - 2",
        column, Outcome::Wrong),
    fault!("pieces of a row are written to C one over the other", "csr_spmm/block.cuh":
        "store_item<Access, COLUMNS>(p, is_piece, row" => "store_item<Access, COLUMNS>(p, false, row",
        vectors, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("a piece arrives before its warp has stored it", "csr_spmm/block.cuh":
        "    __syncwarp();\n    bool is_last" => "    bool is_last",
        vectors, Outcome::Report(Problem::Race { .. })),
    fault!("a piece is not released", "ptx/atomic.cuh":
        "atom.acq_rel.gpu.global.inc" => "atom.acquire.gpu.global.inc",
        vectors, Outcome::Report(Problem::Race { .. })),
    fault!("pieces are not acquired", "ptx/atomic.cuh":
        "atom.acq_rel.gpu.global.inc" => "atom.release.gpu.global.inc",
        vectors, Outcome::Report(Problem::Race { .. })),
    fault!("pieces are added up before the last is there", "csr_spmm/block.cuh":
        "arrive(arrived, split.n_pieces) == split.n_pieces - 1" =>
        "arrive(arrived, split.n_pieces) == split.n_pieces - 2",
        vectors, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("the last piece of a row is left out", "csr_spmm/block.cuh":
        "split.n_pieces, sum[0]" => "split.n_pieces - 1, sum[0]",
        vectors, Outcome::Wrong),
    fault!("entries of several rows are read before they are staged", "csr_spmm/runs.cuh":
        "            chunk[lane] = next;\n            __syncwarp();" => "            chunk[lane] = next;",
        runs, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("an entry is looked for in the row before its own", "csr_spmm/runs.cuh":
        "owner + s - 1) <= number) owner" => "owner + s - 1) < number) owner",
        runs, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("sums are kept from one row to the next", "csr_spmm/runs.cuh":
        "                        sum[i + w] = Acc(0);\n" => "",
        wide_runs, Outcome::Wrong),
    fault!("warps that take several rows take those without entries too", "csr_spmm/runs.cuh":
        " &&\n           warp_number(p) < p.first_empty_warp;" => ";",
        runs, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("rows without entries are left out", "csr_spmm/items.cuh":
        "return !is_by_block(p) && warp_number(p) >= p.first_empty_warp;" => "return false;",
        vectors, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("rows without entries beyond the last are looked up", "csr_spmm/items.cuh":
        "min((warp_number(p) - p.first_empty_warp + 1) * kRows, p.n_empty_rows)" =>
        "(warp_number(p) - p.first_empty_warp + 1) * kRows",
        runs, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("rows without entries are stored by all lanes of a warp", "csr_spmm/items.cuh":
        "p.first_empty_warp) * kRows + lane / LANES;" => "p.first_empty_warp) * kRows;",
        means, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("the blocks of long rows take several rows instead", "csr_spmm/runs.cuh":
        "return block_number(p) >= p.n_by_block && warp_number(p) >= p.n_by_warp &&\n           \
         warp_number(p) < p.first_empty_warp" => "return warp_number(p) >= p.n_by_warp",
        wide_runs, Outcome::Wrong | Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("a team's entries are read before they are staged", "csr_spmm/rows.cuh":
        "to[i * LANES] = next[i];\n                __syncwarp();" => "to[i * LANES] = next[i];",
        rows, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("a team's entries are staged before all have read the last", "csr_spmm/rows.cuh":
        "                __syncwarp();\n            }\n            done = ahead;" => "            }\n            done = ahead;",
        rows_in_vectors, Outcome::Report(Problem::Race { .. })),
    fault!("rows beyond the last are looked up", "csr_spmm/rows.cuh":
        "        if (at >= end) return {0, 0};\n" => "",
        rows, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("entries beyond a team's row are loaded", "csr_spmm/rows.cuh":
        "if (at < run.length) next[i]" => "next[i]",
        rows, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("entries beyond a team's row are multiplied", "csr_spmm/rows.cuh":
        "        if (static_cast<i32>(u) < left) {\n" => "        {\n",
        rows, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("teams read columns of B beyond the last", "csr_spmm/rows.cuh":
        "Access::first(tile, across, p.n) * sizeof" => "Access::column(tile, across, 0) * sizeof",
        rows, Outcome::Report(Problem::OutOfBounds { .. } | Problem::Poison { .. })),
    fault!("lanes swap vectors with the next pair", "csr_spmm/store.cuh":
        "shuffle_xor(odd ? left : right, 1)" => "shuffle_xor(odd ? left : right, 2)",
        halves, Outcome::Wrong),
    fault!("swapped vectors are stored where they were", "csr_spmm/store.cuh":
        "i / kWidth % 2 * kPair + lane % 2 * kWidth" => "lane % 2 * kPair + i / kWidth % 2 * kWidth",
        halves, Outcome::Wrong),
    fault!("sums are taken before they are exchanged", "csr_spmm/store.cuh":
        "        __syncwarp();\n        if (stores) {\n// Unrolled" => "        if (stores) {\n// Unrolled",
        rows, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("sums of another run are stored", "csr_spmm/store.cuh":
        "tile + run * Access::kLanes + at" => "tile + at", wide_rows, Outcome::Wrong | Outcome::Stray | Outcome::Report(Problem::Race { .. })),
    fault!("a team takes the same row again", "csr_spmm/rows.cuh":
        "        run = following;\n" => "",
        rows, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("all groups of a team take the first one's entries", "csr_spmm/rows.cuh":
        "of_team + in_team / LANES * kOfGroup" => "of_team",
        rows, Outcome::Wrong),
    fault!("groups of lanes do not add up what they have", "csr_spmm/rows.cuh":
        "for (u32 s = LANES; s < team; s *= 2) {" => "for (u32 s = team; s < team; s *= 2) {",
        rows, Outcome::Wrong),
    fault!("a lane reads its first vector twice", "csr_spmm/rows.cuh":
        "row + v * Access::kStep * sizeof(Stored)" => "row", wide_rows, Outcome::Wrong),
    fault!("lanes read second vectors beyond the last column", "csr_spmm/rows.cuh":
        "left && Access::is_wanted(v, loads)" => "left",
        wide_rows, Outcome::Report(Problem::OutOfBounds { .. } | Problem::Poison { .. })),
    fault!("a panel has its first tile only", "csr_spmm/params.cuh":
        "* p.panel_tiles + blockIdx.x % p.panel_tiles" => "* p.panel_tiles",
        rows, Outcome::Wrong | Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("blocks of a panel have different rows", "csr_spmm/params.cuh":
        "{ return blockIdx.x / p.panel_tiles; }" => "{ return blockIdx.x; }",
        rows, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("a bias for columns is looked up by rows", "shared/epilogue.cuh":
        "[row * row_stride + column * col_stride]" => "[row * col_stride + column * row_stride]",
        biased_columns, Outcome::Wrong),
    fault!("a bias for rows is looked up by columns", "shared/epilogue.cuh":
        "[row * row_stride + column * col_stride]" => "[column * row_stride]",
        biased_rows, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("an activation is applied twice", "shared/epilogue.cuh":
        "x = gelu(x);" => "x = gelu(gelu(x));",
        biased_columns, Outcome::Wrong),
    fault!("an activation comes before the bias", "csr_spmm/store.cuh":
        "return epilogue(scaled(sum, reads() ? widened(*before) : Acc(0)), row, column);" =>
        "return epilogue(max(scaled(sum, reads() ? widened(*before) : Acc(0)), Acc(0)), row, column);",
        biased_elements, Outcome::Wrong),
    fault!("neighbouring columns have one bias", "csr_spmm/store.cuh":
        "scaled(sums.sum[w], out.sum[w]), row, column + w)" =>
        "scaled(sums.sum[w], out.sum[w]), row, column)",
        biased_columns, Outcome::Wrong),
    fault!("every piece of a row has the bias", "csr_spmm/store.cuh":
        "p.n, sum, Kept{});" => "p.n, sum, Scaled{Acc(1), Acc(0), p.last, row});",
        biased_columns, Outcome::Wrong),
    fault!("a row in pieces has the bias of another", "csr_spmm/block.cuh":
        "finish_of(p, split.row, " => "finish_of(p, split.row - 1, ",
        biased_rows, Outcome::Wrong),
    fault!("a row without entries has no bias", "csr_spmm/items.cuh":
        "const Finish finish = finish_of(p, row, 0);" => "const Kept finish{};",
        biased_rows, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("all rows of a warp have the first one's bias", "csr_spmm/runs.cuh":
        "p.last, row}" => "p.last, 0}",
        biased_runs, Outcome::Wrong),
    fault!("maxima begin with zero", "csr_spmm/total.cuh":
        "-Acc(__int_as_float(0x7f800000))" => "Acc(0)",
        maxima, Outcome::Wrong),
    fault!("minima are of products with their own signs", "csr_spmm/total.cuh":
        "    if constexpr (kIsGreatest) return sign * value;\n" => "",
        minima, Outcome::Wrong),
    fault!("parts of maxima are added", "csr_spmm/total.cuh":
        "return ptx::greater(x, y);" => "return x + y;",
        maxima, Outcome::Wrong),
    fault!("means of rows without entries are divided", "csr_spmm/total.cuh":
        "    if (entries == 0) return Acc(0);\n" => "",
        means, Outcome::Wrong),
    fault!("means of long rows are of a warp's entries", "csr_spmm/items.cuh":
        "return {item, kWarpSize, true, entries};" => "return {item, kWarpSize, true, item.length};",
        long_means, Outcome::Wrong),
    fault!("means of rows in pieces are of a piece's entries", "csr_spmm/store.cuh":
        "    return p.last.split_entries[number];" => "    return p.last.split_entries[number] / 3;",
        means, Outcome::Wrong),
];

#[test]
fn faults_in_csr_show() {
    let plain = [
        vectors as Multiply,
        halves,
        elements,
        words,
        pair,
        column,
        runs,
        wide_runs,
        rows,
        rows_in_vectors,
        wide_rows,
    ];
    let biased = [biased_rows as Multiply, biased_columns, biased_elements, biased_runs];
    let aggregated = [maxima as Multiply, minima, means, long_means];
    check(&[&plain[..], &biased[..], &aggregated[..]].concat(), FAULTS);
}
