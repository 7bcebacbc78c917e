//! Values that a value type cannot hold are counted, and elements without an error are said to be that.

use serde_json::{Value, json};

use crate::common::{Files, SMALL, girih, npy_f64, read_npy};

/// In f16: 1e6 overflows, 1e-9 vanishes, 1e-5 becomes subnormal. All are normal numbers in bf16.
const WIDE: &str = "%%MatrixMarket matrix coordinate real general\n3 3 5\n\
    1 1 1e6\n1 2 2\n2 1 1e-9\n2 2 1e-5\n3 3 1e6\n";

const SAID: &str = "of 5 nonzero values in f16, 2 overflow to Inf, 1 vanishes to 0, 1 is subnormal";

fn counts(nonzeros: u64, [overflowed, vanished, subnormal, non_finite]: [u64; 4]) -> Value {
    json!({
        "nonzeros": nonzeros,
        "overflowed": overflowed,
        "vanished": vanished,
        "subnormal": subnormal,
        "non_finite": non_finite,
    })
}

#[test]
fn inspect_and_plan_count_them() {
    let files = Files::new();
    let (a, p) = (files.write("a.mtx", WIDE), files.name("a.girih"));
    for command in [&["inspect", &a][..], &["plan", &a, "-o", &p]] {
        let run = |more: &[&str]| girih(command.iter().chain(more)).ok();
        let narrow = run(&["--dtype", "f16"]);
        assert!(narrow.text().contains(SAID), "{}", narrow.text());
        assert_eq!(narrow.stderr, "");
        let json = run(&["--dtype", "f16", "--json"]).json();
        assert_eq!(json["narrowing"], counts(5, [2, 1, 1, 0]), "{command:?}");
        for dtype in ["bf16", "f32", "f64"] {
            let text = run(&["--dtype", dtype]);
            assert!(!text.text().contains("nonzero values in"), "{}", text.text());
            let json = run(&["--dtype", dtype, "--json"]).json();
            assert_eq!(json["narrowing"], counts(5, [0; 4]), "{dtype}");
        }
    }
}

#[test]
fn spmm_counts_those_of_a_b_and_c() {
    let files = Files::new();
    let (a, p) = (files.write("a.mtx", WIDE), files.name("a.girih"));
    // Of B, 70 000 overflows; of C, 1e300 does in f32, and NaN was there before.
    let b = npy_f64(3, 2, false, |i, j| [[1.0, 7e4], [0.0, -3.0], [2.0, 5.0]][i][j]);
    let c = npy_f64(3, 2, false, |i, j| [[0.0, 1e300], [f64::NAN, 1.0], [0.0, 0.0]][i][j]);
    let (b, c) = (files.write("b.npy", b), files.write("c.npy", c));
    let args = ["spmm", &a, "--dtype", "f16", "--rhs", &b, "--c", &c, "--beta", "1"];
    let run = |more: &[&str]| girih(args.iter().chain(more)).ok();
    let run_text = run(&[]);
    let text = run_text.text();
    let of_c = "of 3 nonzero values in f32, 1 overflows to Inf, 1 was NaN or Inf before";
    for line in [SAID, "of 5 nonzero values in f16, 1 overflows to Inf\n", of_c] {
        assert!(text.contains(line), "{line:?} is not in {text}");
    }
    let json = run(&["--json"]).json();
    assert_eq!(json["narrowing"], counts(5, [2, 1, 1, 0]));
    assert_eq!(json["b_narrowing"], counts(5, [1, 0, 0, 0]));
    assert_eq!(json["c_narrowing"], counts(3, [1, 0, 0, 1]));
    assert!(json.get("non_finite_values").is_none());

    // A plan knows nothing of the values it was made from, but what it holds.
    girih(["plan", &a, "-o", &p, "--dtype", "f16"]).ok();
    let random = girih(["spmm", &p, "--random", "2"]).ok();
    let said = "of 5 values in f16, 2 are NaN or Inf in the plan";
    assert!(random.text().contains(said), "{}", random.text());
    let json = girih(["spmm", &p, "--random", "2", "--json"]).ok().json();
    assert_eq!(json["non_finite_values"], 2);
    assert!(json.get("narrowing").is_none() && json.get("b_narrowing").is_none());
}

#[test]
fn verify_counts_those_of_a_plan_and_its_matrix() {
    let files = Files::new();
    let (a, p) = (files.write("a.mtx", WIDE), files.name("a.girih"));
    girih(["plan", &a, "-o", &p, "--dtype", "f16"]).ok();
    let run = girih(["verify", &p, "--against", &a]).ok();
    assert!(run.text().contains(SAID), "{}", run.text());
    assert!(run.text().contains("2 are NaN or Inf in the plan"), "{}", run.text());
    let json = girih(["verify", &p, "--against", &a, "--json"]).ok().json();
    assert_eq!(json["non_finite_values"], 2);
    assert_eq!(json["against"]["narrowing"], counts(5, [2, 1, 1, 0]));

    let a = files.write("small.mtx", SMALL);
    girih(["plan", &a, "-o", &p, "--dtype", "f16"]).ok();
    let run = girih(["verify", &p, "--against", &a]).ok();
    assert!(!run.text().contains("values"), "{}", run.text());
    let json = girih(["verify", &p, "--json"]).ok().json();
    assert_eq!(json["non_finite_values"], 0);
}

#[test]
fn a_product_of_nothing_but_infinities_has_no_error_to_measure() {
    let files = Files::new();
    let text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1e6\n2 2 -1e6\n";
    let (a, c) = (files.write("a.mtx", text), files.name("c.npy"));
    let b = files.write("b.npy", npy_f64(2, 3, false, |_, j| 1.0 + j as f64));
    for backend in ["cpu", "reference"] {
        let args = ["spmm", &a, "--rhs", &b, "-o", &c, "--verify", "--backend", backend];
        let run = |more: &[&str]| girih(args.iter().chain(more)).ok();
        let narrow = run(&["--dtype", "f16", "--format", "csr"]);
        assert!(read_npy(&files.path("c.npy")).1.iter().all(|x| x.is_infinite()));
        let said = "no error to measure, 6 of 6 elements of C are NaN or Inf (as the oracle says)";
        assert!(narrow.text().contains(said), "{}", narrow.text());
        assert!(!narrow.text().contains("0.000 of its bound"), "{}", narrow.text());
        let json = run(&["--dtype", "f16", "--format", "csr", "--json"]).json();
        assert_eq!((&json["elements"], &json["unjudged"]), (&6.into(), &0.into()));
        assert_eq!((&json["non_finite"], &json["non_finite_expected"]), (&6.into(), &6.into()));

        let wide = run(&["--dtype", "bf16"]);
        assert!(wide.text().contains("of its bound") && !wide.text().contains("Inf"));
        let json = run(&["--dtype", "bf16", "--json"]).json();
        assert_eq!((&json["non_finite"], &json["non_finite_expected"]), (&0.into(), &0.into()));
    }
}

#[test]
fn what_a_backend_executes_is_explained() {
    let files = Files::new();
    let (a, p) = (files.write("a.mtx", SMALL), files.name("a.girih"));
    let args = ["spmm", &a, "--random", "3", "--backend", "reference"];
    let text = girih(args.iter().chain(&["--explain"])).ok();
    assert!(text.text().contains("\nexecuted by reference on"), "{}", text.text());
    let json = girih(args.iter().chain(&["--explain", "--json"])).ok().json();
    assert_eq!(
        (&json["lowering"]["backend"], &json["lowering"]["n"]),
        (&"reference".into(), &3.into())
    );
    assert_eq!(json["executed_as_lowered"], true);
    assert!(girih(args.iter().chain(&["--json"])).ok().json().get("lowering").is_none());
    let by_columns = files.write("b.npy", npy_f64(4, 3, true, |i, j| (i + j) as f64));
    let args = ["spmm", &a, "--rhs", &by_columns, "--backend", "reference", "--explain"];
    assert!(girih(args).ok().text().contains("with B row-major and β = 0"));

    let args = ["plan", &a, "-o", &p, "--n", "5"];
    let text = girih(args.iter().chain(&["--explain"])).ok();
    assert!(text.text().contains("this machine would execute it by"), "{}", text.text());
    let json = girih(args.iter().chain(&["--explain", "--json"])).ok().json();
    assert_eq!(json["lowering"]["n"], 5);
    let json = girih(args.iter().chain(&["--json"])).ok().json();
    assert!(json.get("lowering").is_none() && json.get("not_lowered").is_none());
}
