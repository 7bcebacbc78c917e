//! Every command does its job, and says so to people and to machines.

use crate::common::{FORMATS, Files, SMALL, girih, listing, npy_f64, scattered, with_stdin};
use serde_json::Value;

#[track_caller]
fn has_keys(json: &Value, keys: &[&str]) {
    for key in keys {
        assert!(json.get(key).is_some_and(|v| !v.is_null()), "{key} is missing from {json}");
    }
}

#[test]
fn inspect_tells_what_the_matrix_is() {
    let files = Files::new();
    let a = files.write("a.mtx", SMALL);
    let json = girih(["inspect", &a, "--json"]).ok().json();
    for (key, value) in
        [("nrows", 3), ("ncols", 4), ("nnz", 4), ("empty_rows", 1), ("max_row_nnz", 2)]
    {
        assert_eq!(json[key], value, "{key}");
    }
    // |i − j| is largest at (0, 2).
    assert_eq!(json["bandwidth"], 2);
    assert_eq!(json["symmetric_pattern"], false);
    let formats = json["formats"].as_object().unwrap();
    for (name, _) in FORMATS {
        let format = &formats[name];
        has_keys(format, &["bytes", "fill_ratio"]);
        assert!(format["bytes"].as_u64().unwrap() > 0, "{name}");
    }
    let text = girih(["inspect", &a]).ok();
    for word in ["3", "wcsr", "blocked-ell", "⠡⠡"] {
        assert!(text.text().contains(word), "{word} is not in {}", text.text());
    }
}

#[test]
fn inspect_says_why_a_format_cannot_hold_a_matrix() {
    let files = Files::new();
    // Three entries in one group of four columns.
    let text = "%%MatrixMarket matrix coordinate pattern general\n1 4 3\n1 1\n1 2\n1 4\n";
    let json = girih(["inspect", &files.write("a.mtx", text), "--json"]).ok().json();
    let reason = json["formats"]["two-four"]["unsupported"].as_str().unwrap();
    assert!(reason.contains("row 0"), "{reason}");
}

#[test]
fn plan_writes_every_format_and_verify_accepts_it() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(150, 97));
    for (name, options) in FORMATS {
        for dtype in ["f32", "f64", "f16", "bf16"] {
            let plan = files.name(&format!("{name}-{dtype}.girih"));
            let args = ["plan", &a, "-o", &plan, "--dtype", dtype, "--json"];
            let json = girih(args.iter().chain(options)).ok().json();
            has_keys(&json, &["nrows", "ncols", "nnz", "reason", "plan_seconds", "file_bytes"]);
            assert_eq!((&json["format"], &json["dtype"]), (&name.into(), &dtype.into()));
            let json = girih(["verify", &plan, "--against", &a, "--json"]).ok().json();
            assert_eq!((&json["ok"], &json["against"]["equal"]), (&true.into(), &true.into()));
        }
    }
}

#[test]
fn plan_explains_itself() {
    let files = Files::new();
    let (a, plan) = (files.write("a.mtx", scattered(150, 97)), files.name("a.girih"));
    let text = girih(["plan", &a, "-o", &plan, "--explain"]).ok();
    for word in ["csr", "bcsr", "wcsr", "bmat"] {
        assert!(text.text().contains(word), "{word} is not in {}", text.text());
    }
    let json = girih(["plan", &a, "-o", &plan, "--explain", "--json"]).ok().json();
    assert!(json["explanation"]["candidates"].as_array().unwrap().len() > 4);
    let json = girih(["plan", &a, "-o", &plan, "--json"]).ok().json();
    assert!(json.get("explanation").is_none());
}

#[test]
fn plans_do_not_depend_on_threads() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(1000, 800));
    let plan = |threads: &str| {
        let path = files.name(&format!("{threads}.girih"));
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_girih"));
        command.args(["plan", &a, "-o", &path]).env("RAYON_NUM_THREADS", threads);
        crate::common::run(command, b"").ok();
        std::fs::read(path).unwrap()
    };
    let one = plan("1");
    assert!(["2", "3", "7"].iter().all(|threads| plan(threads) == one));
}

#[test]
fn spmm_reports_what_scripts_rely_on() {
    let files = Files::new();
    let (a, c) = (files.write("a.mtx", scattered(150, 97)), files.name("c.npy"));
    let args = ["spmm", &a, "--random", "7", "--verify", "--repeat", "3", "-o", &c, "--json"];
    let json = girih(args).ok().json();
    has_keys(
        &json,
        &[
            "backend",
            "format",
            "dtype",
            "m",
            "k",
            "n",
            "nnz",
            "prepare_seconds",
            "median_seconds",
            "min_seconds",
            "gflops",
            "max_error_over_bound",
        ],
    );
    assert_eq!((&json["m"], &json["k"], &json["n"]), (&150.into(), &97.into(), &7.into()));
    assert!(json["max_error_over_bound"].as_f64().unwrap() <= 1.0);
    assert!(json["min_seconds"].as_f64() <= json["median_seconds"].as_f64());
    let flops = 2.0 * json["nnz"].as_f64().unwrap() * 7.0;
    let gflops = flops / json["median_seconds"].as_f64().unwrap() / 1e9;
    assert!((json["gflops"].as_f64().unwrap() / gflops - 1.0).abs() < 1e-6);
    let unverified = girih(["spmm", &a, "--random", "7", "--json"]).ok().json();
    assert!(unverified.get("max_error_over_bound").is_none());
    assert!(girih(["spmm", &a, "--random", "7", "--verify"]).ok().text().contains("verified"));
}

#[test]
fn convert_goes_round() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(40, 30));
    for name in ["b.npz", "b.mtx.gz", "b.mtx"] {
        let (b, back) = (files.name(name), files.name("back.mtx"));
        let json = girih(["convert", &a, "-o", &b, "--json"]).ok().json();
        has_keys(&json, &["nrows", "ncols", "nnz", "bytes"]);
        assert_eq!(json["bytes"], std::fs::metadata(&b).unwrap().len());
        girih(["convert", &b, "-o", &back]).ok();
        girih(["convert", &a, "-o", &files.name("once.mtx")]).ok();
        assert_eq!(std::fs::read(&back).unwrap(), std::fs::read(files.name("once.mtx")).unwrap());
    }
}

#[test]
fn backends_are_listed() {
    let json = girih(["backends", "--json"]).ok().json();
    let backends = json["backends"].as_array().unwrap();
    let names: Vec<&str> = backends.iter().map(|b| b["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"cpu") && names.last() == Some(&"reference"), "{names:?}");
    for backend in backends {
        if backend["available"] == true {
            let formats = backend["formats"].as_array().unwrap();
            // What runs on processors takes everything.
            assert!(formats.len() == 7 || backend["name"] == "cuda", "{backend}");
            has_keys(backend, &["device", "dtypes"]);
        } else {
            has_keys(backend, &["reason"]);
        }
    }
    has_keys(&json["cuda"], &["driver", "nvrtc", "devices"]);
    let run = girih(["backends"]).ok();
    assert!(run.text().contains("reference") && run.text().contains("CUDA driver"));
}

#[test]
fn a_backend_without_its_device_says_what_is_missing() {
    let files = Files::new();
    let a = files.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_girih"));
    command.args(["spmm", &a, "--random", "3", "--backend", "cuda"]);
    // There is no such device anywhere, and no driver at all on most machines.
    command.env("GIRIH_CUDA_DEVICE", "1000");
    crate::common::run(command, b"").fails(5, &["cuda is not available"]);

    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_girih"));
    command.args(["backends"]).env("GIRIH_CUDA_DEVICE", "first");
    crate::common::run(command, b"").fails(2, &["GIRIH_CUDA_DEVICE", "first"]);
}

#[test]
fn kernels_are_listed_and_built_where_there_is_a_compiler() {
    let files = Files::new();
    let cache = files.name("cache");
    let list = ["kernels", "list", "--arch", "sm_90a", "--cache", &cache, "--json"];
    let json = girih(list).ok().json();
    has_keys(&json, &["arch", "cache", "kernels"]);
    let kernels = json["kernels"].as_array().unwrap();
    assert!(kernels.iter().all(|kernel| kernel["state"] == "absent"), "{json}");
    assert_eq!(files.listing(), [""; 0], "listing writes nothing");

    let build = ["kernels", "build", "--arch", "sm_90a", "--cache", &cache, "--json"];
    if json["nvrtc"].is_null() {
        girih(build).fails(5, &["NVRTC was not found"]);
        return;
    }
    girih(build).ok();
    let json = girih(list).ok().json();
    for kernel in json["kernels"].as_array().unwrap() {
        assert_eq!(kernel["state"], "cached");
        for entry in kernel["entries"].as_array().unwrap() {
            assert_eq!(entry["spill_bytes"], 0, "{entry}");
            assert!(entry["registers"].as_u64().unwrap() > 0, "{entry}");
        }
    }
    girih(["kernels", "check", "--arch", "sm_90a"]).ok();
    girih(["kernels", "check", "--arch", "hopper"]).fails(2, &["hopper"]);
    // Kernels with an epilogue are there on request, and none of them was built.
    let list = ["kernels", "list", "--epilogues", "--arch", "sm_90a", "--cache", &cache, "--json"];
    let with = girih(list).ok().json();
    let kernels = with["kernels"].as_array().unwrap();
    let absent = kernels.iter().filter(|kernel| kernel["state"] == "absent");
    let absent = absent.map(|kernel| kernel["config"].as_str().unwrap().ends_with("epilogue"));
    assert!(absent.clone().count() > 1 && absent.into_iter().all(|is| is), "{with}");
    let list =
        ["kernels", "list", "--aggregations", "--arch", "sm_90a", "--cache", &cache, "--json"];
    let with = girih(list).ok().json();
    let kernels = with["kernels"].as_array().unwrap();
    let absent = kernels.iter().filter(|kernel| kernel["state"] == "absent");
    assert_eq!(absent.count(), 8, "two for each value type: {with}");
    // What is for Hopper alone is said, and in nobody's way.
    let list = ["kernels", "list", "--arch", "sm_80", "--cache", &cache, "--json"];
    let json = girih(list).ok().json();
    let states = json["kernels"].as_array().unwrap().iter().map(|kernel| match &kernel["kernel"] {
        name if name.as_str().unwrap().starts_with("sm90") => kernel["state"] == "unsupported",
        _ => kernel["state"] == "absent",
    });
    assert!(states.into_iter().all(|right| right), "{json}");
}

#[test]
fn demo_ends_verified_and_leaves_nothing() {
    let files = Files::new();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_girih"));
    command.arg("demo").env("TMPDIR", files.path(""));
    let run = crate::common::run(command, b"").ok();
    let last = run.text().lines().last().unwrap();
    assert!(last.starts_with("verified") && last.contains('%'), "{last}");
    for stage in ["read", "inspect", "plan", "save", "load", "multiply", "verify"] {
        assert!(run.text().contains(stage), "{stage}");
    }
    assert_eq!(files.listing(), [""; 0]);
    let json = girih(["demo", "--json"]).ok().json();
    assert!(json["max_error_over_bound"].as_f64().unwrap() <= 1.0);
}

#[test]
fn standard_input_is_a_matrix_or_a_plan() {
    let files = Files::new();
    let (b, plan) =
        (files.write("b.npy", npy_f64(4, 2, false, |i, j| (i + j) as f64)), files.name("p"));
    assert_eq!(with_stdin(["inspect", "-", "--json"], SMALL.as_bytes()).ok().json()["nnz"], 4);
    with_stdin(["plan", "-", "-o", &plan], SMALL.as_bytes()).ok();
    let bytes = std::fs::read(&plan).unwrap();
    for input in [SMALL.as_bytes(), &bytes] {
        let json = with_stdin(["spmm", "-", "--rhs", &b, "--verify", "--json"], input).ok().json();
        assert_eq!(json["nnz"], 4);
    }
    assert_eq!(with_stdin(["verify", "-", "--json"], &bytes).ok().json()["ok"], true);
    // A plan is recognised by its contents, whatever its name; gzip is, too.
    girih(["verify", &plan, "--against", &files.write("a.mtx", SMALL)]).ok();
    girih(["convert", &files.name("a.mtx"), "-o", &files.name("a.mtx.gz")]).ok();
    let gz = std::fs::read(files.name("a.mtx.gz")).unwrap();
    assert_eq!(with_stdin(["inspect", "-", "--json"], &gz).ok().json()["nnz"], 4);
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_a_matrix_or_a_plan() {
    let files = Files::new();
    let matrix = files.write("a.mtx", SMALL);
    let plan = files.name("a.girih");
    assert_eq!(girih(["plan", &matrix, "-o", &plan]).code, Some(0));
    // What the parent wrote to a pipe, named as a shell's process substitution names it.
    for path in [&matrix, &plan] {
        let run =
            with_stdin(["spmm", "/proc/self/fd/0", "--random", "2"], &std::fs::read(path).unwrap());
        assert_eq!(run.code, Some(0), "{path}: {}", run.stderr);
    }
}

#[cfg(unix)]
#[test]
fn paths_need_not_be_utf8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let files = Files::new();
    let a = files.path("").join(OsStr::from_bytes(b"a\xff.mtx"));
    let plan = files.path("").join(OsStr::from_bytes(b"\xfe.girih"));
    std::fs::write(&a, SMALL).unwrap();
    girih([OsStr::new("plan"), a.as_os_str(), OsStr::new("-o"), plan.as_os_str()]).ok();
    let run = girih([OsStr::new("verify"), plan.as_os_str(), OsStr::new("--json")]).ok();
    assert_eq!(run.json()["nnz"], 4);
    assert_eq!(listing(&files.path("")).len(), 2);
}

#[test]
fn help_documents_every_exit_code_and_command() {
    let help = girih(["--help"]).ok();
    for word in [
        "Exit codes",
        "inspect",
        "plan",
        "spmm",
        "verify",
        "convert",
        "backends",
        "calibrate",
        "demo",
    ] {
        assert!(help.text().contains(word), "{word}");
    }
    for code in 0..=5 {
        assert!(
            help.text().lines().any(|l| l.trim_start().starts_with(&format!("{code}  "))),
            "{code}"
        );
    }
    assert!(girih(["--version"]).ok().text().starts_with("girih "));
    for command in ["inspect", "plan", "spmm", "verify", "convert", "backends", "calibrate", "demo"]
    {
        girih([command, "--help"]).ok();
    }
}
