//! Times orderings on request, for a benchmark that interleaves them with another program's.
//!
//! Reads one command per line on standard input and answers each with one JSON object:
//! - `matrix NAME [SEED]`: generates a matrix, or reads the file of that name, and shuffles rows and
//!   columns alike if a seed is given;
//! - `dump DIR`: writes its `row_ptr` and `col_idx` as little-endian files;
//! - `time THREADS METHOD`: orders once; `sprs-rcm` is sprs's, on the calling thread;
//! - `effect METHOD`: bandwidth, profile and packed columns of 64 rows, before and after, of rows and
//!   columns ordered alike.

#![expect(clippy::print_stdout, reason = "a program that answers on standard output")]

use std::error::Error;
use std::fs;
use std::io::{self, BufRead};
use std::path::Path;
use std::time::Instant;

use girih_formats::Csr;
use girih_formats::io::{ReadOptions, read};
use girih_reorder::metrics::{self, TileMetrics};
use girih_reorder::{Method, Permutation, Reordering, simple};
use sprs::CsMatI;
use sprs::linalg::reverse_cuthill_mckee;

type Answer = Result<String, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut matrix = Csr::empty(0, 0)?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            ["matrix", name] => open(name, None).map(|a| keep(&mut matrix, a)),
            ["matrix", name, seed] => open(name, Some(seed)).map(|a| keep(&mut matrix, a)),
            ["dump", dir] => dump(Path::new(dir), &matrix),
            ["time", threads, method] => time(&matrix, threads, method),
            ["effect", method] => effect(&matrix, method),
            _ => Err(format!("unknown command: {line}").into()),
        };
        println!("{}", answer.unwrap_or_else(|error| format!(r#"{{"error":"{error}"}}"#)));
    }
    Ok(())
}

fn open(name: &str, seed: Option<&str>) -> Result<Csr<f32>, Box<dyn Error>> {
    let a = match name.split_once('-') {
        Some(("fem", size)) => girih_generate::fem_3d(32, 32, size.parse()?, 3, 1)?,
        Some(("laplacian", side)) => girih_generate::laplacian_5pt(side.parse()?, side.parse()?)?,
        _ => read(name, &ReadOptions::default())?,
    };
    match seed {
        None => Ok(a),
        Some(seed) if a.nrows() == a.ncols() => {
            Ok(simple::random(a.nrows(), seed.parse()?)?.apply_symmetric(&a)?)
        }
        Some(seed) => Ok(simple::random(a.nrows(), seed.parse()?)?.apply_rows(&a)?),
    }
}

fn keep(matrix: &mut Csr<f32>, a: Csr<f32>) -> String {
    *matrix = a;
    let (m, k, nnz) = (matrix.nrows(), matrix.ncols(), matrix.nnz());
    format!(r#"{{"nrows":{m},"ncols":{k},"nnz":{nnz}}}"#)
}

fn dump(dir: &Path, a: &Csr<f32>) -> Answer {
    fs::write(dir.join("row_ptr"), bytemuck::cast_slice(a.row_ptr()))?;
    fs::write(dir.join("col_idx"), bytemuck::cast_slice(a.col_idx()))?;
    Ok("{}".into())
}

fn time(a: &Csr<f32>, threads: &str, method: &str) -> Answer {
    if method == "sprs-rcm" {
        let a = for_sprs(a);
        let start = Instant::now();
        drop(reverse_cuthill_mckee(a.view()));
        return Ok(format!(r#"{{"seconds":{}}}"#, start.elapsed().as_secs_f64()));
    }
    let method: Method = method.parse()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build()?;
    let start = Instant::now();
    drop(pool.install(|| method.order(a.pattern()))?);
    Ok(format!(r#"{{"seconds":{}}}"#, start.elapsed().as_secs_f64()))
}

/// What an ordering does: sprs's, by the same metrics as the own ones.
fn effect(a: &Csr<f32>, method: &str) -> Answer {
    let ordering = if method == "sprs-rcm" {
        let found = reverse_cuthill_mckee(for_sprs(a).view());
        // The row that comes first, the row that comes second, and so on.
        let order: Vec<u32> = (0..a.nrows()).map(|i| found.perm.at(i) as u32).collect();
        let rows = Permutation::try_from_order(&order)?;
        Reordering::new(&rows, Some(rows.clone()))
    } else {
        method.parse::<Method>()?.order(a.pattern())?
    };
    let rows = ordering.row_permutation();
    let cols = match ordering.cols() {
        Some(cols) => cols.clone(),
        None if a.nrows() == a.ncols() => rows.clone(),
        None => Permutation::identity(a.ncols())?,
    };
    let effect = metrics::effect(a.pattern(), &rows, &cols)?;
    let packed = |ordering| -> Result<u64, Box<dyn Error>> {
        Ok(TileMetrics::of(a.pattern(), ordering)?.windows[2].packed_cols)
    };
    let (before, after) = (packed(None)?, packed(Some(&ordering))?);
    Ok(format!(
        r#"{{"bandwidth":[{},{}],"profile":[{},{}],"packed":[{before},{after}]}}"#,
        effect.before.bandwidth,
        effect.after.bandwidth,
        effect.before.profile,
        effect.after.profile
    ))
}

/// The matrix as sprs holds it.
fn for_sprs(a: &Csr<f32>) -> CsMatI<f32, u32> {
    let row_ptr = a.row_ptr().iter().map(|&p| p as u32).collect();
    CsMatI::new((a.nrows(), a.ncols()), row_ptr, a.col_idx().to_vec(), a.values().to_vec())
}
