//! How long new values take in each format, from device memory and from the host, beside one copy of as many.
//!
//! ```text
//! cargo run --release -p girih-backend-cuda --example new_values
//! ```
//!
//! Libraries are found where the loader finds them, and in the folders that `GIRIH_CUDA_LIBRARIES` names.

#![expect(clippy::print_stdout, reason = "it is a program that prints what it measures")]

use std::error::Error;
use std::time::Instant;

use cudarc::driver::CudaStream;
use girih_backend::{PreparedSpmm, SpmmBackend};
use girih_backend_cuda::{CudaBackend, CudaOptions, DeviceMatrix, LibrarySearch, Strides, cudarc};
use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
use girih_generate::{fem_3d, rmat};
use girih_planner::Plan;

const FORMATS: [FormatSpec; 5] = [
    FormatSpec::Csr,
    FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 },
    FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
];

fn main() -> Result<(), Box<dyn Error>> {
    let folders = std::env::var_os("GIRIH_CUDA_LIBRARIES").unwrap_or_default();
    let folders = std::env::split_paths(&folders).filter(|path| !path.as_os_str().is_empty());
    let libraries = folders.fold(LibrarySearch::new(), LibrarySearch::folder);
    let backend = CudaBackend::new(CudaOptions::default().libraries(libraries));
    println!("{}\n", backend.capabilities()?.device);
    println!(
        "| matrix | entries | format | first, ms | from the device, us | a copy there | ratio \
         | from the host | a copy from there | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    measure(&backend, "fem:40", &fem_3d(40, 40, 40, 3, 1)?, &FORMATS)?;
    // Blocks of a graph are mostly empty, and more than memory holds.
    measure(&backend, "rmat:16x16", &rmat(16, 16, 1)?, &FORMATS[..4])
}

/// One matrix, in some formats.
fn measure(
    backend: &CudaBackend,
    name: &str,
    a: &Csr<f32>,
    formats: &[FormatSpec],
) -> Result<(), Box<dyn Error>> {
    let stream = backend.context()?.new_stream()?;
    let host: Vec<f32> = (0..a.nnz()).map(|i| (i % 1000) as f32).collect();
    let values = stream.clone_htod(&host)?;
    let mut copy = stream.clone_htod(&host)?;
    for &spec in formats {
        let layout = RowLayout::natural(a.nrows(), spec.window_rows())?;
        let plan = Plan::from_tiling(Tiling::from_csr(a, spec, layout)?);
        let mut prepared = backend.prepare_device(&plan)?;
        let matrix = DeviceMatrix::new(&values, Strides::row_major(a.nnz(), 1))?;
        let start = Instant::now();
        prepared.refresh_device(&stream, &matrix)?;
        stream.synchronize()?;
        let first = 1e3 * start.elapsed().as_secs_f64();
        let of_device = time(&stream, &mut || Ok(prepared.refresh_device(&stream, &matrix)?))?;
        let copied = time(&stream, &mut || Ok(stream.memcpy_dtod(&values, &mut copy)?))?;
        let of_host = time(&stream, &mut || Ok(prepared.refresh(host[..].into())?))?;
        let sent = time(&stream, &mut || Ok(stream.memcpy_htod(&host, &mut copy)?))?;
        println!(
            "| {name} | {} | {spec} | {first:.1} | {of_device:.1} | {copied:.1} | {:.2} \
             | {of_host:.1} | {sent:.1} | {:.2} |",
            a.nnz(),
            of_device / copied,
            of_host / sent
        );
    }
    Ok(())
}

/// The least microseconds of a run, of ten that the device is waited for together.
fn time(
    stream: &CudaStream,
    run: &mut dyn FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let mut least = f64::MAX;
    run()?;
    for _ in 0..30 {
        stream.synchronize()?;
        let start = Instant::now();
        for _ in 0..10 {
            run()?;
        }
        stream.synchronize()?;
        least = least.min(1e5 * start.elapsed().as_secs_f64());
    }
    Ok(least)
}
