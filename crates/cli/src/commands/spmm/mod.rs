//! `girih spmm`: the product, timed and verified.

mod loaded;
mod operands;
mod product;
mod report;

use std::fs::File;
use std::time::Instant;

use girih::backend::ProductShape;
use girih::formats::DType;
use girih::formats::io::WriteError;

use crate::args::SpmmArgs;
use crate::error::{CliError, shown};
use crate::input::cuda;
use crate::input::planning::{self, Planned};
use crate::input::source::{PlanSource, Source};
use crate::output::file;
use crate::output::progress::Progress;
use crate::output::report::Report;

use loaded::Loaded;
use operands::OperandSources;
use product::Multiplied;
use report::Outcome;

pub(crate) fn run(args: &SpmmArgs, progress: &Progress) -> Result<Report, CliError> {
    if !args.beta.is_zero() && args.c.is_none() {
        return Err(CliError::usage(format!(
            "--beta {} needs the C that is added: --c C0.npy",
            args.beta
        )));
    }
    if args.output.is_some() && args.c_dtype == Some(DType::Bf16) {
        return Err(CliError::usage(
            "-o writes a .npy file, and NumPy has no bf16: let --c-dtype be f16, or leave it out",
        ));
    }
    // Opened before anything slow, so that a mistyped name does not cost minutes.
    let sources = OperandSources::open(args)?;
    let loaded = load(args, sources.n(), progress)?;
    let plan = &loaded.plan;
    check_factors(args, plan.dtype())?;

    progress.stage("reading the operands");
    let c_dtype = args.c_dtype.unwrap_or(plan.dtype().accumulator());
    ProductShape::of(plan)
        .check_output(c_dtype)
        .map_err(|unsupported| CliError::usage(format!("--c-dtype {c_dtype}: {unsupported}")))?;
    let operands = sources.read(plan, c_dtype, progress)?;
    let registry = girih::backends_with(cuda::options()?);
    let selected = product::select(args.backend, &registry, plan)?;
    progress.stage(format!("multiplying on {}", selected.backend.name()));
    let Multiplied { c, timing, lowering } =
        product::multiply(args, selected.backend, plan, &operands, c_dtype)?;

    let verification = if args.verify {
        progress.stage("verifying");
        let matrix = loaded.matrix.as_ref();
        Some(product::verify(args, selected.backend, plan, matrix, &operands, &c)?)
    } else {
        None
    };
    if let Some(path) = &args.output {
        progress.stage(format!("writing {}", path.display()));
        file::create(path, |temporary| {
            File::create(temporary)
                .map_err(WriteError::from)
                .and_then(|file| c.write(file))
                .map_err(|e| {
                    CliError::failed(format!("cannot write {}", path.display())).because(e)
                })
        })?;
    }
    let outcome = Outcome { n: c.dim().1, c_dtype, timing, lowering, verification };
    report::report(args, &loaded, &operands, &selected, outcome)
}

/// Refuses factors with an imaginary part where values have none.
fn check_factors(args: &SpmmArgs, dtype: DType) -> Result<(), CliError> {
    for (flag, factor) in [("--alpha", args.alpha), ("--beta", args.beta)] {
        if factor.0.im != 0.0 && !dtype.is_complex() {
            return Err(CliError::usage(format!(
                "{flag} {factor} has an imaginary part, and products are of {dtype}: plan the matrix with --dtype \
                 c32 or c64, or write a real number"
            )));
        }
    }
    Ok(())
}

/// Loads the plan, or reads the matrix and plans it.
fn load(args: &SpmmArgs, n: usize, progress: &Progress) -> Result<Loaded, CliError> {
    match Source::detect(&args.source)? {
        Source::Plan(source) => load_plan(args, source, progress),
        Source::Matrix(_) if args.mmap => {
            Err(CliError::usage("--mmap is for plan files, but this is a matrix"))
        }
        Source::Matrix(source) => {
            let n = args.plan.planning.n.unwrap_or(n);
            let planned = planning::plan(source, &args.plan, n, progress)?;
            let Planned { plan, matrix, narrowing, read, planning } = planned;
            // Kept only where it is needed: a plan does not borrow from its matrix.
            let matrix = args.verify.then_some(matrix);
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

fn load_plan(args: &SpmmArgs, source: PlanSource, progress: &Progress) -> Result<Loaded, CliError> {
    let given = args.plan.given();
    if !given.is_empty() {
        return Err(CliError::usage(format!(
            "{} is a plan already; only a matrix takes {}",
            shown(source.path()),
            given.join(", ")
        )));
    }
    let source = source.allow_hypersparse(args.plan.read.allow_hypersparse);
    progress.stage(format!("loading {}", shown(source.path())));
    let start = Instant::now();
    let plan = if args.mmap { source.map() } else { source.read() }?;
    Ok(Loaded { plan, matrix: None, narrowing: None, load: start.elapsed(), planning: None })
}
