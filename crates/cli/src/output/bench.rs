//! The report of a benchmark as text: a table for each matrix, plain or in Markdown.

use std::time::Duration;

use girih::planner::Precision;
use girih_measure::bench::{
    BenchReport, CaseReport, EngineReport, FloorReport, MatrixReport, RatioMean, SkippedReport,
    means,
};
use girih_measure::units;

use super::table;

const HEADER: [&str; 14] = [
    ">n",
    "dtype",
    "format",
    "backend",
    ">threads",
    ">median",
    ">min",
    ">q1–q3",
    ">GFLOP/s",
    ">GB/s",
    ">roofline",
    "limit",
    ">plan (products)",
    ">prepare (products)",
];

const MEANS: [&str; 7] =
    ["over", "format", "dtype", ">n", ">geometric mean", ">least", ">matrices"];

const LEGEND: &str = "\
GB/s count A as CSR with 32-bit indices, B and C once each. The roofline is the least time for \
that at the bandwidth of a working set of that size, or for 2·nnz·n flops (complex: 8·nnz·n) at the peak, whichever is \
longer, as a share of the median; L2, of a device: reading the rows of B that the tiles name from its \
second-level cache. Plan and prepare times are of one run each. Every product was \
verified.";

/// How the report is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Markdown,
}

pub(crate) fn text(report: &BenchReport, style: Style) -> String {
    let mut parts = vec![machine(report, style)];
    for matrix in &report.matrices {
        let rows: Vec<Vec<String>> = report
            .cases
            .iter()
            .filter(|case| case.problem.matrix == matrix.name)
            .map(row)
            .collect();
        if rows.is_empty() {
            continue;
        }
        let title = title(matrix);
        parts.push(match style {
            Style::Plain => format!("{title}\n{}", table::with_header(HEADER, rows)),
            Style::Markdown => format!("**{title}**\n\n{}", table::markdown(HEADER, rows)),
        });
    }
    if !report.ratios.is_empty() {
        let (title, rows) = (
            "cuda: how many times as fast",
            means(&report.ratios).iter().map(mean_row).collect::<Vec<_>>(),
        );
        parts.push(match style {
            Style::Plain => format!("{title}\n{}", table::with_header(MEANS, rows)),
            Style::Markdown => format!("**{title}**\n\n{}", table::markdown(MEANS, rows)),
        });
    }
    if !report.skipped.is_empty() {
        let lines: Vec<String> = report.skipped.iter().map(skipped).collect();
        parts.push(match style {
            Style::Plain => format!("skipped:\n  {}", lines.join("\n  ")),
            Style::Markdown => format!("Skipped:\n\n- {}", lines.join("\n- ")),
        });
    }
    let infinite = report.cases.iter().filter(|case| case.non_finite > 0).count();
    let infinite = match infinite {
        0 => String::new(),
        cases => format!(" Elements of C are NaN or Inf in {cases} of them, and have no error."),
    };
    parts.push(format!("{LEGEND}{infinite}"));
    parts.join("\n\n")
}

fn machine(report: &BenchReport, style: Style) -> String {
    // Of the rooflines too: a machine that is measured while it is busy seems slower than it is.
    let timed = report.cases.iter().filter_map(|case| case.other_load);
    let loads: Vec<f64> =
        timed.chain(report.rooflines.iter().filter_map(|roofline| roofline.other_load)).collect();
    let mut lines = vec![format!("girih {} on {}", report.version, report.machine)];
    if !loads.is_empty() {
        let mean = loads.iter().sum::<f64>() / loads.len() as f64;
        let most = loads.iter().copied().fold(0.0, f64::max);
        lines.push(format!(
            "other programs had {:.0} % of the processors meanwhile, at most {:.0} %",
            100.0 * mean,
            100.0 * most
        ));
    }
    let mut devices: Vec<&String> =
        report.cases.iter().filter_map(|case| case.engine.device.as_ref()).collect();
    devices.sort();
    devices.dedup();
    lines.extend(devices.into_iter().cloned());
    lines.extend(report.rooflines.iter().map(ToString::to_string));
    lines.extend(report.device.iter().map(ToString::to_string));
    if report.precision != Precision::default().name() {
        lines.push(format!("products in f32 are in {}", report.precision));
    }
    match style {
        Style::Plain => lines.join("\n"),
        Style::Markdown => format!("- {}", lines.join("\n- ")),
    }
}

fn mean_row(mean: &RatioMean) -> Vec<String> {
    let RatioMean { over, format, dtype, n, mean, least, matrices } = mean;
    let ratio = |ratio: &f64| format!("{ratio:.2}");
    let (over, format, dtype) = (over.clone(), format.clone(), dtype.clone());
    vec![over, format, dtype, n.to_string(), ratio(mean), ratio(least), matrices.to_string()]
}

fn title(matrix: &MatrixReport) -> String {
    let MatrixReport { name, m, k, nnz, .. } = matrix;
    format!("{name}: {m}×{k}, {} nonzeros", units::count(*nnz as u64))
}

fn row(case: &CaseReport) -> Vec<String> {
    let time = |seconds: f64| units::time(Duration::from_secs_f64(seconds.max(0.0)));
    let with_products = |seconds, products| match products {
        0.0..0.1 => format!("{} (<0.1)", time(seconds)),
        _ => format!("{} ({products:.1})", time(seconds)),
    };
    let percent = |percent: f64| match percent {
        0.0..9.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    };
    vec![
        case.problem.n.to_string(),
        case.problem.dtype.to_owned(),
        format(case),
        backend(&case.engine),
        table::optional(case.engine.threads),
        time(case.median_seconds),
        time(case.min_seconds),
        format!("{}–{}", time(case.q1_seconds), time(case.q3_seconds)),
        format!("{:.1}", case.gflops),
        format!("{:.1}", case.gbytes_per_second),
        table::optional(case.floor.map(|floor| percent(floor.roofline_percent))),
        table::optional(case.floor.map(limit)),
        with_products(case.plan_seconds, case.plan_products),
        with_products(case.prepare_seconds, case.prepare_products),
    ]
}

/// The format, and the order if it is not the matrix's own. Of the planner's choice, also what it chose.
fn format(case: &CaseReport) -> String {
    let chosen = |requested: &str, taken: &str| match requested {
        "auto" => format!("auto: {taken}"),
        _ => taken.to_owned(),
    };
    match case.reorder.as_str() {
        "none" => chosen(&case.format, &case.spec),
        reorder => {
            format!("{}, {}", chosen(&case.format, &case.spec), chosen(reorder, &case.order))
        }
    }
}

fn backend(engine: &EngineReport) -> String {
    match engine.isa.or(engine.way) {
        Some(how) => format!("{} {how}", engine.backend),
        None => engine.backend.clone(),
    }
}

/// What limits the floor, and how near the case comes to reading B from the L2 cache.
fn limit(floor: FloorReport) -> String {
    match floor.l2_percent {
        Some(percent) => format!("{}; L2 {percent:.0} %", floor.limit),
        None => floor.limit.to_owned(),
    }
}

fn skipped(case: &SkippedReport) -> String {
    let SkippedReport { matrix, dtype, n, format, reorder, engine, reason } = case;
    let order = if reorder == "none" { String::new() } else { format!(", {reorder}") };
    let on = match engine {
        Some(engine) => match engine.threads {
            Some(threads) => format!(" on {}, {threads} threads", backend(engine)),
            None => format!(" on {}", backend(engine)),
        },
        None => String::new(),
    };
    format!("{matrix}, n = {n}, {dtype}, {format}{order}{on}: {reason}")
}
