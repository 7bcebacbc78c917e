//! Dense operands whose value type is known at run time.

use girih::backend::{DenseView, DenseViewMut};
use girih::formats::io::{WriteError, npy};
use girih::formats::{Complex, DType, Narrowing, Scalar};
use half::{bf16, f16};

use super::npy::NpyFile;
use crate::error::CliError;
use girih_measure::Operand;

/// A dense matrix of any value type.
#[derive(Clone, Debug)]
pub(crate) enum Dense {
    F16(Operand<f16>),
    Bf16(Operand<bf16>),
    F32(Operand<f32>),
    F64(Operand<f64>),
    C32(Operand<Complex<f32>>),
    C64(Operand<Complex<f64>>),
}

/// A dense matrix read from a file.
#[derive(Clone, Debug)]
pub(crate) struct ReadDense {
    pub(crate) dense: Dense,
    /// The file's value type, if it is wider.
    pub(crate) rounded_from: Option<DType>,
    /// What rounding made of the values.
    pub(crate) narrowing: Narrowing,
}

/// Evaluates an expression on the operand inside a [`Dense`], whatever its value type.
macro_rules! each {
    ($dense:expr, $operand:ident => $body:expr) => {
        match $dense {
            Dense::F16($operand) => $body,
            Dense::Bf16($operand) => $body,
            Dense::F32($operand) => $body,
            Dense::F64($operand) => $body,
            Dense::C32($operand) => $body,
            Dense::C64($operand) => $body,
        }
    };
}

impl Dense {
    /// Reads a `.npy` file, rounding to `dtype`.
    pub(crate) fn read(file: NpyFile, dtype: DType) -> Result<ReadDense, CliError> {
        fn typed<T: Scalar>(file: NpyFile) -> Result<ReadDense, CliError>
        where
            Dense: From<Operand<T>>,
        {
            let npy::Dense { array, rounded_from, narrowing } = file.read::<T>()?;
            Ok(ReadDense { dense: Operand::from(array).into(), rounded_from, narrowing })
        }
        match dtype {
            DType::F16 => typed::<f16>(file),
            DType::Bf16 => typed::<bf16>(file),
            DType::F32 => typed::<f32>(file),
            DType::F64 => typed::<f64>(file),
            DType::C32 => typed::<Complex<f32>>(file),
            DType::C64 => typed::<Complex<f64>>(file),
        }
    }

    /// A row-major matrix of seeded values, uniform in [-1, 1) before they are rounded to `dtype`; so
    /// are both parts of a complex one.
    /// The same arguments give the same matrix on any number of threads.
    pub(crate) fn random(
        what: &str,
        dtype: DType,
        shape: (usize, usize),
        seed: u64,
    ) -> Result<Self, CliError> {
        Ok(match dtype {
            DType::F16 => Self::F16(Operand::random(what, shape, seed)?),
            DType::Bf16 => Self::Bf16(Operand::random(what, shape, seed)?),
            DType::F32 => Self::F32(Operand::random(what, shape, seed)?),
            DType::F64 => Self::F64(Operand::random(what, shape, seed)?),
            DType::C32 => Self::C32(Operand::random(what, shape, seed)?),
            DType::C64 => Self::C64(Operand::random(what, shape, seed)?),
        })
    }

    /// A row-major matrix of zeros.
    pub(crate) fn zeros(what: &str, dtype: DType, shape: (usize, usize)) -> Result<Self, CliError> {
        Ok(match dtype {
            DType::F16 => Self::F16(Operand::zeros(what, shape)?),
            DType::Bf16 => Self::Bf16(Operand::zeros(what, shape)?),
            DType::F32 => Self::F32(Operand::zeros(what, shape)?),
            DType::F64 => Self::F64(Operand::zeros(what, shape)?),
            DType::C32 => Self::C32(Operand::zeros(what, shape)?),
            DType::C64 => Self::C64(Operand::zeros(what, shape)?),
        })
    }

    /// Rows and columns.
    pub(crate) fn dim(&self) -> (usize, usize) {
        each!(self, operand => operand.view().dim())
    }

    /// Whether a row's elements are next to each other.
    pub(crate) fn is_row_major(&self) -> bool {
        each!(self, operand => operand.view().is_standard_layout())
    }

    /// The matrix, borrowed.
    pub(crate) fn view(&self) -> DenseView<'_> {
        each!(self, operand => operand.view().into())
    }

    /// The matrix as an operand to be written.
    pub(crate) fn view_mut(&mut self) -> DenseViewMut<'_> {
        each!(self, operand => operand.view_mut().into())
    }

    /// The same matrix, row-major.
    pub(crate) fn into_row_major(self) -> Self {
        each!(self, operand => operand.into_row_major().into())
    }

    /// Copies the elements of a matrix of the same type and shape.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        match (self, other) {
            (Self::F16(to), Self::F16(from)) => to.view_mut().assign(&from.view()),
            (Self::Bf16(to), Self::Bf16(from)) => to.view_mut().assign(&from.view()),
            (Self::F32(to), Self::F32(from)) => to.view_mut().assign(&from.view()),
            (Self::F64(to), Self::F64(from)) => to.view_mut().assign(&from.view()),
            (Self::C32(to), Self::C32(from)) => to.view_mut().assign(&from.view()),
            (Self::C64(to), Self::C64(from)) => to.view_mut().assign(&from.view()),
            _ => unreachable!("both are of the type that C has"),
        }
    }

    /// Writes the matrix as `.npy`, row-major.
    pub(crate) fn write(&self, to: impl std::io::Write) -> Result<(), WriteError> {
        each!(self, operand => npy::write_dense(to, &operand.view()))
    }
}

macro_rules! from_operand {
    ($($variant:ident: $t:ty),*) => {$(
        impl From<Operand<$t>> for Dense {
            fn from(operand: Operand<$t>) -> Self {
                Self::$variant(operand)
            }
        }
    )*};
}

from_operand!(F16: f16, Bf16: bf16, F32: f32, F64: f64, C32: Complex<f32>, C64: Complex<f64>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_operands_are_seeded_and_bounded() {
        let draw = |seed| Dense::random("B", DType::F64, (50, 7), seed).unwrap();
        let (Dense::F64(a), Dense::F64(b), Dense::F64(c)) = (draw(1), draw(1), draw(2)) else {
            panic!("the operands are f64");
        };
        let [a, b, c] = [a.view(), b.view(), c.view()];
        assert_eq!(a, b);
        assert_ne!(a, c);
        assert!(a.iter().all(|x| (-1.0..1.0).contains(x)));
        assert!(a.iter().any(|x| *x < 0.0) && a.iter().any(|x| *x > 0.0));
    }

    #[test]
    fn sizes_beyond_memory_are_refused() {
        for shape in [(usize::MAX, 2), (0, usize::MAX), (1 << 40, 1 << 20), (1 << 31, 1 << 28)] {
            let error = Dense::zeros("B", DType::F32, shape).unwrap_err();
            assert!(error.to_string().contains("fewer columns"), "{error}");
        }
    }
}
