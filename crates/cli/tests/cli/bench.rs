//! `girih bench`: what it reports, and what it refuses. Speed is not looked at.

use std::fs;
use std::io::Write;
use std::process::Command;

use serde_json::Value;

use crate::common::{Files, SMALL, girih, scattered, with_stdin};

/// Little of everything that takes time.
const FAST: [&str; 4] = ["--seconds", "0", "--roofline", "off"];

fn number(value: &Value, key: &str) -> f64 {
    let number = value[key].as_f64().unwrap_or_else(|| panic!("no number {key} in {value}"));
    assert!(number.is_finite() && number >= 0.0, "{key} is {number}");
    number
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-6 * expected.abs()
}

#[test]
fn every_combination_is_a_verified_case() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(150, 97));
    let args = ["bench", &a, "--format", "csr,wcsr:8,auto", "--n", "3,16", "--dtype", "f32,f64"];
    let more = ["--backend", "cpu,reference", "--threads", "1,2", "--json"];
    let json = girih(args.iter().chain(&more).chain(&FAST)).ok().json();
    assert_eq!(json["skipped"], Value::Array(Vec::new()));
    assert_eq!(json["matrices"].as_array().unwrap().len(), 1);
    let cases = json["cases"].as_array().unwrap();
    // Formats, widths, value types; the CPU backend on 1 and 2 threads, the reference on 1.
    assert_eq!(cases.len(), 3 * 2 * 2 * 3);
    let nnz = json["matrices"][0]["nnz"].as_f64().unwrap();
    for case in cases {
        let (n, size) = (number(case, "n"), if case["dtype"] == "f32" { 4.0 } else { 8.0 });
        assert_eq!(number(case, "elements"), 150.0 * n);
        assert_eq!(number(case, "unjudged"), 0.0);
        // An oracle that compared nothing would find no rounding at all.
        let error = number(case, "max_error_over_bound");
        assert!(error > 0.0 && error <= 1.0, "{case}");
        assert_eq!(number(case, "flops"), 2.0 * nnz * n);
        let bytes = 4.0 * 151.0 + nnz * (4.0 + size) + size * n * (150.0 + 97.0);
        assert_eq!(number(case, "bytes"), bytes);
        let median = number(case, "median_seconds");
        assert!(number(case, "min_seconds") > 0.0 && number(case, "estimated_seconds") > 0.0);
        let order = ["min_seconds", "q1_seconds", "median_seconds", "q3_seconds"];
        assert!(order.map(|key| number(case, key)).is_sorted(), "{case}");
        assert!(number(case, "samples") >= 3.0 && number(case, "calls_per_sample") >= 1.0);
        assert!(close(number(case, "gflops"), number(case, "flops") / median / 1e9));
        assert!(close(number(case, "gbytes_per_second"), bytes / median / 1e9));
        for what in ["plan", "prepare"] {
            let seconds = number(case, &format!("{what}_seconds"));
            assert!(close(number(case, &format!("{what}_products")), seconds / median), "{case}");
        }
        assert!(case.get("roofline_percent").is_none());
        match case["backend"].as_str().unwrap() {
            "cpu" => assert!(case["isa"].is_string()),
            "reference" => assert_eq!((&case["isa"], &case["threads"]), (&Value::Null, &1.into())),
            other => panic!("{other}"),
        }
        match case["format"].as_str().unwrap() {
            "wcsr:8" => assert!(case["spec"].as_str().unwrap().starts_with("wcsr 8/"), "{case}"),
            "csr" => assert_eq!(case["spec"], "csr"),
            other => assert_eq!(other, "auto"),
        }
    }
}

#[test]
fn a_roofline_of_the_same_run_stands_beside_the_times() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(150, 97));
    let args = ["bench", &a, "--n", "4", "--format", "csr", "--isa", "portable", "--threads", "1"];
    // A megabyte of working sets.
    let more = ["--quick", "--memory-limit", "1MiB", "--json"];
    let json = girih(args.iter().chain(&more)).ok().json();
    let [roofline] = &json["rooflines"].as_array().unwrap()[..] else { panic!("{json}") };
    assert_eq!((&roofline["isa"], &roofline["threads"]), (&"portable".into(), &1.into()));
    assert!(number(roofline, "f32_gflops") > 0.0 && number(roofline, "f64_gflops") > 0.0);
    let points = roofline["bandwidths"].as_array().unwrap();
    assert_eq!(points.len(), 3, "{roofline}");
    let rate = |point: &Value| {
        ["read", "triad", "streaming_triad"]
            .map(|key| number(point, key))
            .into_iter()
            .fold(0.0, f64::max)
    };
    let [case] = &json["cases"].as_array().unwrap()[..] else { panic!("{json}") };
    // The matrix is smaller than the smallest working set.
    let moving = number(case, "bytes") / rate(&points[0]) / 1e9;
    let computing = number(case, "flops") / number(roofline, "f32_gflops") / 1e9;
    let floor = number(case, "floor_seconds");
    assert!(close(floor, moving.max(computing)), "{floor}, {moving}, {computing}");
    let limit = if computing > moving { "compute" } else { "bandwidth" };
    assert_eq!(case["limit"], limit);
    let percent = 100.0 * floor / number(case, "median_seconds");
    assert!(close(number(case, "roofline_percent"), percent));
    assert!(number(&json["machine"], "cpus") >= 1.0);
}

#[test]
fn people_get_tables() {
    let files = Files::new();
    let a = files.write("a.mtx", SMALL);
    let run = girih(["bench", &a, "--n", "2"].iter().chain(&FAST)).ok();
    for part in ["a.mtx: 3×4, 4 nonzeros", "median", "GFLOP/s", "csr", "auto: ", "verified"] {
        assert!(run.text().contains(part), "{part:?} is not in {}", run.text());
    }
    assert_eq!(run.stderr, "");
    assert!(
        with_stdin(["bench", "-", "--n", "2"].iter().chain(&FAST), SMALL.as_bytes())
            .ok()
            .text()
            .contains("standard input: 3×4")
    );
}

#[test]
fn results_are_written_as_json_or_markdown() {
    let files = Files::new();
    let (a, json, md) = (files.write("a.mtx", SMALL), files.name("r.json"), files.name("r.md"));
    let args = ["bench", &a, "--n", "2", "--threads", "1", "--json", "-o", &json];
    let run = girih(args.iter().chain(&FAST)).ok();
    let written: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(written, run.json());
    girih(["bench", &a, "--n", "2", "--threads", "1", "-o", &md].iter().chain(&FAST)).ok();
    let text = fs::read_to_string(&md).unwrap();
    assert!(text.contains("**a.mtx: 3×4, 4 nonzeros**\n\n| n | dtype |"), "{text}");
    assert_eq!(files.listing(), ["a.mtx", "r.json", "r.md"]);
    // Found out before anything is measured.
    let nowhere = files.name("no/such/folder/r.json");
    girih(["bench", "uniform", "-o", &nowhere]).fails(1, &["no/such/folder"]);
    girih(["bench", "uniform", "-o", &files.name("r.txt")]).fails(2, &["r.txt", ".json"]);
}

#[test]
fn a_suite_says_what_to_measure_and_flags_go_before_it() {
    let files = Files::new();
    let a = files.write("a.mtx", SMALL);
    let suite = format!(
        "description = \"small\"\nmatrices = [{a:?}]\nformats = [\"csr\", \"wcsr:8\"]\nn = [2, 3]\n\
         dtypes = [\"f64\"]\nthreads = [1]\nseconds = 0.0\n"
    );
    let suite = files.write("tiny.toml", suite);
    let args = ["bench", "--suite", &suite, "--roofline", "off", "--json"];
    let json = girih(args).ok().json();
    assert_eq!(json["suite"], serde_json::json!({"name": "tiny", "description": "small"}));
    let cases = json["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    assert!(cases.iter().all(|case| case["dtype"] == "f64" && case["threads"] == 1));

    let json = girih(args.iter().chain(&["--n", "5", "--format", "bmat"])).ok().json();
    let [case] = &json["cases"].as_array().unwrap()[..] else { panic!("{json}") };
    assert_eq!((&case["n"], &case["format"]), (&5.into(), &"bmat".into()));
    assert!(
        girih(["bench", &a, "--n", "2", "--json"].iter().chain(&FAST)).json()["suite"].is_null()
    );

    let wrong = files.write("wrong.toml", "description = \"x\"\nformats = [\"coo\"]\n");
    girih(["bench", "--suite", &wrong]).fails(3, &["wrong.toml", "line 2", "coo"]);
    girih(["bench", "--suite", &files.name("none.toml")]).fails(3, &["none.toml"]);
}

/// The tables of `bench/table.py`, where there is a Python.
#[test]
fn tables_are_made_from_records() {
    let python = std::env::var("GIRIH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !Command::new(&python).arg("--version").output().is_ok_and(|run| run.status.success()) {
        // Not captured by the test harness, so that a skipped test is seen.
        let _ = writeln!(std::io::stderr(), "skipped: there is no {python} (set GIRIH_PYTHON)");
        return;
    }
    let files = Files::new();
    let (a, b) = (files.write("a.mtx", SMALL), files.write("b.mtx", scattered(150, 97)));
    let record = files.name("2026-11-24-x.json");
    let args = ["bench", &a, &b, "--n", "2,4", "--format", "csr,wcsr:8", "--threads", "1"];
    let json = girih(args.iter().chain(&["--json", "-o", &record]).chain(&FAST)).ok().json();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/table.py");
    let run = Command::new(&python).args([script, &record]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.starts_with("# 2026-11-24-x: 2026-11-24\n"), "{text}");
    assert!(text.contains("## f32, 1 thread\n"), "{text}");
    for matrix in ["a.mtx", "b.mtx"] {
        for n in [2, 4] {
            assert!(text.contains(&format!("| {matrix} | {n} | ")), "{text}");
        }
    }
    // The mean of both matrices at n = 2, of CSR over the faster of the two formats.
    let seconds = |matrix: &str, format: &str| {
        let is_it =
            |case: &&Value| case["matrix"] == matrix && case["format"] == format && case["n"] == 2;
        number(json["cases"].as_array().unwrap().iter().find(is_it).unwrap(), "median_seconds")
    };
    let over = |matrix: &str| {
        let csr = seconds(matrix, "csr");
        csr / csr.min(seconds(matrix, "wcsr:8"))
    };
    let mean = (over("a.mtx") * over("b.mtx")).sqrt();
    assert!(text.contains(&format!("| 2 | 2 | {mean:.3} | ")), "{mean} is not in {text}");
}

#[test]
fn what_cannot_be_run_is_skipped_with_its_reason() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(150, 97));
    let args = ["bench", &a, "--n", "2,4000000000", "--format", "csr,two-four", "--json"];
    let json = girih(args.iter().chain(&FAST)).ok().json();
    let skipped = json["skipped"].as_array().unwrap();
    let reasons: Vec<&str> = skipped.iter().map(|s| s["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(reasons[0].contains("row"), "{reasons:?}");
    assert!(reasons[1].contains("B and C take") && reasons[1].contains("--memory-limit"));
    assert!(json["cases"].as_array().unwrap().iter().all(|case| case["n"] == 2));
    let all = ["bench", &a, "--n", "4000000000"];
    girih(all.iter().chain(&FAST)).fails(4, &["no case could be run", "--memory-limit"]);
}

#[test]
fn mistakes_are_found_before_anything_is_measured() {
    let files = Files::new();
    let a = files.write("a.mtx", SMALL);
    for (args, code, parts) in [
        (&["rmatt"][..], 3, &["rmatt", "uniform, rmat, fem, blocks, laplacian"][..]),
        (&[&a, "missing.mtx"], 3, &["missing.mtx"]),
        (&["uniform", "--format", "coo"], 2, &["coo", "blocked-ell", "auto"]),
        (&["uniform", "--format", "csr:8"], 2, &["csr takes no size"]),
        (&["uniform", "--format", "blocked-ell:8x4"], 2, &["square"]),
        (&["uniform", "--n", "0"], 2, &["1,8,32"]),
        (&["uniform", "--dtype", "f8"], 2, &["f8", "bf16"]),
        (&["uniform", "--threads", "0"], 2, &["all"]),
        (&["uniform", "--backend", "gpu"], 2, &["gpu", "reference"]),
        (&["uniform", "--isa", "sse"], 2, &["sse", "portable"]),
        (&["uniform", "--seconds", "-1"], 2, &["-1"]),
        (&["uniform", "--memory-limit", "lots"], 2, &["lots"]),
        (&["-", "--dtype", "f32,f64"], 2, &["standard input", "--dtype"]),
        (&["uniform", "--memory-limit", "1k"], 4, &["--roofline off"]),
    ] {
        let run = girih(["bench"].iter().chain(args)).fails(code, parts);
        assert!(run.stdout.is_empty(), "{args:?}: {run:?}");
    }
    let absent = if cfg!(target_arch = "x86_64") { "neon" } else { "avx2" };
    girih(["bench", "uniform", "--isa", absent]).fails(5, &["--isa can be", "portable"]);
}
