//! Devices: calibrated, read, planned for.

use std::fs;

use serde_json::Value;

use crate::common::{Files, girih, scattered};

#[test]
fn a_calibrated_device_is_a_file_to_plan_for() {
    let files = Files::new();
    let device = files.name("mine.toml");
    // The times of such short runs say nothing; that they become a device does.
    let json = girih([
        "calibrate",
        "-o",
        &device,
        "--quick",
        "--n",
        "1,8",
        "--seconds",
        "0",
        "--device",
        "this",
        "--json",
    ])
    .ok()
    .json();
    let fits = json["fits"].as_array().unwrap();
    let left_out = json["left_out"].as_array().unwrap();
    let formats: Vec<&str> =
        fits.iter().chain(left_out).map(|group| group["spec"].as_str().unwrap()).collect();
    for format in ["csr", "bcsr 64x64", "wcsr 16/8", "bmat"] {
        assert!(formats.contains(&format), "{formats:?}");
    }
    assert!(fits.iter().any(|fit| fit["spec"] == "csr"), "{left_out:?}");
    for fit in fits {
        assert!(fit["quality"]["r2"].is_number() && fit["quality"]["held_out"].as_u64() > Some(3));
        let seconds = fit["seconds"].as_object().unwrap();
        assert!(seconds.values().all(|x| x.as_f64() >= Some(0.0)), "{fit}");
        assert!(seconds.values().any(|x| x.as_f64() > Some(0.0)), "{fit}");
    }
    let held_out = |of: &Value| of["quality"]["held_out"].as_u64().unwrap();
    assert_eq!(held_out(&json), fits.iter().map(held_out).sum::<u64>());
    assert!(left_out.iter().all(|group| group["reason"].is_string()), "{left_out:?}");
    let text = fs::read_to_string(&device).unwrap();
    assert!(text.starts_with('#') && text.contains("[[fits]]"));

    let a = files.write("a.mtx", scattered(150, 97));
    let plan = files.name("a.girih");
    let planned =
        girih(["plan", &a, "-o", &plan, "--device", &device, "--explain", "--json"]).ok().json();
    assert_eq!(planned["device"], json["device"]);
    assert!(planned["plan_products"].as_f64() > Some(0.0));
    girih(["spmm", &plan, "--random", "5", "--verify"]).ok();
}

#[test]
fn plans_are_for_the_device_that_is_named() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(150, 97));
    let plan = files.name("a.girih");
    let text =
        girih(["plan", &a, "-o", &plan, "--device", "h200", "--explain"]).ok().text().to_owned();
    assert!(text.contains("NVIDIA H200") && text.contains("planning took the time of"), "{text}");
    let again = girih(["plan", &a, "-o", &plan, "--device", "this"]).ok().text().to_owned();
    assert!(again.contains("cores"), "{again}");
    girih(["plan", &a, "-o", &plan, "--device", "h201"]).fails(3, &["h200", "this"]);
    let broken = files.write("broken.toml", "workers = 3");
    girih(["plan", &a, "-o", &plan, "--device", &broken]).fails(3, &["missing field"]);
}
