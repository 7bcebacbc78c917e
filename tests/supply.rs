//! What is built and where it comes from, without a tool that must be installed: packages, their licences, and
//! what bincode may touch. `tools/supply/check.sh` asks cargo-deny besides, where it is installed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::{Table, Value};

/// The registry that every package comes from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Lock files: of the workspace, and of those beside it.
const LOCK_FILES: [&str; 5] = [
    "Cargo.lock",
    "fuzz/Cargo.lock",
    "tools/models/Cargo.lock",
    "tools/ptx-emu/Cargo.lock",
    "bench/peers/rust/Cargo.lock",
];

/// The files that may name bincode: the header of a plan file, nothing else.
const BINCODE: [&str; 3] = [
    "crates/planner/src/file/mod.rs",
    "crates/planner/src/file/v3.rs",
    "crates/planner/src/file/wire.rs",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn read_toml(path: &str) -> Table {
    fs::read_to_string(root().join(path)).unwrap().parse().unwrap()
}

/// The files below a folder that end with `.rs` or `.toml`, with paths from the root.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
            sources(&path, found);
        } else if name.ends_with(".rs") || name.ends_with(".toml") {
            found.push(path.strip_prefix(root()).unwrap().to_owned());
        }
    }
}

/// What is wrong with a package of a lock file.
fn fault_of_package(package: &Table) -> Option<String> {
    let text = |key| package.get(key).and_then(Value::as_str);
    let name = text("name")?;
    match (text("source"), text("checksum")) {
        // A package of this repository.
        (None, None) => None,
        (Some(REGISTRY), Some(sum)) if sum.len() == 64 => None,
        (source, _) => Some(format!("{name} comes from {source:?}, or has no checksum")),
    }
}

#[test]
fn packages_come_from_the_registry_with_their_checksums() {
    let mut found = Vec::new();
    for path in LOCK_FILES {
        let lock = read_toml(path);
        let packages = lock["package"].as_array().unwrap();
        assert!(packages.len() > 10, "{path}");
        let faults = packages.iter().filter_map(|package| fault_of_package(package.as_table()?));
        found.extend(faults.map(|fault| format!("{path}: {fault}")));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn packages_from_elsewhere_are_found() {
    let sum = "0".repeat(64);
    let fault = |source: &str, rest: &str| {
        let package = format!("name = \"a\"\nsource = \"{source}\"\n{rest}");
        fault_of_package(&package.parse().unwrap())
    };
    assert_eq!(fault(REGISTRY, &format!("checksum = \"{sum}\"")), None);
    assert!(fault(REGISTRY, "").is_some());
    assert!(fault("git+https://example.org/a", "").is_some());
    assert!(fault("registry+https://example.org", &format!("checksum = \"{sum}\"")).is_some());
}

/// Whether a licence's expression (SPDX) can be met by allowed licences alone. `/` is an old `OR`.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    either(&words, &mut at, allowed) && at == words.len()
}

/// A list of `OR`.
fn either(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut met = all(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all(words, at, allowed);
    }
    met
}

/// A list of `AND`, which binds more.
fn all(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut met = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at, allowed);
    }
    met
}

/// A licence, perhaps with an exception, or an expression in parentheses.
fn one(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let Some(&word) = words.get(*at) else { return false };
    *at += 1;
    if word == "(" {
        let met = either(words, at, allowed);
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return met && closed;
    }
    let mut licence = word.to_owned();
    if words.get(*at) == Some(&"WITH") {
        licence = format!("{word} WITH {}", words.get(*at + 1).unwrap_or(&""));
        *at += 2;
    }
    allowed.contains(&licence)
}

#[test]
fn licences_of_what_is_built_are_allowed() {
    let deny = read_toml("deny.toml");
    let allowed = deny["licenses"]["allow"].as_array().unwrap();
    let allowed: BTreeSet<String> =
        allowed.iter().map(|licence| licence.as_str().unwrap().to_owned()).collect();
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(rustc.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    // What is built on this machine has been fetched for that.
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--offline",
            "--locked",
            "--filter-platform",
            host,
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "{} packages", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !is_allowed(package["license"].as_str().unwrap_or(""), &allowed))
        // What is not published has no licence of its own.
        .filter(|package| package["publish"].as_array().is_none_or(|to| !to.is_empty()))
        .map(|package| format!("{} {}", package["name"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn expressions_of_licences_are_understood() {
    let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
    for met in [
        "MIT",
        "GPL-3.0 OR MIT",
        "Apache-2.0/MIT",
        "MIT AND Zlib",
        "(GPL-3.0 OR MIT) AND Zlib",
        "Apache-2.0 WITH LLVM-exception",
        "GPL-3.0 AND X OR MIT",
    ] {
        assert!(is_allowed(met, &allowed), "{met}");
    }
    for refused in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "Apache-2.0",
        "Apache-2.0 WITH Other-exception",
        "(MIT",
        "MIT)",
        "MIT Zlib",
        "(GPL-3.0 AND X) OR (MIT AND Y)",
    ] {
        assert!(!is_allowed(refused, &allowed), "{refused}");
    }
}

/// bincode is no longer maintained. It decodes the header of a plan file, under a limit and after a hash.
#[test]
fn bincode_stays_in_the_header_of_plan_files() {
    let mut files = Vec::new();
    for folder in ["crates", "tests", "fuzz", "bench", "tools"] {
        sources(&root().join(folder), &mut files);
    }
    let names_it =
        |path: &PathBuf| fs::read_to_string(root().join(path)).unwrap().contains("bincode");
    let found: BTreeSet<PathBuf> = files.into_iter().filter(names_it).collect();
    let this = ["crates/planner/Cargo.toml", "tests/supply.rs"];
    let wanted: BTreeSet<PathBuf> = BINCODE.iter().chain(&this).map(PathBuf::from).collect();
    assert_eq!(found, wanted);
    let workspace = read_toml("Cargo.toml");
    let bincode = &workspace["workspace"]["dependencies"]["bincode"];
    assert_eq!(bincode["version"].as_str(), Some("=2.0.1"));
    assert_eq!(bincode["default-features"].as_bool(), Some(false));
}
