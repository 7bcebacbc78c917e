//! What the system refuses, and what others leave in the way.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;

use girih::Csr;
use girih::formats::io::{self, ReadOptions, Source};
use girih_generate::uniform;

use crate::common::{Files, SMALL, girih, run, within};

/// A `girih` command, to be run by a shell after `before`.
fn after(before: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    let script = format!("{before} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_girih")]).env("RAYON_NUM_THREADS", "2");
    command
}

#[test]
fn a_refusal_of_memory_is_one_line_and_exit_code_1() {
    let files = Files::new();
    let a = files.name("a.mtx");
    io::write(&a, &uniform::<f32>(60_000, 60_000, 16, 1).unwrap()).unwrap();
    let (plan, c) = (files.name("a.girih"), files.name("c.npy"));
    girih(["plan", &a, "-o", &plan, "--format", "csr"]).ok();
    let p = files.name("b.girih");
    let mut refused = 0;
    for args in [
        &["inspect", &a][..],
        &["plan", &a, "-o", &p],
        &["plan", &a, "-o", &p, "--reorder", "rcm", "--format", "csr"],
        &["spmm", &plan, "--random", "64", "-o", &c],
        &["reorder", &a, "--by", "window"],
        &["convert", &a, "-o", &files.name("b.npz")],
    ] {
        // From what the program starts with to what the command may get by with.
        for mib in [48, 60, 72, 96] {
            let mut command = after(&format!("ulimit -v {}", mib << 10));
            // The standard library would print a backtrace, which takes memory.
            command.args(args).env("RUST_BACKTRACE", "1");
            let run = run(command, b"");
            let Some(code) = run.code else { panic!("{args:?} within {mib} MiB: {run:?}") };
            // The system's loader says by 127 that it cannot load the program.
            assert!([0, 1, 127].contains(&code), "{args:?} within {mib} MiB: {run:?}");
            if code == 1 {
                refused += 1;
                let lines: Vec<&str> =
                    run.stderr.lines().filter(|line| !line.starts_with("note: ")).collect();
                assert!(matches!(lines[..], [line] if line.starts_with("girih: ")), "{run:?}");
                assert!(!run.stderr.contains("bug"), "{run:?}");
            }
        }
    }
    assert!(refused >= 8, "only {refused} commands were refused memory");
    let left: Vec<String> =
        files.listing().into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(left, [""; 0]);
    let json = within(60, ["spmm", &plan, "--random", "512", "--json"]);
    assert_eq!(json.code, Some(1), "{json:?}");
    assert_eq!(json.json()["exit_code"], 1);
}

#[test]
fn a_limit_of_file_sizes_is_an_error_that_leaves_nothing() {
    let files = Files::new();
    let a = files.name("a.mtx");
    io::write(&a, &uniform::<f32>(20_000, 20_000, 8, 1).unwrap()).unwrap();
    let before = files.listing();
    for (name, command) in [("b.girih", "plan"), ("b.npz", "convert")] {
        let mut limited = after("ulimit -f 64");
        limited.args([command, &a, "-o", &files.name(name)]);
        run(limited, b"").fails(1, &[name, "too large"]);
        assert_eq!(files.listing(), before);
    }
}

#[test]
fn more_threads_than_make_sense_are_refused() {
    for (threads, code) in [("65535", 2), ("3", 0), ("none", 0)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_girih"));
        command.arg("backends").env("RAYON_NUM_THREADS", threads);
        let run = run(command, b"");
        assert_eq!(run.code, Some(code), "{run:?}");
        assert_eq!(run.stderr.contains("RAYON_NUM_THREADS is 65535"), code == 2);
    }
}

#[test]
fn devices_and_suites_are_regular_files_of_a_size() {
    let files = Files::new();
    let a = files.write("a.mtx", SMALL);
    let p = files.name("a.girih");
    girih(["plan", &a, "-o", &p, "--device", "/dev/zero"]).fails(3, &["not a regular file"]);
    girih(["bench", "--suite", "/dev/zero"]).fails(3, &["not a regular file"]);
    let large = files.write("large.toml", vec![b' '; (1 << 20) + 1]);
    girih(["plan", &a, "-o", &p, "--device", &large]).fails(3, &["larger than a device file"]);
    girih(["bench", "--suite", &large]).fails(3, &["larger than a suite"]);
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for args in [&["help"][..], &["--help"], &["plan", "--help"], &["--version"]] {
        let full = File::create("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_girih"));
        let output = command.args(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("standard output"));
    }
}

#[test]
fn pipes_are_written_directly() {
    let files = Files::new();
    let a = files.name("a.mtx");
    let matrix = uniform::<f64>(5_000, 400, 30, 1).unwrap();
    io::write(&a, &matrix).unwrap();
    // Nothing may be written anywhere else: there is no folder for temporary files.
    let through_pipe = |name: &str, args: &[&str]| {
        let pipe = files.name(name);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut command = Command::new(env!("CARGO_BIN_EXE_girih"));
        command.args(args).args(["-o", &pipe]).env("TMPDIR", "/nonexistent");
        let mut bytes = Vec::new();
        thread::scope(|scope| {
            let run = scope.spawn(move || run(command, b""));
            File::open(&pipe).unwrap().read_to_end(&mut bytes).unwrap();
            run.join().unwrap().ok();
        });
        assert!(fs::metadata(&pipe).unwrap().len() == 0);
        bytes
    };
    for name in ["b.mtx", "b.mtx.gz", "b.npz"] {
        let bytes = through_pipe(name, &["convert", &a]);
        let again: Csr<f64> =
            io::read(Source::reader(&bytes[..]), &ReadOptions::default()).unwrap();
        assert_eq!(again, matrix, "{name}");
    }
    let plan = files.name("b.girih");
    girih(["plan", &a, "-o", &plan]).ok();
    assert_eq!(through_pipe("p.girih", &["plan", &a]), fs::read(&plan).unwrap());
    let product = ["spmm", &plan, "--random", "3"];
    girih(product.iter().chain(&["-o", &files.name("c.npy")])).ok();
    assert_eq!(through_pipe("p.npy", &product), fs::read(files.path("c.npy")).unwrap());
}

#[test]
fn names_cannot_steer_a_terminal() {
    let files = Files::new();
    let name = "a\x1b[31m\r.mtx";
    let a = files.write(name, SMALL);
    let missing = files.name("b\x1b]0;title\x07.mtx");
    let plain = |text: &str| assert!(!text.contains(['\x1b', '\x07', '\r']), "{text:?}");
    let shown = girih(["inspect", &a]).ok();
    plain(shown.text());
    assert!(shown.text().contains("a\\x1b[31m\\x0d.mtx"), "{}", shown.text());
    for args in [&["inspect", &missing][..], &["inspect", &a, &missing], &["\x1b[31mplan"]] {
        let run = girih(args);
        assert_ne!(run.code, Some(0));
        plain(&run.stderr);
    }
    let mut unread = after("true");
    unread.args(["plan", &a, "-o", &files.name("\x1b[2J/p.girih")]);
    plain(&run(unread, b"").fails(1, &["\\x1b[2J"]).stderr);
}

#[test]
fn what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not() {
    let files = Files::new();
    let a = files.write("a.mtx", SMALL);
    let temporary = |files: &Files| -> Vec<String> {
        files.listing().into_iter().filter(|name| name.starts_with(".girih-")).collect()
    };
    let begin = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_girih"));
        command
            .arg("demo")
            .env("TMPDIR", files.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let before = temporary(&files);
        let child = command.spawn().unwrap();
        let begun =
            |name: &String| !before.contains(name) && files.path(name).join(".owner").exists();
        while !temporary(&files).iter().any(begun) {
            thread::yield_now();
        }
        child
    };
    let plan = || {
        girih(["plan", &a, "-o", &files.name("a.girih")]).ok();
    };
    let mut killed = begin();
    killed.kill().unwrap();
    killed.wait().unwrap();
    let of_killed = temporary(&files);
    assert_eq!(of_killed.len(), 1);
    // Whichever comes first removes it: the one that goes on, or the one that ends.
    let mut living = begin();
    plan();
    let left = temporary(&files);
    assert!(left.len() == 1 && left != of_killed, "{left:?}");
    assert_eq!(living.try_wait().unwrap(), None, "the demo was to run longer");
    living.kill().unwrap();
    living.wait().unwrap();
    plan();
    assert_eq!(temporary(&files), [""; 0]);
}
