//! Times the CPU backend on generated problems and compares each with its memory floor.
//!
//! ```text
//! cargo run --release -p girih-backend-cpu --example bench_spmm [CLASS] [FORMAT]
//! ```
//!
//! `CLASS` is `uniform`, `rmat`, `fem`, `blocks` or `laplacian`, by default all; `FORMAT` one of
//! `csr`, `bcsr`, `wcsr`, `blocked-ell` and `bmat`, by default `csr`. The floor is the time to read A
//! (as CSR) and B and to write C once, at the bandwidth that a triad over 96 MiB reaches in this
//! very run. Times are minima; products are verified at n = 8.

#![expect(clippy::print_stdout, reason = "a benchmark")]

use std::error::Error;
use std::time::{Duration, Instant};

use girih_backend::{Product, Rounding, SpmmBackend, verify};
use girih_backend_cpu::CpuBackend;
use girih_formats::generate::Problem;
use girih_formats::{DType, FormatKind, FormatSpec, RowLayout, Tiling};
use girih_planner::Plan;
use ndarray::Array2;
use rayon::prelude::*;

const WIDTHS: [usize; 5] = [1, 8, 32, 128, 512];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let class = args.next();
    let kind = args.next().map_or(Ok(FormatKind::Csr), |name| name.parse())?;
    let spec = match kind {
        FormatKind::Csr => FormatSpec::Csr,
        FormatKind::Bcsr => FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
        FormatKind::Wcsr => FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
        FormatKind::BlockedEll => FormatSpec::BlockedEll { block_size: 64 },
        FormatKind::BMat => FormatSpec::BMat { pattern_only: false },
        FormatKind::TwoFour => return Err("no generated problem is 2:4".into()),
    };
    let backend = CpuBackend::new();
    let bandwidth = triad();
    let device = backend.capabilities()?.device;
    println!("{device}; triad {:.1} GB/s; {spec}, f32", bandwidth / 1e9);
    for name in Problem::ALL {
        if class.as_ref().is_some_and(|class| class != name.name()) {
            continue;
        }
        let a = name.generate::<f32>()?;
        let layout = RowLayout::natural(a.nrows(), spec.window_rows())?;
        let plan = Plan::from_tiling(Tiling::from_csr(&a, spec, layout)?);
        let start = Instant::now();
        let prepared = backend.prepare(&plan)?;
        let prepare = start.elapsed().as_secs_f64() * 1e3;
        println!(
            "{name}: {}×{}, {} entries, prepared in {prepare:.2} ms",
            a.nrows(),
            a.ncols(),
            a.nnz()
        );
        for n in WIDTHS {
            let b = Array2::from_shape_fn((a.ncols(), n), |(i, j)| {
                ((i * 31 + j * 17) % 127) as f32 / 64.0 - 1.0
            });
            let mut c = Array2::<f32>::zeros((a.nrows(), n));
            let mut run = || prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into());
            run()?;
            let best = minimum(&mut run)?;
            if n == 8 {
                let product = Product { alpha: 1.0, b: b.view().into(), added: None };
                let rounding = Rounding::exact_inputs(DType::F32);
                let verdict = verify(&a, &plan, &product, &c.view().into(), rounding)?;
                assert!(verdict.passed(), "{name}: {verdict:?}");
            }
            let bytes = a.bytes() as f64 + 4.0 * (b.len() + c.len()) as f64;
            let gflops = 2.0 * a.nnz() as f64 * n as f64 / best / 1e9;
            let floor = bytes / bandwidth;
            println!(
                "  n = {n:3}: {:8.3} ms {gflops:7.1} GF/s {:6.1} GB/s {:5.1} % of the floor's rate",
                best * 1e3,
                bytes / best / 1e9,
                100.0 * floor / best,
            );
        }
    }
    Ok(())
}

/// The least time of at least 5 runs over at least half a second, in seconds.
fn minimum<E>(mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let (begin, mut best, mut runs) = (Instant::now(), f64::INFINITY, 0);
    while runs < 5 || begin.elapsed() < Duration::from_millis(500) {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
        runs += 1;
    }
    Ok(best)
}

/// Bytes per second of `a = b + s·c` over 96 MiB, on all threads.
fn triad() -> f64 {
    const LEN: usize = 8 << 20;
    let (mut a, b, c) = (vec![0.0f32; LEN], vec![1.0f32; LEN], vec![2.0f32; LEN]);
    let run = || {
        let chunks =
            a.par_chunks_mut(1 << 16).zip(b.par_chunks(1 << 16)).zip(c.par_chunks(1 << 16));
        chunks.for_each(|((a, b), c)| {
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                *a = 3.0f32 * c + b;
            }
        });
        Ok::<(), std::convert::Infallible>(())
    };
    let Ok(best) = minimum(run);
    3.0 * 4.0 * LEN as f64 / best
}
