//! The inputs of the fuzz targets, run as ordinary tests: seeds, and what a target found.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

#[path = "../fuzz/src/mod.rs"]
mod targets;

fn seeds(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target);
    let mut seeds: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    seeds.sort();
    seeds
}

#[test]
fn every_seed_is_run() {
    for (name, run) in targets::TARGETS {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for seed in &seeds {
            let input = fs::read(seed).unwrap();
            let panicked = std::panic::catch_unwind(|| run(&input)).is_err();
            assert!(!panicked, "{name} panics for {}", seed.display());
        }
        writeln!(std::io::stdout(), "{name}: {} seeds", seeds.len()).unwrap();
    }
}

#[test]
fn every_target_is_listed_and_has_a_folder() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let names = |folder: &str| {
        let entries = fs::read_dir(fuzz.join(folder)).unwrap().map(|entry| entry.unwrap());
        let stem = |entry: fs::DirEntry| entry.path().file_stem().unwrap().to_owned();
        let mut names: Vec<_> = entries.map(stem).collect();
        names.sort();
        names
    };
    let listed = targets::TARGETS.map(|(name, _)| std::ffi::OsString::from(name));
    assert_eq!(names("fuzz_targets"), listed);
    assert_eq!(names("seeds"), listed);
}
