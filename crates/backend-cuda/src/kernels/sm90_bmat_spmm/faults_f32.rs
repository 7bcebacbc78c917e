//! Faults in what multiplies f32 without rounding it to TF32.

use girih_formats::{AnyTiling, Csr, FormatSpec, RowLayout, Tiling};
use girih_planner::cost::LinearCost;
use girih_planner::{Plan, Precision, Schedule};
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, random};
use ptx_emu::report::Problem;

use crate::emulated::faults::{
    Fault, Finish, Multiply, Outcome, Sized, check, fault, multiply_plan,
};
use crate::emulated::{Emulated, Way};

const SPEC: FormatSpec = FormatSpec::BMat { pattern_only: false };

/// How a schedule is cut.
enum Cut {
    /// At this number of tiles.
    Tiles(u64),
    /// For this number of workers.
    Partitions(usize),
}

fn product(
    device: &Emulated,
    way: Way,
    a: &Csr<f64>,
    (precision, n, cut, b): (Precision, usize, Cut, Layout),
    poison: bool,
) -> (Outcome, String) {
    let a = a.cast::<f32>();
    let layout = RowLayout::natural(a.nrows(), 16).unwrap();
    let tiling = AnyTiling::from(Tiling::from_csr(&a, SPEC, layout).unwrap());
    let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
    let schedule = match cut {
        Cut::Tiles(tiles) => Schedule::by_tiles(&tiling, tiles),
        Cut::Partitions(workers) => Schedule::sm_aligned(&tiling, n, workers, &cost),
    };
    let plan = Plan::from_tiling(tiling).with_schedule(&schedule).unwrap();
    let plan = plan.with_precision(precision);
    let mut columns = random::<f32>(a.ncols(), n, 1);
    if poison {
        for (j, poison) in [(3, f32::NAN), (17, f32::INFINITY), (40, f32::NEG_INFINITY)] {
            columns.row_mut(j).iter_mut().step_by(3).for_each(|x| *x = poison);
        }
    }
    let c = Layout::PaddedRows;
    let sized =
        Sized { spec: SPEC, tiles_per_task: None, n, beta: 0.0, b, c, epilogue: Finish::Nothing };
    multiply_plan(device, way, (&a, &plan), &columns, sized)
}

/// Windows of one to 40 tiles, one of them in parts, times 36 columns: two teams to a warp, two rows to each.
fn parts(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(40, 1100, |i, j| {
        (i < 16 && (i * 5 + j) % 29 < 3 && j < 320) || (i * 11 + j) % 97 == 1
    });
    let case = (Precision::F32, 36, Cut::Tiles(9), Layout::RowMajor);
    product(device, way, &a.unwrap(), case, false)
}

fn many_windows() -> Csr<f64> {
    matrices::where_(167, 90, |i, j| (i / 16 * 5 + i + j * 3) % 17 < i / 16 % 4).unwrap()
}

/// Many windows in partitions, times 200 columns: two chunks of columns to a lane.
fn partitions(device: &Emulated, way: Way) -> (Outcome, String) {
    let case = (Precision::F32, 200, Cut::Partitions(3), Layout::RowMajor);
    product(device, way, &many_windows(), case, false)
}

/// NaN and Inf in B, where some rows of a window have an entry and others have none: four teams to a warp.
fn poisoned(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(45, 60, |i, j| (i * 7 + j * 3) % 11 < 2);
    let case = (Precision::F32, 24, Cut::Partitions(3), Layout::RowMajor);
    product(device, way, &a.unwrap(), case, true)
}

/// Element by element, with columns that fill no chunk.
fn elements(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(40, 300, |i, j| (i * 11 + j) % 97 < 2);
    let case = (Precision::F32, 35, Cut::Tiles(100), Layout::ColMajor);
    product(device, way, &a.unwrap(), case, false)
}

/// Three products on tensor cores.
fn three(device: &Emulated, way: Way) -> (Outcome, String) {
    let case = (Precision::ThreeTf32, 200, Cut::Partitions(3), Layout::RowMajor);
    product(device, way, &many_windows(), case, false)
}

/// The same with NaN and Inf in B.
fn three_poisoned(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(45, 60, |i, j| (i * 7 + j * 3) % 11 < 2);
    let case = (Precision::ThreeTf32, 40, Cut::Partitions(3), Layout::RowMajor);
    product(device, way, &a.unwrap(), case, true)
}

const FAULTS: &[Fault] = &[
    fault!("a stage is read before it is full", "sm90_bmat_spmm/consume_rows.cuh":
        "                ring.wait_full(place);\n" => "",
        parts, Outcome::Report(Problem::Pending { .. } | Problem::Race { .. } | Problem::Poison { .. })),
    fault!("a stage is never given back", "sm90_bmat_spmm/consume_rows.cuh":
        "                ring.release(place);\n" => "",
        partitions, Outcome::Report(Problem::Deadlock { .. })),
    fault!("a row of B is that of the next packed column", "sm90_bmat_spmm/consume_rows.cuh":
        "(__ffs(bits) - 1) * C::kPitch" => "__ffs(bits) * C::kPitch",
        parts, Outcome::Wrong | Outcome::Report(_)),
    fault!("columns 4 to 7 of a tile take the rows of the others", "sm90_bmat_spmm/consume_rows.cuh":
        "rows + 4 * C::kPitch, n_vectors" => "rows, n_vectors",
        parts, Outcome::Wrong),
    fault!("values before a team's are not counted", "sm90_bmat_spmm/consume_rows.cuh":
        "__popc(left & below)" => "0",
        parts, Outcome::Wrong),
    fault!("values of columns 4 to 7 are those of the others", "sm90_bmat_spmm/consume_rows.cuh":
        "(before >> 8 * (team.word() + 2) & 0xff)" => "(before >> 8 * team.word() & 0xff)",
        partitions, Outcome::Wrong),
    fault!("all entries of a row have one value", "sm90_bmat_spmm/consume_rows.cuh":
        "            value += Value::kBytes;\n" => "",
        parts, Outcome::Wrong),
    fault!("the teams of a warp have the same rows", "sm90_bmat_spmm/consume_rows.cuh":
        " + of_warp / Rows<C>::kLanes) *" => ") *",
        // The other rows' parts are never written, and read when parts are added up.
        parts, Outcome::Wrong | Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("the last chunk of columns is left out", "sm90_bmat_spmm/consume_rows.cuh":
        "team.column(v) < chunk.width;" => "team.column(v) + 4 < chunk.width;",
        parts, Outcome::Wrong),
    fault!("a tile without entries in columns 0 to 3 is passed over", "sm90_bmat_spmm/consume_rows.cuh":
        "((left | right) >> team.first_bit()" => "(left >> team.first_bit()",
        partitions, Outcome::Wrong),
    fault!("B is rounded to TF32", "sm90_bmat_spmm/consume_rows.cuh":
        "__fmaf_rn(a, __uint_as_float(b[v][i]), sum[v][i])" =>
        "__fmaf_rn(a, __uint_as_float(ptx::round_tf32(b[v][i])), sum[v][i])",
        parts, Outcome::Wrong),
    fault!("entries beside those of a row are multiplied by zero", "sm90_bmat_spmm/consume_rows.cuh":
        "    for (; bits != 0; bits &= bits - 1) {\n        const u32 row" =>
        "    for (u32 v = 0; v < Rows<C>::kVectors; ++v) {\n        u32 beside[4];\n        \
         ptx::load_shared_128(rows + v * Rows<C>::kLanes * 16, beside);\n        \
         for (u32 i = 0; i < 4; ++i) sum[v][i] += 0.0f * __uint_as_float(beside[i]);\n    }\n    \
         for (; bits != 0; bits &= bits - 1) {\n        const u32 row",
        poisoned, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("parts of a window are written to C one over the other", "sm90_bmat_spmm/consume_rows.cuh":
        "const bool keeps = piece != kWhole;" => "const bool keeps = false;",
        parts, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("rows that are not there are stored", "sm90_bmat_spmm/consume_rows.cuh":
        "        if (!keeps && row_of[r] == kNoRow) continue;\n" => "",
        parts, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("a lane stores its chunks side by side", "sm90_bmat_spmm/consume_rows.cuh":
        "(vector * Rows<C>::kLanes + lane) * 4" => "(lane * Rows<C>::kVectors + vector) * 4",
        partitions, Outcome::Wrong | Outcome::Report(_)),
    fault!("elements of B are those of the chunk before", "sm90_bmat_spmm/produce.cuh":
        "const u32 to = rows + (first + i) * C::kPitch + at * kSize;" =>
        "const u32 to = rows + (first + i) * C::kPitch + (at ^ 4) * kSize;",
        elements, Outcome::Wrong | Outcome::Report(_)),
    fault!("what TF32 leaves of A is left out", "sm90_bmat_spmm/config.cuh":
        "        ptx::mma_tf32(of_tile, small, big_b);\n" => "",
        three, Outcome::Wrong),
    fault!("what TF32 leaves of B is left out", "sm90_bmat_spmm/config.cuh":
        "        ptx::mma_tf32(of_tile, big, small_b);\n" => "",
        three, Outcome::Wrong),
    fault!("what TF32 leaves is subtracted", "sm90_bmat_spmm/config.cuh":
        "__fsub_rn(__uint_as_float(bits), __uint_as_float(big))" =>
        "__fsub_rn(__uint_as_float(big), __uint_as_float(bits))",
        three, Outcome::Wrong),
    fault!("the last tile is the sum", "sm90_bmat_spmm/config.cuh":
        "sum[j] += of_tile[j];" => "sum[j] = of_tile[j];",
        three, Outcome::Wrong),
    fault!("NaN of a part of an operand spreads", "sm90_bmat_spmm/consume.cuh":
        "any ? non_finite(sums[unit], 2 * i + odd) : 0" => "0",
        three_poisoned, Outcome::Wrong),
];

#[test]
fn faults_in_bmat_without_tf32_show() {
    let products = [parts as Multiply, partitions, poisoned, elements, three, three_poisoned];
    check(&products, FAULTS);
}
