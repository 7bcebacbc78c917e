//! Faults in `csr_spmm`.

use girih_formats::FormatSpec;
use girih_testkit::matrices;
use girih_testkit::operands::Layout;
use ptx_emu::report::Problem;

use super::{Emulated, Fault, Multiply, Outcome, Sized, Way, check, fault, multiply};

/// Rows of all lengths, one of them in pieces, times 36 columns whose vectors can be read.
fn vectors(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, Sized { n: 36, ..SIZED })
}

/// The same element by element, with C in between what is not C's.
fn elements(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, SIZED)
}

/// A single column.
fn column(device: &Emulated, way: Way) -> (Outcome, String) {
    product(device, way, Sized { n: 1, ..SIZED })
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

fn short_rows(device: &Emulated, way: Way, n: usize) -> (Outcome, String) {
    let entry = |i: usize, j: usize| i == 7 || (i % 6 > 1 && (i * 7 + j) % 160 == 3);
    let a = matrices::where_(130, 530, entry).unwrap();
    multiply::<f32>(device, way, &a, Sized { n, beta: 0.5, c: Layout::RowMajor, ..SIZED })
}

const SIZED: Sized = Sized {
    spec: FormatSpec::Csr,
    tiles_per_task: None,
    n: 35,
    beta: 0.0,
    b: Layout::RowMajor,
    c: Layout::PaddedRows,
};

fn product(device: &Emulated, way: Way, sized: Sized) -> (Outcome, String) {
    let a = matrices::where_(9, 530, |i, j| i == 4 || (i * 3 + j) % (29 * i + 1) == 1).unwrap();
    multiply::<f32>(device, way, &a, sized)
}

const FAULTS: &[Fault] = &[
    fault!("entries are read before they are staged", "kernels/csr_spmm.cu":
        "            chunk[in_team] = next;\n            __syncwarp();" =>
        "            chunk[in_team] = next;",
        vectors, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("entries are staged before all have read the last", "kernels/csr_spmm.cu":
        "                multiply_entries<Access, 1>(p, chunk + e, step, offset, sum);\n            }\n            __syncwarp();" =>
        "                multiply_entries<Access, 1>(p, chunk + e, step, offset, sum);\n            }",
        vectors, Outcome::Report(Problem::Race { .. })),
    fault!("entries beyond the row are read", "kernels/csr_spmm.cu":
        "if (ahead < item.length) next =" => "next =",
        vectors, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("a load is moved before its condition", "ptx/memory.cuh":
        "asm volatile(\"ld.global.nc.u32 %0" => "asm(\"ld.global.nc.u32 %0",
        column, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("columns of B beyond the last are read", "kernels/csr_spmm.cu":
        "Access::offset(column < p.n ? column : tile, p.b_col_stride)" =>
        "Access::offset(column, p.b_col_stride)",
        elements, Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("columns of C beyond the last are written", "kernels/csr_spmm.cu":
        "if (column < n) *at = finish(sum[i], at);" => "*at = finish(sum[i], at);",
        elements, Outcome::Stray | Outcome::Report(Problem::Race { .. } | Problem::OutOfBounds { .. })),
    fault!("pieces of a row are written to C one over the other", "kernels/csr_spmm.cu":
        "p, index < p.n_pieces, item.row" => "p, false, item.row",
        vectors, Outcome::Report(Problem::Race { .. })),
    fault!("the last piece of a row is left out", "kernels/csr_spmm.cu":
        "piece < split.n_pieces" => "piece + 1 < split.n_pieces",
        vectors, Outcome::Wrong),
    fault!("C is read with beta = 0", "kernels/csr_spmm.cu":
        "return beta == Acc(0) ? alpha * sum : multiply_add" => "return multiply_add",
        vectors, Outcome::Report(Problem::Poison { .. })),
    fault!("groups of a team add in a step too few", "kernels/csr_spmm.cu":
        "for (u32 s = LANES; s < team; s *= 2) {" => "for (u32 s = 2 * LANES; s < team; s *= 2) {",
        column, Outcome::Wrong),
    fault!("entries of several rows are read before they are staged", "kernels/csr_spmm.cu":
        "            chunk[lane] = next;\n            __syncwarp();" => "            chunk[lane] = next;",
        runs, Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
    fault!("an entry is looked for in the row before its own", "kernels/csr_spmm.cu":
        "owner + s - 1) <= number) owner" => "owner + s - 1) < number) owner",
        runs, Outcome::Wrong | Outcome::Report(Problem::OutOfBounds { .. })),
    fault!("sums are kept from one row to the next", "kernels/csr_spmm.cu":
        "                        sum[i + w] = 0;\n" => "",
        wide_runs, Outcome::Wrong),
    fault!("rows without entries are left out", "kernels/csr_spmm.cu":
        "while (current < items && next_end == at)" => "if (current < items && next_end == at)",
        runs, Outcome::Wrong | Outcome::Report(Problem::Poison { .. })),
    fault!("the pieces among several rows are written to C", "kernels/csr_spmm.cu":
        "first + current < p.n_pieces" => "false",
        wide_runs, Outcome::Wrong | Outcome::Report(Problem::Race { .. } | Problem::Poison { .. })),
];

#[test]
fn faults_in_csr_show() {
    check(&[vectors as Multiply, elements, column, runs, wide_runs], FAULTS);
}
