//! Exit codes, messages, and the discipline of the two output streams.

use crate::common::{Files, SMALL, girih, npy_f32, npy_f64, scattered};

#[test]
fn usage_errors_are_2() {
    let files = Files::new();
    let (a, p) = (files.write("a.mtx", SMALL), files.name("a.girih"));
    girih(["plan", &a, "-o", &p]).ok();
    let b = files.write("b.npy", npy_f64(4, 1, false, |_, _| 1.0));
    for (args, parts) in [
        (&["frobnicate"][..], &["frobnicate"][..]),
        (&[], &["Usage"]),
        (&["inspect"], &["A"]),
        (&["plan", &a], &["--output"]),
        (&["plan", &a, "-o", &p, "--format", "coo"], &["coo", "blocked-ell"]),
        (&["plan", &a, "-o", &p, "--dtype", "f8"], &["f8", "bf16"]),
        (&["plan", &a, "-o", &p, "--format", "bcsr", "--block", "64by64"], &["64by64", "64x64"]),
        (&["plan", &a, "-o", &p, "--format", "bcsr", "--block", "0x4"], &["0x4"]),
        (&["plan", &a, "-o", &p, "--format", "blocked-ell", "--block", "8x4"], &["square"]),
        (&["plan", &a, "-o", &p, "--format", "wcsr", "--window", "0"], &["--window"]),
        (&["plan", &a, "-o", &p, "--format", "csr", "--block", "8x8"], &["--block", "csr"]),
        (&["plan", &a, "-o", &p, "--window", "8"], &["--format"]),
        (&["plan", &a, "-o", &p, "--memory-limit", "lots"], &["lots", "4GiB"]),
        (&["spmm", &a], &["--rhs", "--random"]),
        (&["spmm", &a, "--random", "3", "--rhs", &b], &["--rhs"]),
        (&["spmm", &a, "--rhs", &b, "--seed", "1"], &["--seed"]),
        (&["spmm", &a, "--random", "1", "--repeat", "0"], &["--repeat"]),
        (&["spmm", &a, "--random", "1", "--beta", "0.5"], &["--beta", "--c"]),
        (&["spmm", &a, "--random", "1", "--backend", "gpu"], &["gpu", "reference"]),
        (&["spmm", &a, "--random", "1", "--mmap"], &["--mmap", "matrix"]),
        (&["spmm", &p, "--random", "1", "--dtype", "f64"], &["--dtype", "plan"]),
        (&["spmm", &p, "--random", "1", "--n", "4", "--exact"], &["--n, --exact"]),
        (&["spmm", &p, "--random", "1", "--prune-zeros"], &["--prune-zeros"]),
        (&["spmm", &p, "--random", "1", "--explain", "--format", "auto"], &["--format"]),
        (&["convert", &a, "-o", &files.name("a.png")], &["a.png", ".npz"]),
        (&["verify", "-", "--against", "-"], &["standard input"]),
    ] {
        let run = girih(args).fails(2, parts);
        assert!(run.stdout.is_empty(), "{args:?}: {run:?}");
    }
}

#[test]
fn bad_input_is_3_and_named() {
    let files = Files::new();
    let a = files.write("a.mtx", SMALL);
    let p = files.name("a.girih");
    girih(["plan", &a, "-o", &p]).ok();
    let missing = files.name("missing.mtx");
    for args in [&["inspect", &missing][..], &["plan", &missing, "-o", &p], &["verify", &missing]] {
        girih(args).fails(3, &["missing.mtx", "No such file"]);
    }
    girih(["inspect", &files.name("")]).fails(3, &["is a directory"]);
    girih(["convert", &p, "-o", &files.name("b.mtx")]).fails(3, &["a.girih", "plan"]);
    girih(["verify", &a]).fails(3, &["a.mtx", "girih plan"]);
    girih(["spmm", &a, "--rhs", &files.name("missing.npy")]).fails(3, &["missing.npy"]);
    let complex = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n";
    let complex = files.write("c.mtx", complex);
    girih(["inspect", &complex, "--dtype", "f32"]).fails(3, &["c.mtx", "complex"]);
    girih(["spmm", &complex, "--random", "2", "--dtype", "f64"]).fails(3, &["c.mtx", "c64"]);
}

#[test]
fn operands_that_do_not_fit_are_3_and_say_what_would() {
    let files = Files::new();
    let a = files.write("a.mtx", SMALL);
    let spmm = |b: &str| girih(["spmm", &a, "--rhs", b]);
    spmm(&files.write("b.npy", npy_f64(3, 2, false, |_, _| 1.0)))
        .fails(3, &["b.npy", "3×2", "4×2"]);
    spmm(&files.write("t.npy", b"\x93NUMPY\x01\x00")).fails(3, &["t.npy", "header"]);
    spmm(&a).fails(3, &["a.mtx", "not a .npy file"]);
    let good = npy_f64(4, 2, false, |_, _| 1.0);
    spmm(&files.write("short.npy", &good[..good.len() - 1])).fails(3, &["short.npy", "ends"]);
    let text = String::from_utf8_lossy(&npy_f64(4, 2, false, |_, _| 0.0)).replace("<f8", "<i8");
    assert!(text.contains("<i8"));
    let ints = [b"\x93".as_slice(), &text.as_bytes()[3..]].concat();
    spmm(&files.write("ints.npy", ints)).fails(3, &["ints.npy", "<i8", "f32"]);
    let (b, c) =
        (files.write("b.npy", &good), files.write("c.npy", npy_f32(2, 3, false, |_, _| 0.0)));
    girih(["spmm", &a, "--rhs", &b, "--beta", "1", "--c", &c]).fails(3, &["c.npy", "2×3", "3×2"]);
}

#[test]
fn what_is_not_supported_is_4() {
    let files = Files::new();
    let dense_row = "%%MatrixMarket matrix coordinate real general\n1 4 3\n1 1 1\n1 2 2\n1 3 3\n";
    let (a, p) = (files.write("a.mtx", dense_row), files.name("a.girih"));
    girih(["plan", &a, "-o", &p, "--format", "two-four"]).fails(4, &["row 0", "--prune-two-four"]);
    girih(["plan", &a, "-o", &p, "--format", "two-four", "--prune-two-four"]).ok();
    std::fs::remove_file(&p).unwrap();

    let big = files.write("big.mtx", scattered(500, 500));
    for format in ["bcsr", "auto"] {
        let args = ["plan", &big, "-o", &p, "--format", format, "--memory-limit", "1k"];
        girih(args).fails(4, &["bytes", "1024", "--memory-limit"]);
    }
    girih(["plan", &big, "-o", &p, "--format", "bcsr", "--exact"]).fails(4, &["fill-in"]);
    girih(["spmm", &big, "--random", "2", "--format", "bcsr", "--memory-limit", "1k"])
        .fails(4, &[]);
    assert!(!files.listing().contains(&"a.girih".to_owned()));
}

#[test]
fn output_that_cannot_be_written_is_1_and_leaves_nothing() {
    let files = Files::new();
    let a = files.write("a.mtx", SMALL);
    let nowhere = files.name("no/such/folder/out");
    girih(["plan", &a, "-o", &nowhere]).fails(1, &["no/such/folder"]);
    girih(["spmm", &a, "--random", "1", "-o", &nowhere]).fails(1, &["no/such/folder"]);
    girih(["convert", &a, "-o", &(nowhere + ".npz")]).fails(1, &["no/such/folder"]);
    girih(["convert", &a, "-o", &files.name("../.npz/..")]).fails(2, &[]);
    assert_eq!(files.listing(), ["a.mtx"]);
}

#[test]
fn a_plan_of_another_matrix_is_1() {
    let files = Files::new();
    let (a, p) = (files.write("a.mtx", SMALL), files.name("a.girih"));
    girih(["plan", &a, "-o", &p]).ok();
    for (other, parts) in [
        (SMALL.replace("-3", "-3.5"), ["entry (3, 2)", "-3.5"]),
        (SMALL.replace("3 2 -3", "3 3 -3"), ["entry (3, 2)", "not in the matrix"]),
        (SMALL.replace("3 2 -3", "3 1 -3"), ["entry (3, 1)", "not in the plan"]),
        (SMALL.replace("3 4 4\n", "3 5 4\n"), ["3×4", "3×5"]),
    ] {
        let b = files.write("b.mtx", other);
        let run = girih(["verify", &p, "--against", &b, "--json"]).fails(1, &parts);
        assert_eq!(run.json()["ok"], false);
    }
}

#[test]
fn with_json_a_failure_is_one_object_too() {
    let files = Files::new();
    let a = files.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 2 1\n");
    let run = girih(["inspect", &a, "--json"]).fails(3, &["line 3"]);
    assert_eq!(run.json()["exit_code"], 3);
    assert!(run.json()["error"].as_str().unwrap().contains("line 3"));
    let run = girih(["inspect", "--json"]).fails(2, &[]);
    assert_eq!(run.json()["exit_code"], 2);
}

#[test]
fn standard_error_is_quiet_when_nothing_is_wrong() {
    let files = Files::new();
    let (a, p) = (files.write("a.mtx", SMALL), files.name("a.girih"));
    for args in [
        &["inspect", &a][..],
        &["plan", &a, "-o", &p, "--json"],
        &["spmm", &p, "--random", "2", "--verify"],
        &["verify", &p, "--against", &a],
        &["backends"],
    ] {
        assert_eq!(girih(args).ok().stderr, "", "{args:?}");
    }
}

#[test]
fn stages_are_shown_on_a_terminal_only() {
    let files = Files::new();
    let (a, p) = (files.write("a.mtx", scattered(300, 300)), files.name("a.girih"));
    for args in [
        &["plan", &a, "-o", &p, "--reorder", "auto"][..],
        &["plan", &a, "-o", &p, "--reorder", "window", "--json"],
        &["plan", &a, "-o", &p, "--reorder", "rcm", "--format", "bcsr", "--planning-time", "1"],
        &["spmm", &a, "--random", "2", "--reorder", "auto"],
        &["reorder", &a, "--by", "window"],
        &["inspect", &a, "--reorder", "window", "--json"],
    ] {
        let run = girih(args).ok();
        assert_eq!(run.stderr, "", "{args:?}");
        assert!(!run.text().contains("pricing formats"), "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_reason_to_panic() {
    use std::process::{Command, Stdio};

    let files = Files::new();
    let a = files.write("a.mtx", scattered(200, 200));
    for args in [&["inspect", &a][..], &["--help"], &["inspect", "missing.mtx", "--json"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_girih"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code != 101), "{output:?}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}
