//! Orders of rows: computed, written, planned with, and never seen in C.

use crate::common::{FORMATS, Files, girih, npy_f64, read_npy, scattered};

const ORDERS: [&str; 6] = ["auto", "rcm", "window", "degree", "reverse", "random:5"];

/// Small integers, whose sums are exact.
fn operand(i: usize, j: usize) -> f64 {
    ((3 * i + 5 * j) % 7) as f64 - 3.0
}

/// The values of an `int64` array, in order.
fn indices(files: &Files, name: &str) -> Vec<usize> {
    let bytes = std::fs::read(files.path(name)).unwrap();
    let start = 10 + u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    let words = bytes[start..].as_chunks::<8>().0;
    words.iter().map(|w| i64::from_le_bytes(*w) as usize).collect()
}

#[test]
fn c_is_the_same_in_every_order() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(70, 70));
    let b = files.write("b.npy", npy_f64(70, 3, false, operand));
    let c = files.name("c.npy");
    let product = |options: &[&str]| {
        let args = ["spmm", &a, "--rhs", &b, "-o", &c, "--dtype", "f64", "--verify"];
        girih(args.iter().chain(options)).ok();
        read_npy(&files.path("c.npy")).1
    };
    let wanted = product(&["--format", "csr"]);
    let near = |found: &[f64]| {
        found.iter().zip(&wanted).all(|(x, y)| (x - y).abs() <= 1e-12 * (1.0 + y.abs()))
    };
    for (_, format) in FORMATS.iter().filter(|(name, _)| *name != "two-four") {
        for order in ORDERS {
            let options: Vec<&str> = format.iter().copied().chain(["--reorder", order]).collect();
            assert!(near(&product(&options)), "{options:?}");
        }
    }
}

#[test]
fn a_permuted_plan_takes_and_gives_permuted_vectors() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(50, 50));
    let (plan, p) = (files.name("a.girih"), files.name("p.npy"));
    girih(["plan", &a, "-o", &plan, "--reorder", "rcm", "--permuted", "--dtype", "f64"]).ok();
    girih(["reorder", &plan, "-o", &p]).ok();
    let order = indices(&files, "p.npy");
    assert_eq!(order.len(), 50);
    let c = files.name("c.npy");
    let product = |source: &str, b: &str| {
        girih(["spmm", source, "--rhs", b, "-o", &c, "--verify"]).ok();
        read_npy(&files.path("c.npy")).1
    };
    let wide = files.name("wide.girih");
    girih(["plan", &a, "-o", &wide, "--dtype", "f64", "--format", "csr"]).ok();
    let wanted = product(&wide, &files.write("b.npy", npy_f64(50, 1, false, operand)));
    let permuted =
        product(&plan, &files.write("q.npy", npy_f64(50, 1, false, |i, j| operand(order[i], j))));
    for (found, &row) in permuted.iter().zip(&order) {
        assert!((found - wanted[row]).abs() <= 1e-12 * (1.0 + found.abs()));
    }
    // The plan still is one of the matrix.
    let json = girih(["verify", &plan, "--against", &a, "--json"]).ok().json();
    assert_eq!(json["against"]["equal"], true);
    girih(["spmm", &a, "--random", "3", "--reorder", "rcm", "--permuted", "--verify"]).ok();
}

#[test]
fn an_order_in_a_file_is_the_order_of_the_plan() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(60, 41));
    let (p, q) = (files.name("p.npy"), files.name("q.npy"));
    let json = girih(["reorder", &a, "-o", &p, "--cols", &q, "--by", "rcm", "--json"]).ok().json();
    assert!(json["order_seconds"].as_f64().unwrap() >= 0.0);
    assert!(json["after"]["bandwidth"].as_u64() <= json["before"]["bandwidth"].as_u64());
    let order = indices(&files, "p.npy");
    let mut sorted = indices(&files, "q.npy");
    sorted.sort_unstable();
    assert_eq!(sorted, (0..41).collect::<Vec<_>>());
    let plan = files.name("a.girih");
    girih(["plan", &a, "-o", &plan, "--reorder", &p, "--format", "wcsr"]).ok();
    let again = files.name("again.npy");
    girih(["reorder", &plan, "-o", &again]).ok();
    assert_eq!(indices(&files, "again.npy"), order);
    let json = girih(["verify", &plan, "--against", &a, "--json"]).ok().json();
    assert_eq!(json["against"]["equal"], true);
    let json = girih(["inspect", &a, "--reorder", &p, "--json"]).ok().json();
    assert_eq!(json["reordered"]["before"]["packed_cols"].as_array().unwrap().len(), 3);
}

#[test]
fn inspect_shows_before_and_after() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(200, 200));
    for order in ["rcm", "window:16", "reverse"] {
        let text = girih(["inspect", &a, "--reorder", order]).ok();
        for word in ["before", "after", "bandwidth", "packed columns, 64 rows", "fill 8x8"] {
            assert!(text.text().contains(word), "{word} is not in {}", text.text());
        }
    }
}

#[test]
fn auto_explains_what_it_saw() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(300, 300));
    let plan = files.name("a.girih");
    let args = ["plan", &a, "-o", &plan, "--reorder", "auto", "--explain", "--json"];
    let json = girih(args).ok().json();
    let names: Vec<&str> = json["explanation"]["orderings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["natural", "rcm", "window:16", "window:64"]);
    assert!(!json["order"].as_str().unwrap().is_empty());
}

#[test]
fn what_is_no_order_is_refused() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(30, 30));
    let b = files.write("b.mtx", scattered(31, 30));
    let (p, plan) = (files.name("p.npy"), files.name("a.girih"));
    girih(["reorder", &a, "-o", &p]).ok();
    girih(["plan", &b, "-o", &plan, "--reorder", &p]).fails(3, &["30 rows", "31"]);
    girih(["plan", &a, "-o", &plan, "--reorder", "spiral"]).fails(2, &["rcm, window"]);
    girih(["plan", &a, "-o", &plan, "--reorder", "missing.npy"]).fails(3, &["missing.npy"]);
    girih(["inspect", &a, "--reorder", "auto"]).fails(2, &["plan"]);
    // A plan has its order.
    girih(["plan", &a, "-o", &plan]).ok();
    girih(["reorder", &plan, "--by", "rcm"]).fails(2, &["--by"]);
    girih(["spmm", &plan, "--random", "1", "--reorder", "rcm"]).fails(2, &["--reorder"]);
    let twice = files.write("twice.npy", {
        let mut bytes = std::fs::read(files.path("p.npy")).unwrap();
        let end = bytes.len();
        let last = bytes[end - 8..].to_vec();
        bytes[end - 16..end - 8].copy_from_slice(&last);
        bytes
    });
    girih(["plan", &a, "-o", &plan, "--reorder", &twice]).fails(3, &["stands at position"]);
}
