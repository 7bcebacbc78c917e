//! Planning takes little more memory than the matrix and its tiles.

use std::fmt::Write;

use girih::Csr;
use girih::formats::io;
use girih_generate::banded;

use crate::common::{Files, girih};

#[test]
fn planning_ten_million_nonzeros_stays_within_matrix_and_tiles() {
    let files = Files::new();
    let (a, plan) = (files.name("a.mtx"), files.name("a.girih"));
    // Large beside the program itself, of which a test profile keeps 11 MB and more resident.
    let matrix = banded::<f32>(180_000, 180_000, 28, 28, 1).unwrap();
    assert!(matrix.nnz() > 10_000_000);
    io::write(&a, &matrix).unwrap();
    for window in ["8", "64"] {
        let args = ["plan", &a, "-o", &plan, "--format", "wcsr", "--window", window, "--json"];
        let json = girih(args).ok().json();
        let bytes = |key: &str| json[key].as_u64().unwrap();
        assert_eq!(bytes("source_bytes"), matrix.bytes());
        // Besides tasks, header and padding, the file is the tiles.
        assert!(bytes("tile_bytes") > bytes("file_bytes") * 9 / 10, "{json}");
        let limit = (bytes("source_bytes") + bytes("tile_bytes")) * 12 / 10;
        assert!(bytes("peak_rss_bytes") < limit, "{} of {limit}", bytes("peak_rss_bytes"));
    }
}

/// Shapes of which some formats would store rows × columns: what loses must not be made, nor listed.
#[test]
fn planning_by_default_takes_memory_for_the_matrix_whatever_its_shape() {
    let files = Files::new();
    let (a, plan) = (files.name("a.mtx"), files.name("a.girih"));
    let m = 3_000_000;
    let ones = vec![1.0f32; m];
    let row_ptr: Vec<u64> = (0..=m as u64).collect();
    let diagonal: Vec<u32> = (0..m as u32).collect();
    for (ncols, col_idx) in [(m, diagonal), (1, vec![0; m])] {
        let matrix = Csr::try_new(m, ncols, row_ptr.clone(), col_idx, ones.clone()).unwrap();
        io::write(&a, &matrix).unwrap();
        let json = girih(["plan", &a, "-o", &plan, "--json"]).ok().json();
        let bytes = |key: &str| json[key].as_u64().unwrap();
        let limit = (bytes("source_bytes") + bytes("tile_bytes")) * 12 / 10;
        assert!(bytes("peak_rss_bytes") < limit, "{} of {limit}", bytes("peak_rss_bytes"));
    }
    // Two entries far apart: hardly more than the program itself.
    let wide =
        Csr::try_new(2, 4_000_000_000, vec![0, 1, 2], vec![5, 3_999_999_999], vec![1.0f32; 2]);
    io::write(&a, &wide.unwrap()).unwrap();
    let json = girih(["plan", &a, "-o", &plan, "--json"]).ok().json();
    let peak = json["peak_rss_bytes"].as_u64().unwrap();
    assert!(peak < 64 << 20, "{peak}");
}

/// Entries in no order are dealt into rows with one array more than the result has.
#[test]
fn reading_entries_in_any_order_takes_memory_for_the_matrix() {
    const ROWS: u64 = 400_000;
    const PER_ROW: u64 = 10;
    const STRIDE: u64 = 1_234_577;
    let files = Files::new();
    let (a, plan) = (files.name("a.mtx"), files.name("a.girih"));
    let nnz = ROWS * PER_ROW;
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n{ROWS} {ROWS} {nnz}\n");
    // The stride has no factor in common with the number of entries, so each comes once.
    for at in (0..nnz).map(|k| k * STRIDE % nnz) {
        let (row, part) = (at / PER_ROW, at % PER_ROW);
        let col = part * (ROWS / PER_ROW) + row * 7919 % (ROWS / PER_ROW);
        writeln!(text, "{} {} 1", row + 1, col + 1).unwrap();
    }
    std::fs::write(&a, text).unwrap();
    let json = girih(["plan", &a, "-o", &plan, "--format", "csr", "--json"]).ok().json();
    assert_eq!(json["nnz"], nnz);
    let bytes = |key: &str| json[key].as_u64().unwrap();
    let limit = (bytes("source_bytes") + bytes("tile_bytes")) * 12 / 10;
    assert!(bytes("peak_rss_bytes") < limit, "{} of {limit}", bytes("peak_rss_bytes"));
}
