//! Every example runs, and its own checks hold; and programs that were long stay short.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder in which Cargo puts examples: beside that of this test.
fn built() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    this.ancestors().nth(2).unwrap().join("examples")
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Lines of code as the table in the examples' README counts them.
fn code_lines(name: &str) -> usize {
    let text = fs::read_to_string(sources().join(name).with_extension("rs")).unwrap();
    let lines = text.lines().map(str::trim);
    lines.filter(|l| !l.is_empty() && !l.starts_with("//") && !l.starts_with("#![")).count()
}

#[test]
fn programs_take_half_the_lines_that_they_took() {
    let table = fs::read_to_string(sources().join("README.md")).unwrap();
    for (name, then) in [
        ("block_cg", 121),
        ("graph_convolution", 93),
        ("time_steps", 55),
        ("own_backend", 90),
        ("offline", 53),
    ] {
        let now = code_lines(name);
        assert!(2 * now <= then, "{name} has {now} lines of code, and had {then}");
        let row = format!("`{name}` | {then} | {now} |");
        assert!(table.contains(&row), "README.md has no row that ends with {row}");
    }
}

#[test]
fn every_example_runs_and_finds_what_it_should() {
    let mut names: Vec<_> = fs::read_dir(sources())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    names.sort();
    assert!(names.len() >= 15, "{names:?}");
    for name in names {
        let program = built().join(name.file_stem().unwrap());
        let program = program.with_extension(std::env::consts::EXE_EXTENSION);
        assert!(
            program.exists(),
            "{} is not built: `cargo test -p girih` builds examples, `--test examples` alone does not",
            program.display()
        );
        let output = Command::new(&program).output().unwrap();
        let [out, errors] = [&output.stdout, &output.stderr].map(|s| String::from_utf8_lossy(s));
        assert!(output.status.success(), "{}: {out}{errors}", program.display());
        assert!(!out.is_empty(), "{} says nothing", program.display());
    }
}
