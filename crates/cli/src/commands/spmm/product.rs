//! Choosing who multiplies, multiplying, and judging the result.

use std::time::{Duration, Instant};

use girih::backend::{
    BackendError, Lowering, PreparedSpmm, Product, Registry, Selection, SpmmBackend, Verification,
    verify as judge,
};
use girih::planner::Plan;

use super::operands::Operands;
use super::{BackendArg, Options};
use crate::dense::Dense;
use crate::error::{Class, CliError};
use crate::matrix::{Matrix, for_matrix};

/// The times of the products, and of what went before them.
pub(super) struct Timing {
    pub(super) prepare: Duration,
    pub(super) median: Duration,
    pub(super) min: Duration,
}

/// The backend asked for, or the best one.
pub(super) fn select<'a>(
    asked: BackendArg,
    registry: &'a Registry,
    plan: &Plan,
) -> Result<Selection<'a>, CliError> {
    match asked.name() {
        None => registry.best_for(plan).map_err(refused),
        Some(name) => {
            let backend = registry.get(name).map_err(refused)?;
            backend.capabilities().map_err(refused)?;
            backend.supports(plan).map_err(|e| refused(e.into()))?;
            Ok(Selection { backend, rejected: Vec::new(), estimates: Vec::new() })
        }
    }
}

/// What multiplying gave.
pub(super) struct Multiplied {
    pub(super) c: Dense,
    pub(super) timing: Timing,
    /// What the backend executed, if that is to be explained.
    pub(super) lowering: Option<Lowering>,
}

/// Prepares once and multiplies as often as the options say; C is as after one product.
pub(super) fn multiply(
    options: &Options,
    backend: &dyn SpmmBackend,
    plan: &Plan,
    operands: &Operands,
) -> Result<Multiplied, CliError> {
    let start = Instant::now();
    let prepared = backend.prepare(plan).map_err(refused)?;
    let prepare = start.elapsed();

    let shape = (plan.nrows(), operands.b.dim().1);
    let mut c = Dense::zeros("C", plan.dtype().accumulator(), shape)?;
    let timed = options.repeat.get() as usize;
    // With repetitions the first product warms caches and memory up; a single one is what it is.
    let untimed = usize::from(timed > 1);
    let mut times = Vec::new();
    for i in 0..untimed + timed {
        if let Some(c0) = &operands.c0 {
            c.copy_from(c0);
        }
        let time = execute(options, &*prepared, operands, &mut c)?;
        if i >= untimed {
            times.push(time);
        }
    }
    times.sort_unstable();
    let median = (times[(timed - 1) / 2] + times[timed / 2]) / 2;
    let lowering = options.plan.planning.explain.then(|| prepared.lowering(shape.1));
    Ok(Multiplied { c, timing: Timing { prepare, median, min: times[0] }, lowering })
}

fn execute(
    options: &Options,
    prepared: &dyn PreparedSpmm,
    operands: &Operands,
    c: &mut Dense,
) -> Result<Duration, CliError> {
    let b = operands.b.view();
    let c = c.view_mut().ok_or_else(|| CliError::failed("C is not of an accumulation type"))?;
    let start = Instant::now();
    prepared.execute(options.alpha, b, options.beta, c).map_err(refused)?;
    Ok(start.elapsed())
}

/// Judges C by the matrix that was planned, or by the one a loaded plan gives back.
pub(super) fn verify(
    options: &Options,
    backend: &dyn SpmmBackend,
    plan: &Plan,
    matrix: Option<&Matrix>,
    operands: &Operands,
    c: &Dense,
) -> Result<Verification, CliError> {
    let of_plan = || matrix.map_or_else(|| Matrix::of_plan(plan), |matrix| Ok(matrix.clone()));
    let matrix = of_plan()
        .and_then(|matrix| matrix.in_space_of(plan))
        .map_err(|e| CliError::failed("cannot take the plan apart").because(e))?;
    let product = Product {
        alpha: options.alpha,
        b: operands.b.view(),
        added: operands.c0.as_ref().map(|c0| (options.beta, c0.view())),
    };
    let rounding = backend.rounding(plan);
    for_matrix!(&matrix, csr => judge(csr, plan, &product, &c.view(), rounding)).map_err(refused)
}

/// Puts a backend's refusal into the class its exit code comes from.
pub(crate) fn refused(error: BackendError) -> CliError {
    let class = match &error {
        BackendError::Unavailable { .. } | BackendError::UnknownBackend { .. } => {
            Class::Unavailable
        }
        BackendError::Unsupported(_) | BackendError::NoBackend { .. } => Class::Unsupported,
        BackendError::Shape { .. } => Class::Input,
        _ => Class::Failed,
    };
    CliError::new(class, "the product was not computed").because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_that_is_not_there_exits_with_5() {
        let (backend, reason) = ("cuda".to_owned(), "libcuda.so.1 was not found".to_owned());
        let error = refused(BackendError::Unavailable { backend, reason });
        assert_eq!(error.exit_code(), 5);
        assert!(error.to_string().contains("libcuda.so.1"), "{error}");
    }
}
