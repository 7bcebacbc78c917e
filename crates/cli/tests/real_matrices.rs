//! Every real matrix through the command: inspected, planned in every format that can hold it,
//! multiplied and verified.
//!
//! Runs over the folder that `GIRIH_MATRICES` names, by its `INDEX.csv`. `GIRIH_SWEEP=full` takes
//! matrices of every size and tiles of up to 4 GiB; otherwise both are kept to what a gate has time
//! for, and a format that would take more must say so.

#![expect(clippy::print_stderr, reason = "a skipped sweep, and what a full one did, must show")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const FORMATS: [&str; 7] = ["csr", "bcsr", "wcsr", "blocked-ell", "bmat", "two-four", "hybrid"];
const COLUMNS: [&str; 3] = ["1", "7", "64"];

/// Columns of `INDEX.csv`, and the keys `inspect` gives the same facts under.
const FACTS: [(&str, &str); 8] = [
    ("rows", "nrows"),
    ("cols", "ncols"),
    ("nnz", "nnz"),
    ("empty_rows", "empty_rows"),
    ("empty_cols", "empty_cols"),
    ("max_row_nnz", "max_row_nnz"),
    ("bandwidth", "bandwidth"),
    ("explicit_zeros", "explicit_zeros"),
];

/// A row of `INDEX.csv`.
struct Entry {
    name: String,
    field: String,
    symmetry: String,
    nnz: u64,
    /// What the index says of it, by the key that `inspect` gives it under.
    facts: Vec<(&'static str, u64)>,
    file: PathBuf,
}

fn entries() -> Option<Vec<Entry>> {
    let folder = PathBuf::from(std::env::var_os("GIRIH_MATRICES")?);
    let index = std::fs::read_to_string(folder.join("INDEX.csv")).ok()?;
    let mut lines = index.lines();
    let names: Vec<&str> = lines.next()?.split(',').collect();
    let entry = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let get = |name| fields[names.iter().position(|&n| n == name).unwrap()];
        Entry {
            name: get("name").to_owned(),
            field: get("field").to_owned(),
            symmetry: get("symmetry").to_owned(),
            nnz: get("nnz").parse().unwrap(),
            facts: FACTS.map(|(column, key)| (key, get(column).parse().unwrap_or(0))).to_vec(),
            file: folder.join(get("file")),
        }
    };
    Some(lines.map(entry).collect())
}

/// How much of the sweep to do.
struct Size {
    max_nnz: u64,
    memory_limit: &'static str,
}

fn size() -> Size {
    match std::env::var("GIRIH_SWEEP").as_deref() {
        Ok("full") => Size { max_nnz: u64::MAX, memory_limit: "4GiB" },
        _ => Size { max_nnz: 60_000, memory_limit: "16MiB" },
    }
}

/// Runs the command: its exit code, the JSON on standard output, standard error.
fn girih(args: &[&str]) -> (i32, Value, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_girih")).args(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code().unwrap_or_else(|| panic!("{args:?} was killed: {stderr}"));
    assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    let json = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{args:?}: standard output is not one JSON object: {e}"));
    (code, json, stderr)
}

#[test]
fn all_are_inspected() {
    let Some(entries) = entries() else {
        eprintln!("skipped: GIRIH_MATRICES names no folder of matrices");
        return;
    };
    for Entry { name, field, symmetry, nnz, facts, file } in &entries {
        let (code, json, stderr) = girih(&["inspect", "--json", file.to_str().unwrap()]);
        assert_eq!(json["dtype"], if field == "complex" { "c32" } else { "f32" }, "{name}");
        assert_eq!(code, 0, "{name}: {stderr}");
        for (key, expected) in facts {
            assert_eq!(json[*key].as_u64(), Some(*expected), "{name}: {key}");
        }
        if symmetry != "general" {
            assert_eq!(json["symmetric_pattern"], true, "{name}");
        }
        for format in FORMATS {
            let fits =
                json["formats"][format]["bytes"].as_u64().is_some_and(|b| b > 0 || *nnz == 0);
            let refused = format == "two-four" && json["formats"][format]["bytes"].is_null();
            assert!(fits || refused, "{name}: {format} is {}", json["formats"][format]);
        }
    }
}

#[test]
fn all_are_planned_multiplied_and_verified() {
    let Some(entries) = entries() else {
        eprintln!("skipped: GIRIH_MATRICES names no folder of matrices");
        return;
    };
    let size = size();
    let dir = tempfile::tempdir().unwrap();
    let plan = dir.path().join("plan.girih");
    let (mut products, mut too_large, mut not_two_four) = (0, 0, 0);
    for (i, entry) in entries.iter().enumerate() {
        if entry.nnz > size.max_nnz {
            continue;
        }
        let is_complex = entry.field == "complex";
        // Values that are not finite leave nothing to measure an error by, but the rest must hold.
        let other = ["f64", "f16", "bf16"][i % 3];
        let dtypes = if is_complex { ["c32", "c64"] } else { ["f32", other] };
        let formats = if is_complex { &["csr", "bcsr"][..] } else { &FORMATS[..] };
        for (format, dtype) in formats.iter().flat_map(|f| dtypes.map(|dtype| (f, dtype))) {
            let what = format!("{} as {format} in {dtype}", entry.name);
            match make_plan(&entry.file, &plan, format, dtype, size.memory_limit) {
                Planned::Yes => {}
                Planned::TooLarge => {
                    too_large += 1;
                    continue;
                }
                Planned::NotTwoFour => {
                    not_two_four += 1;
                    continue;
                }
                Planned::No(stderr) => panic!("{what}: {stderr}"),
            }
            for n in COLUMNS {
                let plan = plan.to_str().unwrap();
                let (code, json, stderr) =
                    girih(&["spmm", plan, "--random", n, "--verify", "--backend", "cpu", "--json"]);
                assert_eq!(code, 0, "{what}, n = {n}: {stderr}");
                let error = json["max_error_over_bound"].as_f64();
                assert!(error.is_some_and(|e| e <= 1.0), "{what}, n = {n}: {json}");
                assert!(json["nnz"].is_u64());
                products += 1;
            }
        }
    }
    eprintln!(
        "{products} products verified; {too_large} plans above {}, {not_two_four} not 2:4",
        size.memory_limit,
    );
    assert!(products > 0);
}

#[test]
fn what_overflows_f16_is_said() {
    let Some(entries) = entries() else {
        eprintln!("skipped: GIRIH_MATRICES names no folder of matrices");
        return;
    };
    let Some(entry) = entries.iter().find(|entry| entry.name == "bcsstk13") else {
        eprintln!("skipped: there is no bcsstk13");
        return;
    };
    let file = entry.file.to_str().unwrap();
    let (_, inspected, _) = girih(&["inspect", file, "--dtype", "f16", "--json"]);
    let count = |json: &Value, key: &str| json[key].as_u64().unwrap();
    // A stiffness matrix: its values reach 10¹², and those of every row leave f16.
    let narrowing = &inspected["narrowing"];
    assert!(count(narrowing, "overflowed") > entry.nnz / 2, "{narrowing}");
    assert_eq!(count(narrowing, "nonzeros"), entry.nnz - count(&inspected, "explicit_zeros"));

    let product = ["spmm", file, "--random", "8", "--verify", "--backend", "cpu", "--json"];
    let with = |dtype| girih(&[&product[..], &["--dtype", dtype]].concat());
    let (code, narrow, stderr) = with("f16");
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(&narrow["narrowing"], narrowing);
    let elements = 8 * count(&inspected, "nrows");
    assert_eq!(count(&narrow, "non_finite"), elements, "{narrow}");
    assert_eq!(count(&narrow, "non_finite_expected"), elements);
    let (code, wide, stderr) = with("bf16");
    assert_eq!(code, 0, "{stderr}");
    assert_eq!((count(&wide, "non_finite"), count(&wide["narrowing"], "overflowed")), (0, 0));
    assert!(wide["max_error_over_bound"].as_f64().unwrap() > 0.0);
}

enum Planned {
    Yes,
    TooLarge,
    NotTwoFour,
    No(String),
}

fn make_plan(matrix: &Path, plan: &Path, format: &str, dtype: &str, limit: &str) -> Planned {
    let (matrix, plan) = (matrix.to_str().unwrap(), plan.to_str().unwrap());
    let (code, _, stderr) = girih(&[
        "plan",
        matrix,
        "-o",
        plan,
        "--format",
        format,
        "--dtype",
        dtype,
        "--memory-limit",
        limit,
        "--n",
        "64",
        "--json",
    ]);
    match code {
        0 => Planned::Yes,
        4 if stderr.contains("--memory-limit") => Planned::TooLarge,
        4 if format == "two-four" && stderr.contains("2:4") => Planned::NotTwoFour,
        _ => Planned::No(stderr),
    }
}
