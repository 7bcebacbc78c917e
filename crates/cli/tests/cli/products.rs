//! `girih spmm` computes what it says, in every order, type and combination.

use std::fs;

use half::f16;

use crate::common::{
    FORMATS, Files, SMALL, SMALL_DENSE, girih, npy_f32, npy_f64, read_npy, scattered,
};

/// α·SMALL·B + β·C0, row-major.
fn by_hand(
    n: usize,
    alpha: f64,
    b: impl Fn(usize, usize) -> f64,
    beta: f64,
    c0: impl Fn(usize, usize) -> f64,
) -> Vec<f64> {
    let element = |i: usize, j: usize| {
        let sum: f64 = (0..4).map(|k| SMALL_DENSE[i][k] * b(k, j)).sum();
        alpha * sum + beta * c0(i, j)
    };
    (0..3).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect()
}

/// Small integers and quarters: every product and sum of them is exact in every type.
fn quarter(i: usize, j: usize) -> f64 {
    ((3 * i + 5 * j) % 7) as f64 / 4.0 - 0.5
}

#[test]
fn b_is_read_in_both_orders_and_types() {
    let files = Files::new();
    let (a, c) = (files.write("a.mtx", SMALL), files.name("c.npy"));
    let wanted = by_hand(5, 1.0, quarter, 0.0, quarter);
    for (name, bytes) in [
        ("c64", npy_f64(4, 5, false, quarter)),
        ("f64", npy_f64(4, 5, true, quarter)),
        ("c32", npy_f32(4, 5, false, |i, j| quarter(i, j) as f32)),
        ("f32", npy_f32(4, 5, true, |i, j| quarter(i, j) as f32)),
    ] {
        let b = files.write(name, bytes);
        for (dtype, descr) in [("f32", "<f4"), ("f64", "<f8"), ("f16", "<f4"), ("bf16", "<f4")] {
            girih(["spmm", &a, "--rhs", &b, "-o", &c, "--dtype", dtype, "--verify"]).ok();
            let (header, values) = read_npy(files.path("c.npy").as_path());
            assert!(header.contains(descr) && header.contains("(3, 5)"), "{header}");
            assert!(header.contains("'fortran_order': False"), "{header}");
            assert_eq!(values, wanted, "{name}, {dtype}");
        }
    }
}

#[test]
fn rounding_b_is_noted() {
    let files = Files::new();
    let a = files.write("a.mtx", SMALL);
    let (wide, narrow) = (npy_f64(4, 1, false, |_, _| 0.1), npy_f32(4, 1, false, |_, _| 0.5));
    let (wide, narrow) = (files.write("wide.npy", wide), files.write("narrow.npy", narrow));
    let note = |b: &str, dtype: &str| girih(["spmm", &a, "--rhs", b, "--dtype", dtype]).ok().stderr;
    assert!(note(&wide, "f32").contains("rounded from f64 to f32"));
    assert!(note(&narrow, "bf16").contains("rounded from f32 to bf16"));
    assert_eq!(note(&wide, "f64") + &note(&narrow, "f32") + &note(&narrow, "f64"), "");
}

#[test]
fn alpha_and_beta_scale_and_c_is_added_once() {
    let files = Files::new();
    let (a, c) = (files.write("a.mtx", SMALL), files.name("c.npy"));
    let b = files.write("b.npy", npy_f64(4, 3, false, quarter));
    let c0 = |i: usize, j: usize| quarter(i + 1, j + 2);
    let c0_file = files.write("c0.npy", npy_f64(3, 3, true, c0));
    let wanted = by_hand(3, -2.0, quarter, 0.5, c0);
    let backends = girih(["backends", "--json"]).ok().json();
    let available =
        backends["backends"].as_array().unwrap().iter().filter(|b| b["available"] == true);
    let names = available.map(|b| b["name"].as_str().unwrap());
    for backend in names.chain(["auto"]) {
        // Were C not restored between repetitions, β would be applied four times.
        for repeat in ["1", "3"] {
            let args = [
                "spmm", &a, "--format", "csr", "--rhs", &b, "-o", &c, "--alpha", "-2", "--beta",
                "0.5",
            ];
            let more = ["--c", &c0_file, "--backend", backend, "--repeat", repeat, "--verify"];
            girih(args.iter().chain(&more)).ok();
            assert_eq!(read_npy(&files.path("c.npy")).1, wanted, "{backend}, {repeat}");
        }
    }
}

#[test]
fn c_is_not_read_where_beta_is_zero() {
    let files = Files::new();
    let (a, c) = (files.write("a.mtx", SMALL), files.name("c.npy"));
    let b = files.write("b.npy", npy_f64(4, 2, false, quarter));
    let nan = files.write("nan.npy", npy_f64(3, 2, false, |_, _| f64::NAN));
    girih(["spmm", &a, "--rhs", &b, "--beta", "0", "--c", &nan, "-o", &c, "--verify"]).ok();
    assert_eq!(read_npy(&files.path("c.npy")).1, by_hand(2, 1.0, quarter, 0.0, quarter));
}

#[test]
fn a_plan_and_its_matrix_give_the_same_bits() {
    let files = Files::new();
    let a = files.write("a.mtx", scattered(301, 203));
    let b = files.write("b.npy", npy_f64(203, 9, false, |i, j| ((i * 7 + j * 3) as f64).sin()));
    for (name, options) in FORMATS {
        for dtype in ["f32", "f64", "bf16"] {
            let [plan, direct, planned, mapped] =
                ["p.girih", "direct.npy", "planned.npy", "mapped.npy"].map(|n| files.name(n));
            let sized = ["--dtype", dtype, "--n", "9"];
            let making = sized.iter().chain(options).copied();
            girih(["plan", &a, "-o", &plan].into_iter().chain(making.clone())).ok();
            let spmm = ["spmm", &a, "--rhs", &b, "-o", &direct, "--verify"];
            girih(spmm.into_iter().chain(making)).ok();
            girih(["spmm", &plan, "--rhs", &b, "-o", &planned, "--verify"]).ok();
            girih(["spmm", &plan, "--rhs", &b, "-o", &mapped, "--mmap"]).ok();
            let direct = fs::read(direct).unwrap();
            assert!(direct == fs::read(planned).unwrap(), "{name}, {dtype}");
            assert!(direct == fs::read(mapped).unwrap(), "{name}, {dtype}, mapped");
        }
    }
}

#[test]
fn seeds_decide_what_is_random() {
    let files = Files::new();
    let (a, c) = (files.write("a.mtx", scattered(60, 50)), files.name("c.npy"));
    let product = |seed: &str| {
        girih(["spmm", &a, "--random", "4", "--seed", seed, "-o", &c]).ok();
        fs::read(&c).unwrap()
    };
    assert_eq!(product("7"), product("7"));
    assert_ne!(product("7"), product("8"));
}

#[test]
fn products_without_rows_columns_or_entries_are_products() {
    let files = Files::new();
    for (name, size) in [("rows", "0 4"), ("cols", "3 0"), ("both", "0 0"), ("entries", "3 4")] {
        let text = format!("%%MatrixMarket matrix coordinate real general\n{size} 0\n");
        let (a, plan) = (files.write(name, text), files.name("p.girih"));
        for (_, options) in FORMATS {
            girih(["plan", &a, "-o", &plan].iter().chain(options)).ok();
            for n in ["0", "3"] {
                girih(["spmm", &plan, "--random", n, "--verify"]).ok();
            }
        }
        girih(["inspect", &a]).ok();
    }
}

#[test]
fn values_that_are_not_finite_are_legal_and_verified() {
    let files = Files::new();
    let text = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 nan\n2 2 inf\n3 3 1\n";
    let a = files.write("a.mtx", text);
    for (_, options) in FORMATS {
        let args = ["spmm", &a, "--random", "2", "--verify"];
        girih(args.iter().chain(options)).ok();
    }
}

const SQUARE: &str = "%%MatrixMarket matrix coordinate real general\n4 4 4\n\
    1 2 0.1\n2 1 3\n3 3 0.7\n4 1 -2.5\n";

/// C in 16 bits is rounded once, added to, verified, and written as it is.
#[test]
fn c_is_rounded_where_that_is_requested() {
    let files = Files::new();
    let (a, c) = (files.write("a.mtx", SMALL), files.name("c.npy"));
    let third = |i: usize, j: usize| ((i + 2 * j) % 5) as f64 / 3.0;
    let b = files.write("b.npy", npy_f64(4, 5, false, third));
    let c0 = files.write("c0.npy", npy_f64(3, 5, false, quarter));
    let of_f32 = ["spmm", &a, "--rhs", &b, "--dtype", "f32", "-o", &c, "--verify"];
    girih(of_f32.iter().chain(&["--backend", "cpu"])).ok();
    let wide = read_npy(files.path("c.npy").as_path()).1;
    for backend in ["cpu", "reference"] {
        let narrow = ["--c-dtype", "f16", "--backend", backend];
        let text = girih(of_f32.iter().chain(&narrow)).ok();
        assert!(text.text().contains("f16, rounded from f32"), "{}", text.text());
        let (header, values) = read_npy(files.path("c.npy").as_path());
        assert!(header.contains("<f2"), "{header}");
        let nearest: Vec<f64> = wide.iter().map(|&x| f16::from_f64(x).to_f64()).collect();
        assert_eq!(values, nearest, "{backend}");
        let added = ["--c", &c0, "--beta", "-2", "--json"];
        let json = girih(of_f32.iter().chain(&narrow).chain(&added)).ok().json();
        assert_eq!((&json["c_dtype"], &json["accumulator"]), (&"f16".into(), &"f32".into()));
    }
    for (dtype, c_dtype) in [("f64", "f16"), ("f32", "f64"), ("c32", "bf16")] {
        let args = ["spmm", &a, "--random", "3", "--dtype", dtype, "--c-dtype", c_dtype];
        girih(args).fails(2, &["--c-dtype", c_dtype]);
    }
    girih(of_f32.iter().chain(&["--c-dtype", "bf16"])).fails(2, &["NumPy has no bf16"]);
    // What was written is the next product's B.
    let narrow = npy_f64(4, 4, false, quarter);
    let (next, narrow) = (files.write("next.mtx", SQUARE), files.write("narrow.npy", narrow));
    let first =
        ["spmm", &next, "--dtype", "f16", "--c-dtype", "f16", "--verify", "--backend", "cpu"];
    girih(first.iter().chain(&["--rhs", &narrow, "-o", &c])).ok();
    let again = girih(first.iter().chain(&["--rhs", &c])).ok();
    assert!(again.text().contains("f16, rounded from f32"), "{}", again.text());
    assert_eq!(again.stderr, "");
}
