//! Running the real binary, and small files to run it on.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use half::f16;
use serde_json::Value;
use tempfile::TempDir;

/// What a run of `girih` left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    /// Standard output as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// Standard output as exactly one JSON object.
    pub(crate) fn json(&self) -> Value {
        let value: Value = serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|e| panic!("not one JSON value ({e}): {self:?}"));
        assert!(value.is_object(), "{value}");
        value
    }

    /// The run, if it succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Checks the exit code, that the message holds every part, and that nothing panicked.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in: {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

/// `girih` with these arguments and nothing on standard input.
pub(crate) fn girih<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Run {
    with_stdin(args, b"")
}

/// `girih` with these arguments and `input` on standard input.
pub(crate) fn with_stdin<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>, input: &[u8]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_girih"));
    command.args(args);
    run(command, input)
}

/// `girih` with these arguments, two threads, and an address space of `mib` MiB.
#[cfg(target_os = "linux")]
pub(crate) fn within<S: AsRef<OsStr>>(mib: usize, args: impl IntoIterator<Item = S>) -> Run {
    let mut command = Command::new("/bin/sh");
    let limited = format!("ulimit -v {} && exec \"$0\" \"$@\"", mib << 10);
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_girih")]).args(args);
    command.env("RAYON_NUM_THREADS", "2");
    run(command, b"")
}

/// Runs a command to its end.
pub(crate) fn run(mut command: Command, input: &[u8]) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // The command may end without reading all of it.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    });
    Run {
        code: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A directory for one test.
pub(crate) struct Files(TempDir);

impl Files {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The path of `name`, as text.
    pub(crate) fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A file with these contents; gives its path as text.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), contents).unwrap();
        self.name(name)
    }

    /// Names of all files there are.
    pub(crate) fn listing(&self) -> Vec<String> {
        listing(self.0.path())
    }
}

pub(crate) fn listing(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The 3×4 matrix the tests compute by hand, with a comment and a blank line:
///
/// ```text
/// [ 1   .  2   . ]
/// [ .   .  .   . ]
/// [ .  -3  .  0.5]
/// ```
pub(crate) const SMALL: &str = "%%MatrixMarket matrix coordinate real general\n% by hand\n\n3 4 4\n\
    1 1 1\n1 3 2\n3 2 -3\n3 4 0.5\n";

/// SMALL as rows.
pub(crate) const SMALL_DENSE: [[f64; 4]; 3] =
    [[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, -3.0, 0.0, 0.5]];

/// A matrix with entries around its diagonal and some far from it, ragged at every block size.
pub(crate) fn scattered(nrows: u64, ncols: u64) -> String {
    let mut lines = String::new();
    let mut nnz = 0;
    for i in 0..nrows {
        let mut cols: Vec<u64> = (0..6)
            .map(|d| (i * ncols / nrows + d * d) % ncols)
            .chain([i * i * 7 % ncols])
            .collect();
        cols.sort_unstable();
        cols.dedup();
        // Every seventh row is empty.
        for (d, col) in cols.into_iter().enumerate().filter(|_| i % 7 != 3) {
            let value = (i * 31 + d as u64 * 17) % 101;
            writeln!(lines, "{} {} {}e-2", i + 1, col + 1, value as i64 - 50).unwrap();
            nnz += 1;
        }
    }
    format!("%%MatrixMarket matrix coordinate real general\n{nrows} {ncols} {nnz}\n{lines}")
}

/// A `.npy` file of f64.
pub(crate) fn npy_f64(
    rows: usize,
    cols: usize,
    fortran: bool,
    at: impl Fn(usize, usize) -> f64,
) -> Vec<u8> {
    npy("<f8", rows, cols, fortran, |i, j| at(i, j).to_le_bytes().to_vec())
}

/// A `.npy` file of f32.
pub(crate) fn npy_f32(
    rows: usize,
    cols: usize,
    fortran: bool,
    at: impl Fn(usize, usize) -> f32,
) -> Vec<u8> {
    npy("<f4", rows, cols, fortran, |i, j| at(i, j).to_le_bytes().to_vec())
}

fn npy(
    descr: &str,
    rows: usize,
    cols: usize,
    fortran: bool,
    at: impl Fn(usize, usize) -> Vec<u8>,
) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header =
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({rows}, {cols}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    if fortran {
        bytes.extend(
            (0..cols).flat_map(|j| (0..rows).map(move |i| (i, j))).flat_map(|(i, j)| at(i, j)),
        );
    } else {
        bytes.extend(
            (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))).flat_map(|(i, j)| at(i, j)),
        );
    }
    bytes
}

/// The text of a `.npy` header, and its data as f64.
pub(crate) fn read_npy(path: &Path) -> (String, Vec<f64>) {
    let bytes = fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert_eq!((10 + len) % 64, 0, "data must be aligned");
    let header = String::from_utf8(bytes[10..10 + len].to_vec()).unwrap();
    let data = &bytes[10 + len..];
    let values = if header.contains("<f4") {
        data.chunks(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect()
    } else if header.contains("<f2") {
        data.chunks(2).map(|b| f16::from_le_bytes(b.try_into().unwrap()).to_f64()).collect()
    } else {
        data.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
    };
    (header, values)
}

/// Every format with the options that name it.
pub(crate) const FORMATS: [(&str, &[&str]); 7] = [
    ("csr", &["--format", "csr"]),
    ("bcsr", &["--format", "bcsr", "--block", "8x4"]),
    ("wcsr", &["--format", "wcsr", "--window", "16"]),
    ("blocked-ell", &["--format", "blocked-ell", "--block", "8"]),
    ("bmat", &["--format", "bmat"]),
    ("two-four", &["--format", "two-four", "--prune-two-four"]),
    ("hybrid", &["--format", "hybrid", "--window", "8"]),
];
