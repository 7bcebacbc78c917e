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

/// Random numbers of a seed (Marsaglia, Xorshift RNGs, 2003).
fn xorshift(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state as usize
}

/// A seed with a few bytes replaced, inserted, left out or repeated.
fn changed(seed: &[u8], state: &mut u64) -> Vec<u8> {
    let mut input = seed.to_vec();
    for _ in 0..1 + xorshift(state) % 8 {
        let (at, byte) = (xorshift(state) % (input.len() + 1), xorshift(state) as u8);
        match xorshift(state) % 4 {
            0 => input.insert(at, byte),
            1 => drop(input.drain(at..input.len().min(at + 1))),
            2 => input.extend_from_within(at..),
            _ => input[at..].iter_mut().take(1).for_each(|to| *to = byte),
        }
        input.truncate(4096);
    }
    input
}

/// Not what an engine finds that looks at coverage, but what any change of a target's code may break.
/// `GIRIH_SEEDS` makes as many inputs of each seed.
#[test]
fn changed_seeds_are_run() {
    let rounds = std::env::var("GIRIH_SEEDS").map_or(20, |n| n.parse().unwrap());
    for (name, run) in targets::TARGETS {
        let (mut state, mut runs) = (0x9e37_79b9_7f4a_7c15, 0);
        for seed in seeds(name) {
            let seed = fs::read(seed).unwrap();
            for _ in 0..rounds {
                let input = changed(&seed, &mut state);
                runs += 1;
                let panicked = std::panic::catch_unwind(|| run(&input)).is_err();
                assert!(!panicked, "{name} panics for {}", input.escape_ascii());
            }
        }
        writeln!(std::io::stdout(), "{name}: {runs} changed seeds").unwrap();
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
