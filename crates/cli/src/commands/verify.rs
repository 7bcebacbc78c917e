//! `girih verify`: whether a plan file is sound, and whether it is of a certain matrix.

use std::time::Instant;

use girih::formats::{Csr, FormatSpec, Narrowing, Scalar};
use girih_measure::units;
use girih_parallel::prelude::*;
use serde::Serialize;

use crate::args::VerifyArgs;
use crate::error::{CliError, shown};
use crate::input::matrix::Matrix;
use crate::input::source::Source;
use crate::output::progress::Progress;
use crate::output::report::Report;
use crate::output::{narrowing, table};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct VerifyReport {
    /// Whether the plan is sound and, if there was something to compare with, equal to it.
    ok: bool,
    format: &'static str,
    spec: String,
    dtype: &'static str,
    nrows: usize,
    ncols: usize,
    nnz: usize,
    tasks: usize,
    /// Values in the tiles that are NaN or infinite.
    non_finite_values: u64,
    load_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Against>,
}

#[derive(Debug, Serialize)]
struct Against {
    equal: bool,
    /// What was done to the matrix before it was equal.
    pruning: Option<&'static str>,
    /// The first difference from the matrix as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
    /// What rounding to the plan's value type made of the matrix.
    narrowing: Narrowing,
}

pub(crate) fn run(args: &VerifyArgs, progress: &Progress) -> Result<Report, CliError> {
    if args.against.as_deref() == Some("-".as_ref()) && args.source.as_os_str() == "-" {
        return Err(CliError::usage("the plan and the matrix cannot both be standard input"));
    }
    let source = Source::plan(&args.source)?;
    let name = shown(source.path());
    progress.stage(format!("checking {name}"));
    let start = Instant::now();
    let plan = source.allow_hypersparse(args.read.allow_hypersparse).read()?;
    let load = start.elapsed();

    let against = match &args.against {
        None => None,
        Some(path) => {
            let source = Source::matrix(path)?;
            let (matrix, narrowing) = Matrix::read(source, plan.dtype(), &args.read, progress)?;
            progress.stage("comparing");
            let planned = Matrix::from_plan(&plan).map_err(|e| {
                CliError::failed(format!("cannot read the entries of {name} back")).because(e)
            })?;
            Some(compare(&planned, &matrix, narrowing, plan.spec())?)
        }
    };
    let mut rows = vec![
        ("plan", format!("{name}: sound")),
        (
            "matrix",
            format!(
                "{} × {}, {} nonzeros",
                plan.nrows(),
                plan.ncols(),
                units::count(plan.nnz() as u64)
            ),
        ),
        ("format", format!("{}, {}", plan.spec(), plan.dtype())),
        ("tasks", units::count(plan.schedule().tasks().len() as u64)),
        ("checked in", units::time(load)),
    ];
    let non_finite_values = narrowing::non_finite_in(&plan);
    let lines = [
        against.as_ref().and_then(|against| narrowing::line(&against.narrowing, plan.dtype())),
        narrowing::plan_line(non_finite_values, &plan),
    ];
    rows.extend(lines.into_iter().flatten().map(|line| ("values", line)));
    let mut failure = None;
    if let (Some(against), Some(path)) = (&against, &args.against) {
        let verdict = match (&against.difference, against.pruning) {
            (Some(difference), _) => {
                let path = shown(path);
                failure =
                    Some(CliError::failed(format!("{name} is not a plan of {path}: {difference}")));
                format!("differs from {path}: {difference}")
            }
            (None, Some(pruning)) => format!("equal to {} after {pruning}", shown(path)),
            (None, None) => format!("equal to {}", shown(path)),
        };
        rows.push(("entries", verdict));
    }
    let report = VerifyReport {
        ok: failure.is_none(),
        format: plan.spec().kind().name(),
        spec: plan.spec().to_string(),
        dtype: plan.dtype().name(),
        nrows: plan.nrows(),
        ncols: plan.ncols(),
        nnz: plan.nnz(),
        tasks: plan.schedule().tasks().len(),
        non_finite_values,
        load_seconds: load.as_secs_f64(),
        against,
    };
    Ok(Report::new(table::pairs(rows), &report)?.with_failure(failure))
}

/// Compares a plan's entries with a matrix, as it is and after each pruning that the planner
/// may have done, with values as the plan's format stores them. `narrowing` is what reading the matrix made of its
/// values.
fn compare(
    planned: &Matrix,
    matrix: &Matrix,
    narrowing: Narrowing,
    spec: FormatSpec,
) -> Result<Against, CliError> {
    let equal = Against { equal: true, pruning: None, difference: None, narrowing };
    let Some(difference) = difference(planned, &matrix.as_stored(spec))? else {
        return Ok(equal);
    };
    // Pruning drops entries: a plan that holds as many as the matrix was not pruned.
    if planned.nnz() < matrix.nnz() {
        let without_zeros = matrix.prune_zeros();
        for (pruning, pruned) in [
            ("dropping explicit zeros", &without_zeros),
            ("pruning to 2:4", &matrix.prune_two_four()),
            ("dropping explicit zeros and pruning to 2:4", &without_zeros.prune_two_four()),
        ] {
            if self::difference(planned, &pruned.as_stored(spec))?.is_none() {
                return Ok(Against { pruning: Some(pruning), ..equal });
            }
        }
        // A hybrid's rows keep theirs.
        if self::difference(&planned.prune_zeros(), &without_zeros)?.is_none() {
            return Ok(Against { pruning: Some("dropping some explicit zeros"), ..equal });
        }
    }
    Ok(Against { equal: false, difference: Some(difference), ..equal })
}

/// The first difference between two matrices of one value type, in words.
fn difference(planned: &Matrix, matrix: &Matrix) -> Result<Option<String>, CliError> {
    match (planned, matrix) {
        (Matrix::F16(p), Matrix::F16(a)) => Ok(first_difference(p, a)),
        (Matrix::Bf16(p), Matrix::Bf16(a)) => Ok(first_difference(p, a)),
        (Matrix::F32(p), Matrix::F32(a)) => Ok(first_difference(p, a)),
        (Matrix::F64(p), Matrix::F64(a)) => Ok(first_difference(p, a)),
        (Matrix::C32(p), Matrix::C32(a)) => Ok(first_difference(p, a)),
        (Matrix::C64(p), Matrix::C64(a)) => Ok(first_difference(p, a)),
        _ => Err(CliError::failed("the matrix was not read in the plan's value type")),
    }
}

fn first_difference<T: Scalar>(planned: &Csr<T>, matrix: &Csr<T>) -> Option<String> {
    let (p, a) = ((planned.nrows(), planned.ncols()), (matrix.nrows(), matrix.ncols()));
    if p != a {
        return Some(format!("the plan is {}×{} and the matrix {}×{}", p.0, p.1, a.0, a.1));
    }
    let row = (0..p.0).into_par_iter().position_first(|row| {
        let ((pc, pv), (ac, av)) = (planned.row(row), matrix.row(row));
        // By bits: a NaN is equal to itself, and zeros of both signs differ.
        pc != ac || bytemuck::cast_slice::<T, u8>(pv) != bytemuck::cast_slice::<T, u8>(av)
    })?;
    Some(difference_in_row(row, planned.row(row), matrix.row(row)))
}

/// The first difference between two rows that differ. Places are one-based, as in Matrix Market.
fn difference_in_row<T: Scalar>(
    row: usize,
    (plan_cols, plan_values): (&[u32], &[T]),
    (cols, values): (&[u32], &[T]),
) -> String {
    let same = |i: &usize| {
        plan_cols.get(*i) == cols.get(*i)
            && bytemuck::bytes_of(&plan_values[*i]) == bytemuck::bytes_of(&values[*i])
    };
    let shorter = plan_cols.len().min(cols.len());
    let i = (0..shorter).take_while(same).count();
    let place = |col: u32| format!("entry ({}, {})", row + 1, u64::from(col) + 1);
    match (plan_cols.get(i), cols.get(i)) {
        (Some(&p), Some(&a)) if p == a => format!(
            "{} is {} in the plan and {} in the matrix",
            place(a),
            plan_values[i],
            values[i]
        ),
        (Some(&p), a) if a.is_none_or(|&a| p < a) => {
            format!("{} is in the plan and not in the matrix", place(p))
        }
        (_, Some(&a)) => format!("{} is in the matrix and not in the plan", place(a)),
        _ => format!("row {} differs", row + 1),
    }
}
