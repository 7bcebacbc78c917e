//! How long products in f16 take whose C is of f16 too, beside the same products with a C of f32, in each format.
//!
//! ```text
//! cargo run --release -p girih-backend-cuda --example rounded
//! ```
//!
//! Libraries are found where the loader finds them, and in the folders that `GIRIH_CUDA_LIBRARIES` names. Every C of f16
//! is compared with the one of f32, rounded.

#![expect(clippy::print_stdout, reason = "it is a program that prints what it measures")]

use std::error::Error;
use std::time::Instant;

use cudarc::driver::CudaStream;
use girih_backend::SpmmBackend;
use girih_backend_cuda::{
    CudaBackend, CudaOptions, DeviceEpilogue, DeviceMatrix, DeviceMatrixMut, LibrarySearch,
    Strides, bits_memory, cudarc, half_memory,
};
use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
use girih_generate::{fem_3d, laplacian_5pt, rmat, uniform};
use girih_planner::Plan;
use half::f16;

/// B is the next product's and C the last one's: products go over as many copies as a cache does not hold.
const BYTES: usize = 200 << 20;

const FORMATS: [FormatSpec; 4] = [
    FormatSpec::Csr,
    FormatSpec::Wcsr { window_rows: 16, pad_cols: 16 },
    FormatSpec::Wcsr { window_rows: 64, pad_cols: 16 },
    FormatSpec::BMat { pattern_only: false },
];

fn main() -> Result<(), Box<dyn Error>> {
    let folders = std::env::var_os("GIRIH_CUDA_LIBRARIES").unwrap_or_default();
    let folders = std::env::split_paths(&folders).filter(|path| !path.as_os_str().is_empty());
    let libraries = folders.fold(LibrarySearch::new(), LibrarySearch::folder);
    let backend = CudaBackend::new(CudaOptions::default().libraries(libraries));
    println!("{}\n", backend.capabilities()?.device);
    println!("| matrix | format | n | C of f32, us | C of f16, us | ratio |");
    println!("|---|---|---|---|---|---|");
    let matrices: [(&str, Csr<f32>); 4] = [
        ("laplacian:512x512", laplacian_5pt(512, 512)?),
        ("fem:30", fem_3d(30, 30, 30, 3, 1)?),
        ("rmat:16x16", rmat(16, 16, 1)?),
        ("uniform:4096x4096x200", uniform(4096, 4096, 200, 1)?),
    ];
    for (name, a) in &matrices {
        for spec in FORMATS {
            for n in [8, 32, 128, 512] {
                measure(&backend, name, &a.cast(), spec, n)?;
            }
        }
    }
    Ok(())
}

/// One matrix in one format, with `n` columns.
fn measure(
    backend: &CudaBackend,
    name: &str,
    a: &Csr<f16>,
    spec: FormatSpec,
    n: usize,
) -> Result<(), Box<dyn Error>> {
    let (m, k) = (a.nrows(), a.ncols());
    let stream = backend.context()?.new_stream()?;
    let layout = RowLayout::natural(m, spec.window_rows())?;
    let plan = Plan::from_tiling(Tiling::from_csr(a, spec, layout)?);
    let prepared = backend.prepare_device(&plan)?;
    let copies = (BYTES / (2 * n * (m + k))).clamp(2, 64);
    let value = |i: usize| f16::from_f32((i % 17) as f32 / 8.0 - 1.0);
    let host: Vec<u16> = (0..k * n).map(|i| value(i).to_bits()).collect();
    let of_b = Strides::row_major(k, n);
    let of_c = Strides::row_major(m, n);
    let (mut b, mut wide, mut narrow) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..copies {
        b.push(half_memory::<f16>(stream.clone_htod(&host)?));
        wide.push(stream.alloc_zeros::<f32>(m * n)?);
        narrow.push(half_memory::<f16>(stream.alloc_zeros::<u16>(m * n)?));
    }
    let mut at = 0;
    let of_f32 = time(&stream, &mut || {
        at = (at + 1) % copies;
        let mut c = DeviceMatrixMut::new(&mut wide[at], of_c)?;
        Ok(prepared.execute_device(&stream, 1.0, &DeviceMatrix::new(&b[at], of_b)?, 0.0, &mut c)?)
    })?;
    let of_f16 = time(&stream, &mut || {
        at = (at + 1) % copies;
        let (b, mut c) =
            (DeviceMatrix::new(&b[at], of_b)?, DeviceMatrixMut::new(&mut narrow[at], of_c)?);
        let none = DeviceEpilogue::new();
        Ok(prepared.execute_device_rounded(&stream, 1.0, &b, 0.0, &mut c, &none)?)
    })?;
    let (wide, narrow) = (stream.clone_dtoh(&wide[0])?, bits_memory(narrow.swap_remove(0)));
    let narrow = stream.clone_dtoh(&narrow)?;
    stream.synchronize()?;
    let mut pairs = wide.iter().zip(narrow).map(|(&wide, bits)| (wide, f16::from_bits(bits)));
    if let Some((wide, narrow)) = pairs.find(|&(wide, narrow)| f16::from_f32(wide) != narrow) {
        return Err(format!("{name}, {spec}, n = {n}: {narrow} is not {wide}, rounded").into());
    }
    println!("| {name} | {spec} | {n} | {of_f32:.1} | {of_f16:.1} | {:.2} |", of_f32 / of_f16);
    Ok(())
}

/// The least microseconds of a product, of those that the device is waited for together.
fn time(
    stream: &CudaStream,
    run: &mut dyn FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    const TOGETHER: u32 = 50;
    let mut least = f64::MAX;
    for _ in 0..12 {
        stream.synchronize()?;
        let start = Instant::now();
        for _ in 0..TOGETHER {
            run()?;
        }
        stream.synchronize()?;
        least = least.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(TOGETHER));
    }
    Ok(least)
}
