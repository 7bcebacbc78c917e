//! Schedules compared by replaying them: `cargo run --release -p girih-planner --example schedules --
//! MATRIX.mtx.gz ... > table.md`.
//!
//! One task for each window, windows split at the best of three limits with a second pass, and
//! partitions by Voltrix's Algorithm 1, on the H200 of the built-in device file; on synthetic windows
//! as in Voltrix §4.6 and on the windows of BMat of every matrix named. Nothing is timed, so every
//! machine prints the same table. With `--svg DIR` timelines are drawn too.

#![expect(clippy::print_stdout, reason = "an example prints what it has to say")]

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use girih_formats::io::{self, ReadOptions};
use girih_formats::stats::SharedStats;
use girih_formats::{BMat, Csr, DType, FormatSpec, RowLayout};
use girih_planner::cost::{LinearCost, Workload, linear_cost, price};
use girih_planner::schedule::{Reduction, TilePtr, Windows};
use girih_planner::simulate::{Replay, ScheduleCost, lower_bound, simulate, svg};
use girih_planner::{DeviceSpec, Schedule};

const N: usize = 256;
const DEVIATIONS: [u32; 7] = [0, 32, 64, 96, 128, 160, 192];
const COUNTS: [usize; 3] = [1000, 4096, 20_000];

/// What one set of windows came to, over the bound.
struct Row {
    name: String,
    windows: usize,
    tiles: u64,
    bound: f64,
    /// One window each, split, partitions.
    ratios: [f64; 3],
    /// Partitions, if tiles that several workers need were loaded once.
    loaded_once: f64,
}

impl Row {
    fn best(&self) -> usize {
        (0..3).min_by(|&a, &b| self.ratios[a].total_cmp(&self.ratios[b])).unwrap_or(0)
    }
}

const NAMES: [&str; 3] = ["one window each", "split", "partitions"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1).peekable();
    let mut pictures = None;
    if args.peek().is_some_and(|arg| arg == "--svg") {
        args.next();
        pictures = args.next().map(PathBuf::from);
    }
    let device = DeviceSpec::builtin("h200").ok_or("the H200 is built in")?;
    println!("# Schedules replayed: {}, {} workers, n = {N}\n", device.name, device.workers);
    println!(
        "Makespan over the least that any schedule can take: beginning one task, and the longer of all \
         work shared out evenly and the dearest 16 columns of a window. Loading tiles again, beginning \
         tasks and adding up are counted, but for loading again in the column `loaded once`: partitions by \
         Voltrix's eq. 1 alone, which the bound and Algorithm 1 go by. No time is measured; see \
         `crates/planner/examples/schedules.rs`.\n"
    );
    println!("## Synthetic windows of 256 tiles on average, gamma-distributed\n");
    let cost = synthetic_cost(&device)?;
    let mut rows = Vec::new();
    for count in COUNTS {
        for deviation in DEVIATIONS {
            let windows = gamma_windows(count, f64::from(deviation));
            let name = format!("{count} windows, deviation {deviation}");
            rows.push(row(name, &windows, &cost, &device, pictures.as_deref())?);
        }
    }
    print_rows(&rows);
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for path in args {
        let read = io::read::<f32>(&path, &ReadOptions::default());
        let name =
            Path::new(&path).file_name().map_or(path.clone(), |f| f.to_string_lossy().into());
        let a = match read {
            Ok(a) if a.nnz() > 0 => a,
            Ok(_) => continue,
            Err(error) => {
                left_out.push(format!("{name} is left out: {error}."));
                continue;
            }
        };
        let (windows, cost) = bmat(&a, &device)?;
        rows.push(row(name.replace(".mtx.gz", ""), &windows, &cost, &device, pictures.as_deref())?);
    }
    if !rows.is_empty() {
        println!("\n## BMat windows of matrices\n");
        print_rows(&rows);
    }
    left_out.iter().for_each(|line| println!("\n{line}"));
    Ok(())
}

/// A cost of an average synthetic window's proportions: 256 BMat tiles, half full.
fn synthetic_cost(device: &DeviceSpec) -> Result<ScheduleCost, Box<dyn Error>> {
    let a = girih_generate::uniform::<f32>(16 * 264, 1 << 16, 128, 1)?;
    Ok(bmat(&a, device)?.1)
}

/// The windows of BMat, and what they cost a worker.
fn bmat(a: &Csr<f32>, device: &DeviceSpec) -> Result<(TilePtr, ScheduleCost), Box<dyn Error>> {
    let spec = FormatSpec::BMat { pattern_only: false };
    let rows = RowLayout::natural(a.nrows(), 1)?;
    let shared = SharedStats::new(a.pattern(), &rows);
    let stats = shared.format(spec, DType::F32)?;
    let workload = Workload::of(&shared, N, DType::F32);
    let bare = price(&workload, &stats, device, None, 1.0);
    let linear = linear_cost(&workload, &stats, device, &bare);
    let tile_cols = BMat::<f32>::TILE_COLS as u64;
    let counts = shared.unions(spec.window_rows(), 1)?;
    let windows =
        TilePtr::of_counts(counts.iter().map(|&cols| u64::from(cols).div_ceil(tile_cols)));
    Ok((windows, ScheduleCost { linear, task: device.task_seconds, tile: 0.0 }))
}

fn row(
    name: String,
    windows: &TilePtr,
    cost: &ScheduleCost,
    device: &DeviceSpec,
    pictures: Option<&Path>,
) -> Result<Row, Box<dyn Error>> {
    let workers = device.workers as usize;
    let replayed = |schedule: &Schedule| simulate(schedule, windows, N, workers, cost);
    let by_window = replayed(&Schedule::by_window(windows));
    let limits = [1, 4, 16].map(|each| windows.n_tiles().div_ceil(workers as u64 * each).max(1));
    let split = limits
        .map(|limit| replayed(&Schedule::by_limit(windows, limit, Reduction::TwoPass)))
        .into_iter()
        .min_by(|a, b| a.makespan.total_cmp(&b.makespan))
        .ok_or("there are three limits")?;
    let partitions = replayed(&Schedule::sm_aligned(windows, N, workers, &cost.linear));
    let bound = lower_bound(windows, N, workers, &cost.linear) + cost.task;
    let eq1 = LinearCost { tile_again: 0.0, ..cost.linear };
    let by_eq1 = Schedule::sm_aligned(windows, N, workers, &eq1);
    let by_eq1_cost = ScheduleCost { linear: eq1, ..*cost };
    let loaded_once = simulate(&by_eq1, windows, N, workers, &by_eq1_cost).makespan / bound;
    let all: [&Replay; 3] = [&by_window, &split, &partitions];
    if let Some(dir) = pictures {
        fs::create_dir_all(dir)?;
        for (replay, what) in all.iter().zip(NAMES) {
            let file = format!("{name} {what}.svg").replace([' ', ','], "-");
            fs::write(dir.join(file), svg(replay, &format!("{name}: {what}")))?;
        }
    }
    Ok(Row {
        name,
        windows: windows.n_windows(),
        tiles: windows.n_tiles(),
        bound,
        ratios: all.map(|replay| replay.makespan / bound),
        loaded_once,
    })
}

fn print_rows(rows: &[Row]) {
    let names = NAMES.join(" | ");
    println!("| windows of | windows | tiles | bound, µs | {names} | loaded once | wins |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for row in rows {
        let [a, b, c] = row.ratios;
        println!(
            "| {} | {} | {} | {:.2} | {a:.3} | {b:.3} | {c:.3} | {:.3} | {} |",
            row.name,
            row.windows,
            row.tiles,
            row.bound * 1e6,
            row.loaded_once,
            NAMES[row.best()]
        );
    }
    let within = |ratio: fn(&Row) -> f64| {
        let within = rows.iter().filter(|row| ratio(row) <= 1.03).count();
        let worst = rows.iter().map(ratio).fold(1.0, f64::max);
        format!("in {within} of {}, at worst {worst:.3}", rows.len())
    };
    let geomean = |i: usize| {
        (rows.iter().map(|row| row.ratios[i].ln()).sum::<f64>() / rows.len() as f64).exp()
    };
    println!(
        "\nGeomeans {:.3}, {:.3}, {:.3}; partitions within 3 % of the bound {}, with tiles loaded \
         once {}. Won by {}.",
        geomean(0),
        geomean(1),
        geomean(2),
        within(|row| row.ratios[2]),
        within(|row| row.loaded_once),
        (0..3)
            .map(|i| format!("{} {}", NAMES[i], rows.iter().filter(|r| r.best() == i).count()))
            .collect::<Vec<_>>()
            .join(", ")
    );
}

/// Windows of 256 tiles on average, gamma-distributed (Marsaglia and Tsang 2000).
fn gamma_windows(count: usize, deviation: f64) -> TilePtr {
    let mut state = 7u64;
    let mut uniform = move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        ((state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    let mut normal = move || {
        let (radius, angle) = (uniform(), uniform());
        ((-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos(), uniform())
    };
    TilePtr::of_counts((0..count).map(|_| {
        if deviation == 0.0 {
            return 256;
        }
        let shape = (256.0 / deviation).powi(2);
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let (x, u) = normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return (d * v * 256.0 / shape).round() as u64;
            }
        }
    }))
}
