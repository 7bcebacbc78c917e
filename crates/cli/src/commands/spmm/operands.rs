//! B, and C before the product.

use girih::formats::{DType, Narrowing};
use girih::planner::Plan;

use crate::args::SpmmArgs;
use crate::error::CliError;
use crate::input::dense::{Dense, ReadDense};
use crate::input::npy::NpyFile;
use crate::output::progress::Progress;

/// The dense operands, named and found but not read.
#[derive(Debug)]
pub(super) struct OperandSources {
    b: BSource,
    c0: Option<NpyFile>,
}

#[derive(Debug)]
enum BSource {
    File(NpyFile),
    Random { n: usize, seed: u64 },
}

/// The dense operands of a product, in the types that the plan needs.
pub(super) struct Operands {
    /// k×n, in the plan's value type.
    pub(super) b: Dense,
    /// C before the product, m×n, row-major, in its value type; `None` if none was given.
    pub(super) c0: Option<Dense>,
    /// What rounding made of the values of B and of that C, where they were read.
    pub(super) b_narrowing: Option<Narrowing>,
    pub(super) c0_narrowing: Option<Narrowing>,
}

impl OperandSources {
    /// Opens the files and reads their headers.
    pub(super) fn open(args: &SpmmArgs) -> Result<Self, CliError> {
        let b = match (&args.rhs.rhs, args.rhs.random) {
            (Some(path), _) => BSource::File(NpyFile::open(path)?),
            (None, n) => BSource::Random { n: n.unwrap_or(0), seed: args.seed },
        };
        let c0 = args.c.as_deref().map(NpyFile::open).transpose()?;
        Ok(Self { b, c0 })
    }

    /// Columns of B.
    pub(super) fn n(&self) -> usize {
        match &self.b {
            BSource::File(file) => file.shape().1,
            BSource::Random { n, .. } => *n,
        }
    }

    /// Checks both shapes against the plan, then reads.
    pub(super) fn read(
        self,
        plan: &Plan,
        c_dtype: DType,
        progress: &Progress,
    ) -> Result<Operands, CliError> {
        let (m, k, n) = (plan.nrows(), plan.ncols(), self.n());
        if let BSource::File(file) = &self.b {
            check_shape("B", file, (k, n), &format!("A has {k} columns"))?;
        }
        if let Some(file) = &self.c0 {
            check_shape("C", file, (m, n), &format!("A·B is {m}×{n}"))?;
        }
        let dtype = plan.dtype();
        let (b, b_narrowing) = match self.b {
            BSource::File(file) => {
                let (b, narrowing) = read("B", file, dtype, progress)?;
                (b, Some(narrowing))
            }
            BSource::Random { n, seed } => (Dense::random("B", dtype, (k, n), seed)?, None),
        };
        let (c0, c0_narrowing) = match self.c0 {
            Some(file) => {
                let (c0, narrowing) = read("C", file, c_dtype, progress)?;
                (Some(c0.into_row_major()), Some(narrowing))
            }
            None => (None, None),
        };
        Ok(Operands { b, c0, b_narrowing, c0_narrowing })
    }
}

fn check_shape(
    operand: &str,
    file: &NpyFile,
    needed: (usize, usize),
    why: &str,
) -> Result<(), CliError> {
    if file.shape() == needed {
        return Ok(());
    }
    let ((rows, cols), (needed_rows, needed_cols)) = (file.shape(), needed);
    Err(CliError::input(format!(
        "{}: {operand} is {rows}×{cols} and must be {needed_rows}×{needed_cols}: {why}",
        file.path().display()
    )))
}

fn read(
    operand: &str,
    file: NpyFile,
    dtype: DType,
    progress: &Progress,
) -> Result<(Dense, Narrowing), CliError> {
    let name = file.path().display().to_string();
    let ReadDense { dense, rounded_from, narrowing } = Dense::read(file, dtype)?;
    if let Some(from) = rounded_from {
        progress.note(&format!("{name}: {operand} was rounded from {from} to {dtype}"));
    }
    Ok((dense, narrowing))
}
