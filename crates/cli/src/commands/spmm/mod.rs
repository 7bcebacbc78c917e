//! `girih spmm`: the product, timed and verified.

mod facts;
mod operands;
mod product;

use std::fs::File;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use girih::formats::Narrowing;
use girih::formats::io::WriteError;
use girih::planner::Plan;

use crate::args::{Json, PlanArgs};
use crate::cuda;
use crate::error::{CliError, shown};
use crate::matrix::Matrix;
use crate::output;
use crate::planning::{self, Planned};
use crate::progress::Progress;
use crate::report::Report;
use crate::source::{PlanSource, Source};

use facts::Done;
use operands::Given;
use product::Multiplied;

pub(crate) use facts::wrong;
pub(crate) use product::refused;

/// Compute C = α·A·B + β·C, timed, and verified on request
///
/// A is a matrix, planned on the fly, or a plan made by `girih plan`. A and B are rounded to the value
/// type of the plan; values that overflow, vanish or become subnormal there are counted and reported. C
/// has its accumulation type: f64 for f64, f32 for the rest.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Matrix or plan file; - is standard input
    #[arg(value_name = "A|PLAN")]
    source: PathBuf,
    #[command(flatten)]
    rhs: Rhs,
    /// Seed of --random
    #[arg(long, default_value_t = 0, conflicts_with = "rhs")]
    seed: u64,
    /// Write C, row-major
    #[arg(short, long, value_name = "C.npy")]
    output: Option<PathBuf>,
    /// Factor of A·B
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    alpha: f64,
    /// Factor of the C that is added; needs --c unless it is 0
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    beta: f64,
    /// C before the product: two-dimensional, f32 or f64, C or Fortran order
    #[arg(long, value_name = "C0.npy")]
    c: Option<PathBuf>,
    /// Backend; auto takes the best that can run the plan
    #[arg(long, value_enum, default_value_t = BackendArg::Auto)]
    backend: BackendArg,
    /// Compare every element of C with an oracle, against a rigorous error bound; says how many elements
    /// are not finite and so have no error
    #[arg(long)]
    verify: bool,
    /// Number of timed products; above 1, an untimed one goes first
    #[arg(long, value_name = "R", default_value = "1")]
    repeat: NonZeroU32,
    /// Map the plan file instead of reading it; nobody may change the file meanwhile
    #[arg(long)]
    mmap: bool,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    plan: PlanArgs,
}

/// Where B comes from: exactly one of the two.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Rhs {
    /// B from a file: two-dimensional, f32 or f64, C or Fortran order
    #[arg(long, value_name = "B.npy")]
    rhs: Option<PathBuf>,
    /// B of that many columns, uniform in [-1, 1)
    #[arg(long, value_name = "N")]
    random: Option<usize>,
}

/// The backends that can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BackendArg {
    Auto,
    Cuda,
    Cpu,
    Reference,
}

impl BackendArg {
    /// The name in the registry; `None` for the best there is.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Cuda => Some("cuda"),
            Self::Cpu => Some("cpu"),
            Self::Reference => Some("reference"),
        }
    }
}

/// A plan, and where it came from.
struct Loaded {
    plan: Plan,
    /// The matrix it was made from, if it was made here.
    matrix: Option<Matrix>,
    /// What rounding made of the matrix's values, if it was read here.
    narrowing: Option<Narrowing>,
    load: Duration,
    planning: Option<Duration>,
}

pub(crate) fn run(options: &Options, progress: &Progress) -> Result<Report, CliError> {
    if options.beta != 0.0 && options.c.is_none() {
        return Err(CliError::usage(format!(
            "--beta {} needs the C that is added: --c C0.npy",
            options.beta
        )));
    }
    // Opened before anything slow, so that a mistyped name does not cost minutes.
    let given = Given::open(options)?;
    let loaded = load(options, given.n(), progress)?;
    let plan = &loaded.plan;

    progress.stage("reading the operands");
    let operands = given.read(plan, progress)?;
    let registry = girih::backends_with(cuda::options()?);
    let selected = product::select(options.backend, &registry, plan)?;
    progress.stage(format!("multiplying on {}", selected.backend.name()));
    let Multiplied { c, timing, lowering } =
        product::multiply(options, selected.backend, plan, &operands)?;

    let verification = if options.verify {
        progress.stage("verifying");
        let matrix = loaded.matrix.as_ref();
        Some(product::verify(options, selected.backend, plan, matrix, &operands, &c)?)
    } else {
        None
    };
    if let Some(path) = &options.output {
        progress.stage(format!("writing {}", path.display()));
        output::create(path, |temporary| {
            File::create(temporary)
                .map_err(WriteError::from)
                .and_then(|file| c.write(file))
                .map_err(|e| {
                    CliError::failed(format!("cannot write {}", path.display())).because(e)
                })
        })?;
    }
    let done = Done { n: c.dim().1, timing, lowering, verification };
    facts::report(options, &loaded, &operands, &selected, done)
}

/// Loads the plan, or reads the matrix and plans it.
fn load(options: &Options, n: usize, progress: &Progress) -> Result<Loaded, CliError> {
    match Source::detect(&options.source)? {
        Source::Plan(source) => load_plan(options, source, progress),
        Source::Matrix(_) if options.mmap => {
            Err(CliError::usage("--mmap is for plan files, and this is a matrix"))
        }
        Source::Matrix(source) => {
            let n = options.plan.planning.n.unwrap_or(n);
            let planned = planning::plan(source, &options.plan, n, progress)?;
            let Planned { plan, matrix, narrowing, read, planning } = planned;
            // Kept only where it is needed: a plan does not borrow from its matrix.
            let matrix = options.verify.then_some(matrix);
            Ok(Loaded {
                plan,
                matrix,
                narrowing: Some(narrowing),
                load: read,
                planning: Some(planning),
            })
        }
    }
}

fn load_plan(
    options: &Options,
    source: PlanSource,
    progress: &Progress,
) -> Result<Loaded, CliError> {
    let given = options.plan.given();
    if !given.is_empty() {
        return Err(CliError::usage(format!(
            "{} is a plan, and {} can only be given when one is made from a matrix",
            shown(source.path()),
            given.join(", ")
        )));
    }
    progress.stage(format!("loading {}", shown(source.path())));
    let start = Instant::now();
    let plan = if options.mmap { source.map() } else { source.read() }?;
    Ok(Loaded { plan, matrix: None, narrowing: None, load: start.elapsed(), planning: None })
}
