//! The words of `GLOSSARY.md`: retired ones stay out, and a type name means one thing in its crate.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Retired words as they stand in text, in lower case, and what to write instead.
///
/// A word matches where no letter, digit or `_` stands on either side, in any case.
const RETIRED_IN_PROSE: &[(&str, &str)] = &[
    ("room", "cache budget, scratch, workspace, memory or space"),
    ("rooms", "cache budgets, scratch, workspaces, memory or space"),
    ("so many", "the parameter's name"),
    ("asked", "requested, or what was read"),
    ("told", "reported, passed or given"),
    ("pays", "saves time, with what it saves"),
    ("worth", "what is gained, as a number or a comparison"),
    ("foretold", "predicted"),
    ("suited", "fits, supports, or the condition itself"),
    ("leaps", "is scattered"),
    ("meets", "uses or touches"),
    ("as far as", "the condition itself"),
    ("that there is room for", "that fit"),
];

/// Retired names in code, and what to call it instead. Case counts.
const RETIRED_NAMES: &[(&str, &str)] = &[
    ("Room", "CacheBudget or Scratch"),
    ("Rooms", "CacheBudget or Scratch"),
    ("Fetches", "CacheMisses"),
    ("ASK", "a prefetch parameter"),
    ("Relaid", "CsrLayout"),
    ("OnRow", "RowKernel"),
    ("Routine", "LaunchSequence"),
    ("gathering", "with_b_permutation, unless the instruction is meant"),
    ("gathers", "b_permutation, unless the instruction is meant"),
];

/// Uses of a retired word that stay: the end of a path, a part of the line, and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "planner/src/file/explanation/order.rs",
        "gathers",
        "a field's name in plan files of version 3",
    ),
    ("planner/src/file/v2/", "gathers", "a field's name in plan files of version 2"),
    ("planner/tests/plan_file/golden.rs", "asked for, rcm", "a text in an old plan file"),
    ("cli/src/commands/plan.rs", "gathers: ", "a key of the JSON report"),
    ("cli/src/commands/inspect/plan.rs", "gathers", "a key of the JSON report"),
    ("backend-cpu/src/prepare/saved/numbers.rs", "leaps", "a number's name in saved layouts"),
    (
        "backend-cuda/src/kernels/sm90_wcsr_spmm/work.rs",
        "gathering",
        "pieces are collected in blocks",
    ),
    ("reorder/src/window/", "gathers", "a window collects columns, as in the paper"),
];

/// Type names that modules may repeat within a crate, and why.
const REPEATABLE: &[(&str, &str)] = &[
    ("Error", "the associated type of `TryFrom` and `FromStr`"),
    ("Value", "the associated type of visitors"),
    ("Item", "the associated type of iterators"),
    ("IntoIter", "the associated type of `IntoIterator`"),
    ("Output", "the associated type of operators"),
    ("Target", "the associated type of `Deref`"),
    ("Err", "the associated type of `FromStr`"),
    ("Sealed", "the private supertrait that closes a public trait"),
];

/// Crates whose names and prose are checked. All of `crates/` belong here.
const CRATES: &[&str] = &[
    "planner",
    "backend",
    "backend-cpu",
    "backend-cuda",
    "cuda-libraries",
    "girih",
    "testkit",
    "formats",
    "generate",
    "reorder",
    "simd",
    "cli",
    "measure",
    "parallel",
];

/// Folders whose folders have names of their own, and why.
const WORLDS: &[(&str, &str)] = &[(
    "crates/backend-cuda/src/kernels",
    "each kernel has a configuration, work and parameters, and its folder says whose they are",
)];

/// Documents at the root that are checked.
const DOCUMENTS: &[&str] =
    &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files below a path with one of these extensions, sorted.
fn files(path: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extensions));
        } else if path.extension().is_some_and(|e| extensions.iter().any(|&known| e == known)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Whether `line` holds `word` with neither a letter, a digit nor `_` on either side.
fn holds(line: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(is_word)
            && !line[at + word.len()..].chars().next().is_some_and(is_word)
    })
}

/// The retired words of a line, each with its replacement.
fn retired(line: &str) -> Vec<(&'static str, &'static str)> {
    let lower = line.to_lowercase();
    let prose = RETIRED_IN_PROSE.iter().filter(|(word, _)| holds(&lower, word));
    let names = RETIRED_NAMES.iter().filter(|(name, _)| holds(line, name));
    prose.chain(names).copied().collect()
}

/// A line for each use of a retired word below some paths.
fn complaints(paths: &[PathBuf]) -> String {
    let mut complaints = String::new();
    for file in paths.iter().flat_map(|path| files(path, &["rs", "cu", "cuh", "md"])) {
        let name = file.to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let is_allowed =
                |(place, part, _): &(&str, &str, &str)| name.contains(place) && line.contains(part);
            if ALLOWED.iter().any(is_allowed) {
                continue;
            }
            for (word, instead) in retired(line) {
                writeln!(complaints, "{name}:{}: `{word}`: write {instead}", number + 1).unwrap();
            }
        }
    }
    complaints
}

/// The name of a type that a line of Rust defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().peekable();
    if words.peek().is_some_and(|word| word.starts_with("pub")) {
        let _ = words.next();
        // `pub(in path)` has a space.
        words.next_if(|word| word.ends_with(')'));
    }
    words.next_if_eq(&"unsafe");
    let keyword = words.next()?;
    if !matches!(keyword, "struct" | "enum" | "trait" | "union") {
        return None;
    }
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some(&name[..end]).filter(|name| name.starts_with(char::is_uppercase))
}

/// The part of the path to a file in which its names are single: a folder of one of the [`WORLDS`], or nothing.
fn world(file: &Path) -> PathBuf {
    let of = |(folder, _): &(&str, &str)| {
        let within = file.strip_prefix(root().join(folder)).ok()?;
        let first = within.components().next().filter(|_| within.components().count() > 1)?;
        Some(Path::new(folder).join(first))
    };
    WORLDS.iter().find_map(of).unwrap_or_default()
}

/// A line for each type name that several places of a crate define.
fn doubles(source: &Path) -> String {
    let mut places: BTreeMap<(PathBuf, String), Vec<String>> = BTreeMap::new();
    for file in files(source, &["rs"]) {
        let text = fs::read_to_string(&file).unwrap();
        // What tests define is theirs.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        if file.ends_with("tests.rs") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = defined(line) {
                let place = format!("{}:{}", file.display(), number + 1);
                places.entry((world(&file), name.to_owned())).or_default().push(place);
            }
        }
    }
    places.retain(|(_, name), at| {
        at.len() > 1 && !REPEATABLE.iter().any(|(repeatable, _)| repeatable == name)
    });
    places.iter().fold(String::new(), |mut text, ((_, name), at)| {
        writeln!(text, "{name}: {}", at.join(", ")).unwrap();
        text
    })
}

#[test]
fn retired_words_stay_out() {
    let sources = CRATES.iter().map(|name| root().join("crates").join(name).join("src"));
    let documents = DOCUMENTS.iter().map(|name| root().join(name));
    let complaints = complaints(&sources.chain(documents).collect::<Vec<_>>());
    assert!(complaints.is_empty(), "see GLOSSARY.md\n{complaints}");
}

#[test]
fn a_type_name_means_one_thing_in_its_crate() {
    for name in CRATES {
        let doubles = doubles(&root().join("crates").join(name).join("src"));
        assert!(doubles.is_empty(), "crates/{name} defines types twice\n{doubles}");
    }
}

#[test]
fn every_crate_is_checked() {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    for name in crates.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        assert!(CRATES.contains(&&*name), "crates/{name} is not checked");
    }
}

#[test]
fn a_kernel_has_names_of_its_own() {
    let kernels = root().join("crates/backend-cuda/src/kernels");
    let of = |file: &str| world(&kernels.join(file));
    assert_eq!(of("csr_spmm/params.rs"), of("csr_spmm/layout/words.rs"));
    assert_ne!(of("csr_spmm/params.rs"), of("sm90_bmat_spmm/params.rs"));
    assert_eq!(of("check.rs"), world(&kernels.with_file_name("backend.rs")));
}

#[test]
fn words_are_found_whole() {
    assert!(holds("there is room for two", "room") && !holds("a mushroom", "room"));
    assert!(!holds("headroom_of", "room") && holds("`room`", "room"));
    assert_eq!(retired("It PAYS.").len(), 1);
    assert_eq!(defined("pub(crate) struct Task<'a> {"), Some("Task"));
    assert_eq!(defined("    pub enum Stage {"), Some("Stage"));
    assert_eq!(defined("type Error = FormatError;"), None);
}
