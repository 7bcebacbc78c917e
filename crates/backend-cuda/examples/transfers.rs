//! How fast operands on the host reach the device and come back, against plain copies of the same memory.
//!
//! ```text
//! cargo run --release -p girih-backend-cuda --example transfers [-- ROWS N]
//! ```
//!
//! By default B and C have 156,317 rows (`wave_graph` has as many) and 128, then 1024 columns of f32. Libraries are
//! found where the loader finds them, and in the folders that `GIRIH_CUDA_LIBRARIES` names.

#![expect(clippy::print_stdout, reason = "it is a program that prints what it measures")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{CudaSlice, CudaStream, PinnedHostSlice};
use girih_backend::{PreparedSpmm, SpmmBackend};
use girih_backend_cuda::{
    CudaBackend, CudaOptions, CudaPrepared, DeviceMatrix, DeviceMatrixMut, LibrarySearch, Strides,
    cudarc,
};
use girih_formats::{FormatSpec, RowLayout, Tiling};
use girih_generate::banded;
use girih_planner::Plan;
use ndarray::{ArrayView2, ArrayViewMut2};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Each is measured this many times, and the median is printed.
const TIMES: usize = 9;

fn main() -> Outcome<()> {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let rows = given.first().copied().unwrap_or(156_317);
    let widths = given.get(1).map_or(vec![128, 1024], |&n| vec![n]);
    let folders = std::env::var_os("GIRIH_CUDA_LIBRARIES").unwrap_or_default();
    let folders = std::env::split_paths(&folders).filter(|path| !path.as_os_str().is_empty());
    let libraries = folders.fold(LibrarySearch::new(), LibrarySearch::folder);
    let backend = CudaBackend::new(CudaOptions::default().libraries(libraries));
    println!("{}", backend.capabilities()?.device);
    println!("{} threads copy", rayon::current_num_threads());
    for n in widths {
        measure(&backend, rows, n)?;
    }
    Ok(())
}

fn measure(backend: &CudaBackend, rows: usize, n: usize) -> Outcome<()> {
    let a = banded::<f32>(rows, rows, 6, 6, 1)?;
    let tiling = Tiling::from_csr(&a, FormatSpec::Csr, RowLayout::natural(rows, 1)?)?;
    let prepared = backend.prepare_device(&Plan::from_tiling(tiling))?;
    let context = backend.context()?;
    let stream = context.new_stream()?;
    let len = rows * n;
    let bytes = (len * size_of::<f32>()) as f64;
    println!("\n{rows} rows, {n} columns of f32: {:.1} MB each way", bytes / 1e6);

    let (b_pageable, mut c_pageable) = (vec![1.0f32; len], vec![0.0f32; len]);
    // SAFETY: both are written just below.
    let mut b_pinned = unsafe { context.alloc_pinned_with_flags::<f32>(len, 0) }?;
    // SAFETY: as above.
    let mut c_pinned = unsafe { context.alloc_pinned_with_flags::<f32>(len, 0) }?;
    b_pinned.as_mut_slice()?.fill(1.0);
    c_pinned.as_mut_slice()?.fill(0.0);
    let mut b_device = stream.alloc_zeros::<f32>(len)?;
    let mut c_device = stream.alloc_zeros::<f32>(len)?;

    let product = median(|| on_device(&prepared, &stream, &b_device, &mut c_device, (rows, n)))?;
    println!("  the product alone, on the device   {:8.3} ms", product * 1e3);

    let (mut plain, mut of) = ([[0.0; 2]; 2], ["pageable", "page-locked"].into_iter());
    for (at, pinned) in [false, true].into_iter().enumerate() {
        let name = of.next().unwrap_or_default();
        let up = median(|| match pinned {
            true => sent(&stream, b_pinned.as_slice()?, &mut b_device),
            false => sent(&stream, &b_pageable, &mut b_device),
        })?;
        let down = median(|| match pinned {
            true => fetched(&stream, &c_device, c_pinned.as_mut_slice()?),
            false => fetched(&stream, &c_device, &mut c_pageable),
        })?;
        plain[at] = [up, down];
        println!("  plain copies, {name:11}  up {}  down {}", rate(bytes, up), rate(bytes, down));
    }
    for (at, name) in ["pageable", "page-locked"].into_iter().enumerate() {
        let whole = match at {
            0 => median(|| host(&prepared, &b_pageable, &mut c_pageable, (rows, n)))?,
            _ => median(|| pinned_host(&prepared, &b_pinned, &mut c_pinned, (rows, n)))?,
        };
        let [up, down] = plain[at];
        let moving = (whole - product).max(f64::MIN_POSITIVE);
        println!(
            "  host product, {name:11}  {:8.3} ms: {} of both; plain copies and the product, one after \
             the other, take {:8.3} ms: {:.2} times as long; copies' rate with the product taken off is \
             {:.2} of plain",
            whole * 1e3,
            rate(2.0 * bytes, whole),
            (up + down + product) * 1e3,
            (up + down + product) / whole,
            (up + down) / moving,
        );
        // With α = 0 nothing is sent: what is left is scaling and fetching.
        let scaled = match at {
            0 => median(|| scaled(&prepared, &b_pageable, &mut c_pageable, (rows, n)))?,
            _ => median(|| scaled(&prepared, &b_pageable, c_pinned.as_mut_slice()?, (rows, n)))?,
        };
        println!(
            "    fetching alone   {:8.3} ms, {}: {:.2} of plain; sending and multiplying take {:.3} ms",
            scaled * 1e3,
            rate(bytes, scaled),
            down / scaled,
            (whole - scaled) * 1e3,
        );
    }
    let expected = expected(&prepared, &stream, &b_pageable, (rows, n))?;
    host(&prepared, &b_pageable, &mut c_pageable, (rows, n))?;
    pinned_host(&prepared, &b_pinned, &mut c_pinned, (rows, n))?;
    if expected != c_pageable || expected != c_pinned.as_slice()? {
        return Err("products of operands on the host have other bits".into());
    }
    println!("{}", prepared.lowering(n));
    Ok(())
}

/// The median of several times, in seconds, after one that does not count.
fn median(mut run: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    run()?;
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let begin = Instant::now();
        run()?;
        times.push(begin.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[TIMES / 2])
}

fn rate(bytes: f64, seconds: f64) -> String {
    format!("{:6.1} GB/s", bytes / seconds / 1e9)
}

fn sent(stream: &Arc<CudaStream>, from: &[f32], to: &mut CudaSlice<f32>) -> Outcome<()> {
    stream.memcpy_htod(from, to)?;
    Ok(stream.synchronize()?)
}

fn fetched(stream: &Arc<CudaStream>, from: &CudaSlice<f32>, to: &mut [f32]) -> Outcome<()> {
    stream.memcpy_dtoh(from, to)?;
    Ok(stream.synchronize()?)
}

fn on_device(
    prepared: &CudaPrepared,
    stream: &CudaStream,
    b: &CudaSlice<f32>,
    c: &mut CudaSlice<f32>,
    (rows, n): (usize, usize),
) -> Outcome<()> {
    let b = DeviceMatrix::new(b, Strides::row_major(rows, n))?;
    let mut c = DeviceMatrixMut::new(c, Strides::row_major(rows, n))?;
    prepared.execute_device(stream, 1.0, &b, 0.0, &mut c)?;
    Ok(stream.synchronize()?)
}

fn host(prepared: &CudaPrepared, b: &[f32], c: &mut [f32], dim: (usize, usize)) -> Outcome<()> {
    let (b, c) = (ArrayView2::from_shape(dim, b)?, ArrayViewMut2::from_shape(dim, c)?);
    Ok(prepared.execute(1.0, b.into(), 0.0, c.into())?)
}

fn pinned_host(
    prepared: &CudaPrepared,
    b: &PinnedHostSlice<f32>,
    c: &mut PinnedHostSlice<f32>,
    dim: (usize, usize),
) -> Outcome<()> {
    host(prepared, b.as_slice()?, c.as_mut_slice()?, dim)
}

fn scaled(prepared: &CudaPrepared, b: &[f32], c: &mut [f32], dim: (usize, usize)) -> Outcome<()> {
    let (b, c) = (ArrayView2::from_shape(dim, b)?, ArrayViewMut2::from_shape(dim, c)?);
    Ok(prepared.execute(0.0, b.into(), 0.0, c.into())?)
}

/// The product of operands on the device.
fn expected(
    prepared: &CudaPrepared,
    stream: &Arc<CudaStream>,
    b: &[f32],
    dim: (usize, usize),
) -> Outcome<Vec<f32>> {
    let b = stream.clone_htod(b)?;
    let mut c = stream.alloc_zeros::<f32>(dim.0 * dim.1)?;
    on_device(prepared, stream, &b, &mut c, dim)?;
    Ok(stream.clone_dtoh(&c)?)
}
