//! `girih tune`: the fastest of a plan's candidates, by what they take.

use crate::common::{FORMATS, Files, girih, scattered, with_stdin};

#[test]
fn the_fastest_candidate_becomes_the_plan() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(300, 200));
    let (plan, tuned) = (files.name("a.girih"), files.name("b.girih"));
    girih(["plan", &a, "-o", &plan, "--n", "24", "--reorder", "rcm", "--format", "bcsr"]).ok();
    let args = ["tune", &plan, "-o", &tuned, "--top", "3", "--seconds", "0.001", "--json"];
    let json = girih(args).ok().json();
    assert_eq!((&json["before"], &json["n"]), (&"bcsr 64x64".into(), &24.into()), "{json}");

    // The plan's own format, and three others: in its order or in the matrix's.
    let cases = json["cases"].as_array().unwrap();
    assert_eq!(cases.len() + json["skipped"].as_array().unwrap().len(), 4, "{json}");
    let seconds = |case: &serde_json::Value| case["seconds"].as_f64().unwrap();
    assert!(cases.windows(2).all(|pair| seconds(&pair[0]) <= seconds(&pair[1])), "{json}");
    let chosen: Vec<bool> = cases.iter().map(|c| c["chosen"].as_bool().unwrap()).collect();
    assert!(chosen[0] && !chosen[1..].contains(&true), "{json}");

    // What was written is that plan: sound, of the same matrix, and it says what was measured.
    let inspected = girih(["inspect", &tuned, "--json"]).ok().json();
    assert_eq!(inspected["spec"], json["after"]);
    assert_eq!(inspected["explanation"]["measured"]["cases"], json["cases"]);
    girih(["verify", &tuned, "--against", &a]).ok();
    girih(["spmm", &tuned, "--random", "24", "--verify"]).ok();
    let text = girih(["inspect", &tuned]).ok();
    for words in ["measured", "quartiles", " took ", "(cpu), n = 24"] {
        assert!(text.text().contains(words), "{words:?} is not in {}", text.text());
    }
}

#[test]
fn a_plan_is_tuned_in_place_in_every_format() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(60, 40));
    for (name, options) in FORMATS {
        let plan = files.name(&format!("{name}.girih"));
        let args = ["plan", &a, "-o", &plan, "--n", "8", "--permuted", "--reorder", "reverse"];
        girih(args.iter().chain(options)).ok();
        let before = girih(["inspect", &plan, "--json"]).ok().json();
        girih(["tune", &plan, "--top", "1", "--seconds", "0.001"]).ok();
        let after = girih(["inspect", &plan, "--json"]).ok().json();
        // Vectors of a caller in the permuted space are in the plan's order.
        for key in ["permuted", "reordered", "nrows", "n"] {
            assert_eq!(after[key], before[key], "{name}: {key}");
        }
        assert!(!after["explanation"]["measured"].is_null());
        girih(["spmm", &plan, "--random", "8", "--verify"]).ok();
    }
}

#[test]
fn what_cannot_be_tuned_is_refused_and_left_as_it_was() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(60, 40));
    girih(["tune", &a]).fails(3, &["not a plan file"]);
    let plan = files.name("a.girih");
    girih(["plan", &a, "-o", &plan]).ok();
    let bytes = std::fs::read(&plan).unwrap();
    with_stdin(["tune", "-"], &bytes).fails(2, &["--output"]);
    girih(["tune", &plan, "--top", "0"]).fails(2, &["--top"]);
    let damaged = files.write("b.girih", &bytes[..bytes.len() - 4096]);
    girih(["tune", &damaged]).fails(3, &["truncated"]);
    assert_eq!(std::fs::read(&plan).unwrap(), bytes);
}
