//! `girih plan`: a matrix laid out once, to be multiplied often.

use std::time::Instant;

use girih::formats::{Narrowing, for_any_tiling};
use girih::planner::{Explanation, Plan, Space};
use girih_measure::{memory, units};
use serde::Serialize;

use crate::args::PlanArgs;
use crate::error::CliError;
use crate::input::lowering;
use crate::input::lowering::Lowered;
use crate::input::planning::{self, Planned};
use crate::input::source::Source;
use crate::output::progress::Progress;
use crate::output::report::Report;
use crate::output::{file, narrowing, plan_file, table};

/// Columns of B a plan is tuned for unless `--n` says otherwise.
const DEFAULT_N: usize = 256;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct PlanReport {
    format: &'static str,
    spec: String,
    dtype: &'static str,
    nrows: usize,
    ncols: usize,
    nnz: usize,
    n: usize,
    /// How far products in f32 may be rounded.
    precision: &'static str,
    /// Whether rows are in an order of the plan's.
    reordered: bool,
    /// Whether B is gathered for the order of the plan's columns.
    gathers: bool,
    /// Whether B and C are in the plan's order.
    permuted: bool,
    tasks: usize,
    /// What is kept for this machine; absent without --save-layout, `null` if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<Option<LayoutReport>>,
    reason: String,
    /// Why rows are in their order; empty if none was requested.
    order: String,
    output: String,
    file_bytes: u64,
    /// The matrix in CSR, and the plan's tiles.
    source_bytes: u64,
    tile_bytes: u64,
    /// The most memory the command had in use, where the system says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_rss_bytes: Option<u64>,
    read_seconds: f64,
    plan_seconds: f64,
    /// The time of planning, in products by the estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_products: Option<f64>,
    /// Products after which planning has paid for itself against multiplying in CSR, by the estimates;
    /// absent if the plan is no faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pays_back_after: Option<f64>,
    device: String,
    write_seconds: f64,
    /// What rounding to the value type made of A.
    narrowing: Narrowing,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
    /// What the preferred backend of this machine would execute, or why none would.
    #[serde(flatten)]
    lowered: Option<Lowered>,
}

/// A layout that the plan keeps.
#[derive(Debug, Serialize)]
struct LayoutReport {
    backend: String,
    key: String,
    bytes: u64,
}

/// Lays the plan out for this machine and keeps that with it.
fn keep_layout(plan: &mut Plan) -> Result<Option<LayoutReport>, CliError> {
    let Some(layout) = lowering::layout(plan)? else { return Ok(None) };
    let report = LayoutReport {
        backend: layout.backend().to_owned(),
        key: layout.key().to_owned(),
        bytes: layout.bytes(),
    };
    plan.attach(layout)
        .map_err(|e| CliError::failed("cannot keep the layout with the plan").because(e))?;
    Ok(Some(report))
}

pub(crate) fn run(args: &PlanArgs, progress: &Progress) -> Result<Report, CliError> {
    let source = Source::matrix(&args.source)?;
    let n = args.plan.planning.n.unwrap_or(DEFAULT_N);
    let Planned { mut plan, matrix, narrowing, read, planning } =
        planning::plan(source, &args.plan, n, progress)?;
    let e4m3 = args.plan.planning.e4m3.and_then(|per| matrix.e4m3_narrowing(per));
    // The plan holds all that is written; its source need not stay in memory beside it.
    let source_bytes = matrix.bytes();
    drop(matrix);
    let layout = match args.save_layout {
        true => {
            progress.stage("laying the plan out for this machine");
            Some(keep_layout(&mut plan)?)
        }
        false => None,
    };

    progress.stage(format!("writing {}", args.output.display()));
    let start = Instant::now();
    let mut file_bytes = 0;
    file::create(&args.output, |path| {
        file_bytes = plan_file::save(&plan, path).map_err(|e| {
            CliError::failed(format!("cannot write {}", args.output.display())).because(e)
        })?;
        Ok(())
    })?;
    let write = start.elapsed();

    let explanation = plan.explanation();
    let report = PlanReport {
        format: plan.spec().kind().name(),
        spec: plan.spec().to_string(),
        dtype: plan.dtype().name(),
        nrows: plan.nrows(),
        ncols: plan.ncols(),
        nnz: plan.nnz(),
        n,
        precision: plan.precision().name(),
        reordered: is_reordered(&plan),
        gathers: plan.b_permutation().is_some(),
        permuted: plan.space() == Space::Permuted,
        tasks: plan.schedule().tasks().len(),
        layout,
        reason: explanation.reason.clone(),
        order: explanation.order.clone(),
        output: args.output.display().to_string(),
        file_bytes,
        source_bytes,
        tile_bytes: for_any_tiling!(plan.tiling(), tiling => tiling.bytes()),
        peak_rss_bytes: memory::peak_rss(),
        read_seconds: read.as_secs_f64(),
        plan_seconds: planning.as_secs_f64(),
        plan_products: explanation
            .chosen()
            .and_then(|chosen| Some(planning.as_secs_f64() / chosen.cost?.seconds.max(1e-9))),
        pays_back_after: explanation.pays_back_after(planning.as_secs_f64()),
        device: plan.options().target.name.clone(),
        write_seconds: write.as_secs_f64(),
        narrowing,
        explanation: args.plan.planning.explain.then(|| explanation.clone()),
        lowered: match args.plan.planning.explain {
            true => Some(lowering::here(&plan)?),
            false => None,
        },
    };
    let mut rows = vec![
        (
            "matrix",
            format!(
                "{} × {}, {} nonzeros",
                report.nrows,
                report.ncols,
                units::count(report.nnz as u64)
            ),
        ),
        ("format", format!("{}, {}", report.spec, report.dtype)),
    ];
    rows.extend(narrowing::line(&narrowing, plan.dtype()).map(|line| ("values of A", line)));
    rows.extend(e4m3.map(|found| ("values of A", narrowing::e4m3_line(&found))));
    rows.extend([
        ("tuned for", format!("n = {n} on {}", report.device)),
        ("tasks", units::count(report.tasks as u64)),
        ("read in", units::time(read)),
        ("planned in", units::time(planning)),
        ("written in", units::time(write)),
        ("file", format!("{}, {}", report.output, units::bytes(file_bytes))),
    ]);
    if let Some(layout) = &report.layout {
        let kept = match layout {
            Some(layout) => format!(
                "kept for {}: {}; {}",
                layout.backend,
                layout.key,
                units::bytes(layout.bytes)
            ),
            None => "none kept: tiles are multiplied as they are".to_owned(),
        };
        rows.push(("layout", kept));
    }
    let table = table::pairs(rows);
    let why = match &report.explanation {
        Some(explanation) => {
            let lowered = report.lowered.as_ref().map_or_else(String::new, |l| format!("\n\n{l}"));
            format!("{explanation}\n{}{lowered}", cost_of_planning(&report))
        }
        None if explanation.order.is_empty() => explanation.reason.clone(),
        None => format!("{}\n{}", explanation.reason, explanation.order),
    };
    Report::new(format!("{table}\n\n{why}"), &report)
}

/// What planning cost, in products.
fn cost_of_planning(report: &PlanReport) -> String {
    let as_long_as = match report.plan_products {
        Some(products) => {
            format!("planning took the time of {products:.1} products, by estimate")
        }
        None => "planning chose nothing".to_owned(),
    };
    match report.pays_back_after {
        Some(products) => {
            format!("{as_long_as}; beside csr it has saved that time after {products:.0} products")
        }
        None => format!("{as_long_as}; beside csr it saves preparation alone"),
    }
}

fn is_reordered(plan: &Plan) -> bool {
    !plan.row_permutation().is_identity()
}
