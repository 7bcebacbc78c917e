//! Real matrices, where a folder of them is at hand: `GIRIH_MATRICES` names one with an `INDEX.csv`.

#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use girih_formats::io::{self, Info, ReadError, ReadOptions};
use girih_formats::{Complex, Csr, Scalar};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("GIRIH_MATRICES").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: GIRIH_MATRICES is not set");
    }
    folder
}

/// Splits a line of CSV; fields with commas are quoted.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut inside = false;
    for c in line.chars() {
        match c {
            '"' => inside = !inside,
            ',' if !inside => fields.push(String::new()),
            c => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

#[test]
fn every_matrix_has_the_shape_its_index_says() {
    let Some(folder) = folder() else { return };
    let index = fs::read_to_string(folder.join("INDEX.csv")).unwrap();
    let mut lines = index.lines();
    let names = fields(lines.next().unwrap());
    let mut complex = 0;
    let mut read = 0;
    for line in lines {
        let row: HashMap<_, _> = names.iter().map(String::as_str).zip(fields(line)).collect();
        let file = folder.join(&row["file"]);
        let result = io::read_with_info::<f64>(&file, &ReadOptions::default());
        if row["field"].eq_ignore_ascii_case("complex") {
            assert!(matches!(result, Err(ReadError::Complex { .. })), "{file:?}");
            let result = io::read_with_info::<Complex<f64>>(&file, &ReadOptions::default());
            check(&row, &file, result);
            complex += 1;
        } else {
            check(&row, &file, result);
            read += 1;
        }
    }
    assert!(read >= 60 && complex >= 4, "{read} read, {complex} complex");
}

/// Compares a matrix with what the index says of it.
fn check<T: Scalar>(
    row: &HashMap<&str, String>,
    file: &Path,
    result: Result<(Csr<T>, Info), ReadError>,
) {
    let (a, info) = result.unwrap_or_else(|e| panic!("{file:?}: {e}"));
    let number = |name: &str| row[name].parse::<f64>().unwrap() as usize;
    assert_eq!(
        (a.nrows(), a.ncols(), a.nnz()),
        (number("rows"), number("cols"), number("nnz")),
        "{file:?}"
    );
    assert_eq!(info.stored_entries as usize, number("stored_entries"), "{file:?}");
    assert_eq!(info.field.to_string(), row["field"], "{file:?}");
    assert_eq!(info.symmetry.to_string(), row["symmetry"].to_ascii_lowercase(), "{file:?}");
    assert!(info.gzip);
    Csr::try_new(
        a.nrows(),
        a.ncols(),
        a.row_ptr().clone(),
        a.col_idx().clone(),
        a.values().clone(),
    )
    .unwrap_or_else(|e| panic!("{file:?}: {e}"));
}

#[test]
fn originals_in_smtx_are_the_same_matrices() {
    let Some(folder) = folder() else { return };
    let mut compared = 0;
    for entry in fs::read_dir(folder.join("orig")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let result = io::read::<f32>(&path, &ReadOptions::default());
        if let Some(stem) = name.strip_suffix(".smtx.gz") {
            let converted = folder.join(format!("{stem}.mtx.gz"));
            let expected = io::read::<f32>(&converted, &ReadOptions::default()).unwrap();
            assert_eq!(result.unwrap(), expected, "{name}");
            compared += 1;
        } else {
            // Harwell-Boeing files and tar archives: refused with advice.
            assert!(matches!(result, Err(ReadError::Unsupported { .. })), "{name}");
        }
    }
    assert!(compared >= 10);
}
