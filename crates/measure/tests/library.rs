//! The example that times the library runs, over matrices small enough for a test.

use std::path::Path;
use std::process::Command;

#[test]
fn every_section_checks_its_outputs_and_reports() {
    let this = std::env::current_exe().unwrap();
    let program = this.ancestors().nth(2).unwrap().join("examples").join("library");
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(
        program.exists(),
        "{} is not built: `cargo test -p girih-measure` builds examples, `--test library` alone does not",
        program.display()
    );
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/library/quick.toml");
    let output = Command::new(&program).arg("--suite").arg(suite).output().unwrap();
    let [out, errors] = [&output.stdout, &output.stderr].map(|s| String::from_utf8_lossy(s));
    assert!(output.status.success(), "{out}{errors}");
    for section in ["jobs:", "transposed:", "refresh:", "pairs:", "sddmm:", "batches:", "summary:"]
    {
        assert!(out.contains(section), "no {section} in {out}");
    }
    // Each matrix of the suite is there, in each section that names it.
    assert!(!out.contains("left out"), "{out}");
    let rows = |name: &str| out.lines().filter(|line| line.contains(name)).count();
    assert_eq!((rows("| fem:4 |"), rows("| rmat:7x4 |"), rows("| grid:5 |")), (5, 8, 2), "{out}");
}

#[test]
fn what_is_no_section_is_refused() {
    let this = std::env::current_exe().unwrap();
    let program = this.ancestors().nth(2).unwrap().join("examples").join("library");
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    let output = Command::new(program).arg("nothing").output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no section \"nothing\""));
}
