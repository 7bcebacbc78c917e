//! Dense operands whose value type is known at run time.

use girih::backend::{DenseView, DenseViewMut};
use girih::formats::io::{WriteError, npy};
use girih::formats::rng::SplitMix64;
use girih::formats::{DType, Scalar};
use half::{bf16, f16};
use ndarray::Array2;
use rayon::prelude::*;

use crate::error::CliError;
use crate::npy::NpyFile;
use crate::units;

/// A dense matrix of any value type.
#[derive(Clone, Debug)]
pub(crate) enum Dense {
    F16(Array2<f16>),
    Bf16(Array2<bf16>),
    F32(Array2<f32>),
    F64(Array2<f64>),
}

/// Evaluates an expression on the array inside a [`Dense`], whatever its value type.
macro_rules! each {
    ($dense:expr, $array:ident => $body:expr) => {
        match $dense {
            Dense::F16($array) => $body,
            Dense::Bf16($array) => $body,
            Dense::F32($array) => $body,
            Dense::F64($array) => $body,
        }
    };
}

impl Dense {
    /// Reads a `.npy` file, rounding to `dtype`. Gives the file's type if that is wider.
    pub(crate) fn read(file: NpyFile, dtype: DType) -> Result<(Self, Option<DType>), CliError> {
        fn typed<T: Scalar>(file: NpyFile) -> Result<(Dense, Option<DType>), CliError>
        where
            Dense: From<Array2<T>>,
        {
            let npy::Dense { array, rounded_from } = file.read::<T>()?;
            Ok((array.into(), rounded_from))
        }
        match dtype {
            DType::F16 => typed::<f16>(file),
            DType::Bf16 => typed::<bf16>(file),
            DType::F32 => typed::<f32>(file),
            DType::F64 => typed::<f64>(file),
        }
    }

    /// A row-major matrix of seeded values, uniform in [-1, 1) before they are rounded to `dtype`.
    /// The same arguments give the same matrix on any number of threads.
    pub(crate) fn random(
        what: &str,
        dtype: DType,
        shape: (usize, usize),
        seed: u64,
    ) -> Result<Self, CliError> {
        let mut dense = Self::zeros(what, dtype, shape)?;
        each!(&mut dense, array => {
            if let Some(values) = array.as_slice_mut() {
                fill_random(values, shape.1, seed);
            }
        });
        Ok(dense)
    }

    /// A row-major matrix of zeros.
    pub(crate) fn zeros(what: &str, dtype: DType, shape: (usize, usize)) -> Result<Self, CliError> {
        Ok(match dtype {
            DType::F16 => Self::F16(zeros(what, shape)?),
            DType::Bf16 => Self::Bf16(zeros(what, shape)?),
            DType::F32 => Self::F32(zeros(what, shape)?),
            DType::F64 => Self::F64(zeros(what, shape)?),
        })
    }

    /// Rows and columns.
    pub(crate) fn dim(&self) -> (usize, usize) {
        each!(self, array => array.dim())
    }

    /// The matrix, borrowed.
    pub(crate) fn view(&self) -> DenseView<'_> {
        each!(self, array => array.view().into())
    }

    /// The matrix as an operand to be written; `None` if its type is not one that is accumulated in.
    pub(crate) fn view_mut(&mut self) -> Option<DenseViewMut<'_>> {
        match self {
            Self::F16(_) | Self::Bf16(_) => None,
            Self::F32(array) => Some(array.view_mut().into()),
            Self::F64(array) => Some(array.view_mut().into()),
        }
    }

    /// The same matrix, row-major.
    pub(crate) fn into_row_major(self) -> Self {
        each!(self, array => match array.is_standard_layout() {
            true => array.into(),
            false => array.as_standard_layout().into_owned().into(),
        })
    }

    /// Copies the elements of a matrix of the same type and shape.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        match (self, other) {
            (Self::F16(to), Self::F16(from)) => to.assign(from),
            (Self::Bf16(to), Self::Bf16(from)) => to.assign(from),
            (Self::F32(to), Self::F32(from)) => to.assign(from),
            (Self::F64(to), Self::F64(from)) => to.assign(from),
            _ => unreachable!("both are of the plan's accumulation type"),
        }
    }

    /// Writes the matrix as `.npy`, row-major.
    pub(crate) fn write(&self, to: impl std::io::Write) -> Result<(), WriteError> {
        each!(self, array => npy::write_dense(to, &array.view()))
    }
}

macro_rules! from_array {
    ($($variant:ident: $t:ty),*) => {$(
        impl From<Array2<$t>> for Dense {
            fn from(array: Array2<$t>) -> Self {
                Self::$variant(array)
            }
        }
    )*};
}

from_array!(F16: f16, Bf16: bf16, F32: f32, F64: f64);

fn zeros<T: Scalar>(what: &str, (rows, cols): (usize, usize)) -> Result<Array2<T>, CliError> {
    let refused = |bytes: Option<usize>| {
        let size = bytes.map_or("more memory than there is".to_owned(), |b| units::bytes(b as u64));
        CliError::failed(format!("{what} is {rows}×{cols} and needs {size}; use fewer columns"))
    };
    // A dimension counts even beside one of 0: ndarray's strides must not overflow either.
    let bytes = rows.max(1).checked_mul(cols.max(1)).and_then(|n| n.checked_mul(size_of::<T>()));
    if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(refused(bytes));
    }
    // Asked for first, so that a request beyond memory is an error and not an abort; zeroed pages
    // then come from the system untouched.
    let mut probe: Vec<T> = Vec::new();
    probe.try_reserve_exact(rows * cols).map_err(|_| refused(bytes))?;
    drop(probe);
    Ok(Array2::from_elem((rows, cols), T::ZERO))
}

/// Fills rows of `cols` values, each row from a stream of its own.
pub(crate) fn fill_random<T: Scalar>(values: &mut [T], cols: usize, seed: u64) {
    // Without columns there are no values either.
    values.par_chunks_mut(cols.max(1)).enumerate().for_each(|(row, values)| {
        let mut random = SplitMix64::new(seed, row as u64);
        values.fill_with(|| T::from_f64(2.0 * random.unit() - 1.0));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_operands_are_seeded_and_bounded() {
        let draw = |seed| Dense::random("B", DType::F64, (50, 7), seed).unwrap();
        let (Dense::F64(a), Dense::F64(b), Dense::F64(c)) = (draw(1), draw(1), draw(2)) else {
            panic!("f64 was asked for");
        };
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
