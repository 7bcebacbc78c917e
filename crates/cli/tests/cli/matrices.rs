//! Real matrices through the real binary, where `GIRIH_MATRICES` names a folder of them.
//!
//! The folder's `INDEX.csv` says what every file holds. Products are checked for matrices of up to
//! 50 000 nonzeros, and for all of them if `GIRIH_SWEEP` is `full`.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use crate::common::{Files, girih};

/// One line of the index, by column.
type Row = HashMap<String, String>;

/// The folder and its index; otherwise says that the test is skipped.
fn matrices() -> Option<(PathBuf, Vec<Row>)> {
    let Some(folder) = std::env::var_os("GIRIH_MATRICES").map(PathBuf::from) else {
        // Not captured by the test harness, so that a skipped test is seen.
        let _ = writeln!(std::io::stderr(), "skipped: GIRIH_MATRICES is not set");
        return None;
    };
    let index = std::fs::read_to_string(folder.join("INDEX.csv")).unwrap();
    let mut lines = index.lines().map(fields);
    let header = lines.next().unwrap();
    let rows = lines.map(|line| header.iter().cloned().zip(line).collect()).collect();
    Some((folder, rows))
}

/// The fields of a line of CSV, some of them in quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

#[test]
fn inspect_agrees_with_the_index() {
    let Some((folder, rows)) = matrices() else { return };
    for row in &rows {
        let file = folder.join(&row["file"]).to_str().unwrap().to_owned();
        let run = girih(["inspect", &file, "--json"]);
        if row["field"] == "complex" {
            run.fails(3, &[&row["file"], "complex"]);
            continue;
        }
        let json = run.ok().json();
        for (key, column) in [
            ("nrows", "rows"),
            ("ncols", "cols"),
            ("nnz", "nnz"),
            ("empty_rows", "empty_rows"),
            ("empty_cols", "empty_cols"),
            ("max_row_nnz", "max_row_nnz"),
            ("bandwidth", "bandwidth"),
            ("explicit_zeros", "explicit_zeros"),
        ] {
            assert_eq!(json[key].to_string(), row[column], "{}: {key}", row["name"]);
        }
        if row["nnz"] == "0" {
            continue; // A matter of convention: nothing out of nothing.
        }
        for (column, spec) in [("fill_64x64", "bcsr 64x64"), ("fill_16x16", "bcsr 16x16")] {
            let mut sizes = json["other_sizes"].as_array().unwrap().iter();
            let mut formats = json["formats"].as_object().unwrap().values();
            let format = sizes.find(|f| f["spec"] == spec);
            let format = format.or_else(|| formats.find(|f| f["spec"] == spec)).unwrap();
            let wanted: f64 = row[column].parse().unwrap();
            let found = format["fill_ratio"].as_f64().unwrap();
            assert!((found - wanted).abs() <= 1e-4 * wanted, "{}: {spec}: {found}", row["name"]);
        }
    }
}

#[test]
fn products_are_verified_in_every_format() {
    let Some((folder, rows)) = matrices() else { return };
    let full = std::env::var_os("GIRIH_SWEEP").is_some_and(|sweep| sweep == "full");
    let files = Files::new();
    let plan = files.name("a.girih");
    let (mut products, mut refusals) = (0, 0);
    for (i, row) in rows.iter().filter(|row| row["field"] != "complex").enumerate() {
        if !full && row["nnz"].parse::<u64>().unwrap() > 50_000 {
            continue;
        }
        let file = folder.join(&row["file"]).to_str().unwrap().to_owned();
        let formats = ["csr", "bcsr", "wcsr", "blocked-ell", "bmat", "two-four"];
        for (j, format) in formats.into_iter().enumerate() {
            // Every matrix meets every other type in some format, and every format on some matrix.
            for dtype in ["f32", ["f64", "f16", "bf16"][(i + j) % 3]] {
                let run = girih(["plan", &file, "-o", &plan, "--format", format, "--dtype", dtype]);
                if run.code == Some(4) {
                    let reasons = ["2:4", "--memory-limit"];
                    assert!(reasons.iter().any(|r| run.stderr.contains(r)), "{run:?}");
                    refusals += 1;
                    continue;
                }
                run.ok();
                let ns: &[&str] = if full { &["1", "7", "64"] } else { &[["1", "7", "64"][i % 3]] };
                for n in ns {
                    let run = girih(["spmm", &plan, "--random", n, "--verify", "--json"]);
                    assert_eq!(run.code, Some(0), "{} {format} {dtype} {n}: {run:?}", row["name"]);
                    products += 1;
                }
            }
        }
    }
    assert!(products > 2 * refusals, "{products} products, {refusals} refusals");
}
