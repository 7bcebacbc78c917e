//! Times conversions on request, for a benchmark that interleaves them with another program's.
//!
//! Reads one command per line on standard input and answers each with one JSON object:
//! - `matrix NAME`: generates a matrix and keeps it;
//! - `dump DIR`: writes its arrays as little-endian `row_ptr`, `col_idx` and `values` files;
//! - `time THREADS OPERATION`: runs once, building and dropping the result;
//! - `result DIR OPERATION`: writes the arrays that the operation builds.
//!
//! Operations: `bcsr R C`, `blocked-ell B`, `wcsr W PAD`, `bmat`, `csc`, `sprs-csc`, `stats`.

#![expect(clippy::print_stdout, reason = "a program that answers on standard output")]

use std::error::Error;
use std::fs;
use std::io::{self, BufRead};
use std::path::Path;
use std::time::Instant;

use bytemuck::Pod;
use girih_formats::stats::MatrixStats;
use girih_formats::{BMat, Bcsr, BlockedEll, Csr, RowLayout, Wcsr};
use sprs::CsMatI;

type Answer = Result<String, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut matrix = Csr::empty(0, 0)?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            ["matrix", name] => generate(name).map(|a| {
                matrix = a;
                let (m, k, nnz) = (matrix.nrows(), matrix.ncols(), matrix.nnz());
                format!(r#"{{"nrows":{m},"ncols":{k},"nnz":{nnz}}}"#)
            }),
            ["dump", dir] => dump(Path::new(dir), &matrix),
            ["time", threads, ref operation @ ..] => time(&matrix, threads, operation),
            ["result", dir, ref operation @ ..] => result(&matrix, Path::new(dir), operation),
            _ => Err(format!("unknown command: {line}").into()),
        };
        println!("{}", answer.unwrap_or_else(|error| format!(r#"{{"error":"{error}"}}"#)));
    }
    Ok(())
}

fn generate(name: &str) -> Result<Csr<f32>, Box<dyn Error>> {
    Ok(match name.split_once('-') {
        Some(("fem", size)) => girih_generate::fem_3d(32, 32, size.parse()?, 3, 1)?,
        Some(("block", percent)) => {
            girih_generate::block_sparse(18944, 3584, 64, percent.parse::<f64>()? / 100.0, 1)?
        }
        Some(("uniform", nrows)) => girih_generate::uniform(nrows.parse()?, nrows.parse()?, 16, 1)?,
        Some(("rmat", scale)) => girih_generate::rmat(scale.parse()?, 16, 1)?,
        Some(("laplacian", side)) => girih_generate::laplacian_5pt(side.parse()?, side.parse()?)?,
        _ => return Err(format!("unknown matrix: {name}").into()),
    })
}

fn time(a: &Csr<f32>, threads: &str, operation: &[&str]) -> Answer {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build()?;
    let sprs = match operation {
        ["sprs-csc"] => {
            let row_ptr = a.row_ptr().iter().map(|&p| p as u32).collect();
            let (m, k, idx) = (a.nrows(), a.ncols(), a.col_idx().to_vec());
            Some(CsMatI::<f32, u32>::new((m, k), row_ptr, idx, a.values().to_vec()))
        }
        _ => None,
    };
    let natural = |window_rows| RowLayout::natural(a.nrows(), window_rows);
    let start = Instant::now();
    pool.install(|| -> Result<(), Box<dyn Error + Send + Sync>> {
        match operation {
            ["bcsr", r, c] => drop(Bcsr::from_csr(a, natural(r.parse()?)?, c.parse()?)?),
            ["blocked-ell", size] => drop(BlockedEll::from_csr(a, natural(size.parse()?)?)?),
            ["wcsr", w, pad] => drop(Wcsr::from_csr(a, natural(w.parse()?)?, pad.parse()?)?),
            ["bmat"] => drop(BMat::from_csr(a, natural(16)?, false)?),
            ["csc"] => drop(a.transpose()),
            ["sprs-csc"] => drop(sprs.as_ref().map(CsMatI::to_csc)),
            ["stats"] => drop(MatrixStats::of(a.pattern())),
            _ => return Err(format!("unknown operation: {operation:?}").into()),
        }
        Ok(())
    })
    .map_err(|error| error as Box<dyn Error>)?;
    Ok(format!(r#"{{"seconds":{}}}"#, start.elapsed().as_secs_f64()))
}

fn result(a: &Csr<f32>, dir: &Path, operation: &[&str]) -> Answer {
    match operation {
        ["bcsr", r, c] => {
            let t = Bcsr::from_csr(a, RowLayout::natural(a.nrows(), r.parse()?)?, c.parse()?)?;
            write(dir, "row_ptr", t.block_row_ptr())?;
            write(dir, "col_idx", t.block_col_idx())?;
            write(dir, "values", t.values())?;
            Ok("{}".into())
        }
        ["csc"] => dump(dir, &a.transpose()),
        _ => Err(format!("no result for {operation:?}").into()),
    }
}

fn dump(dir: &Path, a: &Csr<f32>) -> Answer {
    write(dir, "row_ptr", a.row_ptr())?;
    write(dir, "col_idx", a.col_idx())?;
    write(dir, "values", a.values())?;
    Ok("{}".into())
}

fn write<T: Pod>(dir: &Path, name: &str, array: &[T]) -> io::Result<()> {
    fs::write(dir.join(name), bytemuck::cast_slice(array))
}
