//! Plants faults in the sources that are modelled: a text of one is replaced by another. Each must show, so
//! that the models are known to find what they look for.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Where the sources are.
const SOURCES: &str = "../../crates/backend-cpu/src/exec";

/// The module that a changed source becomes, the source, and what is replaced by what.
type Planted = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const PLANTED: [Planted; 6] = [
    // Two threads read the same index before either writes the next one.
    (
        "taken_in_two_steps",
        "shares",
        &[(
            "self.next.fetch_add(grain, Ordering::Relaxed);",
            "self.next.load(Ordering::Relaxed);\n        self.next.store(start + grain, Ordering::Relaxed);",
        )],
    ),
    // An item and its index are taken one after the other.
    (
        "index_without_item",
        "shares",
        &[
            (
                "let (indices, items) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);\n",
                "",
            ),
            (
                "Some((indices.next()?, items.next()?))",
                "let index = self.0.lock().unwrap_or_else(PoisonError::into_inner).0.next()?;\n            \
                 Some((index, self.0.lock().unwrap_or_else(PoisonError::into_inner).1.next()?))",
            ),
        ],
    ),
    // Shares of others are left undone.
    (
        "own_share_alone",
        "shares",
        &[("first.iter().chain(others)", "first.iter().take(1).chain(&others[..0])")],
    ),
    // No fault: what a thread that is done has written is seen by who waits for it.
    (
        "released",
        "shares",
        &[
            ("self.0.fetch_sub(1, Ordering::Relaxed);", "self.0.fetch_sub(1, Ordering::AcqRel);"),
            ("self.0.load(Ordering::Relaxed) > 0", "self.0.load(Ordering::Acquire) > 0"),
        ],
    ),
    // As `released`, but for the release.
    (
        "acquired_alone",
        "shares",
        &[("self.0.load(Ordering::Relaxed) > 0", "self.0.load(Ordering::Acquire) > 0")],
    ),
    // A user waits for what is lent, perhaps to itself.
    (
        "waiting_for_the_lock",
        "lending",
        &[
            ("match one.try_lock() {", "match one.lock() {"),
            ("Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),\n", ""),
            (
                "Err(TryLockError::WouldBlock) => None,",
                "Err(poisoned) => Some(poisoned.into_inner()),",
            ),
            ("MutexGuard, TryLockError", "MutexGuard"),
        ],
    ),
];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
    for (module, source, changes) in PLANTED {
        let path = Path::new(SOURCES).join(source).with_extension("rs");
        println!("cargo::rerun-if-changed={}", path.display());
        let mut text = fs::read_to_string(&path).expect("the source is there");
        for (from, to) in changes {
            assert_eq!(
                text.matches(from).count(),
                1,
                "{module}: {} has changed: {from}",
                path.display()
            );
            text = text.replace(from, to);
        }
        // What the module says of itself is no text that can be included.
        let text: String =
            text.split_inclusive('\n').filter(|line| !line.starts_with("//!")).collect();
        fs::write(out.join(module).with_extension("rs"), text).expect("the folder takes files");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
