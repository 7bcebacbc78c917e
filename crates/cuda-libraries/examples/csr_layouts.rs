//! How long products in CSR take, laid out in every way that might be chosen, on the device of this machine.
//!
//! ```sh
//! csr_layouts [--dtype f16] [--n 8,32,128,512,1024] FILE...
//! ```
//!
//! Prints a line of values between tabs for each matrix, n and layout. Times are of single products by
//! events on the device, over copies of B and C that together outgrow its second-level cache. Every C is
//! compared with the product in higher precision, or with another layout's C that was, if all bits are the
//! same. Libraries are found where the loader finds them, and in the folders that `GIRIH_CUDA_LIBRARIES`
//! names. The fastest choices belong into the tables of `crates/backend-cuda/src/kernels/csr_spmm`: `wide` and
//! `limits.rs`.

#![expect(clippy::print_stdout, reason = "it is a program that prints what it measures")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use girih_backend::verify::{Product, verify};
use girih_backend::{DenseScalar, PreparedSpmm, SpmmBackend};
use girih_backend_cuda::{
    CsrLayout, CsrTeams, CudaBackend, CudaKernels, CudaOptions, CudaPrepared, LibrarySearch,
};
use girih_cuda_libraries::{TimedOperands, TimedProducts};
use girih_formats::{Csr, FormatSpec, Real, io};
use girih_planner::{FormatChoice, Kernels, Plan, PlanOptions, Planner};
use half::f16;
use ndarray::Array2;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Products that are timed, after some that do not count.
const TIMES: usize = 25;
const WARM_UP: u32 = 3;
/// Tiles of a panel that has all of them.
const ALL: u32 = 1 << 20;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let (mut widths, mut files) = (vec![8, 32, 128, 512, 1024], Vec::new());
    let mut measure: fn(&CudaBackend, &Path, usize) -> Outcome<()> = measure_in::<f32>;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--n" => {
                let list = args.next().ok_or("--n takes numbers of columns, such as 8,128")?;
                widths = list.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            "--dtype" => {
                measure = match args.next().as_deref() {
                    Some("f32") => measure_in::<f32>,
                    Some("f16") => measure_in::<f16>,
                    _ => return Err("--dtype takes f32 or f16".into()),
                };
            }
            file => files.push(PathBuf::from(file)),
        }
    }
    if files.is_empty() {
        return Err(
            "which matrices? csr_layouts [--dtype f16] [--n 8,32,128,512,1024] FILE...".into()
        );
    }
    let default = backend(None);
    println!("# {}", default.capabilities()?.device);
    println!(
        "matrix\tn\tlayout\tchosen\tus_min\tus_median\tbytes_least\tbytes_of_entries\tGB_s_of_entries\tbits\t\
         error_over_bound\tlaunch"
    );
    for file in &files {
        for &n in &widths {
            measure(&default, file, n)?;
        }
    }
    Ok(())
}

/// A backend on the first device, for a layout or its own choice. Kernels are compiled once for all.
fn backend(csr_layout: Option<CsrLayout>) -> CudaBackend {
    let folders = std::env::var_os("GIRIH_CUDA_LIBRARIES").unwrap_or_default();
    let folders = std::env::split_paths(&folders).filter(|path| !path.as_os_str().is_empty());
    let libraries = folders.fold(LibrarySearch::new(), LibrarySearch::folder);
    let cache = Some(std::env::temp_dir().join("girih-csr-layouts"));
    let options = CudaOptions::default().libraries(libraries).cache(cache);
    CudaBackend::new(options.csr_layout(csr_layout))
}

/// The layouts that may be the fastest for `n` columns of values of `size` bytes.
fn layouts(n: usize, size: usize) -> Vec<CsrLayout> {
    let per_vector = 16 / size;
    let widest_tile = 32 * per_vector;
    let mut all = vec![CsrLayout::Items { panel_tiles: 1 }];
    if n > widest_tile {
        all.push(CsrLayout::Items { panel_tiles: ALL });
    }
    let widest = n.div_ceil(per_vector).next_power_of_two().min(32) as u32;
    if widest == 1 {
        all.extend(of_one_lane().map(CsrLayout::Teams));
    }
    for lanes in [2, 4, 8, 16, 32].into_iter().filter(|&lanes| lanes <= widest) {
        // Two lanes of a wide product would read 32 bytes of each row of B.
        if widest == 32 && lanes < 4 {
            continue;
        }
        let base = CsrTeams {
            lanes,
            team: lanes,
            depth: 4,
            vectors: 1,
            warps: 8,
            turns: 4,
            panel_tiles: 1,
        };
        let wider = |times: u32| CsrTeams { team: lanes * times, turns: 1, ..base };
        let mut teams = vec![
            base,
            CsrTeams { turns: 2, ..base },
            CsrTeams { turns: 1, ..base },
            CsrTeams { warps: 16, ..base },
            CsrTeams { depth: 8, turns: 1, ..base },
            wider(2),
            wider(4),
            wider(8),
            CsrTeams { depth: 8, ..wider(2) },
            CsrTeams { depth: 8, ..wider(4) },
        ];
        if n > per_vector * lanes as usize {
            let both = CsrTeams { vectors: 2, ..base };
            teams.push(CsrTeams { panel_tiles: ALL, ..base });
            teams.extend([4, 2, 1].map(|turns| CsrTeams { turns, ..both }));
            for warps in [2, 4] {
                teams.extend([4, 8, 16].map(|turns| CsrTeams { warps, turns, ..both }));
                teams.extend([4, 8, 16].map(|turns| CsrTeams { warps, turns, ..base }));
            }
            teams.extend([both, base].map(|teams| CsrTeams { turns: 8, ..teams }));
        }
        all.extend(teams.into_iter().filter(CsrTeams::is_valid).map(CsrLayout::Teams));
    }
    all
}

/// Teams of which each lane has all columns of its entries.
fn of_one_lane() -> impl Iterator<Item = CsrTeams> {
    let teams = [1, 2, 4, 8, 16, 32].into_iter().flat_map(|team| {
        [1, 2, 4].map(|turns| CsrTeams {
            lanes: 1,
            team,
            depth: 4,
            vectors: 1,
            warps: 8,
            turns,
            panel_tiles: 1,
        })
    });
    teams.filter(CsrTeams::is_valid)
}

/// A product whose C is known to be right, and what was found of it.
struct Known {
    c: Array2<f32>,
    error_over_bound: f64,
}

fn measure_in<T: DenseScalar<Acc = f32> + Real>(
    default: &CudaBackend,
    file: &Path,
    n: usize,
) -> Outcome<()> {
    let a = io::read::<T>(file, &io::ReadOptions::default())?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".gz").trim_end_matches(".mtx");
    let options = PlanOptions::new(n)
        .format(FormatChoice::Fixed(FormatSpec::Csr))
        .target(default.device()?.spec())
        .kernels(Kernels::new(CudaKernels));
    let plan = Planner::new(options).plan(&a)?;
    let b = Array2::from_shape_fn((a.ncols(), n), |(i, j)| T::from_f64(value(i, j)));
    let own = default.prepare_device(&plan)?;
    let chosen = decisions(&own, n);
    let operands = Arc::new(TimedOperands::new(&own, &b.view())?);
    let (mut known, mut was_tried) = (None, false);
    for layout in layouts(n, size_of::<T>()) {
        let prepared = backend(Some(layout)).prepare_device(&plan)?;
        let is_chosen = decisions(&prepared, n) == chosen;
        was_tried |= is_chosen;
        let of = (name, n, layout.to_string(), is_chosen);
        line(&of, &a, &plan, &b, prepared, &operands, &mut known)?;
    }
    if !was_tried {
        let of = (name, n, "the backend's own".to_owned(), true);
        line(&of, &a, &plan, &b, own, &operands, &mut known)?;
    }
    Ok(())
}

/// Times and checks a layout, and prints its line.
fn line<T: DenseScalar<Acc = f32>>(
    (name, n, layout, is_chosen): &(&str, usize, String, bool),
    a: &Csr<T>,
    plan: &Plan,
    b: &Array2<T>,
    prepared: CudaPrepared,
    operands: &Arc<TimedOperands<T>>,
    known: &mut Option<Known>,
) -> Outcome<()> {
    let launch = prepared.lowering(*n).choice("launch").unwrap_or("none").to_owned();
    let mut products = TimedProducts::new(prepared, operands.clone())?;
    products.poison()?;
    products.time(WARM_UP)?;
    let times = (0..TIMES).map(|_| products.time(1)).collect::<Result<Vec<Duration>, _>>();
    let mut times = times?;
    times.sort_unstable();
    let mut c = Array2::<f32>::zeros((a.nrows(), *n));
    products.last(c.view_mut())?;
    let bits = |c: &Array2<f32>| c.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let is_known = known.as_ref().is_some_and(|known| bits(&known.c) == bits(&c));
    let error_over_bound = match known {
        Some(known) if is_known => known.error_over_bound,
        _ => {
            let product = Product { alpha: 1.0, b: T::erase(b.view()), added: None };
            let rounding = CudaBackend::default().rounding(plan);
            let verdict = verify(a, plan, &product, &T::erase_acc(c.view()), rounding)?;
            if !verdict.passed() {
                return Err(format!("{name}, n = {n}, {layout}: C is wrong: {verdict:?}").into());
            }
            verdict.max_error_over_bound
        }
    };
    let size = size_of::<T>() as f64;
    let of_operands = b.len() as f64 * size + c.len() as f64 * 4.0;
    let least = a.nnz() as f64 * (4.0 + size) + a.nrows() as f64 * 4.0 + of_operands;
    let of_entries = (a.nnz() * n) as f64 * size;
    let (min, median) = (times[0].as_secs_f64(), times[times.len() / 2].as_secs_f64());
    println!(
        "{name}\t{n}\t{layout}\t{}\t{:.2}\t{:.2}\t{least:.0}\t{of_entries:.0}\t{:.0}\t{}\t{error_over_bound:.3}\t{launch}",
        if *is_chosen { "*" } else { "" },
        min * 1e6,
        median * 1e6,
        of_entries / min / 1e9,
        match (known.is_some(), is_known) {
            (false, _) => "first",
            (_, true) => "same",
            (_, false) => "other",
        },
    );
    if known.is_none() {
        *known = Some(Known { c, error_over_bound });
    }
    Ok(())
}

/// What a product is said to do, without why.
fn decisions(prepared: &CudaPrepared, n: usize) -> Vec<Option<String>> {
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
