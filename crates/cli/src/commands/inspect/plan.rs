//! What a plan file holds.

use std::time::Instant;

use girih::planner::file::{PlanFileInfo, SectionInfo};
use girih::planner::{Explanation, Plan, Precision, Reorder, Space};
use girih_measure::units;
use serde::Serialize;

use crate::error::{CliError, shown};
use crate::input::lowering::{self, Lowered};
use crate::input::source::PlanSource;
use crate::output::progress::Progress;
use crate::output::report::Report;
use crate::output::table;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct PlanFileReport {
    plan: String,
    /// Major and minor version of the file's format.
    version: String,
    file_bytes: u64,
    header_bytes: u64,
    tile_bytes: u64,
    nrows: usize,
    ncols: usize,
    nnz: usize,
    dtype: &'static str,
    format: &'static str,
    spec: String,
    n: usize,
    /// The name of the device that the plan was made for.
    device: String,
    /// The order that was requested: `none`, `auto`, `given` or a method.
    reorder: String,
    /// Whether rows are in an order of the plan's.
    reordered: bool,
    /// Whether rows of B are copied into the order of the plan's columns.
    gathers: bool,
    /// Whether B and C are in the plan's order.
    permuted: bool,
    /// The requests that limit the choice.
    exact: bool,
    /// How far products in f32 may be rounded.
    precision: &'static str,
    deterministic: bool,
    memory_limit: Option<u64>,
    keeps_slot_map: bool,
    schedule: ScheduleReport,
    fingerprint: Option<FingerprintReport>,
    sections: Vec<SectionReport>,
    attachments: Vec<AttachmentReport>,
    explanation: Explanation,
    /// What the best backend of this machine would execute, or why none would.
    #[serde(flatten)]
    lowered: Lowered,
    load_seconds: f64,
}

#[derive(Debug, Serialize)]
struct ScheduleReport {
    tasks: usize,
    split_windows: usize,
    reduction: &'static str,
    /// Partitions for workers, and the columns of C that windows were cut for.
    partitions: Option<usize>,
    cut_for: Option<u32>,
}

/// Hashes as hexadecimal text: JSON numbers cannot hold them everywhere.
#[derive(Debug, Serialize)]
struct FingerprintReport {
    dtype: &'static str,
    pattern: String,
    values: String,
}

#[derive(Debug, Serialize)]
struct SectionReport {
    name: String,
    /// Position of the attachment that it belongs to; `null` for the plan's own.
    attachment: Option<usize>,
    element: &'static str,
    count: u64,
    bytes: u64,
    offset: u64,
}

#[derive(Debug, Serialize)]
struct AttachmentReport {
    backend: String,
    key: String,
    arrays: usize,
    bytes: u64,
}

/// Loads a plan with full checks, and describes it.
pub(super) fn inspect(source: PlanSource, progress: &Progress) -> Result<Report, CliError> {
    let name = shown(source.path());
    progress.stage(format!("checking {name}"));
    let start = Instant::now();
    let (plan, info) = source.read_with_info()?;
    let load = start.elapsed();
    let report =
        PlanFileReport { load_seconds: load.as_secs_f64(), ..describe(name, &plan, info)? };
    let table = table::pairs(rows(&report).into_iter().chain([("loaded in", units::time(load))]));
    let mut text = format!("{table}\n\n{}", section_table(&report));
    if !report.attachments.is_empty() {
        text += &format!("\n\n{}", attachment_table(&report.attachments));
    }
    text += &format!("\n\n{}\n\n{}", report.explanation, report.lowered);
    Report::new(text, &report)
}

fn describe(name: String, plan: &Plan, info: PlanFileInfo) -> Result<PlanFileReport, CliError> {
    let order = plan.row_permutation();
    let (options, schedule) = (plan.options(), plan.schedule());
    let (major, minor) = info.version;
    let fingerprint = plan.fingerprint().map(|f| FingerprintReport {
        dtype: f.dtype.name(),
        pattern: format!("{:016x}", f.pattern),
        values: format!("{:016x}", f.values),
    });
    let attachments = plan.attachments().iter().map(|attachment| AttachmentReport {
        backend: attachment.backend().to_owned(),
        key: attachment.key().to_owned(),
        arrays: attachment.arrays().len(),
        bytes: attachment.bytes(),
    });
    Ok(PlanFileReport {
        plan: name,
        version: format!("{major}.{minor}"),
        file_bytes: info.file_bytes,
        header_bytes: info.header_bytes,
        tile_bytes: plan.tile_bytes(),
        nrows: plan.nrows(),
        ncols: plan.ncols(),
        nnz: plan.nnz(),
        dtype: plan.dtype().name(),
        format: plan.spec().kind().name(),
        spec: plan.spec().to_string(),
        n: options.n,
        device: options.target.name.clone(),
        reorder: match options.reorder {
            Reorder::None => "none".to_owned(),
            Reorder::Auto => "auto".to_owned(),
            Reorder::By(method) => method.to_string(),
            Reorder::Given => "given".to_owned(),
        },
        reordered: !order.is_identity(),
        gathers: plan.b_permutation().is_some(),
        permuted: plan.space() == Space::Permuted,
        exact: options.exact_nonfinite,
        precision: options.precision.name(),
        deterministic: options.deterministic,
        memory_limit: options.memory_limit,
        keeps_slot_map: plan.slot_map().is_some(),
        schedule: ScheduleReport {
            tasks: schedule.tasks().len(),
            split_windows: schedule.split_windows(),
            reduction: schedule.reduction().name(),
            partitions: schedule.columns().map(girih::planner::schedule::Columns::n_partitions),
            cut_for: schedule.columns().map(|columns| columns.cut_for),
        },
        fingerprint,
        sections: info.sections.into_iter().map(section).collect(),
        attachments: attachments.collect(),
        explanation: plan.explanation().clone(),
        lowered: lowering::here(plan)?,
        load_seconds: 0.0,
    })
}

fn section(section: SectionInfo) -> SectionReport {
    SectionReport {
        name: section.name,
        attachment: section.attachment,
        element: section.element,
        count: section.count,
        bytes: section.bytes,
        offset: section.offset,
    }
}

fn rows(report: &PlanFileReport) -> Vec<(&'static str, String)> {
    let count = |n: usize| units::count(n as u64);
    let PlanFileReport { plan, version, nrows, ncols, spec, dtype, n, device, .. } = report;
    let file = format!(
        "format version {version}, {}, of which the header has {}",
        units::bytes(report.file_bytes),
        units::bytes(report.header_bytes)
    );
    let nnz = count(report.nnz);
    let fingerprint = match &report.fingerprint {
        Some(FingerprintReport { dtype, pattern, values }) => {
            format!("pattern {pattern}, values {values} in {dtype}")
        }
        None => "none: the tiles were built by the caller".to_owned(),
    };
    vec![
        ("plan", plan.clone()),
        ("file", file),
        ("matrix", format!("{} × {}, {nnz} nonzeros", count(*nrows), count(*ncols))),
        ("format", format!("{spec}, {dtype}, {}", units::bytes(report.tile_bytes))),
        ("tuned for", format!("n = {n} on {device}")),
        ("order", order(report)),
        ("schedule", schedule(&report.schedule)),
        ("requests", requests(report)),
        ("fingerprint", fingerprint),
    ]
}

/// The order of rows and columns, and whether B and C are moved.
fn order(report: &PlanFileReport) -> String {
    let rows = if report.reordered { "rows are moved" } else { "rows stay" };
    let operands = match (report.permuted, report.gathers) {
        (true, _) => "B and C are in the order of the plan",
        (false, true) => "B is gathered, C is in the order of the matrix",
        (false, false) => "B and C are in the order of the matrix",
    };
    format!("{}: {rows}; {operands}", report.reorder)
}

fn schedule(schedule: &ScheduleReport) -> String {
    let tasks = units::count(schedule.tasks as u64);
    let split = match schedule.split_windows {
        0 => "no window is split by tiles".to_owned(),
        split => {
            format!("{} windows are split, {}", units::count(split as u64), schedule.reduction)
        }
    };
    match (schedule.partitions, schedule.cut_for) {
        (Some(partitions), Some(cut_for)) => {
            format!("{tasks} tasks in {partitions} partitions, cut for n = {cut_for}; {split}")
        }
        _ => format!("{tasks} tasks; {split}"),
    }
}

/// What was requested of the plan besides format and order.
fn requests(report: &PlanFileReport) -> String {
    let limit = report.memory_limit.map(|limit| format!("at most {}", units::bytes(limit)));
    let list = [
        report.deterministic.then(|| "deterministic".to_owned()),
        report.exact.then(|| "exact with NaN and Inf".to_owned()),
        (report.precision != Precision::default().name())
            .then(|| format!("f32 in {}", report.precision)),
        report.keeps_slot_map.then(|| "values can be refreshed".to_owned()),
        limit,
    ];
    let list: Vec<String> = list.into_iter().flatten().collect();
    if list.is_empty() { "none".to_owned() } else { list.join(", ") }
}

fn section_table(report: &PlanFileReport) -> String {
    let rows = report.sections.iter().map(|section| {
        let of = section.attachment.and_then(|at| report.attachments.get(at));
        vec![
            section.name.clone(),
            section.element.to_owned(),
            units::count(section.count),
            units::bytes(section.bytes),
            of.map_or_else(String::new, |a| format!("of {}, {}", a.backend, a.key)),
        ]
    });
    table::with_header(["section", "element", ">count", ">size", ""], rows)
}

fn attachment_table(attachments: &[AttachmentReport]) -> String {
    let rows = attachments.iter().map(|attachment| {
        vec![
            attachment.backend.clone(),
            attachment.key.clone(),
            units::count(attachment.arrays as u64),
            units::bytes(attachment.bytes),
        ]
    });
    table::with_header(["kept by", "for", ">arrays", ">size"], rows)
}
