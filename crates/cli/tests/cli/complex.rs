//! Matrices of complex numbers, from a file to a verified product.

use std::process::Command;

use crate::common::{Files, girih, with_stdin};
use crate::scipy::python;

/// A hermitian matrix whose diagonal is complex all the same.
const HERMITIAN: &str = "%%MatrixMarket matrix coordinate complex hermitian
4 4 6
1 1 2 0
2 1 1 -1
2 2 0 0.5
3 2 0 3
4 1 -2.5 0.25
4 4 1 1
";

#[test]
fn a_command_without_a_value_type_takes_c32() {
    let files = Files::new();
    let (a, plan) = (files.write("h.mtx", HERMITIAN), files.name("h.girih"));
    let json = girih(["inspect", &a, "--json"]).ok().json();
    assert_eq!((&json["dtype"], &json["nnz"]), (&"c32".into(), &9.into()));
    assert_eq!(json["file"]["symmetry"], "hermitian");
    let streamed = with_stdin(["inspect", "-", "--json"], HERMITIAN.as_bytes()).ok().json();
    assert_eq!((&streamed["dtype"], &streamed["nnz"]), (&"c32".into(), &9.into()));
    let json = girih(["plan", &a, "-o", &plan, "--json"]).ok().json();
    assert_eq!(json["dtype"], "c32");
    girih(["verify", &plan, "--against", &a]).ok();
    let json = girih(["spmm", &plan, "--random", "7", "--verify", "--json"]).ok().json();
    assert_eq!((&json["dtype"], &json["accumulator"]), (&"c32".into(), &"c32".into()));
    assert!(json["max_error_over_bound"].as_f64().is_some_and(|e| e <= 1.0), "{json}");
}

#[test]
fn csr_and_bcsr_are_multiplied_and_verified_and_the_rest_is_refused() {
    let files = Files::new();
    let a = files.write("h.mtx", HERMITIAN);
    for dtype in ["c32", "c64"] {
        for (format, backend) in
            [("csr", "cpu"), ("bcsr", "cpu"), ("csr", "reference"), ("auto", "cpu")]
        {
            let args =
                ["spmm", &a, "--random", "5", "--alpha", "1.5", "--verify", "--dtype", dtype];
            let more = ["--format", format, "--backend", backend];
            let block: &[&str] = if format == "bcsr" { &["--block", "2"] } else { &[] };
            girih(args.iter().chain(&more).chain(block)).ok();
        }
    }
    let wcsr = ["plan", &a, "--format", "wcsr", "-o", &files.name("w.girih")];
    girih(wcsr).fails(4, &["c32", "real value types"]);
    // A complex multiply-add counts as the eight flops that it takes.
    let json = girih(["spmm", &a, "--random", "5", "--dtype", "c64", "--json"]).ok().json();
    let number = |key: &str| json[key].as_f64().unwrap();
    let flops = 8.0 * number("nnz") * 5.0;
    assert!((number("gflops") * 1e9 * number("median_seconds") / flops - 1.0).abs() < 1e-6);
    let explained = girih(["spmm", &a, "--random", "8", "--dtype", "c64", "--explain"]).ok();
    assert!(explained.text().contains("two products in f64 with 16 columns"), "{explained:?}");
}

#[test]
fn factors_are_complex_where_values_are() {
    let files = Files::new();
    let a = files.write("h.mtx", HERMITIAN);
    let of = |more: &[&str]| {
        girih(["spmm", &a, "--random", "5", "--verify", "--json"].iter().chain(more))
    };
    for backend in ["cpu", "reference"] {
        for alpha in ["1+2i", "-0.5i", "(1-2j)", "0.25"] {
            let json = of(&["--alpha", alpha, "--backend", backend, "--dtype", "c64"]).ok().json();
            assert!(json["max_error_over_bound"].as_f64().is_some_and(|e| e <= 1.0), "{json}");
        }
    }
    let json = of(&["--alpha", "1+2i"]).ok().json();
    assert_eq!((&json["alpha"], &json["beta"]), (&vec![1.0, 2.0].into(), &vec![0.0, 0.0].into()));
    of(&["--alpha", "1+2k"]).fails(2, &["1+2k", "1+2i", "-2.5", "1+2j"]);
    of(&["--beta", "0.5j"]).fails(2, &["--beta 0.5i", "--c"]);
    let real =
        files.write("r.mtx", "%%MatrixMarket matrix coordinate real general\n4 4 1\n1 1 1\n");
    let on_real = |factor| girih(["spmm", &real, "--random", "5", "--json", "--alpha", factor]);
    on_real("-0.5i").fails(2, &["--alpha", "imaginary part", "f32", "--dtype c32"]);
    assert_eq!(on_real("-2").ok().json()["alpha"], -2.0);
}

#[test]
fn files_go_both_ways_and_products_are_those_of_scipy() {
    let Some(python) = python() else { return };
    let files = Files::new();
    let a = files.write("h.mtx", HERMITIAN);
    let [npz, back, b, c] = ["h.npz", "back.mtx", "b.npy", "c.npy"].map(|name| files.name(name));
    girih(["convert", &a, "-o", &npz]).ok();
    girih(["convert", &npz, "-o", &back]).ok();
    let run = |script: &str, args: &[&str]| {
        let output = Command::new(&python).arg("-c").arg(script).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let compare = "
import sys, numpy as np, scipy.io, scipy.sparse as sp
a, b, c = (sp.csr_matrix(m) for m in (scipy.io.mmread(sys.argv[1]), sp.load_npz(sys.argv[2]), scipy.io.mmread(sys.argv[3])))
assert b.dtype == np.complex128 and (a != b).nnz == 0 and (a != c).nnz == 0
assert a[0, 1] == 1 + 1j and a[1, 1] == 0.5j
rng = np.random.default_rng(1)
np.save(sys.argv[4], np.asfortranarray(rng.standard_normal((4, 5)) + 1j * rng.standard_normal((4, 5))))
";
    run(compare, &[&a, &npz, &back, &b]);
    girih(["spmm", &npz, "--rhs", &b, "-o", &c, "--dtype", "c64", "--verify"]).ok();
    let product = "
import sys, numpy as np, scipy.sparse as sp
a, b, c = sp.load_npz(sys.argv[1]), np.load(sys.argv[2]), np.load(sys.argv[3])
assert c.dtype == np.complex128 and abs(a @ b - c).max() < 1e-14, a @ b - c
";
    run(product, &[&npz, &b, &c]);
    let scaled = files.name("scaled.npy");
    let factors = ["--alpha", "1-2j", "--beta", "-0.5j", "--c", &b];
    let args = ["spmm", &npz, "--rhs", &b, "-o", &scaled, "--dtype", "c64", "--verify"];
    girih(args.iter().chain(&factors)).ok();
    let scale = "
import sys, numpy as np, scipy.sparse as sp
a, b, c = sp.load_npz(sys.argv[1]), np.load(sys.argv[2]), np.load(sys.argv[3])
expected = (1-2j) * (a @ b) + -0.5j * b
assert abs(expected - c).max() < 1e-13, expected - c
";
    run(scale, &[&npz, &b, &scaled]);
    // A real plan has no place for imaginary parts.
    let real =
        files.write("r.mtx", "%%MatrixMarket matrix coordinate real general\n4 4 1\n1 1 1\n");
    girih(["spmm", &real, "--rhs", &b]).fails(3, &["b.npy", "complex"]);
    girih(["spmm", &real, "--rhs", &b, "--dtype", "c64", "--verify"]).ok();
}
