//! `girih convert`: a matrix in another file format.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use girih::formats::DType;
use girih::formats::io as matrix_io;
use serde::Serialize;

use crate::args::{Json, ReadArgs};
use crate::error::{CliError, shown};
use crate::matrix::{Matrix, for_matrix};
use crate::progress::Progress;
use crate::report::Report;
use crate::source::Source;
use crate::{output, table, units};

/// Write a matrix in another file format
///
/// Symmetric matrices are written out in full, with duplicates added up. No digit is lost: values
/// are read and written as f64, or as f32 if that is what the file holds.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Matrix; - is standard input
    #[arg(value_name = "A")]
    source: PathBuf,
    /// File to write: its name ends in .mtx, .mtx.gz or .npz
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    read: ReadArgs,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Facts {
    nrows: usize,
    ncols: usize,
    nnz: usize,
    output: String,
    bytes: u64,
    read_seconds: f64,
    write_seconds: f64,
}

pub(crate) fn run(options: &Options, progress: &Progress) -> Result<Report, CliError> {
    let path = &options.output;
    if !is_writable_kind(path) {
        return Err(CliError::usage(format!(
            "{} does not say which format to write; name it .mtx, .mtx.gz or .npz",
            path.display()
        )));
    }
    let source = Source::matrix(&options.source)?;
    let start = Instant::now();
    let name = shown(source.path());
    let (csr, info) = source.read::<f64>(&options.read, progress)?;
    let matrix: Matrix = match info.dtype {
        Some(DType::F32) => csr.cast::<f32>().into(),
        _ => csr.into(),
    };
    let read = start.elapsed();

    progress.stage(format!("writing {}", path.display()));
    let start = Instant::now();
    let mut bytes = 0;
    output::create(path, |temporary| {
        let failed = || CliError::failed(format!("cannot write {}", path.display()));
        for_matrix!(&matrix, csr => matrix_io::write(temporary, csr))
            .map_err(|e| failed().because(e))?;
        bytes = fs::metadata(temporary).map_err(|e| failed().because(e))?.len();
        Ok(())
    })?;
    let write = start.elapsed();

    let (nrows, ncols) = matrix.dim();
    let facts = Facts {
        nrows,
        ncols,
        nnz: matrix.nnz(),
        output: path.display().to_string(),
        bytes,
        read_seconds: read.as_secs_f64(),
        write_seconds: write.as_secs_f64(),
    };
    let nnz = units::count(facts.nnz as u64);
    let table = table::facts([
        ("matrix", format!("{nrows} × {ncols}, {nnz} nonzeros")),
        ("read", format!("{name}, in {}", units::time(read))),
        (
            "written",
            format!("{}, {}, in {}", facts.output, units::bytes(bytes), units::time(write)),
        ),
    ]);
    Report::new(table, &facts)
}

/// Whether a file's name says one of the formats that are written.
fn is_writable_kind(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    [".mtx", ".mtx.gz", ".npz"].iter().any(|extension| name.ends_with(extension))
}
