//! Choosing a backend, multiplying, and judging the result.

use std::time::{Duration, Instant};

use girih::backend::{
    ComplexProduct, Lowering, PreparedSpmm, Product, Registry, Selection, SpmmBackend,
    Verification, verify as judge, verify_complex,
};
use girih::formats::DType;
use girih::planner::Plan;

use super::operands::Operands;
use crate::args::{BackendArg, SpmmArgs};
use crate::error::CliError;
use crate::input::dense::Dense;
use crate::input::matrix::{Matrix, for_matrix};

/// The times of the products, and of what went before them.
pub(super) struct Timing {
    pub(super) prepare: Duration,
    pub(super) median: Duration,
    pub(super) min: Duration,
}

/// The requested backend, or the best one.
pub(super) fn select<'a>(
    requested: BackendArg,
    registry: &'a Registry,
    plan: &Plan,
) -> Result<Selection<'a>, CliError> {
    match requested.name() {
        None => Ok(registry.best_for(plan)?),
        Some(name) => {
            let backend = registry.get(name)?;
            backend.capabilities()?;
            backend.supports(plan).map_err(|unsupported| unsupported.by(name))?;
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
    args: &SpmmArgs,
    backend: &dyn SpmmBackend,
    plan: &Plan,
    operands: &Operands,
    c_dtype: DType,
) -> Result<Multiplied, CliError> {
    backend.supports_output(plan, c_dtype).map_err(|unsupported| unsupported.by(backend.name()))?;
    let start = Instant::now();
    let prepared = backend.prepare(plan)?;
    let prepare = start.elapsed();

    let shape = (plan.nrows(), operands.b.dim().1);
    let mut c = Dense::zeros("C", c_dtype, shape)?;
    let timed = args.repeat.get() as usize;
    // With repetitions the first product warms caches and memory up; a single one is what it is.
    let untimed = usize::from(timed > 1);
    let mut times = Vec::new();
    for i in 0..untimed + timed {
        if let Some(c0) = &operands.c0 {
            c.copy_from(c0);
        }
        let time = execute(args, &*prepared, operands, &mut c)?;
        if i >= untimed {
            times.push(time);
        }
    }
    times.sort_unstable();
    let median = (times[(timed - 1) / 2] + times[timed / 2]) / 2;
    let lowering = args.plan.planning.explain.then(|| prepared.lowering(shape.1));
    Ok(Multiplied { c, timing: Timing { prepare, median, min: times[0] }, lowering })
}

fn execute(
    args: &SpmmArgs,
    prepared: &dyn PreparedSpmm,
    operands: &Operands,
    c: &mut Dense,
) -> Result<Duration, CliError> {
    let b = operands.b.view();
    let c = c.view_mut();
    let start = Instant::now();
    prepared.execute_complex(args.alpha.0, b, args.beta.0, c)?;
    Ok(start.elapsed())
}

/// Judges C by the matrix that was planned, or by the one a loaded plan gives back.
pub(super) fn verify(
    args: &SpmmArgs,
    backend: &dyn SpmmBackend,
    plan: &Plan,
    matrix: Option<&Matrix>,
    operands: &Operands,
    c: &Dense,
) -> Result<Verification, CliError> {
    let planned = || matrix.map_or_else(|| Matrix::from_plan(plan), |matrix| Ok(matrix.clone()));
    let matrix = planned()
        .and_then(|matrix| matrix.in_space_of(plan))
        .map_err(|e| CliError::failed("cannot read the plan's entries back").because(e))?;
    let (alpha, beta) = (args.alpha.0, args.beta.0);
    let (found, rounding) = (c.view(), backend.rounding(plan));
    let complex = ComplexProduct {
        alpha,
        b: operands.b.view(),
        added: operands.c0.as_ref().map(|c0| (beta, c0.view())),
    };
    Ok(match &matrix {
        Matrix::C32(csr) => verify_complex(csr, plan, &complex, &found, rounding),
        Matrix::C64(csr) => verify_complex(csr, plan, &complex, &found, rounding),
        real => {
            let added = complex.added.map(|(beta, c0)| (beta.re, c0));
            let product = Product { alpha: alpha.re, b: complex.b, added };
            for_matrix!(real, csr => judge(csr, plan, &product, &found, rounding))
        }
    }?)
}
