//! A matrix whose value type is known at run time.

use girih::formats::{
    AnyTiling, Complex, Csr, DType, E4m3Narrowing, E4m3Scales, FormatSpec, Narrowing, RowLayout,
    Scalar, ScalesPer, Tiling,
};
use girih::planner::{self, Plan, PlanError, Planner, Space};
use girih::reorder::Reordering;
use half::{bf16, f16};

use super::source::MatrixSource;
use crate::args::ReadArgs;
use crate::error::CliError;
use crate::output::progress::Progress;

/// A matrix of any value type.
#[derive(Clone, Debug)]
pub(crate) enum Matrix {
    F16(Csr<f16>),
    Bf16(Csr<bf16>),
    F32(Csr<f32>),
    F64(Csr<f64>),
    C32(Csr<Complex<f32>>),
    C64(Csr<Complex<f64>>),
}

/// Evaluates an expression on the CSR inside a [`Matrix`], whatever its value type.
macro_rules! for_matrix {
    ($matrix:expr, $csr:ident => $body:expr) => {
        match $matrix {
            $crate::input::matrix::Matrix::F16($csr) => $body,
            $crate::input::matrix::Matrix::Bf16($csr) => $body,
            $crate::input::matrix::Matrix::F32($csr) => $body,
            $crate::input::matrix::Matrix::F64($csr) => $body,
            $crate::input::matrix::Matrix::C32($csr) => $body,
            $crate::input::matrix::Matrix::C64($csr) => $body,
        }
    };
}
pub(crate) use for_matrix;

impl Matrix {
    /// Reads a matrix straight into `dtype`, and says what rounding made of its values.
    pub(crate) fn read(
        source: MatrixSource,
        dtype: DType,
        args: &ReadArgs,
        progress: &Progress,
    ) -> Result<(Self, Narrowing), CliError> {
        fn typed<T: Scalar>(
            source: MatrixSource,
            args: &ReadArgs,
            progress: &Progress,
        ) -> Result<(Matrix, Narrowing), CliError>
        where
            Matrix: From<Csr<T>>,
        {
            let (csr, info) = source.read::<T>(args, progress)?;
            Ok((csr.into(), info.narrowing))
        }
        match dtype {
            DType::F16 => typed::<f16>(source, args, progress),
            DType::Bf16 => typed::<bf16>(source, args, progress),
            DType::F32 => typed::<f32>(source, args, progress),
            DType::F64 => typed::<f64>(source, args, progress),
            DType::C32 => typed::<Complex<f32>>(source, args, progress),
            DType::C64 => typed::<Complex<f64>>(source, args, progress),
        }
    }

    /// Reads a matrix in f32, or in c32 if the file holds complex numbers: what a command does that was given no value
    /// type.
    pub(crate) fn read_in_single(
        source: MatrixSource,
        args: &ReadArgs,
        progress: &Progress,
    ) -> Result<(Self, Narrowing), CliError> {
        let (matrix, info) = source.read_either::<f32, Complex<f32>, Self>(args, progress)?;
        Ok((matrix, info.narrowing))
    }

    /// The matrix that a plan's tiles hold, in the plan's order.
    fn held_by(plan: &Plan) -> Self {
        match plan.tiling() {
            AnyTiling::F16(tiling) => tiling.to_csr().into(),
            AnyTiling::Bf16(tiling) => tiling.to_csr().into(),
            AnyTiling::F32(tiling) => tiling.to_csr().into(),
            AnyTiling::F64(tiling) => tiling.to_csr().into(),
            AnyTiling::C32(tiling) => tiling.to_csr().into(),
            AnyTiling::C64(tiling) => tiling.to_csr().into(),
        }
    }

    /// The matrix that a plan was made from, by the entries that the plan stores.
    pub(crate) fn from_plan(plan: &Plan) -> Result<Self, PlanError> {
        Ok(for_matrix!(&Self::held_by(plan), csr => plan.release(csr)?.into()))
    }

    /// The matrix in the space of the plan's products: permuted if the plan is.
    pub(crate) fn in_space_of(&self, plan: &Plan) -> Result<Self, PlanError> {
        match plan.space() {
            Space::Caller => Ok(self.clone()),
            Space::Permuted => Ok(for_matrix!(self, csr => plan.hold(csr)?.into())),
        }
    }

    /// What storing the matrix in e4m3 does to its values; nothing is known of a complex one, which is not stored so.
    pub(crate) fn e4m3_narrowing(&self, per: ScalesPer) -> Option<E4m3Narrowing> {
        for_matrix!(self, csr => E4m3Scales::of(csr, per).narrowing(csr).ok())
    }

    /// The matrix with values as a format stores them: in e4m3, with the scales that a planner chooses, rounded to it. A
    /// matrix that the format does not hold stays as it is.
    pub(crate) fn as_stored(&self, spec: FormatSpec) -> Self {
        let FormatSpec::TwoFourE4m3 { .. } = spec else { return self.clone() };
        for_matrix!(self, csr => {
            let layout = RowLayout::natural(csr.nrows(), spec.window_rows());
            let stored = layout.and_then(|layout| Tiling::from_csr(csr, spec, layout));
            stored.map_or_else(|_| self.clone(), |tiling| tiling.to_csr().into())
        })
    }

    /// The matrix without its explicit zeros.
    pub(crate) fn prune_zeros(&self) -> Self {
        for_matrix!(self, csr => csr.prune_zeros().into())
    }

    /// The matrix pruned to 2:4 by magnitude; a complex one, which no 2:4 holds, as it is.
    pub(crate) fn prune_two_four(&self) -> Self {
        match self {
            Self::F16(csr) => csr.prune_two_four().into(),
            Self::Bf16(csr) => csr.prune_two_four().into(),
            Self::F32(csr) => csr.prune_two_four().into(),
            Self::F64(csr) => csr.prune_two_four().into(),
            Self::C32(_) | Self::C64(_) => self.clone(),
        }
    }

    /// Plans the matrix, in an order if one is given. `observer` hears of progress.
    pub(crate) fn plan(
        &self,
        planner: &Planner,
        order: Option<&Reordering>,
        observer: &dyn Fn(planner::progress::Progress),
    ) -> Result<Plan, PlanError> {
        let planner = planner.observe(observer);
        for_matrix!(self, csr => match order {
            Some(order) => planner.plan_reordered(csr, order),
            None => planner.plan(csr),
        })
    }

    /// Rows and columns.
    pub(crate) fn dim(&self) -> (usize, usize) {
        for_matrix!(self, csr => (csr.nrows(), csr.ncols()))
    }

    /// Bytes of the CSR arrays.
    pub(crate) fn bytes(&self) -> u64 {
        for_matrix!(self, csr => csr.bytes())
    }

    /// Stored entries.
    pub(crate) fn nnz(&self) -> usize {
        for_matrix!(self, csr => csr.nnz())
    }
}

macro_rules! from_csr {
    ($($variant:ident: $t:ty),*) => {$(
        impl From<Csr<$t>> for Matrix {
            fn from(csr: Csr<$t>) -> Self {
                Self::$variant(csr)
            }
        }
    )*};
}

from_csr!(F16: f16, Bf16: bf16, F32: f32, F64: f64, C32: Complex<f32>, C64: Complex<f64>);
