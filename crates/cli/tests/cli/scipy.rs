//! Agreement with scipy, where there is a Python that has it.

use std::io::Write;
use std::process::Command;

use crate::common::{FORMATS, Files, girih, scattered};

/// `GIRIH_PYTHON` or `python3`, if it can import scipy; otherwise says that the test is skipped.
pub(crate) fn python() -> Option<String> {
    let python = std::env::var("GIRIH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(&python).args(["-c", "import scipy.sparse"]).output();
    if output.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    // Not captured by the test harness, so that a skipped test is seen.
    let _ = writeln!(std::io::stderr(), "skipped: {python} has no scipy (set GIRIH_PYTHON)");
    None
}

/// Runs a script; it fails the test by failing.
#[track_caller]
fn check(python: &str, script: &str, args: &[&str]) {
    let output = Command::new(python).arg("-c").arg(script).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn npz_files_go_both_ways() {
    let Some(python) = python() else { return };
    let files = Files::new();
    let (a, npz) = (files.write("a.mtx", scattered(120, 77)), files.name("a.npz"));
    girih(["convert", &a, "-o", &npz]).ok();
    let script = "
import sys, scipy.io, scipy.sparse as sp
a, b = sp.csr_matrix(scipy.io.mmread(sys.argv[1])), sp.load_npz(sys.argv[2])
assert b.format == 'csr' and a.shape == b.shape and a.nnz == b.nnz, (a, b)
b.check_format(full_check=True)
assert (a != b).nnz == 0
for name in ['csr', 'csc', 'coo', 'bsr']:
    for compressed in [False, True]:
        sp.save_npz(f'{sys.argv[2]}.{name}.{compressed}.npz', a.asformat(name), compressed=compressed)
";
    check(&python, script, &[&a, &npz]);
    let back = files.name("back.mtx");
    girih(["convert", &a, "-o", &back]).ok();
    let wanted = std::fs::read(&back).unwrap();
    for name in ["csr", "csc", "coo", "bsr"] {
        for compressed in ["False", "True"] {
            // scipy fills blocks of bsr with zeros, which are explicit once they are read.
            let npz = format!("{npz}.{name}.{compressed}.npz");
            girih(["convert", &npz, "-o", &back, "--prune-zeros"]).ok();
            girih(["convert", &a, "-o", &files.name("pruned.mtx"), "--prune-zeros"]).ok();
            let found = std::fs::read(&back).unwrap();
            assert!(
                found == std::fs::read(files.name("pruned.mtx")).unwrap(),
                "{name} {compressed}"
            );
        }
    }
    assert!(!wanted.is_empty());
}

#[test]
fn products_agree_within_the_bound() {
    let Some(python) = python() else { return };
    let files = Files::new();
    let a = files.write("a.mtx", scattered(200, 130));
    let [b, c0, c] = ["b.npy", "c0.npy", "c.npy"].map(|name| files.name(name));
    let operands = "
import sys, numpy as np
rng = np.random.default_rng(1)
np.save(sys.argv[1], np.asfortranarray(rng.standard_normal((130, 11))))
np.save(sys.argv[2], rng.standard_normal((200, 11)).astype(np.float32))
";
    check(&python, operands, &[&b, &c0]);
    // The rounding of A and B to 2⁻ᵗ, and the sums' γ for the longest row and its scaling.
    let compare = "
import sys, numpy as np, scipy.io, scipy.sparse as sp
a = sp.csr_matrix(scipy.io.mmread(sys.argv[1])).astype(np.float64)
b, c0, c = (np.load(p).astype(np.float64) for p in sys.argv[2:5])
u, eps = float(sys.argv[5]), float(sys.argv[6])
k = int(np.diff(a.indptr).max()) + 4
gamma = k * eps / (1 - k * eps)
exact = 1.5 * (a @ b) - 0.25 * c0
scale = 1.5 * (abs(a) @ abs(b))
bound = (2 * u + u * u) * scale + gamma * (scale * (1 + u) ** 2 + 0.25 * abs(c0)) + 1e-30
worst = (abs(exact - c) / bound).max()
assert np.load(sys.argv[4]).flags['C_CONTIGUOUS'] and worst <= 1, worst
";
    for (format, options) in FORMATS {
        if format == "two-four" {
            continue; // Pruned: another matrix.
        }
        for (dtype, u, eps) in [
            ("f64", 0.0, 2f64.powi(-53)),
            ("f32", 2f64.powi(-24), 2f64.powi(-24)),
            ("f16", 2f64.powi(-11), 2f64.powi(-24)),
            ("bf16", 2f64.powi(-8), 2f64.powi(-24)),
        ] {
            let args = ["spmm", &a, "--rhs", &b, "--alpha", "1.5", "--beta", "-0.25", "--c", &c0];
            let more = ["-o", &c, "--dtype", dtype, "--verify"];
            girih(args.iter().chain(&more).chain(options)).ok();
            check(&python, compare, &[&a, &b, &c0, &c, &u.to_string(), &eps.to_string()]);
        }
    }
}
