//! Ablations: what can be told of them without a device.

use crate::common::{Files, girih};

#[test]
fn steps_are_listed_beside_the_papers_figures() {
    let run = girih(["ablation", "--list"]).ok();
    let text = run.text();
    for part in ["opt7", "bcsr-cluster", "4.10 × cuSPARSE", "TC-GNN", "784 TFLOP/s", "1401", "764"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = girih(["ablation", "article", "--n", "8,16", "--list", "--json"]).ok().json();
    let ladders = json["ladders"].as_array().unwrap();
    let [article] = &ladders[..] else { panic!("{json}") };
    assert_eq!((&article["name"], &article["n"]), (&"article".into(), &vec![8, 16].into()));
    assert_eq!(article["steps"][1]["variant"], "dense-waits");
}

#[test]
fn what_is_wrong_is_found_before_a_device_is_opened() {
    girih(["ablation", "ladder"]).fails(2, &["\"ladder\"", "asyncsparse", "article"]);
    girih(["ablation", "--n", "12"]).fails(2, &["multiple of 8"]);
    girih(["ablation", "--matrix", "no-such.mtx"]).fails(3, &["no-such.mtx"]);
    let files = Files::new();
    girih(["ablation", "-o", &files.name("a.txt")]).fails(2, &[".json or .md"]);
}

#[cfg(unix)]
#[test]
fn without_a_device_it_is_said_what_is_missing() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_girih"));
    command.args(["ablation", "article"]).env("GIRIH_CUDA_DEVICE", "1000");
    crate::common::run(command, b"").fails(5, &["cuda"]);
}
