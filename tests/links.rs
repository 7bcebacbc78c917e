//! The documents of the repository: every link and every path that they name exists, and every crate has
//! those that it is published with.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Paths that documents name and that are no files of this repository: the document's end, the path's
/// beginning, and why.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("ptx-emu/README.md", "examples/matmul", "of fast.cu"),
    ("ptx-emu/README.md", "prototype/lcf/lcf.cuh", "of ThunderKittens"),
    ("ptx-emu/README.md", "spmm_kernels.cuh", "of Voltrix"),
    ("bench/peers/README.md", "bench/peers/data/", "generated"),
];

/// Extensions of the names that count as files of this repository, also without a folder.
const EXTENSIONS: &[&str] = &["rs", "md", "toml", "py", "sh", "cu", "cuh", "yml"];

/// Most lines of the map.
const MAP_LINES: usize = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// All files below a folder but those of hidden folders and of build folders.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_symlink() || !path.is_dir() {
            found.push(path);
        } else if name != "target" && !name.starts_with('.') {
            walk(&path, found);
        }
    }
}

/// The lines of a document with their numbers, without blocks of code.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        if !is_fence && !in_code {
            lines.push((number + 1, line));
        }
        in_code ^= is_fence;
    }
    lines
}

/// The texts between backticks.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The targets of a line's links.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// Whether a text between backticks names a file or folder of this repository.
fn is_path(span: &str, folders: &BTreeSet<String>) -> bool {
    let is_path_char = |c: char| c.is_ascii_alphanumeric() || "_-./*".contains(c);
    let stem = span.rsplit('/').next().unwrap_or_default();
    let is_file = stem
        .rsplit_once('.')
        .is_some_and(|(name, extension)| !name.is_empty() && EXTENSIONS.contains(&extension));
    let begins_here = span.split_once('/').is_some_and(|(first, _)| folders.contains(first));
    !span.is_empty() && span.chars().all(is_path_char) && (is_file || begins_here)
}

/// Whether a path exists below a folder. A `*` stands for anything from there on.
fn exists(folder: &Path, path: &str) -> bool {
    let certain = match path.split_once('*') {
        Some((before, _)) => before.rsplit_once('/').map_or("", |(folders, _)| folders),
        None => path,
    };
    folder.join(certain).exists()
}

/// The paths of a document that do not exist, a line for each.
fn missing(document: &Path, names: &BTreeSet<String>, folders: &BTreeSet<String>) -> String {
    let mut complaints = String::new();
    let here = document.parent().unwrap();
    let root = root();
    let shown = document.strip_prefix(&root).unwrap_or(document).display().to_string();
    let text = fs::read_to_string(document).unwrap();
    for (number, line) in prose(&text) {
        for target in link_targets(line) {
            let path = target.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains(':') && !here.join(path).exists() {
                writeln!(complaints, "{shown}:{number}: link to {target}").unwrap();
            }
        }
        // A path begins here, in the crate or its sources, at the root, or in a folder that the line named before it.
        let in_crate = here.ancestors().find(|folder| folder.join("Cargo.toml").exists());
        let in_crate = in_crate.unwrap_or(&root);
        let mut bases =
            vec![here.to_owned(), in_crate.to_owned(), in_crate.join("src"), root.clone()];
        for span in code_spans(line).filter(|span| is_path(span, folders)) {
            let is_elsewhere = ELSEWHERE
                .iter()
                .any(|(end, path, _)| shown.ends_with(end) && span.starts_with(path));
            let is_name = !span.contains('/') && names.contains(span);
            let found = bases.iter().find(|base| exists(base, span));
            if let Some(base) = found {
                let path = base.join(span);
                bases.extend(path.is_dir().then_some(path));
            } else if !is_name && !is_elsewhere {
                writeln!(complaints, "{shown}:{number}: `{span}`").unwrap();
            }
        }
    }
    complaints
}

#[test]
fn links_and_paths_of_documents_resolve() {
    let root = root();
    let mut files = Vec::new();
    walk(&root, &mut files);
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let names: BTreeSet<_> = files.iter().map(name).collect();
    let mut folders: BTreeSet<_> = files
        .iter()
        .filter_map(|file| match file.strip_prefix(&root).unwrap().components().next() {
            Some(Component::Normal(first)) => Some(first.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect();
    folders.insert(".ci".to_owned());
    folders.insert("src".to_owned());
    // A link to a document is judged where the document stands.
    let documents = files
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "md") && !file.is_symlink());
    let complaints: String =
        documents.map(|document| missing(document, &names, &folders)).collect();
    assert!(complaints.is_empty(), "documents name what does not exist\n{complaints}");
}

#[test]
fn the_map_is_short() {
    let lines = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap().lines().count();
    assert!(
        lines <= MAP_LINES,
        "ARCHITECTURE.md has {lines} lines; decisions go to docs/decisions"
    );
}

#[test]
fn every_decision_has_its_paragraphs_and_a_line_in_the_index() {
    let folder = root().join("docs/decisions");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut files = Vec::new();
    walk(&folder, &mut files);
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if name == "README.md" {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        for paragraph in ["**Decision.**", "**Why.**", "**Measured.**", "**Costs.**"] {
            assert!(text.contains(paragraph), "{name} has no paragraph {paragraph}");
        }
        let date = name.get(..10).unwrap_or_default();
        assert!(name.as_bytes().get(10) == Some(&b'-'), "{name} begins with no date");
        let title = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        let line = format!("- {date}: [{title}]({name})");
        assert!(index.lines().any(|found| found == line), "the index lacks the line {line}");
    }
}

#[test]
fn every_crate_has_what_it_is_published_with() {
    let mut manifests = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        manifests.push(entry.unwrap().path().join("Cargo.toml"));
    }
    assert!(manifests.len() > 5, "crates/ holds the crates");
    for manifest in manifests {
        let text = fs::read_to_string(&manifest).unwrap();
        let folder = manifest.parent().unwrap();
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            let path = folder.join(file);
            assert!(path.is_file(), "{} is missing", path.display());
        }
        for key in ["description", "license", "readme", "rust-version", "keywords", "categories"] {
            let has_key = text.lines().any(|line| {
                line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.']))
            });
            assert!(has_key, "{} has no {key}", manifest.display());
        }
    }
}

#[test]
fn paths_are_told_from_other_code() {
    let folders = BTreeSet::from(["crates".to_owned()]);
    for path in ["crates/formats/", "stats.rs", "crates/*/tests", "bench/regret.py"] {
        assert!(is_path(path, &folders), "{path}");
    }
    for other in ["f16/bf16", "Plan::save", "crates/formats and", "0.95", "A.mtx", ""] {
        assert!(!is_path(other, &folders), "{other}");
    }
    assert_eq!(link_targets("a [b](c.md#d), [e](f)").collect::<Vec<_>>(), ["c.md#d", "f"]);
    assert_eq!(code_spans("a `b` c `d`").collect::<Vec<_>>(), ["b", "d"]);
    assert_eq!(prose("a\n```sh\nb\n```\nc"), [(1, "a"), (5, "c")]);
    assert!(exists(&root(), "crates/*/src") && !exists(&root(), "crate/*/src"));
}
