//! `girih convert`: a matrix in another file format.

use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

use girih::formats::io as matrix_io;
use girih::formats::{Complex, DType};
use girih_measure::units;
use serde::Serialize;

use crate::args::ConvertArgs;
use crate::error::{CliError, shown};
use crate::input::matrix::{Matrix, for_matrix};
use crate::input::source::Source;
use crate::output::progress::Progress;
use crate::output::report::Report;
use crate::output::{file, table};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct ConvertReport {
    nrows: usize,
    ncols: usize,
    nnz: usize,
    output: String,
    bytes: u64,
    read_seconds: f64,
    write_seconds: f64,
}

pub(crate) fn run(args: &ConvertArgs, progress: &Progress) -> Result<Report, CliError> {
    let path = &args.output;
    if !is_writable_kind(path) {
        return Err(CliError::usage(format!(
            "{} does not say which format to write; name it .mtx, .mtx.gz or .npz",
            path.display()
        )));
    }
    let source = Source::matrix(&args.source)?;
    let start = Instant::now();
    let name = shown(source.path());
    let (matrix, info) = source.read_either::<f64, Complex<f64>, Matrix>(&args.read, progress)?;
    let matrix = match (info.dtype, matrix) {
        (Some(DType::F32), Matrix::F64(csr)) => csr.cast::<f32>().into(),
        (Some(DType::C32), Matrix::C64(csr)) => csr.cast_complex::<Complex<f32>>().into(),
        (_, matrix) => matrix,
    };
    let read = start.elapsed();

    progress.stage(format!("writing {}", path.display()));
    let start = Instant::now();
    let mut bytes = 0;
    file::create(path, |temporary| {
        let failed = || CliError::failed(format!("cannot write {}", path.display()));
        if temporary.is_streamed() {
            let to = File::create(temporary).map_err(|e| failed().because(e))?;
            bytes = for_matrix!(&matrix, csr => matrix_io::write_to(to, path, csr))
                .map_err(|e| failed().because(e))?;
            return Ok(());
        }
        for_matrix!(&matrix, csr => matrix_io::write(temporary, csr))
            .map_err(|e| failed().because(e))?;
        bytes = fs::metadata(temporary).map_err(|e| failed().because(e))?.len();
        Ok(())
    })?;
    let write = start.elapsed();

    let (nrows, ncols) = matrix.dim();
    let report = ConvertReport {
        nrows,
        ncols,
        nnz: matrix.nnz(),
        output: path.display().to_string(),
        bytes,
        read_seconds: read.as_secs_f64(),
        write_seconds: write.as_secs_f64(),
    };
    let nnz = units::count(report.nnz as u64);
    let table = table::pairs([
        ("matrix", format!("{nrows} × {ncols}, {nnz} nonzeros")),
        ("read", format!("{name}, in {}", units::time(read))),
        (
            "written",
            format!("{}, {}, in {}", report.output, units::bytes(bytes), units::time(write)),
        ),
    ]);
    Report::new(table, &report)
}

/// Whether a file's name says one of the formats that are written.
fn is_writable_kind(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    [".mtx", ".mtx.gz", ".npz"].iter().any(|extension| name.ends_with(extension))
}
