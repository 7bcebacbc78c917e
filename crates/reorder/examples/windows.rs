//! What the window and block orderings make of matrices, as tables in Markdown.
//!
//! ```sh
//! cargo run --release -p girih-reorder --example windows -- [--peer FILE] [--no-blocks] A.mtx.gz ...
//! ```
//!
//! `--peer` names a file that `bench/ordering/partitioner.py` has written: another partitioner's
//! packed columns and seconds for the same matrices. Times are of one run on all threads; run both
//! on a quiet machine.

#![expect(clippy::print_stdout, reason = "prints tables")]

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use girih_formats::io::{ReadOptions, read};
use girih_formats::{Csr, CsrPattern, RowLayout};
use girih_reorder::metrics::window_counts;
use girih_reorder::{
    BlockOptions, Method, Permutation, Reordering, WindowOptions, blocks, simple, window,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Packed columns and seconds by window height and matrix.
type Peer = HashMap<(usize, String), (u64, f64)>;

const HEIGHTS: [usize; 2] = [64, 16];
const BLOCK_SIZES: [usize; 3] = [8, 16, 64];

fn main() -> Result<()> {
    let (mut peer, mut with_blocks, mut matrices) = (Peer::new(), true, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match &arg[..] {
            "--peer" => peer = read_peer(&args.next().ok_or("--peer needs a file")?)?,
            "--no-blocks" => with_blocks = false,
            _ => matrices.push(Matrix::read(PathBuf::from(arg))?),
        }
    }
    for height in HEIGHTS {
        windows(&matrices, height, &peer)?;
    }
    if with_blocks {
        block_fill(&matrices)?;
        bmat_tiles(&matrices)?;
    }
    Ok(())
}

struct Matrix {
    name: String,
    a: Csr<f32>,
    rcm: Reordering,
}

impl Matrix {
    fn read(path: PathBuf) -> Result<Self> {
        let name = name_of(&path);
        let a: Csr<f32> = read(path, &ReadOptions::default())?;
        let rcm = Method::Rcm.order(a.pattern())?;
        Ok(Self { name, a, rcm })
    }

    /// Rows and columns in random order, alike if the matrix is square.
    fn shuffled(&self) -> Result<Csr<f32>> {
        let rows = simple::random(self.a.nrows(), 5)?;
        if self.a.nrows() == self.a.ncols() {
            return Ok(rows.apply_symmetric(&self.a)?);
        }
        Ok(simple::random(self.a.ncols(), 6)?.apply_cols(&rows.apply_rows(&self.a)?)?)
    }
}

fn name_of(path: &Path) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    file.split(".mtx").next().unwrap_or_default().to_owned()
}

/// Lines of window height, name, packed columns and seconds, separated by tabs.
fn read_peer(path: &str) -> Result<Peer> {
    let mut peer = Peer::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let [height, name, packed, seconds] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("{path}: not four fields: {line}").into());
        };
        let found = (packed.parse()?, seconds.parse()?);
        peer.insert((height.parse()?, name.to_owned()), found);
    }
    Ok(peer)
}

fn packed(pattern: CsrPattern<'_>, rows: &RowLayout) -> Result<u64> {
    Ok(window_counts(pattern, rows, None, 1)?.into_iter().map(u64::from).sum())
}

/// Columns of ratios whose geometric mean closes a table.
#[derive(Default)]
struct Means(Vec<(f64, usize)>);

impl Means {
    /// A cell, counted in column `column`.
    fn cell(&mut self, column: usize, ratio: Option<f64>) -> String {
        let Some(ratio) = ratio else { return String::new() };
        self.0.resize(self.0.len().max(column + 1), (0.0, 0));
        self.0[column].0 += ratio.ln();
        self.0[column].1 += 1;
        format!("{ratio:.3}")
    }

    fn row(&self) -> String {
        let mean = |&(sum, n): &(f64, usize)| format!("{:.3} ({n})", (sum / n as f64).exp());
        self.0.iter().map(mean).collect::<Vec<_>>().join(" | ")
    }
}

fn windows(matrices: &[Matrix], height: usize, peer: &Peer) -> Result<()> {
    println!("\n## Windows of {height} rows: packed columns relative to natural\n");
    println!(
        "| matrix | nnz | packed, natural | RCM | window | window, from shuffled | mt-kahypar | windows | s | s, mt-kahypar |\n|---|---|---|---|---|---|---|---|---|---|"
    );
    let mut means = Means::default();
    for Matrix { name, a, rcm } in matrices {
        let options = WindowOptions::new(height);
        let start = Instant::now();
        let found = window(a.pattern(), &options)?;
        let seconds = start.elapsed().as_secs_f64();
        let natural = found.stats.natural as f64;
        let ratio = |packed: u64| Some(packed as f64 / natural);
        let by_rcm = packed(a.pattern(), &rcm.rows().with_window_rows(height)?)?;
        let matrix = Matrix { name: name.clone(), a: a.clone(), rcm: rcm.clone() };
        let shuffled = window(matrix.shuffled()?.pattern(), &options)?;
        let other = peer.get(&(height, name.clone()));
        let cells = [
            means.cell(0, ratio(by_rcm)),
            means.cell(1, ratio(found.stats.packed)),
            means.cell(2, ratio(shuffled.stats.packed)),
            means.cell(3, other.and_then(|other| ratio(other.0))),
            means.cell(4, Some(found.stats.n_windows as f64 / a.nrows().div_ceil(height) as f64)),
        ];
        let theirs = other.map_or_else(String::new, |other| format!("{:.2}", other.1));
        let (nnz, natural, cells) = (a.nnz(), found.stats.natural, cells.join(" | "));
        println!("| {name} | {nnz} | {natural} | {cells} | {seconds:.2} | {theirs} |");
    }
    println!("| geometric mean | | | {} | | |", means.row());
    Ok(())
}

fn block_fill(matrices: &[Matrix]) -> Result<()> {
    for size in BLOCK_SIZES {
        println!("\n## Fill of {size}×{size} blocks\n");
        println!(
            "| matrix | natural | RCM | rows dealt | rows and columns dealt | s |\n|---|---|---|---|---|---|"
        );
        let mut means = Means::default();
        for Matrix { name, a, rcm } in matrices {
            let start = Instant::now();
            let found = blocks(a.pattern(), &BlockOptions::new(size, size))?;
            let seconds = start.elapsed().as_secs_f64();
            let rows = rcm.rows().with_window_rows(size)?;
            let by_rcm = window_counts(a.pattern(), &rows, rcm.cols(), size as u32)?;
            let by_rcm = by_rcm.into_iter().map(u64::from).sum();
            let counts = [found.stats.natural, by_rcm, found.stats.rows_only, found.stats.blocks];
            let fill = |count: u64| a.nnz() as f64 / (count as f64 * (size * size) as f64);
            let cells: Vec<String> =
                (0..).zip(counts).map(|(i, count)| means.cell(i, Some(fill(count)))).collect();
            println!("| {name} | {} | {seconds:.2} |", cells.join(" | "));
        }
        println!("| geometric mean | {} | |", means.row());
    }
    Ok(())
}

fn bmat_tiles(matrices: &[Matrix]) -> Result<()> {
    println!("\n## Tiles of BMat (16×8) relative to natural\n");
    println!("| matrix | tiles, natural | RCM | window |\n|---|---|---|---|");
    let mut means = Means::default();
    for Matrix { name, a, rcm } in matrices {
        let tiles = |rows: &RowLayout| -> Result<u64> {
            let counts = window_counts(a.pattern(), rows, None, 1)?;
            Ok(counts.into_iter().map(|n| u64::from(n.div_ceil(8))).sum())
        };
        let natural = tiles(&Permutation::identity(a.nrows())?.to_row_layout(16)?)?;
        let by_rcm = tiles(&rcm.rows().with_window_rows(16)?)?;
        let dealt = tiles(&window(a.pattern(), &WindowOptions::new(16))?.layout)?;
        let ratio = |tiles: u64| Some(tiles as f64 / natural as f64);
        let cells = [means.cell(0, ratio(by_rcm)), means.cell(1, ratio(dealt))];
        println!("| {name} | {natural} | {} |", cells.join(" | "));
    }
    println!("| geometric mean | | {} |", means.row());
    Ok(())
}
