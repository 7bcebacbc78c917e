//! Printed lowerings of generated matrices on simulated machines, compared with `snapshots/*.txt`.
//!
//! `GIRIH_UPDATE_SNAPSHOTS=1 cargo test -p girih-backend-cpu snapshots` rewrites them.

use std::fmt::Write as _;
use std::path::Path;

use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
use girih_generate::{
    block_sparse, fem_3d, laplacian_5pt, power_law_rows, rmat, two_four, uniform,
};
use girih_planner::Schedule;

use super::Case;
use crate::Isa;
use crate::kernels::CpuScalar;
use crate::machine::{Machine, Vendor};
use crate::prepare::lower;

/// Processors of the records, and one of no known vendor: instruction set, threads, caches.
fn machines() -> [(&'static str, Isa, usize, Machine); 4] {
    let machine = |last_level: u64, private: u64, vendor| {
        Machine::with_caches(last_level << 20, private << 10).with_vendor(vendor)
    };
    [
        ("zen4-2core", Isa::Avx512, 2, machine(32, 1024, Vendor::Amd)),
        ("zen3-2core", Isa::Avx2, 2, machine(32, 512, Vendor::Amd)),
        ("xeon-16core", Isa::Avx512, 16, machine(260, 2048, Vendor::Intel)),
        ("arm-1core", Isa::Neon, 1, machine(32, 1024, Vendor::Other)),
    ]
}

fn print<T: CpuScalar>(a: &Csr<T>, spec: FormatSpec, tiles_per_task: u64) -> String {
    let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
    let tiling = Tiling::from_csr(a, spec, layout).unwrap();
    let schedule = Schedule::by_tiles(&tiling, tiles_per_task);
    let mut text = String::new();
    for (name, isa, threads, machine) in machines() {
        for n in [1, 8, 64, 512] {
            let case = Case::new(&tiling, n, threads, isa, machine);
            let lowering = lower(&tiling, &schedule, case).unwrap();
            writeln!(text, "{name}: {}", lowering.describe(n, threads)).unwrap();
            // A product of another width by the same plan.
            if n == 512 {
                writeln!(text, "{name}, plan for 512: {}", lowering.describe(1, threads)).unwrap();
            }
        }
    }
    text
}

/// Compares with what a file has, or writes it.
fn check(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lowering/snapshots").join(name);
    if std::env::var_os("GIRIH_UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (i, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{name}, line {}", i + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}");
}

#[test]
fn finite_elements() {
    check("fem.txt", &print::<f32>(&fem_3d(12, 12, 12, 3, 1).unwrap(), FormatSpec::Csr, 4096));
}

#[test]
fn pruned_weights() {
    let a: Csr<f32> = uniform(2048, 4096, 700, 1).unwrap();
    check("weights.txt", &print(&a, FormatSpec::Csr, 16_384));
}

#[test]
fn stencils() {
    check("stencil.txt", &print::<f32>(&laplacian_5pt(300, 200).unwrap(), FormatSpec::Csr, 4096));
}

#[test]
fn scattered_rows() {
    check(
        "uniform.txt",
        &print::<f32>(&uniform(40_000, 40_000, 12, 1).unwrap(), FormatSpec::Csr, 4096),
    );
}

#[test]
fn graphs_in_half_precision() {
    let a: Csr<f32> = rmat(14, 8, 1).unwrap();
    check("rmat-f16.txt", &print(&a.cast::<half::f16>(), FormatSpec::Csr, 4096));
}

#[test]
fn rows_in_parts() {
    let a: Csr<f32> = power_law_rows(2000, 3000, 2000, 1).unwrap();
    check("split.txt", &print(&a, FormatSpec::Csr, 512));
}

#[test]
fn dense_tiles() {
    let a: Csr<f32> = block_sparse(1024, 4096, 64, 0.6, 1).unwrap();
    check("bcsr.txt", &print(&a, FormatSpec::Bcsr { block_rows: 64, block_cols: 64 }, 64));
    check("wcsr.txt", &print(&a, FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 }, 64));
}

#[test]
fn decoded_tiles() {
    let a: Csr<f32> = two_four(1024, 4096, 1).unwrap();
    check("two-four.txt", &print(&a, FormatSpec::TwoFour, 65_536));
    check("bmat.txt", &print(&a, FormatSpec::BMat { pattern_only: false }, 1024));
}
