//! Broken files give exit code 3 and a message with the place, at once and within little memory.

use std::fs;
use std::process::Command;

use crate::common::{Files, Run, SMALL, girih, run};

/// `girih` with two gigabytes of address space and ten seconds of processor time: what a broken
/// file makes it allocate beyond that ends it.
fn limited(args: &[&str], input: &[u8]) -> Run {
    if cfg!(not(target_os = "linux")) {
        return crate::common::with_stdin(args, input);
    }
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -v 2000000 && ulimit -t 10 && exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_girih"))
        .args(args);
    run(command, input)
}

const BANNER: &str = "%%MatrixMarket matrix coordinate real general\n";

#[test]
fn broken_matrix_market_files_are_refused_with_their_place() {
    let files = Files::new();
    for (name, text, parts) in [
        ("empty", "", &["empty"][..]),
        ("header only", BANNER, &["line"]),
        ("comments only", &format!("{BANNER}% nothing\n\n"), &["line"]),
        ("claims", &format!("{BANNER}3 3 1000000000000\n1 1 1\n"), &["line 2", "1000000000000"]),
        ("claims rows", &format!("{BANNER}4000000000 3 1\n1 1 1\n"), &["4000000000"]),
        ("beyond u32", &format!("{BANNER}4294967296 3 1\n1 1 1\n"), &["line 2", "4294967296"]),
        ("index 0", &format!("{BANNER}3 3 1\n0 1 1\n"), &["line 3", "0"]),
        ("past the end", &format!("{BANNER}3 3 1\n1 4 1\n"), &["line 3", "4"]),
        ("negative", &format!("{BANNER}3 3 1\n-1 1 1\n"), &["line 3", "-1"]),
        ("too few", &format!("{BANNER}3 3 2\n1 1 1\n"), &["1 of the 2"]),
        ("too many", &format!("{BANNER}3 3 1\n1 1 1\n2 2 2\n"), &["line 4"]),
        ("text", &format!("{BANNER}3 3 1\n1 1 one\n"), &["line 3", "one"]),
        ("no value", &format!("{BANNER}3 3 1\n1 1\n"), &["line 3"]),
        ("real index", &format!("{BANNER}3 3 1\n1.5 1 1\n"), &["line 3", "1.5"]),
        ("two sizes", &format!("{BANNER}3 3\n1 1 1\n"), &["line 2"]),
        ("bad banner", "%%MatrixMarket matrix coordinate imaginary\n1 1 0\n", &["line 1"]),
        ("half a number", "%%MatrixMarket matrix array complex general\n1 1\n1\n", &["line 3"]),
        (
            "hermitian",
            "%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n",
            &["hermitian"],
        ),
        (
            "not square",
            "%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n",
            &["line 2"],
        ),
    ] {
        let path = files.write("a.mtx", text);
        for args in [
            &["inspect", &path][..],
            &["plan", &path, "-o", &files.name("out")],
            &["spmm", &path, "--random", "2"],
            &["convert", &path, "-o", &files.name("out.npz")],
        ] {
            let run = limited(args, b"");
            assert_eq!(run.code, Some(3), "{name}: {run:?}");
            let run = run.fails(3, parts);
            assert!(run.stderr.contains("a.mtx"), "{name}: {run:?}");
        }
        let run = limited(&["inspect", "-"], text.as_bytes());
        assert_eq!(run.code, Some(3), "{name} on standard input: {run:?}");
        run.fails(3, &["standard input"]);
    }
    assert_eq!(files.listing(), ["a.mtx"]);
}

#[test]
fn odd_matrix_market_files_are_read() {
    let files = Files::new();
    let odd = SMALL.replace('\n', "\r\n").replace("2 -3", "2  -3\r\n\r\n% odd\r\n");
    let json = girih(["inspect", &files.write("a.mtx", odd), "--json"]).ok().json();
    assert_eq!(json["nnz"], 4);
}

#[test]
fn dimensions_alone_take_no_memory() {
    let files = Files::new();
    let wide = files.write("wide.mtx", format!("{BANNER}3 4294967295 1\n1 4294967295 1\n"));
    let inspected = limited(&["inspect", &wide, "--json"], b"");
    assert_eq!(inspected.code, Some(0), "{}", inspected.stderr);
    let plan = files.name("wide.girih");
    for format in ["csr", "bcsr", "wcsr", "blocked-ell", "bmat"] {
        for args in [
            &["plan", &wide, "-o", &plan, "--format", format][..],
            &["verify", &plan, "--against", &wide],
        ] {
            let run = limited(args, b"");
            assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
        }
    }
    let product = limited(&["spmm", &wide, "--random", "1"], b"");
    assert_eq!(product.code, Some(1), "{}", product.stderr);
    assert!(product.stderr.contains("4294967295×1 and needs 16"), "{}", product.stderr);
}

#[test]
fn broken_containers_are_refused() {
    let files = Files::new();
    let a = files.write("a.mtx", crate::common::scattered(300, 300));
    for (name, ends) in [("b.npz", &[1, 10, 60][..]), ("b.mtx.gz", &[1, 9, 60])] {
        let whole = files.name(name);
        girih(["convert", &a, "-o", &whole]).ok();
        let bytes = fs::read(&whole).unwrap();
        for end in ends.iter().copied().chain([bytes.len() / 2, bytes.len() - 1]) {
            let path = files.write(&format!("cut-{name}"), &bytes[..end]);
            limited(&["inspect", &path], b"").fails(3, &["cut-"]);
        }
    }
    for (name, bytes) in [
        ("a.npz", &b"not a zip file at all"[..]),
        ("b.npz", b"PK\x03\x04 and nothing of the rest"),
        ("c.smtx", b"3, 3"),
        ("noname", b"what is this"),
        ("binary", &[0xff; 4096]),
    ] {
        let path = files.write(name, bytes);
        limited(&["inspect", &path], b"").fails(3, &[name]);
    }
}

#[test]
fn a_plan_cut_at_any_page_is_refused() {
    let files = Files::new();
    let a = files.write("a.mtx", crate::common::scattered(400, 300));
    let plan = files.name("a.girih");
    girih(["plan", &a, "-o", &plan, "--format", "wcsr", "--window", "8"]).ok();
    let bytes = fs::read(&plan).unwrap();
    assert!(bytes.len() > 8 * 4096, "{} bytes are too few to cut", bytes.len());
    for end in (0..bytes.len()).step_by(4096).chain([1, 7, 8, 63, 64, 100, bytes.len() - 1]) {
        let cut = files.write("cut.girih", &bytes[..end]);
        for args in [&["verify", &cut][..], &["spmm", &cut, "--random", "2"]] {
            limited(args, b"").fails(3, &["cut.girih"]);
        }
        limited(&["spmm", &cut, "--random", "2", "--mmap"], b"").fails(3, &["cut.girih"]);
    }
    let longer = files.write("long.girih", [&bytes[..], b"\0"].concat());
    limited(&["verify", &longer], b"").fails(3, &["long.girih", "appended"]);
}

/// The library's tests flip every byte in memory; this shows that the command says so, too.
#[test]
fn a_plan_with_a_flipped_byte_is_refused() {
    let files = Files::new();
    let (a, plan) = (files.write("a.mtx", SMALL), files.name("a.girih"));
    girih(["plan", &a, "-o", &plan, "--format", "csr"]).ok();
    let bytes = fs::read(&plan).unwrap();
    // All of the prologue, and a stride through the rest that is coprime to every alignment.
    for at in (0..64).step_by(5).chain((64..bytes.len()).step_by(509)) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let path = files.write("flipped.girih", damaged);
        let run = girih(["verify", &path]);
        assert_eq!(run.code, Some(3), "byte {at}: {run:?}");
        run.fails(3, &["flipped.girih"]);
    }
}

#[test]
fn a_file_that_only_begins_like_a_plan_is_refused() {
    let files = Files::new();
    let path = files.write("a.mtx", b"\xe7GRH\r\n\x1a\n and then nothing");
    limited(&["spmm", &path, "--random", "2"], b"").fails(3, &["a.mtx", "plan"]);
}
