//! Every example runs, and its own checks hold.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder in which Cargo puts examples: beside that of this test.
fn built() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    this.ancestors().nth(2).unwrap().join("examples")
}

#[test]
fn every_example_runs_and_finds_what_it_should() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut names: Vec<_> = std::fs::read_dir(sources)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    names.sort();
    assert!(names.len() >= 9, "{names:?}");
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
