//! Epilogues of products on a device.

use cudarc::driver::CudaSlice;
use girih_backend::{Activation, Bias, Epilogue};
use girih_formats::{DType, Scalar};

use crate::kernels::shared::passed::passed;
use crate::operand::{DeviceMatrix, Place, Strides};
use crate::{CudaError, NAME};

/// What is added to C's elements, in device memory.
#[derive(Debug)]
enum DeviceBias<'a, A> {
    PerRow(DeviceMatrix<'a, A>),
    PerColumn(DeviceMatrix<'a, A>),
}

/// An [`Epilogue`] whose bias is in device memory, of the accumulation type `A`.
///
/// ```no_run
/// use girih_backend::Activation;
/// use girih_backend_cuda::{CudaError, DeviceEpilogue, Strides, cudarc::driver::CudaSlice};
/// # fn of(bias: &CudaSlice<f32>) -> Result<(), CudaError> {
/// let strides = Strides::row_major(bias.len(), 1);
/// let epilogue = DeviceEpilogue::new().bias_per_column(bias, strides)?.activation(Activation::Relu);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DeviceEpilogue<'a, A> {
    bias: Option<DeviceBias<'a, A>>,
    activation: Activation,
}

impl<A> Default for DeviceEpilogue<'_, A> {
    fn default() -> Self {
        Self { bias: None, activation: Activation::None }
    }
}

impl<'a, A: Scalar> DeviceEpilogue<'a, A> {
    /// Nothing: C is stored as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one value to each row of C: an m×1 matrix in a slice.
    ///
    /// # Errors
    /// [`CudaError::Operand`] if it reaches beyond the slice.
    pub fn bias_per_row(self, slice: &'a CudaSlice<A>, of: Strides) -> Result<Self, CudaError> {
        let bias = DeviceMatrix::named("bias", slice, of)?;
        Ok(Self { bias: Some(DeviceBias::PerRow(bias)), ..self })
    }

    /// Adds one value to each column of C: an n×1 matrix in a slice.
    ///
    /// # Errors
    /// [`CudaError::Operand`] if it reaches beyond the slice.
    pub fn bias_per_column(self, slice: &'a CudaSlice<A>, of: Strides) -> Result<Self, CudaError> {
        let bias = DeviceMatrix::named("bias", slice, of)?;
        Ok(Self { bias: Some(DeviceBias::PerColumn(bias)), ..self })
    }

    /// Applies an activation.
    #[must_use]
    pub fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// Whether C is stored as it is.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.bias.is_none() && self.activation == Activation::None
    }

    /// The function of every element.
    pub(crate) fn function(&self) -> Activation {
        self.activation
    }

    /// The bias, and whether it is for rows.
    pub(crate) fn bias(&self) -> Option<(&DeviceMatrix<'a, A>, bool)> {
        match &self.bias {
            None => None,
            Some(DeviceBias::PerRow(bias)) => Some((bias, true)),
            Some(DeviceBias::PerColumn(bias)) => Some((bias, false)),
        }
    }
}

passed! {
    "shared/passed_epilogue.cuh";

    /// What the kernels are passed of an epilogue. The address is of device memory, strides count elements.
    #[derive(PartialEq, Eq)]
    pub(crate) struct PlacedEpilogue {
        /// In the type of C; null where nothing is added.
        bias: u64 as "const void*",
        /// From one row's, or one column's, to the next one's. The other is zero.
        row_stride: u64,
        col_stride: u64,
        activation: u32 as "Activation",
        /// What elements of C are rounded to: 0 if they are not, 1 for f16, 2 for bf16. Kernels are made
        /// for one or the other, and do not read it.
        output: u32,
    }
}

impl PlacedEpilogue {
    /// An epilogue whose bias is here, and for rows or not.
    pub(crate) fn new(bias: Option<(&Place, bool)>, activation: Activation) -> Self {
        let Ok(activation) = code(activation) else {
            unreachable!("epilogues are checked to be supported first")
        };
        let placed = Self { activation, ..Self::default() };
        match bias {
            None => placed,
            Some((&Place { address, row_stride, .. }, true)) => {
                Self { bias: address, row_stride, ..placed }
            }
            Some((&Place { address, row_stride, .. }, false)) => {
                Self { bias: address, col_stride: row_stride, ..placed }
            }
        }
    }

    /// The same with a C of f16 or bf16, if `output` is that.
    pub(crate) fn rounded_to(self, output: DType) -> Self {
        let output = match output {
            DType::F16 => 1,
            DType::Bf16 => 2,
            _ => 0,
        };
        Self { output, ..self }
    }

    /// What C is rounded to, if it is.
    pub(crate) fn output(&self) -> Option<DType> {
        [None, Some(DType::F16), Some(DType::Bf16)][self.output as usize]
    }

    /// Bytes of an element of C, whose accumulation type has `size`.
    pub(crate) fn size_of_c(&self, size: u64) -> u64 {
        self.output().map_or(size, |output| output.size() as u64)
    }

    /// Whether a bias or an activation is applied.
    pub(crate) fn applies(&self) -> bool {
        self.bias != 0 || self.activation != 0
    }

    /// Whether C is stored as it is.
    pub(crate) fn is_none(&self) -> bool {
        !self.applies() && self.output == 0
    }

    /// That of the columns from `first` on, of a bias of `size` bytes each.
    pub(crate) fn columns(self, first: u64, size: u64) -> Self {
        match self.bias {
            0 => self,
            bias => Self { bias: bias + first * self.col_stride * size, ..self },
        }
    }
}

/// `Activation` in CUDA.
///
/// # Errors
/// Why there is none.
pub(crate) fn code(activation: Activation) -> Result<u32, String> {
    match activation {
        Activation::None => Ok(0),
        Activation::Relu => Ok(1),
        Activation::Gelu => Ok(2),
        other => Err(format!("the kernels of {NAME} lack {other:?}")),
    }
}

/// Whether a bias is for rows.
pub(crate) fn is_per_row(epilogue: &Epilogue<'_>) -> bool {
    matches!(epilogue.bias, Some(Bias::PerRow(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bias_moves_with_the_columns_that_it_is_for() {
        let place = Place { row_stride: 3, ..Place::row_major(1024, (9, 1), 4) };
        let per_column = PlacedEpilogue::new(Some((&place, false)), Activation::Relu);
        assert_eq!((per_column.row_stride, per_column.col_stride), (0, 3));
        assert_eq!(per_column.columns(5, 4).bias, 1024 + 60);
        let per_row = PlacedEpilogue::new(Some((&place, true)), Activation::None);
        assert_eq!((per_row.row_stride, per_row.col_stride), (3, 0));
        assert_eq!(per_row.columns(5, 4), per_row);
        assert!(!per_row.is_none() && !per_column.is_none());
        let gelu = PlacedEpilogue::new(None, Activation::Gelu);
        assert!(!gelu.is_none() && gelu.columns(5, 4) == gelu);
        let none = PlacedEpilogue::new(None, Activation::None);
        assert!(none.is_none() && none.rounded_to(DType::F32).is_none());
        assert_eq!((none.output(), none.size_of_c(8)), (None, 8));
        let rounded = none.rounded_to(DType::Bf16);
        assert_eq!((rounded.output(), rounded.size_of_c(4)), (Some(DType::Bf16), 2));
        assert!(!rounded.is_none() && !rounded.applies());
    }
}
