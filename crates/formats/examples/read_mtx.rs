//! Reads a matrix file a number of times and prints, for every time, the seconds it took; then the
//! shape and an order-sensitive checksum of the CSR arrays. `bench/peers/read_mtx.py` drives it.
//!
//! Usage: `read_mtx FILE [f64|f32] [REPEAT]`; with `-` as REPEAT it reads once for every line on
//! standard input, so that runs can be interleaved with those of another program.

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use girih_formats::io::{self, ReadOptions};
use girih_formats::{Csr, Real};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let file = args.get(1).ok_or("usage: read_mtx FILE [f64|f32] [REPEAT|-]")?;
    let dtype = args.get(2).map_or("f64", String::as_str);
    let repeat = args.get(3).map_or("1", String::as_str);
    match dtype {
        "f64" => run::<f64>(file, repeat),
        "f32" => run::<f32>(file, repeat),
        other => Err(format!("unknown value type {other}").into()),
    }
}

fn run<T: Real>(file: &str, repeat: &str) -> Result<(), Box<dyn Error>> {
    if repeat == "-" {
        for line in std::io::stdin().lock().lines() {
            line?;
            once::<T>(file)?;
        }
        return Ok(());
    }
    for _ in 0..repeat.parse()? {
        once::<T>(file)?;
    }
    Ok(())
}

fn once<T: Real>(file: &str) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let a: Csr<T> = io::read(file, &ReadOptions::default())?;
    let seconds = start.elapsed().as_secs_f64();
    let sums = checksums(&a);
    let (m, k, nnz) = (a.nrows(), a.ncols(), a.nnz());
    let mut out = std::io::stdout().lock();
    writeln!(out, "{seconds:.6} {m} {k} {nnz} {:.17e} {:.17e}", sums.0, sums.1)?;
    out.flush()?;
    Ok(())
}

/// Sum of (position mod 1021)·column and of (row mod 1021)·value, over all entries.
fn checksums<T: Real>(a: &Csr<T>) -> (f64, f64) {
    let (mut cols, mut values) = (0u64, 0.0);
    for i in 0..a.nrows() {
        for p in a.row_range(i) {
            cols += (p as u64 % 1021) * u64::from(a.col_idx()[p]);
            values += (i % 1021) as f64 * a.values()[p].to_f64();
        }
    }
    (cols as f64, values)
}
