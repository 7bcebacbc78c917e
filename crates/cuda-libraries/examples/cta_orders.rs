//! How long products take whose CTAs go through rows and columns in every order that might be chosen, on the device of
//! this machine.
//!
//! ```sh
//! cta_orders [--n 128,512] [--dtype f32,f16] [--format csr,wcsr:64] [--seconds 0.1] PROBLEM...
//! ```
//!
//! A problem is a matrix file, or the name of a generated matrix with sizes:
//!
//! | name | matrix |
//! |---|---|
//! | `uniform:131072x30` | 131072 rows and columns, 30 entries in each row |
//! | `rmat:18x16` | a graph of 2¹⁸ vertices, 16 edges for each |
//! | `fem:50x3` | finite elements on 50³ points with three unknowns |
//! | `grid:100` | the seven-point stencil on 100³ points |
//! | `groups:150000x300` | 300 communities in a drawn order |
//!
//! Prints a line of values between tabs for each problem, n and order. Orders are timed by turns, by events on the
//! device, over copies of B and C that together outgrow its second-level cache. Every C is compared with the product in
//! higher precision, or with another order's C that was, if all bits are the same. Libraries are found where the loader
//! finds them, and in the folders that `GIRIH_CUDA_LIBRARIES` names.

#![expect(clippy::print_stdout, reason = "it is a program that prints what it measures")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use girih_backend::verify::{Product, verify};
use girih_backend::{DenseScalar, PreparedSpmm, SpmmBackend};
use girih_backend_cuda::{CtaOrder, CudaBackend, CudaKernels, CudaOptions, LibrarySearch};
use girih_cuda_libraries::{TimedOperands, TimedProducts};
use girih_formats::{Csr, DType, FormatSpec, Scalar, io};
use girih_generate::{fem_3d, laplacian_7pt, planted_partition, rmat, uniform};
use girih_planner::{FormatChoice, Kernels, PlanOptions, Planner};
use half::f16;
use ndarray::Array2;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The fewest rounds, in each of which every order is timed once, and the most.
const ROUNDS: (usize, usize) = (5, 200);
/// Tiles of a panel that has all of them.
const ALL: u32 = 1 << 20;

struct Arguments {
    widths: Vec<usize>,
    dtypes: Vec<DType>,
    formats: Vec<FormatSpec>,
    seconds: f64,
    problems: Vec<String>,
}

fn arguments() -> Outcome<Arguments> {
    let mut args = std::env::args().skip(1);
    let mut found = Arguments {
        widths: vec![128, 512, 1024],
        dtypes: vec![DType::F32],
        formats: vec![FormatSpec::Csr],
        seconds: 0.1,
        problems: Vec::new(),
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} takes a value"));
        match arg.as_str() {
            "--n" => {
                found.widths = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            "--dtype" => {
                found.dtypes = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            "--format" => {
                found.formats = value()?.split(',').map(format).collect::<Outcome<_>>()?;
            }
            "--seconds" => found.seconds = value()?.parse()?,
            _ => found.problems.push(arg),
        }
    }
    if found.problems.is_empty() {
        return Err("which problems? cta_orders [--n 128,512] PROBLEM...".into());
    }
    Ok(found)
}

/// `csr` or `wcsr:64`; columns are padded to what the value type's instruction takes.
fn format(name: &str) -> Outcome<FormatSpec> {
    match name.split_once(':') {
        None if name == "csr" => Ok(FormatSpec::Csr),
        Some(("wcsr", rows)) => Ok(FormatSpec::Wcsr { window_rows: rows.parse()?, pad_cols: 0 }),
        _ => Err(format!("{name} is neither csr nor wcsr:ROWS").into()),
    }
}

fn main() -> Outcome<()> {
    let Arguments { widths, dtypes, formats, seconds, problems } = arguments()?;
    let default = backend(None);
    println!("# {}", default.capabilities()?.device);
    println!(
        "problem\tnnz_per_row\tdtype\tformat\tn\torder\tchosen\tus_min\tus_median\tbits\terror_over_bound\tlaunch"
    );
    for problem in &problems {
        for &dtype in &dtypes {
            let of = (problem.as_str(), &formats[..], &widths[..], seconds);
            match dtype {
                DType::F16 => measure::<f16>(&default, of)?,
                DType::F64 => measure::<f64>(&default, of)?,
                _ => measure::<f32>(&default, of)?,
            }
        }
    }
    Ok(())
}

/// A backend on the first device, for an order or its own choice. Kernels are compiled once for all.
fn backend(order: Option<CtaOrder>) -> CudaBackend {
    let folders = std::env::var_os("GIRIH_CUDA_LIBRARIES").unwrap_or_default();
    let folders = std::env::split_paths(&folders).filter(|path| !path.as_os_str().is_empty());
    let libraries = folders.fold(LibrarySearch::new(), LibrarySearch::folder);
    let cache = Some(std::env::temp_dir().join("girih-cta-orders"));
    CudaBackend::new(CudaOptions::default().libraries(libraries).cache(cache).cta_order(order))
}

fn matrix<T: Scalar>(problem: &str) -> Outcome<Csr<T>> {
    let Some((kind, sizes)) = problem.split_once(':').filter(|_| !Path::new(problem).exists())
    else {
        return Ok(io::read::<T>(Path::new(problem), &io::ReadOptions::default())?);
    };
    let sizes: Vec<usize> = sizes.split('x').map(str::parse).collect::<Result<_, _>>()?;
    Ok(match (kind, &sizes[..]) {
        ("uniform", &[rows, per_row]) => uniform(rows, rows, per_row, 1)?,
        ("rmat", &[scale, edges]) => rmat(scale as u32, edges, 1)?,
        ("fem", &[side, unknowns]) => fem_3d(side, side, side, unknowns, 1)?,
        ("grid", &[side]) => laplacian_7pt(side, side, side)?,
        ("groups", &[vertices, groups]) => {
            planted_partition(vertices, groups, vertices * 20, 0.3, 1)?.0
        }
        _ => return Err(format!("{problem} is no problem").into()),
    })
}

/// The orders to time: tiles of 128 bytes of a row of B to 2 KiB, whichever there are.
fn orders<T: Scalar>(n: usize) -> Vec<Option<CtaOrder>> {
    let per_unit = 128 / size_of::<T>() as u32;
    let mut all = vec![None];
    for tile_columns in (0..5).map(|shift| per_unit << shift) {
        if tile_columns as usize >= 2 * n {
            break;
        }
        let order = CtaOrder::by_tiles(tile_columns);
        let tiles = order.tiles(n as u64) as u32;
        all.extend(
            [1, 2, 4, ALL]
                .map(|panel_tiles| CtaOrder { panel_tiles, ..order })
                .into_iter()
                .filter(|order| {
                    order.panel_tiles == 1
                        || order.panel_tiles < tiles
                        || (order.panel_tiles == ALL && tiles > 1)
                })
                .map(Some),
        );
    }
    all
}

/// A product whose C is known to be right, and what was found of it.
struct Known<T: Scalar> {
    c: Array2<T::Acc>,
    error_over_bound: f64,
}

fn measure<T: DenseScalar>(
    default: &CudaBackend,
    (problem, formats, widths, seconds): (&str, &[FormatSpec], &[usize], f64),
) -> Outcome<()>
where
    T::Acc: PartialEq + Copy + Default,
{
    let a = matrix::<T>(problem)?;
    let name = Path::new(problem).file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".gz").trim_end_matches(".mtx");
    let per_row = a.nnz() as f64 / a.nrows().max(1) as f64;
    for &n in widths {
        let b = Array2::from_shape_fn((a.ncols(), n), |(i, j)| T::from_c64(value(i, j).into()));
        for &format in formats {
            let spec = match format {
                FormatSpec::Wcsr { window_rows, .. } => {
                    FormatSpec::Wcsr { window_rows, pad_cols: 32 / size_of::<T>() }
                }
                other => other,
            };
            let options = PlanOptions::new(n)
                .format(FormatChoice::Fixed(spec))
                .target(default.device()?.spec())
                .kernels(Kernels::new(CudaKernels));
            let plan = Planner::new(options).plan(&a)?;
            let own = default.prepare_device(&plan)?;
            let chosen = decisions(&own, n);
            let operands = Arc::new(TimedOperands::new(&own, &b.view())?);
            let mut timed = Vec::new();
            for order in orders::<T>(n) {
                let backend = backend(order);
                if backend.supports(&plan).is_err() {
                    continue;
                }
                let prepared = backend.prepare_device(&plan)?;
                let found = decisions(&prepared, n);
                let launch = prepared.lowering(n).choice("launch").unwrap_or("none").to_owned();
                let mut products = TimedProducts::new(prepared, operands.clone())?;
                products.poison()?;
                products.time(1)?;
                timed.push((order, found == chosen, launch, products, Vec::<Duration>::new()));
            }
            let mut verified: Vec<String> = Vec::new();
            let mut known: Option<Known<T>> = None;
            for (order, _, _, products, _) in &mut timed {
                products.poison()?;
                products.time(1)?;
                let mut c = Array2::from_elem((a.nrows(), n), T::Acc::default());
                products.last(c.view_mut())?;
                let same = known.as_ref().is_some_and(|known| known.c == c);
                let error_over_bound = match &known {
                    Some(known) if same => known.error_over_bound,
                    _ => {
                        let product = Product { alpha: 1.0, b: T::erase(b.view()), added: None };
                        let rounding = default.rounding(&plan);
                        let c = T::erase_acc(c.view());
                        let verdict = verify(&a, &plan, &product, &c, rounding)?;
                        if !verdict.passed() {
                            return Err(
                                format!("{name}, {order:?}: C is wrong: {verdict:?}").into()
                            );
                        }
                        verdict.max_error_over_bound
                    }
                };
                let bits = if known.is_none() {
                    "first"
                } else if same {
                    "same"
                } else {
                    "other"
                };
                verified.push(format!("{bits}\t{error_over_bound:.3}"));
                if known.is_none() {
                    known = Some(Known { c, error_over_bound });
                }
            }
            let begun = Instant::now();
            for round in 0..ROUNDS.1 {
                if round >= ROUNDS.0 && begun.elapsed().as_secs_f64() > seconds * timed.len() as f64
                {
                    break;
                }
                for (_, _, _, products, times) in &mut timed {
                    times.push(products.time(1)?);
                }
            }
            for ((order, is_chosen, launch, _, times), verified) in timed.iter_mut().zip(verified) {
                times.sort_unstable();
                let us = |time: Duration| time.as_secs_f64() * 1e6;
                println!(
                    "{name}\t{per_row:.1}\t{}\t{}\t{n}\t{}\t{}\t{:.2}\t{:.2}\t{verified}\t{launch}",
                    T::DTYPE,
                    plan.spec(),
                    order.map_or("the backend's own".to_owned(), |order| order.to_string()),
                    if *is_chosen { "*" } else { "" },
                    us(times[0]),
                    us(times[times.len() / 2]),
                );
            }
        }
    }
    Ok(())
}

/// What a product is said to do, without why.
fn decisions(prepared: &impl PreparedSpmm, n: usize) -> Vec<Option<String>> {
    let lowering = prepared.lowering(n);
    let of = |what| lowering.choice(what).map(str::to_owned);
    ["tile", "rows", "order of blocks", "launch"].map(of).to_vec()
}

/// Between -1 and 1, of no pattern.
fn value(i: usize, j: usize) -> f64 {
    let mut bits = (i as u64) << 32 ^ j as u64;
    for _ in 0..2 {
        bits = (bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (bits >> 40) as f64 / f64::from(1u32 << 23) - 1.0
}
