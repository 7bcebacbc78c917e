//! `girih inspect` of plan files.

use crate::common::{FORMATS, Files, SMALL, girih, scattered, with_stdin};

#[test]
fn inspect_tells_what_a_plan_holds() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(150, 97));
    for (name, options) in FORMATS {
        let plan = files.name(&format!("{name}.girih"));
        let args = ["plan", &a, "-o", &plan, "--n", "40", "--dtype", "bf16", "--json"];
        let planned = girih(args.iter().chain(options)).ok().json();
        let json = girih(["inspect", &plan, "--json"]).ok().json();
        for key in ["nrows", "ncols", "nnz", "n", "dtype", "format", "spec", "device"] {
            assert_eq!(json[key], planned[key], "{key}");
        }
        for key in ["reordered", "gathers", "permuted", "file_bytes"] {
            assert_eq!(json[key], planned[key], "{key}");
        }
        assert_eq!(json["version"], if name == "hybrid" { "3.3" } else { "3.1" });
        assert_eq!(json["schedule"]["tasks"], planned["tasks"]);
        assert_eq!(json["explanation"]["reason"], planned["reason"]);
        assert_eq!(json["fingerprint"]["pattern"].as_str().unwrap().len(), 16);
        assert!(json["attachments"].as_array().unwrap().is_empty());

        // The sections are the file: each begins on a page, and the last ends on the last one.
        let sections = json["sections"].as_array().unwrap();
        let size = |element: &str| match element {
            "u16" | "bf16" => 2,
            "u32" => 4,
            "u64" => 8,
            "task" => 32,
            other => panic!("{other}"),
        };
        let mut end = 64 + json["header_bytes"].as_u64().unwrap();
        for section in sections {
            let [count, bytes, offset] =
                ["count", "bytes", "offset"].map(|key| section[key].as_u64().unwrap());
            assert_eq!(bytes, count * size(section["element"].as_str().unwrap()), "{section}");
            assert_eq!(offset, end.next_multiple_of(4096), "{section}");
            assert!(section["attachment"].is_null());
            end = offset + bytes;
        }
        assert_eq!(end.next_multiple_of(4096), std::fs::metadata(&plan).unwrap().len());
        let names: Vec<&str> = sections.iter().map(|s| s["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"values") && names.contains(&"tasks"), "{names:?}");
        let tiles = |s: &&serde_json::Value| s["name"] != "tasks";
        let bytes = sections.iter().filter(tiles).map(|s| s["bytes"].as_u64().unwrap());
        assert_eq!(json["tile_bytes"], bytes.sum::<u64>());

        let text = girih(["inspect", &plan]).ok();
        let version = if name == "hybrid" { "format version 3.3" } else { "format version 3.1" };
        for word in [version, "150 × 97", "bf16", "n = 40 on", "values", "tasks"] {
            assert!(text.text().contains(word), "{word} is not in {}", text.text());
        }
        assert!(text.text().contains(planned["reason"].as_str().unwrap()));
    }
}

#[test]
fn inspect_tells_order_and_schedule() {
    let files = Files::new();
    let (a, plan) = (files.write("a.mtx", scattered(150, 150)), files.name("a.girih"));
    let order = ["--reorder", "rcm", "--permuted"];
    let cut = ["--format", "wcsr", "--device", "h200", "--nondeterministic"];
    girih(["plan", &a, "-o", &plan].iter().chain(&order).chain(&cut)).ok();
    let json = girih(["inspect", &plan, "--json"]).ok().json();
    assert_eq!((&json["reorder"], &json["reordered"]), (&"rcm".into(), &true.into()));
    assert_eq!((&json["permuted"], &json["deterministic"]), (&true.into(), &false.into()));
    assert_eq!(json["device"], "NVIDIA H200");
    let text = girih(["inspect", &plan]).ok();
    for word in ["rcm: rows are moved; B and C are in the order of the plan", "NVIDIA H200"] {
        assert!(text.text().contains(word), "{word} is not in {}", text.text());
    }
}

/// Files of every version that the planner's tests pin.
#[test]
fn inspect_reads_every_version() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../planner/tests/plan_file/");
    for (file, version, device, nnz) in [
        ("v1.0.girih", "1.0", "generic CPU", 54),
        ("v2.0.girih", "2.0", "NVIDIA H200", 300),
        ("v2.0-partitions.girih", "2.0", "NVIDIA H200", 315),
        ("v2.0-orders.girih", "2.0", "NVIDIA H200", 315),
        ("v3.0.girih", "3.0", "A machine × 2", 7),
        ("v3.1.girih", "3.1", "A machine × 2", 7),
    ] {
        let path = format!("{folder}{file}");
        let json = girih(["inspect", &path, "--json"]).ok().json();
        assert_eq!((&json["version"], &json["nnz"]), (&version.into(), &nnz.into()), "{file}");
        assert!(json["device"].as_str().unwrap().contains(device), "{file}: {}", json["device"]);
    }
    let partitions = format!("{folder}v2.0-partitions.girih");
    let json = girih(["inspect", &partitions, "--json"]).ok().json();
    assert_eq!(json["schedule"]["partitions"], 132);
    assert_eq!(json["schedule"]["cut_for"], 512);
    let text = girih(["inspect", &partitions]).ok();
    let words = "96 tasks in 132 partitions, cut for n = 512; no window is split by tiles";
    assert!(text.text().contains(words), "{}", text.text());

    let attached = format!("{folder}v3.1.girih");
    let json = girih(["inspect", &attached, "--json"]).ok().json();
    let kept = &json["attachments"][0];
    assert_eq!((&kept["backend"], &kept["arrays"]), (&"cpu".into(), &4.into()));
    assert_eq!(kept["bytes"], 5 * 4 + 2 * 4 + 3);
    let of_it = json["sections"].as_array().unwrap().iter().filter(|s| s["attachment"] == 0);
    assert_eq!(of_it.count(), 4);
    let text = girih(["inspect", &attached]).ok();
    for word in ["of cpu, avx512, 2 threads, 1 MiB", "another", "B is gathered"] {
        assert!(text.text().contains(word), "{word} is not in {}", text.text());
    }
}

#[test]
fn inspect_takes_a_plan_from_standard_input() {
    let files = Files::new();
    let (a, plan) = (files.write("a.mtx", SMALL), files.name("p"));
    girih(["plan", &a, "-o", &plan]).ok();
    let bytes = std::fs::read(&plan).unwrap();
    let json = with_stdin(["inspect", "-", "--json"], &bytes).ok().json();
    assert_eq!((&json["nnz"], &json["plan"]), (&4.into(), &"standard input".into()));
    // A plan is recognised by its contents, whatever its name.
    assert_eq!(girih(["inspect", &plan, "--json"]).ok().json()["nnz"], 4);
}

#[test]
fn options_for_matrices_are_refused_for_a_plan() {
    let files = Files::new();
    let (a, plan) = (files.write("a.mtx", SMALL), files.name("a.girih"));
    girih(["plan", &a, "-o", &plan]).ok();
    for (options, named) in [
        (&["--reorder", "rcm"][..], "--reorder"),
        (&["--block", "8x8"], "--block"),
        (&["--window", "8", "--dtype", "f16"], "--dtype, --window"),
        (&["--prune-zeros"], "--prune-zeros"),
    ] {
        let args: Vec<&str> =
            ["inspect", &plan].into_iter().chain(options.iter().copied()).collect();
        girih(args).fails(2, &["a.girih is a plan", named]);
    }
}

#[test]
fn a_broken_plan_is_refused() {
    let files = Files::new();
    let (a, plan) = (files.write("a.mtx", SMALL), files.name("a.girih"));
    girih(["plan", &a, "-o", &plan]).ok();
    let bytes = std::fs::read(&plan).unwrap();
    let cut = files.write("cut.girih", &bytes[..bytes.len() - 1]);
    let run = girih(["inspect", &cut, "--json"]).fails(3, &["cut.girih", "truncated"]);
    assert_eq!(run.json()["exit_code"], 3);
    with_stdin(["inspect", "-"], &bytes[..4096]).fails(3, &["standard input", "truncated"]);
    let mut damaged = bytes.clone();
    damaged[4096] ^= 1;
    girih(["inspect", &files.write("d.girih", damaged)]).fails(3, &["d.girih", "hash"]);
    girih(["inspect", &files.write("text.girih", SMALL)]).fails(3, &["text.girih", "not a plan"]);
}

#[test]
fn a_layout_is_kept_for_this_machine_and_used() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(150, 97));
    let [plain, kept] = ["plain.girih", "kept.girih"].map(|name| files.name(name));
    let plan = |out: &str, options: &[&str]| {
        let args = ["plan", &a, "-o", out, "--n", "8", "--format", "csr", "--json"];
        girih(args.iter().chain(options)).ok().json()
    };
    assert!(plan(&plain, &[]).get("layout").is_none());
    let planned = plan(&kept, &["--save-layout"]);
    let layout = &planned["layout"];
    assert_eq!(layout["backend"], "cpu");
    assert!(layout["key"].as_str().unwrap().starts_with("layout "), "{layout}");

    let json = girih(["inspect", &kept, "--json"]).ok().json();
    let [ref only] = json["attachments"].as_array().unwrap()[..] else { panic!("{json}") };
    for key in ["backend", "key", "bytes"] {
        assert_eq!(only[key], layout[key], "{key}");
    }
    let loaded = |json: &serde_json::Value| {
        let decisions = json["lowering"]["decisions"].as_array().unwrap();
        decisions.iter().any(|d| d["what"] == "layout" && d["choice"] == "loaded with the plan")
    };
    assert!(loaded(&json), "{}", json["lowering"]);
    let json = girih(["inspect", &plain, "--json"]).ok().json();
    assert!(!loaded(&json), "{}", json["lowering"]);

    let products = [&plain, &kept].map(|plan| {
        let c = files.name("c.npy");
        let args =
            ["spmm", plan, "--random", "8", "--backend", "cpu", "--verify", "--mmap", "-o", &c];
        girih(args).ok();
        std::fs::read(&c).unwrap()
    });
    assert_eq!(products[0], products[1]);

    // Tiles that are multiplied as they are need no layout.
    let wide = ["plan", &a, "-o", &plain, "--format", "wcsr", "--save-layout"];
    let none = girih(wide.iter().chain(&["--json"])).ok().json();
    assert!(none["layout"].is_null() && none.get("layout").is_some());
    assert!(girih(wide).ok().text().contains("none kept"));
}

#[test]
fn a_layout_that_was_changed_is_refused() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(150, 97));
    let plan = files.name("kept.girih");
    girih(["plan", &a, "-o", &plan, "--n", "8", "--format", "csr", "--save-layout"]).ok();
    let mut bytes = std::fs::read(&plan).unwrap();
    let end = bytes.len() - 4096;
    bytes[end] ^= 1;
    std::fs::write(&plan, bytes).unwrap();
    girih(["spmm", &plan, "--random", "8"]).fails(3, &["attachment"]);
}

/// The precision goes through planning, the file and what people read.
#[test]
fn a_precision_is_planned_stored_and_told() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(150, 97));
    let plan = files.name("a.girih");
    let base = ["plan", &a, "-o", &plan, "--device", "h200", "--precision"];
    let planned = girih(base.iter().chain(&["f32", "--json"])).ok().json();
    assert_eq!(planned["precision"], "f32");
    assert!(planned["reason"].as_str().unwrap().contains(" in f32"), "{planned}");
    assert_eq!(girih(["inspect", &plan, "--json"]).ok().json()["precision"], "f32");
    assert!(girih(["inspect", &plan]).ok().text().contains("f32 in f32"));

    let explained = girih(base.iter().chain(&["3xtf32", "--format", "bmat", "--explain"])).ok();
    assert!(explained.text().contains("bmat was requested in 3xtf32"), "{}", explained.text());
    let default = girih(["plan", &a, "-o", &plan, "--json"]).ok().json();
    assert_eq!(default["precision"], "tf32");

    girih(base.iter().chain(&["f32", "--format", "wcsr"])).fails(4, &["round f32 to TF32"]);
    girih(base.iter().chain(&["fp32"])).fails(2, &["fp32", "3xtf32"]);
}
