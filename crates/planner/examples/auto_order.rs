//! What `Reorder::Auto` decides, what that costs and what all orderings would have come to:
//! `cargo run --release -p girih-planner --example auto_order -- [--all] [--shuffled] [--n N,N]
//! [--device NAME] [--format SPEC] MATRIX.mtx.gz ... > orders.jsonl`.
//!
//! A line of JSON for each matrix and n. Seconds are those of all threads, where the system tells them, so
//! that other processes count for nothing; `products` is what the search took beyond planning in the natural
//! order, in products as they are estimated. `--all` computes every ordering too and prices it.

#![expect(clippy::print_stdout, reason = "an example prints what it has to say")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use girih_formats::io::{self, ReadOptions};
use girih_formats::{Csr, FormatSpec};
use girih_planner::explanation::Outcome;
use girih_planner::{DeviceSpec, FormatChoice, PlanOptions, Planner, Reorder};
use girih_reorder::{Method, simple};

/// Seconds that all threads of this process have worked, or those that have passed.
fn seconds(start: Instant) -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return start.elapsed().as_secs_f64();
    };
    let worked = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    worked.sum::<f64>() * 1e-9
}

fn timed<R>(what: impl FnOnce() -> R) -> (R, f64) {
    let start = Instant::now();
    let before = seconds(start);
    let result = what();
    (result, seconds(start) - before)
}

fn shuffled(a: &Csr<f32>) -> Result<Csr<f32>, Box<dyn Error>> {
    let rows = simple::random(a.nrows(), 1)?;
    if a.nrows() == a.ncols() {
        return Ok(rows.apply_symmetric(a)?);
    }
    Ok(simple::random(a.ncols(), 2)?.apply_cols(&rows.apply_rows(a)?)?)
}

fn format(text: &str) -> Result<FormatChoice, Box<dyn Error>> {
    Ok(match text {
        "auto" => FormatChoice::Auto,
        "csr" => FormatChoice::Fixed(FormatSpec::Csr),
        "wcsr" => FormatChoice::Fixed(FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 }),
        "bmat" => FormatChoice::Fixed(FormatSpec::BMat { pattern_only: false }),
        other => return Err(format!("{other} is not auto, csr, wcsr or bmat").into()),
    })
}

fn report(
    name: &str,
    a: &Csr<f32>,
    options: &PlanOptions,
    all: bool,
) -> Result<(), Box<dyn Error>> {
    let plan = |reorder: Reorder| {
        let planner = Planner::new(options.clone().reorder(reorder));
        timed(|| planner.plan(a))
    };
    // The first one takes pages, and wakes threads.
    plan(Reorder::None).0?;
    let (natural, without) = plan(Reorder::None);
    let (auto, with) = plan(Reorder::Auto);
    let (natural, auto) = (natural?, auto?);
    let of = |plan: &girih_planner::Plan| {
        let chosen = plan.explanation().chosen();
        chosen.and_then(|candidate| candidate.cost).map_or(f64::NAN, |cost| cost.seconds)
    };
    let orderings = &auto.explanation().orderings;
    let order = orderings.iter().find(|order| order.outcome == Outcome::Chosen);
    let seen: Vec<String> = orderings
        .iter()
        .map(|order| match &order.outcome {
            Outcome::Rejected { reason } => format!("{:?}", format!("{}: {reason}", order.name)),
            _ => format!("{:?}", format!("{}: {:e}", order.name, order.seconds)),
        })
        .collect();
    let mut every = Vec::new();
    let methods = [
        Method::Rcm,
        Method::Window { window_rows: Some(16) },
        Method::Window { window_rows: Some(64) },
    ];
    for method in methods.into_iter().filter(|_| all) {
        let (plan, took) = plan(Reorder::By(method));
        every.push(format!(
            "{{\"order\":\"{method}\",\"seconds\":{:e},\"took\":{took:.4}}}",
            of(&plan?)
        ));
    }
    println!(
        "{{\"matrix\":\"{name}\",\"n\":{},\"nrows\":{},\"ncols\":{},\"nnz\":{},\"order\":\"{}\",\"spec\":\"{}\",\
         \"natural\":{:e},\"chosen\":{:e},\"without\":{without:.5},\"with\":{with:.5},\"products\":{:.1},\
         \"seen\":[{}],\"all\":[{}]}}",
        options.n,
        a.nrows(),
        a.ncols(),
        a.nnz(),
        order.map_or("", |order| order.name.as_str()),
        auto.spec(),
        of(&natural),
        order.map_or(f64::NAN, |order| order.seconds),
        (with - without) / of(&natural),
        seen.join(","),
        every.join(","),
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut all, mut shuffle, mut columns) = (false, false, vec![32, 128, 512]);
    let mut options = PlanOptions::default();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} takes a value"));
        match arg.as_str() {
            "--all" => all = true,
            "--shuffled" => shuffle = true,
            "--n" => columns = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--format" => options.format = format(&value()?)?,
            "--device" => {
                let name = value()?;
                options.target =
                    DeviceSpec::builtin(&name).ok_or(format!("no device is {name}"))?;
            }
            path => {
                let path = Path::new(path);
                let a: Csr<f32> = io::read(path, &ReadOptions::default())?;
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let name = name.split(".mtx").next().unwrap_or_default();
                let a = if shuffle { shuffled(&a)? } else { a };
                for &n in &columns {
                    report(name, &a, &options.clone().n(n), all)?;
                }
            }
        }
    }
    Ok(())
}
