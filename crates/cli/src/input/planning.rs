//! From a matrix and the planning options to a plan.

use std::time::{Duration, Instant};

use girih::DeviceSpec;
use girih::formats::{FormatError, Narrowing};
use girih::planner::{FormatChoice, Plan, PlanError, PlanOptions, Planner, Reorder, Space};
use girih_measure::is_above_memory_limit;

use super::matrix::Matrix;
use super::source::MatrixSource;
use super::{device, order};
use crate::args::{PlannerArgs, ReorderArg};
use crate::error::{CliError, plan_error_class, shown};
use crate::output::progress::Progress;

/// A plan, the matrix it was made from, and how long that took.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    /// The matrix as planned: in the plan's value type, pruned.
    pub(crate) matrix: Matrix,
    /// What rounding to the plan's value type made of the values that were read.
    pub(crate) narrowing: Narrowing,
    pub(crate) read: Duration,
    pub(crate) planning: Duration,
}

/// Reads a matrix and plans it for `n` columns.
pub(crate) fn plan(
    source: MatrixSource,
    args: &PlannerArgs,
    n: usize,
    progress: &Progress,
) -> Result<Planned, CliError> {
    // Before the matrix is read: a contradiction in the options should not cost minutes.
    let planner = Planner::new(options(args, n)?);
    let name = shown(source.path());
    let start = Instant::now();
    let (mut matrix, narrowing) = match args.tiles.dtype {
        Some(dtype) => Matrix::read(source, dtype, &args.read, progress)?,
        None => Matrix::read_in_single(source, &args.read, progress)?,
    };
    let read = start.elapsed();

    let observer = progress.planning(format!("planning {name}"));
    let start = Instant::now();
    if args.planning.prune_two_four {
        let before = matrix.nnz();
        matrix = matrix.prune_two_four();
        let dropped = before - matrix.nnz();
        progress.note(&format!("pruning to 2:4 dropped {dropped} of {before} entries"));
    }
    let order = match &args.planning.reorder {
        Some(ReorderArg::File(path)) => Some(order::read(path, matrix.dim())?),
        Some(ReorderArg::Plan(_)) | None => None,
    };
    let plan = matrix.plan(&planner, order.as_ref(), &observer).map_err(|e| refused(&name, &e))?;
    Ok(Planned { plan, matrix, narrowing, read, planning: start.elapsed() })
}

fn options(args: &PlannerArgs, n: usize) -> Result<PlanOptions, CliError> {
    let target = match &args.planning.device {
        Some(name) => device::find(name)?,
        None => DeviceSpec::this_cpu(),
    };
    Ok(PlanOptions::new(n)
        .format(args.format()?.map_or(FormatChoice::Auto, FormatChoice::Fixed))
        .reorder(match &args.planning.reorder {
            Some(ReorderArg::Plan(reorder)) => *reorder,
            Some(ReorderArg::File(_)) => Reorder::Given,
            None => Reorder::None,
        })
        .space(if args.planning.permuted { Space::Permuted } else { Space::Caller })
        .exact_nonfinite(args.planning.exact)
        .precision(args.planning.precision.unwrap_or_default())
        .memory_limit(args.memory_limit())
        .deterministic(!args.planning.nondeterministic)
        .planning_seconds(args.planning.planning_time)
        .kernels(girih::kernels_for(&target))
        .target(target))
}

/// The error of a plan that was refused, with the flag that helps.
fn refused(name: &str, error: &PlanError) -> CliError {
    let hint = match error {
        PlanError::Format(FormatError::NotTwoFour { .. }) => "; --prune-two-four does that",
        error if is_above_memory_limit(error) => "; --memory-limit raises it",
        _ => "",
    };
    CliError::new(plan_error_class(error), format!("cannot plan {name}: {error}{hint}"))
}
